"""Votes as counts: all that the statistics need to know of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.records import Outcome
from coupled_arena.core.verdicts import ABSTAINED_CODE, MIXED_CODES, MOST_JUDGES

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

OUTCOMES = tuple(Outcome)
"""The last axis of the counts: first, second, tie, both bad."""

_FIRST, _SECOND, _TIE, _BOTH_BAD = (OUTCOMES.index(outcome) for outcome in Outcome)


@dataclass(frozen=True, eq=False)
class PairCounts:
    """How often each outcome happened to each ordered pair of models.

    The order of presentation is kept in `counts`; `wins`, `ties`, `both_bad` and `comparisons`
    forget it. They also leave out a model against itself, which has a winner by chance alone.

    Attributes
    ----------
    models : tuple of str
        Names of the k models.
    counts : ndarray of int64, shape (k, k, 4)
        ``counts[a, b, o]`` battles with model a shown before model b ended in ``OUTCOMES[o]``.
        The array is copied and cannot be written to.

    Raises
    ------
    ValueError
        A name is repeated, the shape does not fit the names, or a count is negative.
    TypeError
        The counts are not integers.
    """

    models: tuple[str, ...]
    counts: IntArray

    def __post_init__(self) -> None:
        counts = np.array(self.counts).astype(np.int64, casting="safe")
        k = len(self.models)
        if len(set(self.models)) < k:
            raise ValueError(f"A model is named twice in {self.models}.")
        if counts.shape != (k, k, len(OUTCOMES)):
            raise ValueError(f"Counts of {k} models cannot have the shape {counts.shape}.")
        if (counts < 0).any():
            raise ValueError("Counts cannot be negative.")
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    @classmethod
    def from_rows(
        cls, rows: Iterable[tuple[str, str, str, int]], models: Sequence[str] | None = None
    ) -> Self:
        """Add up rows of (model shown first, model shown second, outcome, number).

        Parameters
        ----------
        rows : iterable of (str, str, str, int)
            In any order; rows of the same pair and outcome are added.
        models : sequence of str, optional
            The models and their order; by default those in the rows, sorted.

        Raises
        ------
        ValueError
            An outcome is none of `OUTCOMES`, or a count is negative.
        KeyError
            A row names a model that is not in `models`.
        """
        rows = list(rows)
        if models is None:
            models = sorted(set(chain.from_iterable(row[:2] for row in rows)))
        index = {model: place for place, model in enumerate(models)}
        counts = np.zeros((len(models), len(models), len(OUTCOMES)), dtype=np.int64)
        for first, second, outcome, n in rows:
            counts[index[first], index[second], OUTCOMES.index(Outcome(outcome))] += n
        return cls(tuple(models), counts)

    def __add__(self, other: PairCounts) -> PairCounts:
        """Return the counts of both, which must be of the same models in the same order."""
        if self.models != other.models:
            raise ValueError("Only counts of the same models can be added.")
        return PairCounts(self.models, self.counts + other.counts)

    @property
    def wins(self) -> IntArray:
        """Shape (k, k): how often the model of the row beat the model of the column."""
        return _without_diagonal(self.counts[..., _FIRST] + self.counts[..., _SECOND].T)

    @property
    def ties(self) -> IntArray:
        """Shape (k, k), symmetric: ties, without those where both were bad."""
        return _without_diagonal(self.counts[..., _TIE] + self.counts[..., _TIE].T)

    @property
    def both_bad(self) -> IntArray:
        """Shape (k, k), symmetric: how often both were found bad."""
        return _without_diagonal(self.counts[..., _BOTH_BAD] + self.counts[..., _BOTH_BAD].T)

    @property
    def comparisons(self) -> IntArray:
        """Shape (k, k), symmetric: how often the two were compared, however it ended."""
        total: IntArray = self.counts.sum(axis=2)
        return _without_diagonal(total + total.T)

    @property
    def compared(self) -> tuple[str, ...]:
        """The models that were compared with another one."""
        sizes = self.comparisons.sum(axis=1).tolist()
        return tuple(model for model, n in zip(self.models, sizes, strict=True) if n)


def _without_diagonal(matrix: IntArray) -> IntArray:
    return matrix * ~np.eye(len(matrix), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class JudgedCounts:
    """Votes and the verdicts of one judge or several on the same comparisons, and verdicts alone.

    The verdicts of several judges on a comparison are one code: digits to the base of 4, the first
    judge's first. One judge may have the codes of `MIXED_CODES`: counts of these are real numbers.
    Where votes lack a verdict, one more code says so: see `with_silent`.

    Attributes
    ----------
    models : tuple of str
        Names of the k models.
    labelled : ndarray of int64, shape (k, k, 4, codes)
        ``labelled[a, b, h, g]`` comparisons with model a shown before model b have the vote
        ``OUTCOMES[h]`` and of one judge the verdict ``OUTCOMES[g]``. There are 4**judges codes,
        and one more for votes without a verdict.
    unlabelled : ndarray of int64, shape (k, k, codes)
        ``unlabelled[a, b, g]`` comparisons have that verdict and no vote.

    Raises
    ------
    ValueError
        As `PairCounts`.
    """

    models: tuple[str, ...]
    labelled: IntArray
    unlabelled: IntArray

    def __post_init__(self) -> None:
        k, outcomes = len(self.models), len(OUTCOMES)
        codes = MIXED_CODES if self.mixed else outcomes**self.judges + self.has_silent
        for counts, shape in (
            (self.labelled, (k, k, outcomes, codes)),
            (self.unlabelled, (k, k, codes)),
        ):
            if counts.shape != shape:
                raise ValueError(f"Counts of {k} models cannot have the shape {counts.shape}.")
        if not self.mixed and (self.unlabelled < 0).any():
            raise ValueError("Counts cannot be negative.")
        if self.has_silent and self.unlabelled[..., -1].any():
            raise ValueError("A comparison without a vote has a verdict.")
        # A model against itself has a winner by chance alone.
        apart = ~np.eye(k, dtype=np.bool_)
        object.__setattr__(self, "labelled", self.labelled * apart[..., None, None])
        counted: IntArray = self.unlabelled
        if not self.mixed:
            counted = counted.astype(np.int64, casting="safe")
        unlabelled = counted * apart[..., None]
        object.__setattr__(self, "unlabelled", unlabelled)
        _ = self.votes  # checks the names and signs

    @classmethod
    def without_judge(cls, votes: PairCounts) -> JudgedCounts:
        """Return votes beside a judge who calls everything a tie, and so says nothing."""
        labelled = np.zeros((*votes.counts.shape, len(OUTCOMES)), dtype=np.int64)
        labelled[..., _TIE] = votes.counts
        return cls(votes.models, labelled, np.zeros_like(votes.counts))

    @property
    def judges(self) -> int:
        """How many judges the verdicts are of, 3 at most."""
        codes = self.labelled.shape[-1] if self.labelled.ndim and not self.mixed else 0
        return next((j for j in range(1, MOST_JUDGES + 1) if len(OUTCOMES) ** j + 1 >= codes), 1)

    @property
    def has_silent(self) -> bool:
        """Whether the last code is that of votes without a verdict."""
        return not self.mixed and self.labelled.shape[-1] == len(OUTCOMES) ** self.judges + 1

    @property
    def mixed(self) -> bool:
        """Whether the verdicts are those of `MIXED_CODES`."""
        return self.labelled.ndim > 0 and self.labelled.shape[-1] == MIXED_CODES

    @property
    def spoken(self) -> FloatArray:
        """Shape (codes,): 1 where the judge says anything, 0 where it abstained or is silent."""
        said = np.ones(self.labelled.shape[-1])
        if self.mixed:
            said[ABSTAINED_CODE] = 0
        elif self.has_silent:
            said[-1] = 0
        return said

    def with_silent(self, votes: IntArray) -> JudgedCounts:
        """Return the counts with the votes that have no verdict, so that none is dropped.

        Parameters
        ----------
        votes : ndarray of int64, shape (k, k, 4)
            All votes, those with a verdict included.
        """
        silent: IntArray = votes - whole_counts(self.labelled.sum(3))
        silent = silent * ~np.eye(len(self.models), dtype=np.bool_)[..., None]
        if not silent.any():
            return self
        if self.mixed:  # as good as abstained
            labelled = self.labelled.copy()
            labelled[..., ABSTAINED_CODE] += silent
            return JudgedCounts(self.models, labelled, self.unlabelled)
        labelled = np.concatenate([self.labelled, silent[..., None]], axis=-1)
        nobody = np.zeros_like(self.unlabelled[..., :1])
        return JudgedCounts(self.models, labelled, np.concatenate([self.unlabelled, nobody], -1))

    @property
    def heard(self) -> JudgedCounts:
        """The counts without the votes on which the judge says nothing."""
        if not (self.mixed or self.has_silent):
            return self
        labelled: IntArray = np.where(self.spoken > 0, self.labelled, 0)
        unlabelled = self.unlabelled
        if self.has_silent:
            labelled, unlabelled = self.labelled[..., :-1], unlabelled[..., :-1]
        return JudgedCounts(self.models, labelled, unlabelled)

    @property
    def votes(self) -> PairCounts:
        """The votes, with a verdict or without."""
        return PairCounts(self.models, whole_counts(self.labelled.sum(3)))

    @property
    def alone(self) -> IntArray:
        """Shape (k, k): comparisons with a verdict alone."""
        return whole_counts(self.unlabelled.sum(2))

    @property
    def verdicts(self) -> PairCounts:
        """All verdicts, with and without a vote; of several judges the first one's."""
        codes: IntArray = self.labelled.sum(2) + self.unlabelled
        others = len(OUTCOMES) ** (self.judges - 1)
        codes = codes[..., : others * len(OUTCOMES)]
        first = codes.reshape(*codes.shape[:2], len(OUTCOMES), others).sum(3)
        return PairCounts(self.models, first)

    @property
    def with_both(self) -> JudgedCounts:
        """The counts of the models that have a vote here."""
        return self.of(self.votes.compared)

    def of(self, models: Sequence[str]) -> JudgedCounts:
        """Return the counts of some of the models, in this order."""
        index = [self.models.index(model) for model in models]
        square = np.ix_(index, index)
        return JudgedCounts(tuple(models), self.labelled[square], self.unlabelled[square])


def whole_counts(counts: IntArray) -> IntArray:
    """Return sums of mixed counts as the whole numbers that they are but for rounding."""
    return np.rint(counts).astype(np.int64)
