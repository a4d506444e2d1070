"""Votes and verdicts as one model sees them: won, lost, tied."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.influence import Influence

WIN = np.array([1.0, 0.0, 0.0])
"""s of a comparison that a model won, lost or tied."""

_VIEWS = np.array([[0, 1, 2, 2], [1, 0, 2, 2]])
"""Outcome of a comparison -> win, loss or tie of the model shown first, and of the other."""


class Ties(StrEnum):
    """What becomes of a comparison that people or the judge call a tie."""

    LOSS = "loss"  # it is kept: a win for neither model
    DROP = "drop"  # it is left out

    @property
    def labelled(self) -> FloatArray:
        """Shape (3, 3): 1 where a vote (win, loss, tie) with such a verdict is kept, else 0."""
        return np.outer(self.verdicts, self.verdicts)

    @property
    def verdicts(self) -> FloatArray:
        """Shape (3,): 1 where a verdict (win, loss, tie) is kept, else 0."""
        return np.array([1.0, 1.0, 1.0 if self is Ties.LOSS else 0.0])


@dataclass(frozen=True, eq=False)
class ModelCounts:
    """Each model's comparisons, as it sees them: won, lost, tied.

    Attributes
    ----------
    models : tuple of str
        Names of the k models.
    labelled : ndarray of int64, shape (k, 3, 3)
        ``[m, h, g]``: comparisons of model m that people and the judge say this of.
    unlabelled : ndarray of int64, shape (k, 3)
        ``[m, g]``: comparisons that only the judge has said something of.
    """

    models: tuple[str, ...]
    labelled: IntArray
    unlabelled: IntArray

    @classmethod
    def of(cls, counts: JudgedCounts) -> ModelCounts:
        """Return what comparisons of pairs are to each model."""
        k = len(counts.models)
        labelled = np.zeros((k, 3, 3), dtype=np.int64)
        unlabelled = np.zeros((k, 3), dtype=np.int64)
        for opponents, view in zip((1, 0), _VIEWS, strict=True):
            seen = np.eye(3, dtype=np.int64)[view]  # (outcome, what it is to the model)
            labelled += seen.T @ counts.labelled.sum(opponents) @ seen
            unlabelled += counts.unlabelled.sum(opponents) @ seen
        return cls(counts.models, labelled, unlabelled)


def influence(labelled: FloatArray, unlabelled: FloatArray) -> Influence:
    """Return per pair of models what each model's comparisons add to a number of its own.

    Parameters
    ----------
    labelled : ndarray of float64, shape (k, 3, 3)
        As `ModelCounts`: what one comparison adds.
    unlabelled : ndarray of float64, shape (k, 3)
    """
    first, other = (labelled[:, view[:, None], view[None, :]] for view in _VIEWS)
    alone, alone_other = (unlabelled[:, view] for view in _VIEWS)
    both = np.broadcast_arrays(first[:, None], other[None, :])
    single = np.broadcast_arrays(alone[:, None], alone_other[None, :])
    return Influence(np.stack(both, axis=-1), np.stack(single, axis=-1))


def ratio(part: FloatArray | IntArray, whole: FloatArray | IntArray) -> FloatArray:
    """Return part / whole, NaN where there is no whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole == 0, np.nan, part / whole)
