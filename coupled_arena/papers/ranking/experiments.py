"""The experiments of the ranking paper: random subsets of judged votes, ranked in every way.

On anybody's votes (figures 1 to 4 and 6 to 15 by paper) and on a made-up truth with noisy judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.core.choices import Covariance, Cutoff, Weighting
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.item import Made
from coupled_arena.papers.ranking import published
from coupled_arena.papers.ranking.published import SYNTHETIC_VOTES, is_papers_own, simulated
from coupled_arena.papers.ranking.tables import (
    judged_likeliest,
    judged_positions,
    judged_rank_sets,
    judged_rankings,
)
from coupled_arena.papers.source import PaperSource, judges_of, pooled_notes, read_shared
from coupled_arena.stats.simulation.noisy_judges import NoisyJudges, NoisyPlan, try_noisy_judges
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.resampling import Resampling, ResamplingPlan, resample_judges
from coupled_arena.stats.simulation.subsets import SharedComparisons, fitting_sizes
from coupled_arena.views.figures.caption import COVARIANCES, CUTOFF_NAMES
from coupled_arena.views.figures.rankings import (
    ALL,
    JUDGE_COLOURS,
    Shown,
    finished,
    key_of,
    share_bars,
)
from coupled_arena.views.figures.resampling import position_figure, rank_set_figure
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import Theme, theme_for
from coupled_arena.views.figures.trade_offs import Agreement, trade_off_figure, votes_figure
from coupled_arena.views.tables.experiments import noisy

LEVELS = (0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.025, 0.01)
"""The paper's error levels."""
REPEATS = 1000
_A_PAIR = 96  # comparisons of each pair of models in a draw of the paper
SOME, NINE = (15,), (1, 2, 3, 7, 15, 22, 30, 37, 45)
"""How many of these keep their vote: in most figures, and where the number is what matters."""
_DRAWS = 2000  # for max-t: the error on a repeat, .0049 of alpha = .05, averages out over repeats

PUBLISHED: Mapping[str, Any] = {
    "weighting": Weighting.COUNT,
    "covariance": Covariance.PUBLISHED,
    "cutoff": Cutoff.CHI2,
}
CORRECTED: Mapping[str, Any] = {"draws": _DRAWS}
SETTINGS = {"published": PUBLISHED, "corrected": CORRECTED}
"""How to rank: as the paper does, and so that rank-sets cover what they promise."""


@dataclass(frozen=True)
class Subsets:
    """How many comparisons each repeat draws.

    Attributes
    ----------
    human : tuple of int
        How many of them keep their vote.
    balanced : bool
        The same number in every pair.
    notes : tuple of str
        Where this differs from the paper, and why.
    """

    total: int
    human: tuple[int, ...]
    balanced: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment by how it was ranked and by judge.

    Attributes
    ----------
    results : mapping of str to mapping of str to Resampling
        By the names of `SETTINGS`, then by the judge's.
    papers_own : bool
        Whether models and comparisons are those of the paper.
    """

    results: Mapping[str, Mapping[str, Resampling]]
    notes: tuple[str, ...]
    papers_own: bool = False


def run_experiment(source: PaperSource, kept: Sequence[int], alphas: Sequence[float]) -> Experiment:
    """Draw random subsets of the comparisons that all judges have judged, and rank them.

    Parameters
    ----------
    kept : sequence of int
        How many of the paper's 96 comparisons a pair keep their vote, each an experiment.
    alphas : sequence of float
        Error levels, where the settings have none.

    Raises
    ------
    ArenaError
        There is no judge, or no comparison that all of them have judged.
    """
    if not judges_of(source):
        raise ArenaError("No judge has a verdict here: give --verdicts NAME=FILE, or run `judge`.")
    shared, chosen = read_shared(source), source.settings
    subsets = subsets_of(shared, kept, chosen.sizes)
    results: dict[str, dict[str, Resampling]] = {}
    try:
        for name, how in SETTINGS.items():
            plan = ResamplingPlan(
                total=subsets.total,
                human=subsets.human,
                repeats=chosen.repeats or REPEATS,
                alphas=tuple(chosen.alpha or alphas),
                balanced=subsets.balanced,
                seed=chosen.seed,
                **how,
            )
            results[name] = resample_judges(shared, plan, source.track)
    except ValueError as error:
        raise ArenaError(str(error)) from error
    warned = {text for found in results.values() for one in found.values() for text in one.warnings}
    notes = (*pooled_notes(source), *subsets.notes, *sorted(warned))
    return Experiment(results, notes, is_papers_own(shared))


def subsets_of(
    shared: SharedComparisons, kept: Sequence[int], sizes: Sequence[int] = ()
) -> Subsets:
    """Return as many comparisons as there are of every pair; on the paper's data its own numbers.

    Parameters
    ----------
    kept : sequence of int
        As in `run_experiment`; scaled to what there is.
    sizes : sequence of int
        How many keep their vote, whatever the pairs, in place of `kept`.

    Raises
    ------
    ArenaError
        A size is more than there is to draw.
    """
    met = shared.votes.comparisons[np.triu_indices(len(shared.models), 1)]
    least = int(met.min())
    balanced = least > 1
    pairs = len(met) if balanced else 1
    each = least if balanced else fitting_sizes(shared, balanced=False).total
    if sizes and not 0 < max(sizes) <= pairs * each:
        raise ArenaError(f"--sizes {max(sizes)}: at most {pairs * each} can keep their vote here.")
    wanted = [n // pairs for n in sizes] or [round(each * n / _A_PAIR) for n in kept]
    human = sorted({pairs * min(max(n, 1), each) for n in wanted})
    notes: list[str] = []
    if not balanced:
        pair = _worst(shared)
        notes.append(
            f"{pair[0]} and {pair[1]} have {least} comparison{'s' * (least != 1)} with a vote and "
            f"a verdict of each judge: subsets of {each} are drawn as they fall, not evenly from "
            "all pairs as in the paper."
        )
    elif each != _A_PAIR:
        notes.append(
            f"The pair with the fewest comparisons has {each}, the paper's {_A_PAIR}: each draw "
            f"has {each} of every pair, of which {', '.join(str(n // pairs) for n in human)} keep "
            "their vote."
        )
    return Subsets(pairs * each, tuple(human), balanced, tuple(notes))


def _worst(shared: SharedComparisons) -> tuple[str, str]:
    first, second = np.triu_indices(len(shared.models), 1)
    worst = int(shared.votes.comparisons[first, second].argmin())
    return shared.models[int(first[worst])], shared.models[int(second[worst])]


# Random subsets of judged votes, ranked in every way: figures 1 to 4 and 6 to 15.


Results = Mapping[str, Resampling]
_PAPERS, _OURS = "published", "corrected"
_NOTE = (
    "What is called corrected is ranked with our defaults (stratified weighting, corrected "
    "covariance, max-t cut-off): wider, and covering what it promises. The paper has no such "
    "numbers."
)


def trade_offs(source: PaperSource) -> Made:
    """Return size against agreement with all votes, over error levels."""
    found = run_experiment(source, SOME, LEVELS)

    def draw(results: Results) -> Iterator[tuple[str, go.Figure]]:
        votes = _votes(results)
        for agreement in Agreement:
            yield agreement.value, trade_off_figure(results, votes, agreement)
        if len(results) > 1:
            for judge, one in results.items():
                yield f"intersection-{judge}", trade_off_figure({judge: one}, votes)

    return _made(found, draw)


def numbers_of_votes(source: PaperSource) -> Made:
    """Return the same of prediction-powered rankings, by the number of votes."""
    found = run_experiment(source, NINE, LEVELS)

    def draw(results: Results) -> Iterator[tuple[str, go.Figure]]:
        for agreement in Agreement:
            yield agreement.value, votes_figure(results, agreement)

    return _made(found, draw)


def structure(source: PaperSource) -> Made:
    """Return which positions and which rank-sets models get, and how often."""
    # One error level is enough, the first that is asked for.
    levels = source.settings.alpha[:1] or (published.LEVEL,)
    found = run_experiment(source, SOME, levels)
    tables = {
        _name(how, name): table(results)
        for how, results in found.results.items()
        for name, table in (
            ("likeliest", judged_likeliest),
            ("positions", judged_positions),
            ("rank-sets", judged_rank_sets),
        )
    }
    figures = {
        _name(how, name): figure
        for how, results in found.results.items()
        for name, figure in _structure_figures(results)
    }
    results = found.results[_PAPERS]
    values = _structure_values(results) if found.papers_own and _as_drawn(results) else {}
    return Made(tables, figures, values, (*found.notes, _NOTE))


def _as_drawn(results: Results) -> bool:
    """Tell whether as many votes were kept as in the paper's figures, at its error level."""
    plan = next(iter(results.values())).plan
    wanted = (published.TOTAL, (published.VOTES,), published.LEVEL)
    return (plan.total, plan.human, plan.alphas[0]) == wanted


def _structure_figures(results: Results) -> Iterator[tuple[str, go.Figure]]:
    votes = _votes(results)
    yield "positions", position_figure(results, votes)
    yield "rank-sets", rank_set_figure(results, votes, ALL)
    for judge, one in results.items() if len(results) > 1 else ():
        yield f"positions-{judge}", position_figure({judge: one}, votes)
        yield f"rank-sets-{judge}", rank_set_figure({judge: one}, votes)


def _structure_values(results: Results) -> dict[str, float]:
    values: dict[str, float] = {}
    for row in judged_likeliest(results).rows:
        found, method = row.row, _method(row.row.ranking, row.judge)
        values[published.elsewhere(method)] = float(found.other_position)
        values[published.elsewhere(method, published.OTHER_SET)] = float(found.other_rank_set)
    for row in judged_positions(results).rows:
        place = row.row
        if place.ranking is Ranking.PPR:
            method = _method(Ranking.PPR, row.judge)
            name = f"{place.model}, position {place.position}, {method}"
            values[name] = float(place.probability)
    return values


def _made(found: Experiment, draw: Callable[[Results], Iterator[tuple[str, go.Figure]]]) -> Made:
    return Made(
        tables={how: judged_rankings(results) for how, results in found.results.items()},
        figures={
            _name(how, name): figure
            for how, results in found.results.items()
            for name, figure in draw(results)
        },
        values=_values(found.results[_PAPERS]) if found.papers_own else {},
        notes=(*found.notes, _NOTE),
    )


def _values(results: Results) -> dict[str, float]:
    values: dict[str, float] = {}
    for judge, result in results.items():
        for one in result.qualities:
            method = _method(one.ranking, judge)
            name = published.drawn(method, one.human, result.plan.total, one.alpha)
            values[f"{name}: {published.SIZE}"] = one.size
            values[f"{name}: {published.MEETS}"] = one.intersection
            values[f"{name}: {published.CONTAINS}"] = one.coverage
    return values


def _method(ranking: Ranking, judge: str | None) -> str:
    judge = published.judge_name(judge)
    names = {
        Ranking.BASELINE: "baseline",
        Ranking.HUMAN: "human only",
        Ranking.JUDGE: f"llm {judge}",
        Ranking.PPR: f"ppr {judge}",
    }
    return names[ranking]


def _name(how: str, name: str) -> str:
    return f"{_OURS}-{name}" if how == _OURS else name


def _votes(results: Results) -> int:
    return next(iter(results.values())).plan.human[0]


# Noisy judges on a made-up truth: figures 11 and 12 at NeurIPS.


_SIGN = "\N{BLACK CIRCLE}"
_TITLES = {
    "coverage": "How often rank-sets hold the truth",
    "overlap": "How near the ranking is to the truth",
}
_AXES = {
    "coverage": "Repeats where all rank-sets hold the true ranks",
    "overlap": "Rank-biased overlap with the true ranking",
}
_HEIGHT = 420  # pixels


def noisy_figure(result: NoisyJudges, measure: str, *, dark: bool = False) -> go.Figure:
    """Draw coverage or overlap against the number of votes, a line for each ranking.

    Parameters
    ----------
    measure : str
        coverage or overlap.
    """
    theme = theme_for(dark)
    lines = _lines(result)
    figure = go.Figure([_line(result, each, ranking, u, measure) for each, ranking, u in lines])
    plan = result.plan
    if measure == "coverage":
        wanted = 1 - plan.alpha
        figure.add_hline(y=wanted, line={"color": theme.faint, "dash": "dash", "width": 1})
    _axes(figure, result, measure, theme)
    how = f"{CUTOFF_NAMES[plan.cutoff]}, {COVARIANCES[plan.covariance]}"
    subtitle = (
        f"{plan.models} models, alpha {plan.alpha:g}, {result.repeats} repeats, {how}; bars 95%"
    )
    marks = key_of(_SIGN, [each for each, _ranking, _noise in lines])
    return finished(figure, _TITLES[measure], subtitle, theme, height=_HEIGHT, marks=marks)


def _axes(figure: go.Figure, result: NoisyJudges, measure: str, theme: Theme) -> None:
    axis = {"gridcolor": theme.grid, "zeroline": False, "automargin": True}
    votes = [human for human, _alone in result.plan.sizes]
    figure.update_xaxes(
        title=axis_title("Votes", theme),
        type="log",
        tickvals=votes,
        ticktext=[f"{n:,}" for n in votes],
        **axis,
    )
    figure.update_yaxes(
        title=axis_title(_AXES[measure], theme),
        tickformat=".0%" if measure == "coverage" else ".1f",
        **axis,
    )


def _lines(result: NoisyJudges) -> list[tuple[Shown, Ranking, float | None]]:
    found: list[tuple[Shown, Ranking, float | None]] = [
        (Shown("votes only", "#7d8590"), Ranking.HUMAN, None)
    ]
    for place, u in enumerate(result.plan.noise):
        colour = JUDGE_COLOURS[place % len(JUDGE_COLOURS)]
        name = f"votes and a judge of noise {u:g}"
        found.append((Shown(name, colour), Ranking.PPR, u))
        name = f"a judge of noise {u:g} only"
        found.append((Shown(name, colour, opacity=0.45, dash="dot"), Ranking.JUDGE, u))
    return found


def _line(
    result: NoisyJudges, shown: Shown, ranking: Ranking, noise: float | None, measure: str
) -> go.Scatter:
    points = [q for q in result.qualities if (q.ranking, q.noise) == (ranking, noise)]
    if measure == "coverage":
        bars = share_bars([each.coverage for each in points], result.repeats)
    else:
        errors = [1.96 * each.overlap_error for each in points]
        bars = {"type": "data", "array": errors, "thickness": 1, "width": 0}
    return go.Scatter(
        x=[each.human for each in points],
        y=[getattr(each, measure) for each in points],
        error_y=bars,
        mode="lines+markers",
        name=shown.name,
        line={"color": shown.colour, "dash": shown.dash},
        marker={"size": 8, "color": shown.colour, "opacity": shown.opacity},
    )


_MODELS, _TOTAL, _NOISE = 8, 50_000, (0.05, 0.1, 0.3)
_REPEATS, _ALPHA = 300, 0.1
_NOTES = (
    "Figures 11 and 12 are those of the paper's version at NeurIPS, appendix E; the one at arXiv "
    "of May 2024 has no simulation.",
    "The paper draws each model also against itself, one comparison in eight: here it is left out.",
)


def noisy_judges(source: PaperSource) -> Made:
    """Return how rankings with noisy judges fare, as the paper ranks and with our defaults."""
    chosen = source.settings
    votes = chosen.sizes or SYNTHETIC_VOTES
    if max(votes) > _TOTAL:
        raise ArenaError(f"--sizes {max(votes)}: there are {_TOTAL} comparisons in all.")
    results: dict[str, NoisyJudges] = {}
    try:
        for name, how in SETTINGS.items():
            plan = NoisyPlan(
                models=_MODELS,
                sizes=tuple((n, _TOTAL - n) for n in votes),
                noise=_NOISE,
                repeats=chosen.repeats or _REPEATS,
                alpha=chosen.alpha[0] if chosen.alpha else _ALPHA,
                seed=chosen.seed,
                **how,
            )
            results[name] = try_noisy_judges(plan, source.track)
    except ValueError as error:
        raise ArenaError(str(error)) from error
    return Made(
        tables={name: noisy(result) for name, result in results.items()},
        figures={
            measure if name == "published" else f"{name}-{measure}": noisy_figure(result, measure)
            for name, result in results.items()
            for measure in ("coverage", "overlap")
        },
        values=_noisy_values(results["published"]) if chosen.alpha[:1] in ((), (_ALPHA,)) else {},
        notes=_NOTES,
    )


def _noisy_values(result: NoisyJudges) -> dict[str, float]:
    names = {Ranking.HUMAN: "human only", Ranking.JUDGE: "llm", Ranking.PPR: "ppr"}
    values: dict[str, float] = {}
    for one in result.qualities:
        method = names[one.ranking] + ("" if one.noise is None else f" {one.noise:g}")
        values[simulated(method, one.human, "coverage")] = one.coverage
        values[simulated(method, one.human, "overlap")] = one.overlap
    return values
