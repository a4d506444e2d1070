r"""Violation ratios from distribution functions, beside those from quantiles.

Almost dominance was first said of areas between distribution functions [1]_, [2]_, and the paper
of `coupled_arena.stats.risk.dominance` proves its bootstrap for their squares:

.. math:: \tilde\varepsilon(X, Y) = \int (F_X - F_Y)_+^p \Big/ \int |F_X - F_Y|^p,

with F the share of scores up to t, or for the second order its integral up to t. Again 0 where X
dominates and 1 where Y does, but what lies between differs: here scores weigh by how far apart they
are, there by how many there are. In the second order the integrals over all t are infinite
wherever the means differ, so they end at the largest score of the two.

References
----------
.. [1] M. Leshno & H. Levy, "Preferred by 'all' and preferred by 'most' decision makers: almost
   stochastic dominance", Management Science 48, 1074-1085 (2002).
.. [2] L. Y. Tzeng, R. J. Huang & P.-T. Shih, "Revisiting almost second-degree stochastic
   dominance", Management Science 59, 1250-1254 (2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from coupled_arena.stats.counts import FloatArray
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
