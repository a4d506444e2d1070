"""What one comparison adds to the error of an estimate: covariances are sums of its products."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray, JudgedCounts


@dataclass(frozen=True, eq=False)
class PairProducts:
    """The part that the comparisons of each pair have in a covariance.

    Attributes
    ----------
    own : ndarray of float64, shape (k, k)
        ``[m, o]``: in the variance of m, of its comparisons with o.
    cross : ndarray of float64, shape (k, k), symmetric
        In the covariance of the two.
    """

    own: FloatArray
    cross: FloatArray

    @property
    def gram(self) -> FloatArray:
        """The covariance where no two pairs have anything in common, shape (k, k)."""
        return self.cross + np.diag(self.own.sum(axis=1))

    @property
    def of_difference(self) -> FloatArray:
        """The part of a pair in the variance of the difference of its models, shape (k, k)."""
        return self.own + self.own.T - 2 * self.cross


@dataclass(frozen=True, eq=False)
class Influence:
    """What one comparison adds to the error of the estimate, by its cell of the counts.

    Attributes
    ----------
    labelled : ndarray of float64, shape (k, k, 4, 4**judges, 2)
        ``[a, b, h, g, role]``: of a comparison of a, shown first, and b, with vote h and verdict g.
        It is for the model in the role: 0 is a, 1 is b.
    unlabelled : ndarray of float64, shape (k, k, 4**judges, 2)
        ``[a, b, g, role]``: likewise without a vote.
    """

    labelled: FloatArray
    unlabelled: FloatArray

    @classmethod
    def of_means(
        cls,
        vote: tuple[FloatArray, FloatArray],
        echo: tuple[FloatArray, FloatArray],
        verdict: tuple[FloatArray, FloatArray],
        tuning: FloatArray,
        scores: tuple[FloatArray, FloatArray],
        spoken: FloatArray,
    ) -> Influence:
        """Return the influence on weighted means of h over votes, -λg and λg over verdicts.

        Parameters
        ----------
        vote, echo, verdict : (weight, centre)
            Of h, and of g where there is a vote and where there is none. Arrays of shape (k, k, 2),
            ``[model, opponent, position]`` with position 0 for being shown first. They are the
            weight of one comparison in the model's mean, and the mean that is taken from it.
        tuning : ndarray of float64, shape (k, k, 2)
            λ, 0 where a cell lacks verdicts.
        scores : tuple of ndarray of float64, shapes (2, 4) and (2, 4**judges)
            h of each outcome, see `TieScore`, and g of each verdict.
        spoken : ndarray of float64, shape (4**judges,)
            0 of verdicts that are none, as in `JudgedCounts.spoken`: they add nothing.
        """
        labelled: list[FloatArray] = []
        unlabelled: list[FloatArray] = []
        for role, (score, verdict_score) in enumerate(zip(*scores, strict=True)):
            w, c, per_echo, g, per_verdict, mean, t = (
                _as_shown(x, role) for x in (*vote, *echo, *verdict, tuning)
            )
            own = w[..., None] * (score - c[..., None])
            of_verdict = (t * per_echo)[..., None] * (verdict_score - g[..., None]) * spoken
            labelled.append(own[..., :, None] - of_verdict[..., None, :])
            unlabelled.append((per_verdict * t)[..., None] * (verdict_score - mean[..., None]))
        return cls(np.stack(labelled, axis=-1), np.stack(unlabelled, axis=-1))

    def products(self, counts: JudgedCounts) -> PairProducts:
        """Return each pair's part in the covariance where no two comparisons depend on another."""
        labelled = _products(counts.labelled, self.labelled, self.labelled)
        alone = _products(counts.unlabelled, self.unlabelled, self.unlabelled)
        return PairProducts(labelled.own + alone.own, labelled.cross + alone.cross)

    def gram(self, counts: JudgedCounts, other: Influence | None = None) -> FloatArray:
        """Return the covariance where no two comparisons depend on each other, shape (k, k).

        Parameters
        ----------
        other : Influence, optional
            On other estimates: rows of the result are of this one's, columns of the other's.
        """
        other = other or self
        labelled = _products(counts.labelled, self.labelled, other.labelled).gram
        return labelled + _products(counts.unlabelled, self.unlabelled, other.unlabelled).gram


def _as_shown(cells: FloatArray, role: int) -> FloatArray:
    """Return what concerns the model in one role, by (shown first, shown second)."""
    return cells[:, :, 0] if role == 0 else cells[:, :, 1].T


def _products(counts: IntArray, influence: FloatArray, other: FloatArray) -> PairProducts:
    """Return the sums over comparisons of s tᵀ, with s and t the influences on its two models."""
    k, kinds = len(counts), math.prod(counts.shape[2:])
    left, right = (each.reshape(k, k, kinds, 2) for each in (influence, other))
    products = (counts.reshape(k, k, kinds, 1) * left).swapaxes(2, 3) @ right  # [a, b, role, role]
    return PairProducts(
        own=products[..., 0, 0] + products[..., 1, 1].T,
        cross=products[..., 0, 1] + products[..., 1, 0].T,
    )
