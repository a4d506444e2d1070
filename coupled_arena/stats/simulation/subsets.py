"""Random subsets of comparisons on which each of several judges has a verdict beside the vote.

An experiment draws the same comparisons for every judge, so a difference between rankings comes
from the judges alone. Draws come from counts, without a look at a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np

from coupled_arena.core.language import _
from coupled_arena.stats.counts import OUTCOMES, IntArray, JudgedCounts, PairCounts


@dataclass(frozen=True, eq=False)
class SharedComparisons:
    """How often each outcome happened, by people's votes and all judges' verdicts.

    Attributes
    ----------
    models : tuple of str
        Names of the k models.
    judges : tuple of str
        However many.
    labelled : ndarray of int64, shape (k, k, 4, codes)
        ``labelled[a, b, h, c]`` comparisons with model a shown before model b have the vote
        ``OUTCOMES[h]``, and the verdicts that the code c stands for.
    verdicts : ndarray of int64, shape (judges, codes)
        For each code, the outcome of each judge, by its place in `OUTCOMES`.

    Raises
    ------
    ValueError
        The shapes do not fit.
    """

    models: tuple[str, ...]
    judges: tuple[str, ...]
    labelled: IntArray
    verdicts: IntArray

    def __post_init__(self) -> None:
        k, codes = len(self.models), self.verdicts.shape[1]
        if self.labelled.shape != (k, k, len(OUTCOMES), codes) or len(self.verdicts) != len(
            self.judges
        ):
            raise ValueError(
                f"Counts of {k} models and {len(self.judges)} judges cannot have the shapes "
                f"{self.labelled.shape} and {self.verdicts.shape}."
            )

    @classmethod
    def of_one(cls, counts: JudgedCounts, judge: str = "") -> SharedComparisons:
        """Return the comparisons of one judge's counts."""
        verdicts = np.arange(len(OUTCOMES), dtype=np.int64)[None]
        return cls(counts.models, (judge,), counts.labelled, verdicts)

    @property
    def votes(self) -> PairCounts:
        """The votes on these comparisons."""
        return PairCounts(self.models, self.labelled.sum(3))

    def of(self, models: Sequence[str]) -> SharedComparisons:
        """Return those between some of the models, in this order."""
        index = [self.models.index(model) for model in models]
        labelled = self.labelled[np.ix_(index, index)]
        return SharedComparisons(tuple(models), self.judges, labelled, self.verdicts)

    def by(self, judge: int, cells: IntArray) -> IntArray:
        """Return some comparisons by the verdicts of one judge.

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
        return np.eye(len(OUTCOMES), dtype=np.int64)[self.verdicts]


Judged = JudgedCounts | SharedComparisons


@dataclass(frozen=True, eq=False)
class Subsets:
    """Comparisons with a vote and a verdict, to draw from without replacement.

    Attributes
    ----------
    labelled : ndarray of int64, shape (k, k, 4, codes)
        As in `JudgedCounts` or `SharedComparisons`.
    groups : tuple of ndarray of int64
        Indices into the flat counts: each group gets the same part of every draw.
    """

    models: tuple[str, ...]
    labelled: IntArray
    groups: tuple[IntArray, ...]

    @classmethod
    def of(cls, counts: Judged, sizes: Sequence[int], *, balanced: bool) -> Self:
        """Prepare draws of several sizes, the largest one first.

        Parameters
        ----------
        counts : JudgedCounts or SharedComparisons
        sizes : sequence of int
            Later ones are drawn from what the first one drew.
        balanced : bool
            The same number in every pair, whichever is shown first; otherwise as they fall.

        Raises
        ------
        ValueError
            There are too few comparisons, or a size does not divide by the pairs of a balanced
            draw.
        """
        labelled = counts.labelled
        if not labelled.any():
            raise ValueError(_("There are no comparisons that have both a vote and a verdict."))
        if (there := int(labelled.sum())) < sizes[0]:
            text = _(
                "Only {there} comparisons have both a vote and a verdict: {wanted} cannot be "
                "drawn from them."
            )
            raise ValueError(text.format(there=there, wanted=sizes[0]))
        index = np.arange(labelled.size).reshape(labelled.shape)
        if not balanced:
            return cls(counts.models, labelled, (index.ravel(),))
        _check_pairs(counts, sizes)
        groups = tuple(
            np.concatenate([index[a, b].ravel(), index[b, a].ravel()])
            for a, b in combinations(range(len(counts.models)), 2)
        )
        return cls(counts.models, labelled, groups)

    def draw(self, rng: np.random.Generator, cells: IntArray, n: int) -> IntArray:
        """Draw n comparisons from `cells`, which has the shape of `labelled`."""
        flat, drawn = cells.ravel(), np.zeros(cells.size, dtype=np.int64)
        for group in self.groups:
            drawn[group] = rng.multivariate_hypergeometric(
                flat[group], n // len(self.groups), method="marginals"
            )
        return drawn.reshape(cells.shape)


@dataclass(frozen=True)
class Sizes:
    """How many comparisons to draw, and how many of them keep their vote."""

    total: int
    human: int
    balanced: bool


def fitting_sizes(
    counts: Judged, *, balanced: bool | None = None, total: int | None = None
) -> Sizes:
    """Return sizes that there are comparisons for: four fifths, of which one in five is kept.

    In a balanced draw five of each pair are kept where there are ten, for the sake of
    `coupled_arena.stats.ranking.estimates.MINIMUM_PER_PAIR`.

    Parameters
    ----------
    balanced : bool, optional
        The same number in every pair; by default wherever each pair has two.
    total : int, optional
        How many to draw, if that is decided.

    Raises
    ------
    ValueError
        No comparison has both a vote and a verdict, or some pair has none of a balanced draw.
    """
    met = counts.votes.comparisons[np.triu_indices(len(counts.models), 1)]
    if not met.any():
        raise ValueError(_("There are no comparisons that have both a vote and a verdict."))
    least = int(met.min())
    if balanced is None:
        balanced = least >= 2
    if balanced and not least:
        raise ValueError(_("Some of the models never met: a balanced draw needs every pair."))
    groups, there = (len(met), least) if balanced else (1, int(met.sum()))
    drawn = max(there * 4 // 5, 1) if total is None else max(total // groups, 1)
    kept = max(drawn // 5, min(5, drawn // 2), 1)
    return Sizes(groups * drawn if total is None else total, groups * kept, balanced)


def _check_pairs(counts: Judged, sizes: Sequence[int]) -> None:
    first, second = np.triu_indices(len(counts.models), 1)
    for n in sizes:
        if n % len(first):
            text = _("{n} comparisons cannot be the same number in each of {pairs} pairs.")
            raise ValueError(text.format(n=n, pairs=len(first)))
    met = counts.labelled.sum((2, 3))
    there = (met + met.T)[first, second]
    wanted, least = sizes[0] // len(first), int(there.argmin())
    if there[least] < wanted:
        text = _(
            "A balanced draw needs {wanted} comparisons in every pair, but {first} and "
            "{second} have only {there}."
        )
        pair = [counts.models[int(places[least])] for places in (first, second)]
        raise ValueError(
            text.format(wanted=wanted, first=pair[0], second=pair[1], there=there[least])
        )
