"""Win rates from people's votes alone, with intervals that never have zero width."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from coupled_arena.stats.counts import IntArray, PairCounts

FloatArray = NDArray[np.float64]

MINIMUM_PER_PAIR = 5
"""Comparisons a pair needs before it counts: with two, 95 % intervals cover .85 of the time."""


@dataclass(frozen=True)
class MissingVotes:
    """A pair that was compared too seldom, and how many comparisons it still needs."""

    first: str
    second: str
    votes: int


@dataclass(frozen=True, eq=False)
class WinRates:
    """Win rates of k models, with the settings they were computed with.

    Attributes
    ----------
    models : tuple of str
        As in the counts.
    win_rate, standard_error : ndarray of float64, shape (k,)
        NaN for a model that has not `enough`.
    low, high : ndarray of float64, shape (k,)
        Bounds of the interval, within [0, 1]; NaN for a model that has not `enough`.
    enough : ndarray of bool, shape (k,)
        Whether the model met any opponent `MINIMUM_PER_PAIR` times.
    opponents : ndarray of int64, shape (k,)
        How many opponents the mean is over.
    comparisons, ties, both_bad : ndarray of int64, shape (k,)
        Totals over all opponents, also those that are left out of the mean.
    missing : tuple of MissingVotes
        Pairs that are left out of the means for want of votes.
    alpha : float
        Error level: intervals cover with probability 1 - alpha.
    """

    models: tuple[str, ...]
    win_rate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    enough: NDArray[np.bool_]
    opponents: IntArray
    comparisons: IntArray
    ties: IntArray
    both_bad: IntArray
    missing: tuple[MissingVotes, ...]
    alpha: float


def win_rates(counts: PairCounts, alpha: float = 0.05) -> WinRates:
    r"""Estimate how often each model is preferred to an opponent, each weighing the same.

    Over the K opponents that model m met n_o times, `MINIMUM_PER_PAIR` at least, and beat in a
    fraction p_o of them,

    .. math:: \hat\theta_m = \frac1K \sum_o p_o, \qquad
              \widehat{\mathrm{Var}}\,\hat\theta_m = \frac1{K^2} \sum_o \frac{p_o(1-p_o)}{n_o-1}.

    Ties and "both bad" are comparisons that nobody won. Comparisons are taken as independent.
    Opponents with fewer votes are left out of the mean and reported as missing: whether they
    are depends on the number of votes and not on what they say, so it biases nothing, but the
    mean is then over fewer opponents than another model's.

    Parameters
    ----------
    counts : PairCounts
        Counts of k models.
    alpha : float
        Error level, between 0 and 1.

    Returns
    -------
    WinRates

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.

    Notes
    -----
    The divisor n - 1 makes the variance unbiased, and equal to the sample covariance that
    prediction-powered estimates use.

    Intervals are Wilson's score intervals [1]_ with the effective number of comparisons
    θ(1-θ)/Var, at which a single proportion would be as uncertain. Two things keep them honest.
    In this Var an opponent that was always or never beaten counts with p_o = (w+½)/(n_o+1) for
    w wins: five wins out of five are no proof, and beside an opponent met a hundred times they
    would let the interval cover .67 of the time. And where θ is 0 or 1 the number is K·min n_o:
    the chance of winning everything, Π p_o^n_o, is at most θ^(K·min n_o) whatever the true p_o.
    On 1500 random designs with 2 to 7 opponents and 5 to 1000 votes a pair the 95 % intervals
    covered .95 in the median and .91 or more in nineteen of twenty; the worst, two opponents
    with 100 and 5 votes, .81.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       J. Am. Stat. Assoc. 22, 209-212 (1927).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not at {alpha}.")
    wins, n = counts.wins, counts.comparisons
    counted = n >= MINIMUM_PER_PAIR
    fraction = wins / np.maximum(n, 1)
    opponents: IntArray = counted.sum(axis=1, dtype=np.int64)
    rate = _mean_over_opponents(fraction, counted)
    size = _effective_size(rate, wins, n, counted)
    low, high = _wilson(rate, size, float(ndtri(1 - alpha / 2)))
    return WinRates(
        models=counts.models,
        win_rate=rate,
        standard_error=_standard_error(fraction, n, counted),
        low=low,
        high=high,
        enough=opponents > 0,
        opponents=opponents,
        comparisons=n.sum(axis=1),
        ties=counts.ties.sum(axis=1),
        both_bad=counts.both_bad.sum(axis=1),
        missing=_missing(counts.models, n),
        alpha=alpha,
    )


def _mean_over_opponents(values: FloatArray, counted: NDArray[np.bool_]) -> FloatArray:
    """Return the mean of each row over the opponents that count, NaN where there is none."""
    opponents = counted.sum(axis=1)
    return np.where(counted, values, 0.0).sum(axis=1) / np.where(opponents > 0, opponents, np.nan)


def _standard_error(fraction: FloatArray, n: IntArray, counted: NDArray[np.bool_]) -> FloatArray:
    variance = fraction * (1 - fraction) / np.maximum(n - 1, 1)
    return np.sqrt(_mean_over_opponents(variance, counted) / np.maximum(counted.sum(axis=1), 1))


def _effective_size(
    rate: FloatArray, wins: IntArray, n: IntArray, counted: NDArray[np.bool_]
) -> FloatArray:
    """Return the number of comparisons at which one proportion is as uncertain; see Notes."""
    certain = (wins == 0) | (wins == n)
    fraction = (wins + 0.5 * certain) / np.maximum(n + certain, 1)
    error = _standard_error(fraction, n + certain, counted)
    fewest = np.min(n, axis=1, where=counted, initial=np.iinfo(np.int64).max)
    return np.where(
        (rate == 0) | (rate == 1),
        counted.sum(axis=1) * fewest.astype(np.float64),
        rate * (1 - rate) / error**2,
    )


def _wilson(rate: FloatArray, n: FloatArray, z: float) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of all θ with (rate - θ)² ≤ z² θ(1-θ)/n."""
    shrink = 1 + z**2 / n
    centre = (rate + z**2 / (2 * n)) / shrink
    half = z * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2) / shrink
    # Rounding may put a bound just beyond the rate it coincides with, at 0 and at 1.
    return np.clip(centre - half, 0.0, rate), np.clip(centre + half, rate, 1.0)


def _missing(models: tuple[str, ...], n: IntArray) -> tuple[MissingVotes, ...]:
    return tuple(
        MissingVotes(models[i], models[j], int(MINIMUM_PER_PAIR - n[i, j]))
        for i, j in combinations(range(len(models)), 2)
        if n[i, j] < MINIMUM_PER_PAIR
    )
