"""Random subsets of judged votes, ranked in every way: figures 1 to 4 and 6 to 15."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import plotly.graph_objects as go

from coupled_arena.papers.item import Made
from coupled_arena.papers.ranking import published
from coupled_arena.papers.ranking.experiments import (
    LEVELS,
    NINE,
    SOME,
    Experiment,
    run_experiment,
)
from coupled_arena.papers.ranking.tables import (
    judged_likeliest,
    judged_positions,
    judged_rank_sets,
    judged_rankings,
)
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.figures.rankings import ALL
from coupled_arena.views.figures.resampling import position_figure, rank_set_figure
from coupled_arena.views.figures.trade_offs import Agreement, trade_off_figure, votes_figure

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
        found, method = row["row"], _method(row["row"]["ranking"], row["judge"])
        values[published.elsewhere(method)] = float(found["other_position"])
        values[published.elsewhere(method, published.OTHER_SET)] = float(found["other_rank_set"])
    for row in judged_positions(results).rows:
        place = row["row"]
        if place["ranking"] is Ranking.PPR:
            method = _method(Ranking.PPR, row["judge"])
            name = f"{place['model']}, position {place['position']}, {method}"
            values[name] = float(place["probability"])
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
