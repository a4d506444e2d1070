"""What the experiments of the ranking paper found, and which models were compared, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.papers.item import Made
from coupled_arena.papers.ranking.published import is_papers_own
from coupled_arena.papers.source import (
    PaperSource,
    judges_of,
    pooled_notes,
    prompts_of,
    read_shared,
)
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.figures.rankings import finished
from coupled_arena.views.figures.theme import shortened, theme_for
from coupled_arena.views.tables import experiments
from coupled_arena.views.tables.table import Column, Table, table_of

_OF_ALL = (Ranking.BASELINE, Ranking.HUMAN)  # the same whoever judges


@dataclass(frozen=True)
class Judged:
    """A row of a ranking, and the judge that it is by; None of rankings by votes alone."""

    judge: str | None
    row: Any


_JUDGE = Column[Judged](
    "judge", str, "Judge of the verdicts; none of rankings by votes alone", heading="Judge"
)


def _with_judge(columns: Iterable[Column[Any]]) -> tuple[Column[Judged], ...]:
    def moved(column: Column[Any]) -> Column[Judged]:
        return replace(
            column, value=lambda row: column.of(row.row), text=lambda row: column.read(row.row)
        )

    return (_JUDGE, *(moved(column) for column in columns))


def _each(rows: Mapping[str, Iterable[Any]]) -> Iterable[Judged]:
    """Return the rows of each judge, those that are the same for all judges once."""
    for place, (judge, own) in enumerate(rows.items()):
        for row in own:
            if row.ranking not in _OF_ALL:
                yield Judged(judge, row)
            elif place == 0:
                yield Judged(None, row)


JUDGED_RANKINGS = _with_judge(experiments.RANKINGS)


def judged_rankings(results: Mapping[str, Resampling]) -> Table[Judged]:
    """Return how each ranking fared, at each number of votes and error level, by judge."""
    rows = {judge: result.qualities for judge, result in results.items()}
    return table_of(JUDGED_RANKINGS, _each(rows))


JUDGED_RANK_SETS = _with_judge(experiments.RANK_SETS)


def judged_rank_sets(results: Mapping[str, Resampling]) -> Table[Judged]:
    """Return how often each model got each rank-set, by judge."""
    rows = {judge: experiments.rank_sets(result).rows for judge, result in results.items()}
    return table_of(JUDGED_RANK_SETS, _each(rows))


@dataclass(frozen=True)
class Position:
    """How often a position was in a model's rank-set."""

    ranking: Ranking
    human: int | None
    alpha: float
    model: str
    position: int
    probability: float


POSITIONS: tuple[Column[Position], ...] = (
    Column("ranking", str, "baseline, judge, human or ppr", heading="Ranking"),
    Column("human", int, "Comparisons that kept their vote", heading="Votes"),
    Column("alpha", float, "Error level", heading="Alpha", text="g"),
    Column("model", str, "Name of the model", heading="Model"),
    Column("position", int, "Position, 1 is best", heading="Position"),
    Column(
        "probability",
        float,
        "Share of the repeats with it in the rank-set",
        heading="Repeats",
        text=".1%",
    ),
)
JUDGED_POSITIONS = _with_judge(POSITIONS)


def judged_positions(results: Mapping[str, Resampling]) -> Table[Judged]:
    """Return how often each position was in each model's rank-set, by judge."""
    rows = {
        judge: [
            Position(
                *(run.ranking, run.human, alpha, model, position + 1),
                probability=run.positions[index, place, position],
            )
            for run in result.runs
            for index, alpha in enumerate(result.plan.alphas)
            for place, model in enumerate(result.models)
            for position in range(len(result.models))
        ]
        for judge, result in results.items()
    }
    return table_of(JUDGED_POSITIONS, _each(rows))


@dataclass(frozen=True)
class Likeliest:
    """Of how many models what is likeliest is not what is likeliest by all votes."""

    ranking: Ranking
    human: int | None
    models: int
    other_position: int
    other_rank_set: int


LIKELIEST: tuple[Column[Likeliest], ...] = (
    Column("ranking", str, "judge, human or ppr", heading="Ranking"),
    Column("human", int, "Comparisons that kept their vote", heading="Votes"),
    Column("models", int, "How many there are", heading="Models"),
    Column(
        "other_position",
        int,
        "Models with another likeliest position than in the baseline; of several, the best counts",
        heading="Other position",
    ),
    Column(
        "other_rank_set",
        int,
        "Models with another most frequent rank-set than in the baseline",
        heading="Other rank-set",
    ),
)
JUDGED_LIKELIEST = _with_judge(LIKELIEST)


def judged_likeliest(results: Mapping[str, Resampling]) -> Table[Judged]:
    """Return where what is likeliest is not what is likeliest by all votes, by judge."""
    rows: dict[str, list[Likeliest]] = {}
    for judge, result in results.items():
        baseline = result.run(Ranking.BASELINE)
        models = range(len(result.models))
        likeliest = baseline.positions[0].argmax(1)
        frequent = [next(iter(baseline.sets(0, model))) for model in models]
        rows[judge] = [
            Likeliest(
                *(run.ranking, run.human, len(models)),
                other_position=int((run.positions[0].argmax(1) != likeliest).sum()),
                other_rank_set=sum(
                    next(iter(run.sets(0, model))) != frequent[model] for model in models
                ),
            )
            for run in result.runs
            if run.ranking is not Ranking.BASELINE
        ]
    return table_of(JUDGED_LIKELIEST, _each(rows))


@dataclass(frozen=True)
class PairSize:
    """How often two models were compared, and who won."""

    model_a: str
    model_b: str
    comparisons: int
    wins_a: int
    wins_b: int

    @property
    def ties(self) -> int:
        """Votes for neither."""
        return self.comparisons - self.wins_a - self.wins_b


PAIR_SIZES: tuple[Column[PairSize], ...] = (
    Column("model_a", str, "One of the models", heading="Model"),
    Column("model_b", str, "The other one", heading="Other model"),
    Column("comparisons", int, "Comparisons of the two", heading="Comparisons"),
    Column("wins_a", int, "Votes for the one", heading="Won"),
    Column("wins_b", int, "Votes for the other one", heading="Lost"),
    Column("ties", int, "Votes for neither", heading="Ties"),
)


def pair_sizes(votes: PairCounts) -> Table[PairSize]:
    """Return how often each pair of models was compared."""
    models = votes.models
    return table_of(
        PAIR_SIZES,
        (
            PairSize(
                *(models[a], models[b], votes.comparisons[a, b]),
                wins_a=votes.wins[a, b],
                wins_b=votes.wins[b, a],
            )
            for a in range(len(models))
            for b in range(a + 1, len(models))
        ),
    )


@dataclass(frozen=True)
class ComparedModel:
    """How often a model was compared, and won."""

    model: str
    comparisons: int
    wins: int


COMPARED: tuple[Column[ComparedModel], ...] = (
    Column("model", str, "Name of the model", heading="Model"),
    Column("comparisons", int, "Comparisons that it took part in", heading="Comparisons"),
    Column("wins", int, "Votes for it", heading="Won"),
)


def compared_models(votes: PairCounts) -> Table[ComparedModel]:
    """Return the models and how often each was compared."""
    counts = votes.comparisons.sum(1), votes.wins.sum(1)
    return table_of(COMPARED, map(ComparedModel, votes.models, *counts))


# Which models were compared, and how often: figure 5 and table 1.


_CELL, _BESIDE, _LEAST = 44, 190, 480  # pixels


def pair_size_figure(votes: PairCounts, *, dark: bool = False) -> go.Figure:
    """Draw the number of comparisons of each pair of models as a matrix."""
    theme = theme_for(dark)
    names = [shortened(model, 20) for model in votes.models]
    met = votes.comparisons
    shown = np.where(np.eye(len(names), dtype=np.bool_), np.nan, met)
    size = _CELL * len(names)
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            text=[["" if a == b else f"{n:,}" for b, n in enumerate(r)] for a, r in enumerate(met)],
            texttemplate="%{text}",
            colorscale=[[0, theme.even], [1, theme.ahead]],
            zmin=0,
            showscale=False,
            hoverinfo="skip",
            xgap=1,
            ygap=1,
        )
    )
    places = list(range(len(names)))
    axis = {"tickvals": places, "ticktext": names, "showgrid": False, "zeroline": False}
    figure.update_xaxes(**axis, tickangle=-45, automargin=True)
    figure.update_yaxes(**axis, autorange="reversed", automargin=True)
    total = int(met.sum()) // 2
    subtitle = f"{total:,} comparisons of {len(names)} models"
    title = "How often models were compared"
    figure = finished(figure, title, subtitle, theme, height=size + _BESIDE)
    return figure.update_layout(width=max(size + _BESIDE, _LEAST))


def compared(source: PaperSource) -> Made:
    """Return how often each pair of models has a vote, and a verdict of every judge there is."""
    shared = read_shared(source)
    votes = shared.votes
    models, pairs = compared_models(votes), pair_sizes(votes)
    sizes = [row.comparisons for row in pairs.rows]
    judges = ", ".join(judges_of(source))
    note = f"Comparisons with a vote and a verdict of each of: {judges}." if judges else ""
    values = {
        "models": len(models),
        "comparisons": float(sum(sizes)),
        "comparisons of the least pair": float(min(sizes)),
        "prompts": float(prompts_of(source)),
    }
    return Made(
        tables={"models": models, "pairs": pairs},
        figures={"pairs": pair_size_figure(votes)},
        values=values if is_papers_own(shared) else {},
        notes=(note or "Comparisons with a vote.", *pooled_notes(source)),
    )
