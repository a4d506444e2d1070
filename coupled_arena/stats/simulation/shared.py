"""Comparisons with a vote on which each of several judges has a verdict.

An experiment draws them at random and shows the same ones to every judge, so that what differs
between the judges' rankings is the judges' doing. `stats.ranking.judges_together` is for something
else: one ranking, with several judges' help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coupled_arena.stats.counts import OUTCOMES, IntArray, JudgedCounts, PairCounts


@dataclass(frozen=True, eq=False)
class SharedComparisons:
    """How often each outcome happened, by what people and all judges said.

    Attributes
    ----------
    models : tuple of str
        Names of the k models.
    judges : tuple of str
        However many.
    labelled : ndarray of int64, shape (k, k, 4, codes)
        ``labelled[a, b, h, c]`` comparisons with model a shown before model b have the vote
        ``OUTCOMES[h]``, and the verdicts that the code c stands for.
    said : ndarray of int64, shape (judges, codes)
        The outcome, by its place in `OUTCOMES`, that each judge gave where a code stands.

    Raises
    ------
    ValueError
        The shapes do not fit.
    """

    models: tuple[str, ...]
    judges: tuple[str, ...]
    labelled: IntArray
    said: IntArray

    def __post_init__(self) -> None:
        k, codes = len(self.models), self.said.shape[1]
        if self.labelled.shape != (k, k, len(OUTCOMES), codes) or len(self.said) != len(
            self.judges
        ):
            raise ValueError(
                f"Counts of {k} models and {len(self.judges)} judges cannot have the shapes "
                f"{self.labelled.shape} and {self.said.shape}."
            )

    @classmethod
    def of_one(cls, counts: JudgedCounts, judge: str = "") -> SharedComparisons:
        """Return what one judge's counts have of them."""
        said = np.arange(len(OUTCOMES), dtype=np.int64)[None]
        return cls(counts.models, (judge,), counts.labelled, said)

    @property
    def votes(self) -> PairCounts:
        """The votes on them."""
        return PairCounts(self.models, self.labelled.sum(3))

    def of(self, models: Sequence[str]) -> SharedComparisons:
        """Return those between some of the models, in this order."""
        index = [self.models.index(model) for model in models]
        labelled = self.labelled[np.ix_(index, index)]
        return SharedComparisons(tuple(models), self.judges, labelled, self.said)

    def by(self, judge: int, cells: IntArray) -> IntArray:
        """Return what one of the judges said of some of them.

        Parameters
        ----------
        judge : int
            Its place in `judges`.
        cells : ndarray of int64, shape (k, k, 4, codes)

        Returns
        -------
        ndarray of int64, shape (k, k, 4, 4)
            As in `JudgedCounts.labelled`.
        """
        return cells @ self._outcomes[judge]

    @cached_property
    def _outcomes(self) -> IntArray:
        """Shape (judges, codes, 4): 1 at the outcome that a judge gave where a code stands."""
        return np.eye(len(OUTCOMES), dtype=np.int64)[self.said]
