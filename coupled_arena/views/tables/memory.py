"""Models of a board with the memory that their weights take, as a table."""

from __future__ import annotations

from typing import Any

from coupled_arena.analysis.leaderboard.memory import SizedModel, against_memory
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.core.language import N_, _, number
from coupled_arena.views.markup import UNKNOWN
from coupled_arena.views.model_sizes import memory_words
from coupled_arena.views.tables.table import LEVEL, Column, Table, span, table_of
from coupled_arena.views.words.names import rank_range


def _of_place(name: str) -> Any:
    return lambda row: getattr(row.place, name)


def _of_size(name: str) -> Any:
    return lambda row: getattr(row.size, name)


def _standing(row: SizedModel) -> str:
    """Return what is sure of a model beside those that take no more memory."""
    if row.behind:
        return _("another is better and no larger")
    return _("no model as small is as good") if row.front else ""


BOARD_MEMORY: tuple[Column[SizedModel], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column(
        "win_rate",
        float,
        "Its win rate, as in `models`",
        _of_place("win_rate"),
        N_("Win rate"),
        lambda row: number(row.place.likely_rate, ".1%"),
        strong=True,
    ),
    Column(
        "low",
        float,
        "Lower bound of the win rate's interval",
        _of_place("low"),
        LEVEL,
        lambda row: span(row.place.low, row.place.high, ".1%"),
        by="win_rate",
    ),
    Column("high", float, "Upper bound of the win rate's interval", _of_place("high")),
    Column(
        "rank_low",
        int,
        "Best rank still possible, as in `models`",
        _of_place("rank_low"),
        N_("Rank"),
        lambda row: rank_range(row.place),
    ),
    Column("rank_high", int, "Worst rank still possible", _of_place("rank_high")),
    Column("weights", int, "How many weights it has", _of_size("weights"), N_("Weights")),
    Column(
        "bytes_per_weight",
        float,
        "Bytes of all tensors as loaded, for each weight",
        _of_size("bytes_per_weight"),
        N_("Bytes per weight"),
        ".2f",
    ),
    Column(
        "memory",
        float,
        "Bytes of all tensors as loaded",
        _of_size("memory"),
        N_("Memory"),
        lambda row: UNKNOWN if row.size.memory is None else memory_words(row.size.memory),
    ),
    Column(
        "front",
        bool,
        "Whether it is surely better than every other model that takes no more memory",
        heading=N_("For its size"),
        text=_standing,
    ),
    Column("behind", bool, "Whether another model is surely better and takes no more memory"),
)


def memory_table(board: Leaderboard) -> Table[SizedModel]:
    """Return a row for each model with a known size, best first; none of fewer than two."""
    found = against_memory(board)
    made = table_of(BOARD_MEMORY, found.models if found else (), alpha=board.alpha)
    if found is None or found.unit == "memory":
        return made
    return made.without("weights", "memory")
