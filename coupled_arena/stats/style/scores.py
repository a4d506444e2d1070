"""What a fit says of models and of style, each number with its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.style.logistic import PairFit, Sandwich, sandwich

ELO = 400 / np.log(10)
"""Points of a score for one log-odds: 400 points are odds of ten to one."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Numbers with their errors, shape (q,) each.

    Attributes
    ----------
    value, error : ndarray of float64
    degrees : ndarray of float64
        Degrees of freedom of Student's law.
    """

    value: FloatArray
    error: FloatArray
    degrees: FloatArray

    def interval(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of intervals; infinite where nothing can be concluded.

        Raises
        ------
        ValueError
            `alpha` is not between 0 and 1.
        """
        beyond = critical_value(alpha, self.degrees) * self.error
        return self.value - beyond, self.value + beyond

    def share_interval(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of intervals of shares: by their log-odds, so within 0 and 1."""
        odds = logit(self.value)
        beyond = critical_value(alpha, self.degrees) * self.error / self.value / (1 - self.value)
        return expit(odds - beyond), expit(odds + beyond)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Positions by the scores, 1 is best, shape (k,) each: the estimate, and the ones possible."""

    rank: IntArray
    low: IntArray
    high: IntArray


@dataclass(frozen=True, eq=False)
class PairScores:
    """What follows from a fit: as small as the models are few, however many the rows were.

    Attributes
    ----------
    k : int
        How many models there are.
    values : ndarray of float64, shape (2k + p,)
        Strengths, win rates, coefficients.
    known : Sandwich
        What is known of these together.
    """

    k: int
    values: FloatArray
    known: Sandwich

    @classmethod
    def of(cls, fit: PairFit) -> PairScores:
        """Return the scores of a fit."""
        return cls(fit.rows.k, values(fit), sandwich([(fit, combinations(fit))]))

    def _measured(self, part: slice) -> Measured:
        error = np.sqrt(np.diag(self.known.covariance)[part])
        return Measured(self.values[part], error, self.known.degrees[part])

    @property
    def score(self) -> Measured:
        """Scores on the scale of Elo ratings, their mean 1000."""
        found = self._measured(slice(self.k))
        return Measured(1000 + ELO * found.value, ELO * found.error, found.degrees)

    @property
    def win_rate(self) -> Measured:
        """Win rates at equal style, the mean over all opponents; ties are half a win."""
        return self._measured(slice(self.k, 2 * self.k))

    @property
    def coefficient(self) -> Measured:
        """Log-odds for one unit of a covariate more."""
        return self._measured(slice(2 * self.k, None))

    def ranks(self, alpha: float) -> Ranked:
        """Return the positions that the scores leave possible, jointly for all models.

        Two models are apart where their difference is beyond what Bonferroni's rule allows chance
        for all pairs at once.

        Raises
        ------
        ValueError
            `alpha` is not between 0 and 1.
        """
        k, value = self.k, self.values[: self.k]
        covariance, degrees = self.known.covariance[:k, :k], self.known.degrees[:k]
        variance = np.diag(covariance)
        spread = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
        weaker = np.minimum(degrees[:, None], degrees)
        beyond = critical_value(2 * alpha / (k * (k - 1)), weaker)
        gap = value[:, None] - value
        with np.errstate(invalid="ignore"):  # of a model and itself
            ahead = gap > beyond * spread
        better = gap > 0
        return Ranked(
            rank=1 + better.sum(axis=0, dtype=np.int64),
            low=1 + ahead.sum(axis=0, dtype=np.int64),
            high=k - ahead.sum(axis=1, dtype=np.int64),
        )


def values(fit: PairFit) -> FloatArray:
    """Return strengths, win rates and coefficients of a fit, shape (2k + p,)."""
    strength, coefficients = np.split(fit.estimate, [fit.rows.k])
    return np.concatenate([strength, win_rates(strength), coefficients])


def combinations(fit: PairFit) -> FloatArray:
    """Return the derivatives of `values` by the estimate, shape (2k + p, k + p)."""
    k, p = fit.rows.k, fit.rows.p
    found = np.zeros((2 * k + p, k + p))
    found[:k, :k] = np.eye(k)
    found[k : 2 * k, :k] = _slopes(fit.estimate[:k])
    found[2 * k :, k:] = np.eye(p)
    return found


def win_rates(strength: FloatArray) -> FloatArray:
    """Return the mean over all opponents of the probability to win, shape (k,)."""
    beats = expit(strength[:, None] - strength)
    np.fill_diagonal(beats, 0)
    found: FloatArray = beats.sum(axis=1) / (len(strength) - 1)
    return found


def _slopes(strength: FloatArray) -> FloatArray:
    """Return the derivatives of `win_rates` by the strengths, shape (k, k)."""
    beats = expit(strength[:, None] - strength)
    slopes = -beats * (1 - beats)
    np.fill_diagonal(slopes, 0)
    np.fill_diagonal(slopes, -slopes.sum(axis=1))
    found: FloatArray = slopes / (len(strength) - 1)
    return found
