"""Single answers whose truth is known, and what a judge says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.judges.model_counts import ModelCounts, OwnInfluence


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
    right, called_right : ndarray of int64, shape (n,)
        1 where it is right, and where the judge says so; else 0.
    """

    models: tuple[str, ...]
    model: IntArray
    battle: IntArray
    prompt: IntArray
    right: IntArray
    called_right: IntArray

    @property
    def own(self) -> ModelCounts:
        """Each model's answers: right is a win, wrong a loss, and none is without the truth."""
        k = len(self.models)
        labelled = np.zeros((k, 3, 3), dtype=np.int64)
        np.add.at(labelled, (self.model, *self._kinds), 1)
        return ModelCounts(self.models, labelled, np.zeros((k, 3), dtype=np.int64))

    @property
    def size(self) -> int:
        """Battles: answers in different ones share no noise."""
        return len(np.unique(self.battle))

    @property
    def prompts(self) -> int:
        """Distinct prompts."""
        return len(np.unique(self.prompt))

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
        return 1 - self.right, 1 - self.called_right

    def _sums(self, influence: OwnInfluence, groups: IntArray) -> FloatArray:
        """Return what the answers of each group add up to for each model, shape (groups, k)."""
        numbers, places = np.unique(groups, return_inverse=True)
        k = len(self.models)
        added = influence.labelled[self.model, *self._kinds]
        cells = places * k + self.model
        sums = np.bincount(cells, added, len(numbers) * k).astype(np.float64)
        return sums.reshape(len(numbers), k)
