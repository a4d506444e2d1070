"""Samples of votes and verdicts, as each model sees them: won, lost, tied.

A `Sample` holds comparisons of pairs (`Compared`), or single answers with a known truth
(`GradedAnswers`). It says nothing of a judge's worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import Ties
from coupled_arena.stats.counts import FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.influence import Influence

WIN = np.array([1.0, 0.0, 0.0])
"""s of a comparison that a model won, lost or tied."""

_VIEWS = np.array([[0, 1, 2, 2], [1, 0, 2, 2]])
"""Outcome of a comparison -> win, loss or tie of the model shown first, and of the other."""

_MIXED_VIEWS = np.array([[0, 1, 2, 2, 3, 4, 5, 6], [1, 0, 2, 2, 3, 5, 4, 6]])
"""The same of `MIXED_CODES`: after these three win or loss, win or tie, loss or tie; abstained."""

MIXED_WIN = np.array([1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0])
MIXED_SPOKEN = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0])


def kept_verdicts(ties: Ties) -> FloatArray:
    """Return what is kept, shape (3,): 1 for a verdict (win, loss, tie) that counts, else 0."""
    return np.array([1.0, 1.0, 1.0 if ties is Ties.LOSS else 0.0])


def kept_pairs(ties: Ties) -> FloatArray:
    """Return what is kept of a vote (win, loss, tie) with such a verdict, shape (3, 3)."""
    return np.outer(kept_verdicts(ties), kept_verdicts(ties))


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
        ``[m, g]``: comparisons with a verdict alone. Both have seven codes of verdicts, and real
        numbers, where those are mixed.
    """

    models: tuple[str, ...]
    labelled: IntArray
    unlabelled: IntArray

    @classmethod
    def of(cls, counts: JudgedCounts) -> ModelCounts:
        """Return what comparisons of pairs are to each model."""
        k, codes = len(counts.models), len(MIXED_WIN) if counts.mixed else 3
        kind = np.float64 if counts.mixed else np.int64
        labelled: Any = np.zeros((k, 3, codes), dtype=kind)
        unlabelled: Any = np.zeros((k, codes), dtype=kind)
        for opponents, view, verdicts in zip((1, 0), _VIEWS, _views(codes), strict=True):
            seen = np.eye(3, dtype=np.int64)[view]  # (outcome, what it is to the model)
            verdict = np.eye(codes, dtype=np.int64)[verdicts]
            labelled += seen.T @ counts.labelled.sum(opponents) @ verdict
            unlabelled += counts.unlabelled.sum(opponents) @ verdict
        return cls(counts.models, labelled, unlabelled)

    @property
    def mixed(self) -> bool:
        """Whether verdicts are mixed."""
        return self.unlabelled.shape[-1] == len(MIXED_WIN)


def _views(codes: int) -> IntArray:
    return _VIEWS if codes == 3 else _MIXED_VIEWS


@dataclass(frozen=True, eq=False)
class OwnInfluence:
    """What a comparison adds to a number of each model's own, by what it is to the model.

    Attributes
    ----------
    labelled : ndarray of float64, shape (k, 3, 3)
        As in `ModelCounts`.
    unlabelled : ndarray of float64, shape (k, 3)
    """

    labelled: FloatArray
    unlabelled: FloatArray

    @property
    def of_pairs(self) -> Influence:
        """What a comparison of a pair adds, for both of its models."""
        verdicts = _views(self.unlabelled.shape[-1])
        first, other = (
            self.labelled[:, view[:, None], verdict[None, :]]
            for view, verdict in zip(_VIEWS, verdicts, strict=True)
        )
        alone, alone_other = (self.unlabelled[:, verdict] for verdict in verdicts)
        both = np.broadcast_arrays(first[:, None], other[None, :])
        single = np.broadcast_arrays(alone[:, None], alone_other[None, :])
        return Influence(np.stack(both, axis=-1), np.stack(single, axis=-1))


class Sample(Protocol):
    """What a judge and the truth say of k models, and which of it varies together."""

    @property
    def own(self) -> ModelCounts:
        """Each model's share of it."""
        ...

    @property
    def size(self) -> int:
        """How many parts of it, with both labels, do not depend on each other."""
        ...

    def gram(self, one: OwnInfluence, other: OwnInfluence) -> FloatArray:
        """Return the sum over these parts of s tᵀ, shape (k, k): what they add to two numbers."""
        ...


@dataclass(frozen=True, eq=False)
class Compared:
    """Comparisons of pairs as a `Sample`: none depends on another one."""

    counts: JudgedCounts

    @property
    def own(self) -> ModelCounts:
        """Each model's comparisons."""
        return ModelCounts.of(self.counts)

    @property
    def size(self) -> int:
        """Comparisons with both labels."""
        return int(self.counts.votes.counts.sum())

    def gram(self, one: OwnInfluence, other: OwnInfluence) -> FloatArray:
        """Return the covariance of two numbers, shape (k, k)."""
        return one.of_pairs.gram(self.counts, other.of_pairs)


def ratio(part: FloatArray | IntArray, whole: FloatArray | IntArray) -> FloatArray:
    """Return part / whole, NaN where there is no whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole == 0, np.nan, part / whole)


UNKNOWN = -1
"""Stands for the truth of an answer that only the judge has graded."""


@dataclass(frozen=True, eq=False)
class GradedAnswers:
    """Answers of k models to a benchmark, each graded by one judge.

    All arrays have a number for each answer. Answers in one battle depend on each other, for they
    share noise; and so do all answers to one prompt.

    Attributes
    ----------
    model, battle, prompt : ndarray of int64, shape (n,)
        The model, battle and prompt of each answer; battles and prompts by any numbers.
    right : ndarray of int64, shape (n,)
        1 where it is right, 0 where it is wrong, `UNKNOWN` where the judge alone says anything.
    called_right : ndarray of int64, shape (n,)
        1 where the judge says that it is right, else 0.
    probability : ndarray of float64, shape (n,), or None
        The judge's probability that the answer is right; None without probabilities.
    judge_knows : ndarray of int64, shape (n,), or None
        1 where the judge's own answer to the prompt is right, else 0; None of a judge that reads
        answers and gives none.
    """

    models: tuple[str, ...]
    model: IntArray
    battle: IntArray
    prompt: IntArray
    right: IntArray
    called_right: IntArray
    probability: FloatArray | None = None
    judge_knows: IntArray | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether anybody knows if an answer is right, shape (n,)."""
        return self.right != UNKNOWN

    @property
    def own(self) -> ModelCounts:
        """Each model's answers: right is a win, wrong a loss."""
        k, (right, called), known = len(self.models), self._kinds, self.known
        labelled = np.zeros((k, 3, 3), dtype=np.int64)
        np.add.at(labelled, (self.model[known], right[known], called[known]), 1)
        unlabelled = np.zeros((k, 3), dtype=np.int64)
        np.add.at(unlabelled, (self.model[~known], called[~known]), 1)
        return ModelCounts(self.models, labelled, unlabelled)

    @property
    def size(self) -> int:
        """Battles with a known answer: answers in different ones share no noise."""
        return len(np.unique(self.battle[self.known]))

    @property
    def prompts(self) -> int:
        """Distinct prompts with a known answer."""
        return len(np.unique(self.prompt[self.known]))

    def gram(self, one: OwnInfluence, other: OwnInfluence) -> FloatArray:
        """Return the covariance of two numbers if battles are independent, shape (k, k)."""
        return self._sums(one, self.battle).T @ self._sums(other, self.battle)

    def cluster_gram(self, *influences: OwnInfluence) -> FloatArray:
        """Return the sum over prompts of s sᵀ, s being what all answers to a prompt add up to.

        Returns
        -------
        ndarray of float64, shape (jk, jk)
            The k models by the first of the j influences, then by the next.
        """
        sums = np.hstack([self._sums(each, self.prompt) for each in influences])
        return sums.T @ sums

    @property
    def _kinds(self) -> tuple[IntArray, IntArray]:
        return np.where(self.known, 1 - self.right, 0), 1 - self.called_right

    def _sums(self, influence: OwnInfluence, groups: IntArray) -> FloatArray:
        """Return what the answers of each group add up to for each model, shape (groups, k)."""
        numbers, places = np.unique(groups, return_inverse=True)
        k = len(self.models)
        right, called = self._kinds
        added = np.where(
            self.known,
            influence.labelled[self.model, right, called],
            influence.unlabelled[self.model, called],
        )
        cells = places * k + self.model
        sums = np.bincount(cells, added, len(numbers) * k).astype(np.float64)
        return sums.reshape(len(numbers), k)
