r"""Violation ratios from distribution functions, beside those from quantiles.

Almost dominance was first said of areas between distribution functions [1]_, [2]_, and the paper
of `coupled_arena.stats.risk.dominance` proves its bootstrap for their squares:

.. math:: \tilde\varepsilon(X, Y) = \int (F_X - F_Y)_+^p \Big/ \int |F_X - F_Y|^p,

with F the share of scores up to t, or for the second order its integral up to t. Again 0 where X
dominates and 1 where Y does, but what lies between differs. Here scores weigh by how far apart they
are, there by how many there are. In the second order the integrals over all t are infinite wherever
the means differ, so they end at the largest score of the two.

References
----------
.. [1] M. Leshno & H. Levy, "Preferred by 'all' and preferred by 'most' decision makers: almost
   stochastic dominance", Management Science 48, 1074-1085 (2002).
.. [2] L. Y. Tzeng, R. J. Huang & P.-T. Shih, "Revisiting almost second-degree stochastic
   dominance", Management Science 59, 1250-1254 (2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.dominance import standardised


def integrals(
    left: FloatArray, right: FloatArray, width: FloatArray, power: int
) -> tuple[FloatArray, FloatArray]:
    r"""Return :math:`\int f_+^p` and :math:`\int f_-^p` of each piece of a line.

    Parameters
    ----------
    left, right : ndarray of float64, shape (n,)
        The line's height at the ends of each piece.
    width : ndarray of float64, shape (n,)
    power : int
        1 or 2.

    Returns
    -------
    tuple of two ndarrays of float64, shape (n,)
    """
    return _positive(left, right, width, power), _positive(-left, -right, width, power)


def _positive(left: FloatArray, right: FloatArray, width: FloatArray, power: int) -> FloatArray:
    high, low = np.maximum(left, right), np.minimum(left, right)
    whole = (high + low) / 2 if power == 1 else (high * high + high * low + low * low) / 3
    # Where the line crosses zero, it is a triangle's share of the width.
    with np.errstate(divide="ignore", invalid="ignore"):
        part = high ** (power + 1) / ((power + 1) * (high - low))
    return width * np.where(low >= 0, whole, np.where(high > 0, part, 0.0))


def cdf_ratios(samples: Sequence[FloatArray], power: int = 2) -> FloatArray:
    """Return the violation ratios of all pairs by distribution functions, in both orders.

    Parameters
    ----------
    samples : sequence of k ndarrays of float64, shape (n_i,)
        Higher is better.
    power : int
        1 for areas, 2 for their squares.

    Returns
    -------
    ndarray of float64, shape (2, k, k)
        As `coupled_arena.stats.risk.dominance.violation_ratios`.

    Raises
    ------
    ValueError
        A sample is empty, not one-dimensional, or holds a number that is not finite.
    """
    ordered = [np.sort(sample) for sample in standardised(samples)]
    ratios = np.full((2, len(ordered), len(ordered)), 0.5)
    for i, j in combinations(range(len(ordered)), 2):
        ratios[:, i, j] = _compare(ordered[i], ordered[j], power)
        ratios[:, j, i] = 1 - ratios[:, i, j]
    return ratios


def _compare(x: FloatArray, y: FloatArray, power: int) -> tuple[float, float]:
    points = np.union1d(x, y)
    width = np.diff(points)
    shares = [np.searchsorted(each, points[:-1], side="right") / len(each) for each in (x, y)]
    lead = shares[1] - shares[0]  # above zero where x is ahead
    right = np.cumsum(lead * width)
    left = np.append(0.0, right[:-1])
    return (
        _ratio(*integrals(lead, lead, width, power)),
        _ratio(*integrals(left, right, width, power)),
    )


def _ratio(above: FloatArray, below: FloatArray) -> float:
    total = above.sum() + below.sum()
    return float(below.sum() / total) if total > 0 else 0.5


# Standard deviations of violation ratios from theory, without drawing anything.
#
# A violation ratio is a smooth function of two distributions. To first order, its error is the
# mean of what each score adds to it, its influence, and so it has a normal law in the limit. With
# h the difference of the quantiles of X and Y, or of their integrals, D the integral of its square
# and :math:`g(h) = (h_-^2 - \varepsilon h^2) / D`, more weight on a score x of X
#
# - in the first order moves the place p at which the quantiles of X step from a to b, which adds
#   g(a - Q_Y(p)) - g(b - Q_Y(p)) for each step above x;
# - in the second lowers the integrated quantile at p by :math:`(Q_X(p) - x)_+`, which adds
#   :math:`-\int g'(h)\,(Q_X(p) - x)_+\,dp`,
#
# less the mean over all scores. No density is needed, and what comes out does not depend on the
# unit of the scores. Theorem 3.1 of the paper (H.1 in its appendix) divides by the eighth power of
# the distance, leaves out what the score does to D, and changes with the unit: it is not used.
#
# Where two samples are the same, D is 0: there is no such law. Where a ratio is 0 or 1, all
# influences are 0, and the bootstrap is to be believed: the next sample may well cross.


@dataclass(frozen=True, eq=False)
class LimitDeviations:
    """Standard deviations of estimates, to first order.

    Attributes
    ----------
    absolute : ndarray of float64, shape (2, k, k)
        ``[order - 1, i, j]``: of the violation ratio of "i dominates j"; 0 on the diagonal.
    relative : ndarray of float64, shape (2, k, k)
        Of the difference of the two models' means against all others.
    """

    absolute: FloatArray
    relative: FloatArray


def limit_deviations(
    samples: Sequence[FloatArray], *, paired: bool, repetitions: int = 1
) -> LimitDeviations:
    """Return the standard deviations of all violation ratios and of their differences.

    NaN where the samples of a pair are the same.

    Parameters
    ----------
    samples : sequence of k ndarrays of float64, shape (n_i,)
        Scores of each model; under pairing the same place is the same prompt.
    paired : bool
        Prompts are common to all models, else each model has its own.
    repetitions : int
        Scores of each prompt, which stand next to each other.

    Raises
    ------
    ValueError
        A sample cannot be used, paired samples have different sizes, or the repetitions do not
        divide a size.
    """
    scores = standardised(samples)
    k, sizes = len(scores), {len(sample) for sample in scores}
    if paired and len(sizes) > 1:
        raise ValueError("Paired samples must have the same prompts.")
    if any(size % repetitions for size in sizes):
        raise ValueError("Each prompt must have as many scores as there are repetitions.")
    # [model][order - 1, prompt, other]: of its ratio against another one
    own = [
        np.stack(
            [_of_prompts(scores[i], scores[j], repetitions, same=i == j) for j in range(k)], axis=2
        )
        for i in range(k)
    ]
    absolute = np.zeros((2, k, k))
    for i in range(k):
        for j in range(k):
            if i != j:
                one, other = own[i][:, :, j], own[j][:, :, i]
                parts = [one - other] if paired else [one, other]
                absolute[:, i, j] = np.sqrt(sum(part.var(axis=1) / part.shape[1] for part in parts))
    on_means = [_on_means(each, model) for model, each in enumerate(own)]
    parts = [np.sum(on_means, axis=0)] if paired else on_means
    covariance = sum(_covariance(part) for part in parts)
    return LimitDeviations(absolute, _of_differences(np.asarray(covariance)))


def _on_means(own: FloatArray, model: int) -> FloatArray:
    """Return what a model's prompts do to the mean ratio of each, shape (2, prompts, k)."""
    others = own.shape[2] - 1
    on_means = -own / max(others, 1)  # the ratios of a pair add up to one
    on_means[:, :, model] = own.sum(axis=2) / max(others, 1)
    return on_means


def _covariance(influence: FloatArray) -> FloatArray:
    """Return the covariance of means, shape (2, k, k)."""
    centred = influence - influence.mean(axis=1, keepdims=True)
    return np.einsum("opi,opj->oij", centred, centred) / influence.shape[1] ** 2


def _of_differences(covariance: FloatArray) -> FloatArray:
    variance = np.einsum("oii->oi", covariance)
    squares = variance[:, :, None] + variance[:, None, :] - 2 * covariance
    return np.sqrt(np.maximum(squares, 0.0))


def _of_prompts(x: FloatArray, y: FloatArray, repetitions: int, *, same: bool) -> FloatArray:
    """Return the influence of the prompts of x on the ratio of x over y, shape (2, prompts)."""
    if same:
        return np.zeros((2, len(x) // repetitions))
    order = np.argsort(x, kind="stable")
    found = np.empty((2, len(x)))
    found[:, order] = influences(x[order], np.sort(y))
    return found.reshape(2, -1, repetitions).mean(axis=2)


def influences(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return what each score of x adds to the violation ratios of "x dominates y".

    Parameters
    ----------
    x, y : ndarray of float64, shapes (n,) and (m,)
        Both sorted, on the scale of `coupled_arena.stats.risk.dominance.standardised`.

    Returns
    -------
    ndarray of float64, shape (2, n)
        The derivative by the share of that score, in both orders; NaN where x and y are the same.
    """
    if np.array_equal(x, y):
        return np.full((2, len(x)), np.nan)
    pieces = _pieces(x, y)
    both = np.stack([_first(x, y, pieces), _second(x, pieces)])
    return both - both.mean(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Parts of [0, 1] on which the quantiles of both samples are constant."""

    width: FloatArray
    place: IntArray  # in x
    gap: FloatArray  # of the quantiles


def _pieces(x: FloatArray, y: FloatArray) -> _Pieces:
    n, m = len(x), len(y)
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    starts = np.append(0, ends[:-1])
    place = starts // m
    return _Pieces((ends - starts) / (n * m), place, x[place] - y[starts // n])


def _first(x: FloatArray, y: FloatArray, pieces: _Pieces) -> FloatArray:
    n, m = len(x), len(y)
    above, below = integrals(pieces.gap, pieces.gap, pieces.width, 2)
    total = above.sum() + below.sum()
    ratio = below.sum() / total

    def added(gap: FloatArray) -> FloatArray:
        return (np.minimum(gap, 0.0) ** 2 - ratio * gap**2) / total

    steps = np.arange(1, n)
    # Where both step at once, it matters which does first: the mean of both.
    beside = [y[-(-steps * m // n) - 1], y[np.minimum(steps * m // n, m - 1)]]
    jumps = sum(added(x[:-1] - each) - added(x[1:] - each) for each in beside) / 2
    return np.append(np.cumsum(np.asarray(jumps)[::-1])[::-1], 0.0)


def _second(x: FloatArray, pieces: _Pieces) -> FloatArray:
    right = np.cumsum(pieces.gap * pieces.width)
    left = np.append(0.0, right[:-1])
    squares = integrals(left, right, pieces.width, 2)
    total = squares[0].sum() + squares[1].sum()
    ratio = squares[1].sum() / total
    above, below = integrals(left, right, pieces.width, 1)
    slopes = -2 / total * (ratio * above + (1 - ratio) * below)
    by_place = np.bincount(pieces.place, slopes, len(x))
    # - sum over places r above q of slope_r (x_r - x_q)
    ahead = np.append(np.cumsum(by_place[::-1])[::-1], 0.0)[1:]
    weighted = np.append(np.cumsum((by_place * x)[::-1])[::-1], 0.0)[1:]
    return x * ahead - weighted
