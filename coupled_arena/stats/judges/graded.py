"""Single answers whose truth is known, and what a judge says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.judges.model_counts import ModelCounts, OwnInfluence

UNKNOWN = -1
"""What stands for an answer of which nobody but the judge says whether it is right."""


@dataclass(frozen=True, eq=False)
class GradedAnswers:
    """Answers of k models to a benchmark, each graded by one judge.

    All arrays have a number for each answer. Answers in one battle depend on each other, for they
    share noise; and so do all answers to one prompt.

    Attributes
    ----------
    models : tuple of str
    model, battle, prompt : ndarray of int64, shape (n,)
        Whose it is, and what it belongs to; battles and prompts by any numbers.
    right : ndarray of int64, shape (n,)
        1 where it is right, 0 where it is wrong, `UNKNOWN` where the judge alone says anything.
    called_right : ndarray of int64, shape (n,)
        1 where the judge says that it is right, else 0.
    probability : ndarray of float64, shape (n,), or None
        That the judge gives to its being right; None where it told none.
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
