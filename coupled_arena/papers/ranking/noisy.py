"""Noisy judges on a made-up truth: figures 11 and 12 at NeurIPS."""

from __future__ import annotations

import plotly.graph_objects as go

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.item import Made
from coupled_arena.papers.ranking.experiments import SETTINGS
from coupled_arena.papers.ranking.published import SYNTHETIC_VOTES, simulated
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.simulation.noisy_judges import NoisyJudges, NoisyPlan, try_noisy_judges
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.views.figures.methods import COVARIANCES, CUTOFF_NAMES
from coupled_arena.views.figures.rankings import (
    JUDGE_COLOURS,
    Shown,
    finished,
    key_of,
    share_bars,
)
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import Theme, theme_for
from coupled_arena.views.tables.experiments import noisy

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
        values=_values(results["published"]) if chosen.alpha[:1] in ((), (_ALPHA,)) else {},
        notes=_NOTES,
    )


def _values(result: NoisyJudges) -> dict[str, float]:
    names = {Ranking.HUMAN: "human only", Ranking.JUDGE: "llm", Ranking.PPR: "ppr"}
    values: dict[str, float] = {}
    for one in result.qualities:
        method = names[one.ranking] + ("" if one.noise is None else f" {one.noise:g}")
        values[simulated(method, one.human, "coverage")] = one.coverage
        values[simulated(method, one.human, "overlap")] = one.overlap
    return values
