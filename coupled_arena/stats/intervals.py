"""Score intervals of proportions: never of zero width, never beyond the possible values."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from coupled_arena.stats.counts import FloatArray, IntArray

_HALVINGS = 60  # of an interval of length 2: to the last bit of a float64


def check_alpha(alpha: float) -> None:
    """Refuse what is no error level.

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not at {alpha}.")


def critical_value(alpha: float, degrees: int | FloatArray | None = None) -> FloatArray:
    """Return the two-sided critical value of Student's t, or of the normal law.

    Parameters
    ----------
    alpha : float
        Error level, between 0 and 1.
    degrees : int or ndarray of float64, optional
        Degrees of freedom; with less than one nothing can be concluded, and the value is infinite.

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    check_alpha(alpha)
    if degrees is None:
        return np.asarray(ndtri(1 - alpha / 2))
    return np.where(np.less(degrees, 1), np.inf, stdtrit(np.maximum(degrees, 1), 1 - alpha / 2))


def wilson(
    rate: FloatArray, variance: FloatArray, certain_size: FloatArray, critical: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score interval [1]_ around rates that need not be plain proportions.

    Its number of trials is the one at which a single proportion would be as uncertain as the
    rate is.

    Parameters
    ----------
    rate, variance : ndarray of float64, shape (k,)
        NaN gives NaN.
    certain_size : ndarray of float64, shape (k,)
        Trials behind a rate that never varied.
    critical : ndarray of float64, shape () or (k,)
        See `critical_value`.

    Returns
    -------
    low, high : ndarray of float64, shape (k,)

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       J. Am. Stat. Assoc. 22, 209-212 (1927).
    """
    # With hardly any degrees of freedom, Student's quantile passes what can be squared.
    with np.errstate(over="ignore"):
        nothing = np.isinf(np.square(critical))
    z = np.where(nothing, 0.0, critical)
    rate = np.clip(rate, 0, 1)
    certain = (rate == 0) | (rate == 1) | (variance == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(certain, certain_size, rate * (1 - rate) / variance)
        shrink = 1 + z**2 / size
        centre = (rate + z**2 / (2 * size)) / shrink
        half = z * np.sqrt(rate * (1 - rate) / size + (z / (2 * size)) ** 2) / shrink
    # Rounding may put a bound just beyond the rate it coincides with, at 0 and at 1.
    low, high = np.clip(centre - half, 0.0, rate), np.clip(centre + half, rate, 1.0)
    return np.where(nothing, 0.0, low), np.where(nothing, 1.0, high)


def paired_difference(
    more: FloatArray, less: FloatArray, size: FloatArray, critical: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the score interval [1]_ of the difference of two proportions of the same trials.

    Parameters
    ----------
    more, less : ndarray of float64, shape (k,)
        Trials in which the first alone happened, and the second alone; fractions are fine.
    size : ndarray of float64, shape (k,)
        All trials.
    critical : ndarray of float64, shape () or (k,)
        See `critical_value`.

    Returns
    -------
    low, high : ndarray of float64, shape (k,)
        Of P(first) - P(second).

    References
    ----------
    .. [1] T. Tango, "Equivalence test and confidence interval for the difference in proportions
       for the paired-sample design", Stat. Med. 17, 891-908 (1998).
    """
    nothing = np.isinf(critical)
    z = np.where(nothing, 0.0, critical)
    # In one bisection, which takes as long for two numbers as for one.
    one, other = np.concatenate([less, more]), np.concatenate([more, less])
    twice = np.tile(size, 2), np.tile(np.broadcast_to(z, size.shape), 2)
    found = _largest_difference(one, other, *twice)
    ends = -found[: len(less)], found[len(less) :]
    low, high = (
        np.where(nothing & np.isfinite(end), bound, end)
        for end, bound in zip(ends, (-1.0, 1.0), strict=True)
    )
    return low, high


def _largest_difference(
    more: FloatArray, less: FloatArray, size: FloatArray, critical: FloatArray
) -> FloatArray:
    """Return the largest difference that the score test does not refuse, by bisection."""
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (more - less) / size
    low, high = observed, np.ones_like(observed)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        spread = _likely_spread(more, less, size, middle)
        kept = size * middle - (more - less) <= critical * spread
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    return np.where(np.isfinite(observed), low, np.nan)


def _likely_spread(
    more: FloatArray, less: FloatArray, size: FloatArray, difference: FloatArray
) -> FloatArray:
    """Return the standard deviation of more - less, as it is likeliest at a true difference."""
    b = (2 * size - more + less) * difference - more - less
    c = -less * difference * (1 - difference)
    # 4 size times the chance that the second alone happens, most likely at this difference.
    second = np.sqrt(np.maximum(b**2 - 8 * size * c, 0)) - b
    return np.sqrt(np.maximum(second / 2 + size * difference * (1 - difference), 0))


def paired_z(more: float, less: float, size: float, difference: float) -> float:
    """Return how many standard deviations a difference is above a true one, by the same test."""
    counts = (np.array([each]) for each in (more, less, size, difference))
    spread = float(_likely_spread(*counts)[0])
    return (more - less - size * difference) / spread if spread else 0.0


def agreement_interval(agreed: IntArray, counted: IntArray, alpha: float) -> tuple[float, float]:
    r"""Return Wilson's interval of a share with comparisons that depend on each other by prompt.

    Its variance is that of a ratio of sums over prompts, :math:`\frac{G}{G-1} \sum_g (a_g - \hat p
    n_g)^2 / n^2`. Its critical value is Student's with G - 1 degrees of freedom: from one prompt
    nothing can be concluded. A share that never varied is as uncertain as one of G trials.

    Parameters
    ----------
    agreed, counted : ndarray of int64, shape (g,)
        For each prompt, comparisons that agree and all comparisons.
    alpha : float
        Error level, between 0 and 1.
    """
    prompts, n = len(counted), counted.sum()
    rate = agreed.sum() / n
    spread = prompts / max(prompts - 1, 1) * np.sum((agreed - rate * counted) ** 2) / n**2
    low, high = wilson(
        np.array([rate]),
        np.array([spread]),
        np.array([float(prompts)]),
        critical_value(alpha, prompts - 1),
    )
    return float(low[0]), float(high[0])
