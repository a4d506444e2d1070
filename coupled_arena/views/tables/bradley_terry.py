"""Bradley-Terry scores as a table."""

from __future__ import annotations

from typing import Any

from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.core.choices import BoardSource
from coupled_arena.core.language import N_
from coupled_arena.stats.ranking.bradley_terry import BradleyTerry, bradley_terry
from coupled_arena.views.tables.table import LEVEL, Column, Table, span, table_of

_Row = dict[str, Any]


def scores(board: Leaderboard) -> BradleyTerry:
    """Return the Bradley-Terry scores by what the board counts."""
    counts = board.estimates
    by_judge = board.source is BoardSource.JUDGE
    return bradley_terry(counts.judged.verdicts if by_judge else counts.votes, board.alpha)


def bradley_terry_table(found: BradleyTerry) -> Table[_Row]:
    """Return each model's Bradley-Terry score."""
    columns = zip(found.models, found.score, found.low, found.high, strict=True)
    rows = (
        {"model": model, "score": score, "low": low, "high": high}
        for model, score, low, high in columns
    )
    return table_of(BRADLEY_TERRY, rows, alpha=found.alpha)


BRADLEY_TERRY: tuple[Column[_Row], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column(
        "score",
        float,
        "On the scale of Elo ratings, their mean 1000: 400 points are odds of ten to one",
        heading=N_("Bradley-Terry"),
        text=".0f",
    ),
    Column(
        "low",
        float,
        "Lower bound of the score, by a bootstrap",
        heading=LEVEL,
        text=lambda row: span(row["low"], row["high"], ".0f"),
        by="score",
    ),
    Column("high", float, "Upper bound of the score"),
)
