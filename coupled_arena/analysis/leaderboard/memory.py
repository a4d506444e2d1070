"""A board beside the memory that its models take: which of them another one surely beats.

Nothing is said of two models unless rank-sets and intervals both tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coupled_arena.analysis.leaderboard.result import Leaderboard, Standing
from coupled_arena.analysis.model_sizes import ModelSize

Unit = Literal["memory", "bytes_per_weight"]


@dataclass(frozen=True)
class SizedModel:
    """A model of a board with its size.

    Attributes
    ----------
    large : float
        Its size in the unit that all models of the comparison share.
    front : bool
        Whether it is surely better than every other model that takes no more memory.
    behind : bool
        Whether such a model is surely better.
    """

    model: str
    place: Standing
    size: ModelSize
    large: float
    front: bool = False
    behind: bool = False


@dataclass(frozen=True)
class QualityAgainstMemory:
    """Models with a known size, in the order of the board.

    Attributes
    ----------
    unit : {"memory", "bytes_per_weight"}
        Bytes of all weights. Or bytes per weight, where the number of weights is not stored and
        all models are made from the same weights.
    unknown : tuple of str
        Models with a place on the board and without a size in this unit.
    """

    unit: Unit
    models: tuple[SizedModel, ...]
    unknown: tuple[str, ...]


def with_sizes(
    board: Leaderboard, read: Callable[[Sequence[str]], Mapping[str, ModelSize]]
) -> Leaderboard:
    """Return a board with what is known of the sizes of its models.

    Parameters
    ----------
    read : callable
        As `coupled_arena.analysis.model_sizes.read_sizes` of a store.
    """
    models = [row.model for row in board.standings if row.place]
    return replace(board, model_sizes=read(models)) if models else board


def against_memory(board: Leaderboard) -> QualityAgainstMemory | None:
    """Return the models of a board with their sizes; None of fewer than two that have one."""
    placed = [(row.model, row.place) for row in board.standings if row.place]
    known = [
        (model, place, board.model_sizes[model])
        for model, place in placed
        if model in board.model_sizes
    ]
    unit = _unit([size for _, _, size in known])
    if unit is None:
        return None
    rows = [
        SizedModel(model, place, size, large)
        for model, place, size in known
        if (large := getattr(size, unit)) is not None
    ]
    named = {row.model for row in rows}
    return QualityAgainstMemory(
        unit,
        tuple(
            replace(row, front=_is_front(row, rows), behind=_is_behind(row, rows)) for row in rows
        ),
        tuple(model for model, _ in placed if model not in named),
    )


def _unit(sizes: Sequence[ModelSize]) -> Unit | None:
    """Return what at least two sizes can be compared by, if anything."""
    if sum(size.memory is not None for size in sizes) > 1:
        return "memory"
    packed = [size.source for size in sizes if size.bytes_per_weight is not None]
    alike = len(packed) > 1 and len(set(packed)) == 1 and packed[0] != ""
    return "bytes_per_weight" if alike else None


def _is_front(row: SizedModel, rows: Sequence[SizedModel]) -> bool:
    return all(
        _surely_better(row, other)
        for other in rows
        if other is not row and other.large <= row.large
    )


def _is_behind(row: SizedModel, rows: Sequence[SizedModel]) -> bool:
    return any(other.large <= row.large and _surely_better(other, row) for other in rows)


def _surely_better(row: SizedModel, other: SizedModel) -> bool:
    """Tell whether a model ranks before another one, by rank-sets and by intervals."""
    return row.place.rank_high < other.place.rank_low and row.place.low > other.place.high
