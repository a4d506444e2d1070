"""Comparisons that come in clusters, such as the pairs of rankings that share a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.influence import Influence


@dataclass(frozen=True, eq=False)
class Rankings:
    """Comparisons that come in clusters, one entry each.

    Attributes
    ----------
    models : tuple of str
    prompt, first, second, vote, verdict : ndarray of int64, shape (n,)
        The cluster; the models shown first and second; codes as in `OUTCOMES`.
    shown : ndarray of bool, shape (n,)
        Whether the vote is known.
    """

    models: tuple[str, ...]
    prompt: IntArray
    first: IntArray
    second: IntArray
    vote: IntArray
    verdict: IntArray
    shown: NDArray[np.bool_]

    @classmethod
    def apart(cls, counts: JudgedCounts) -> Self:
        """Return the comparisons behind counts, each in a cluster of its own."""
        full = np.concatenate([counts.labelled, counts.unlabelled[..., None, :]], axis=2)
        first, second, vote, verdict = np.nonzero(full)
        times = full[first, second, vote, verdict]
        first, second, vote, verdict = (np.repeat(x, times) for x in (first, second, vote, verdict))
        shown = vote < len(OUTCOMES)
        vote = np.where(shown, vote, 0)
        return cls(counts.models, np.arange(len(shown)), first, second, vote, verdict, shown)

    def of(self, models: Sequence[str]) -> Rankings:
        """Return the comparisons between some of the models, in this order."""
        place = np.full(len(self.models), -1)
        place[[self.models.index(model) for model in models]] = np.arange(len(models))
        first, second = place[self.first], place[self.second]
        kept = (first >= 0) & (second >= 0)
        vote, verdict, shown = self.vote[kept], self.verdict[kept], self.shown[kept]
        return Rankings(
            tuple(models), self.prompt[kept], first[kept], second[kept], vote, verdict, shown
        )

    @property
    def clusters(self) -> int:
        """How many clusters have a comparison with a vote."""
        return len(np.unique(self.prompt[self.shown]))

    def counts(self) -> JudgedCounts:
        """Return how many there are of each kind."""
        k, outcomes = len(self.models), len(OUTCOMES)
        labelled = np.zeros((k, k, outcomes, outcomes), dtype=np.int64)
        unlabelled = np.zeros((k, k, outcomes), dtype=np.int64)
        a, b, h, g = (x[self.shown] for x in (self.first, self.second, self.vote, self.verdict))
        np.add.at(labelled, (a, b, h, g), 1)
        a, b, g = (x[~self.shown] for x in (self.first, self.second, self.verdict))
        np.add.at(unlabelled, (a, b, g), 1)
        return JudgedCounts(self.models, labelled, unlabelled)

    def gram(self, influence: Influence) -> FloatArray:
        """Return the sum over clusters of s sᵀ, s being what the cluster adds to the error.

        Parameters
        ----------
        influence : Influence
            Of an estimate of all the models.

        Returns
        -------
        ndarray of float64, shape (k, k)
        """
        k = len(self.models)
        known = influence.labelled[self.first, self.second, self.vote, self.verdict]
        alone = influence.unlabelled[self.first, self.second, self.verdict]
        added = np.where(self.shown[:, None], known, alone)
        cells = np.concatenate([self.prompt * k + self.first, self.prompt * k + self.second])
        clusters = int(self.prompt.max()) + 1
        sums = np.bincount(cells, added.T.ravel(), clusters * k).reshape(-1, k)
        return np.asarray(sums.T @ sums, dtype=np.float64)
