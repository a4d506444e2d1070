r"""Violation ratios of stochastic dominance, exact for samples of any sizes.

Higher scores are better. X dominates Y in the first order where its quantiles are nowhere lower,
in the second where its integrated quantiles are nowhere lower, so that nobody who fears bad
outcomes would choose Y. The violation ratio [1]_ says how far X is from that:

.. math:: \varepsilon(X, Y) = \int_0^1 (G_Y - G_X)_+^2 \Big/ \int_0^1 (G_Y - G_X)^2,

with G the quantiles :math:`Q(p) = x_{(\lceil np \rceil)}`, or their integral from 0 to p. It is 0
where X dominates, 1 where Y does, and one half by definition where the samples are the same.
Quantiles of samples are constant, and their integrals linear, between the multiples of 1/n and
1/m, so the integrals are finite sums.

References
----------
.. [1] A. Nitsure, Y. Mroueh, M. Rigotti, K. Greenewald, B. Belgodere, M. Yurochkin, J. Navratil,
   I. Melnyk & J. Ross, "Risk aware benchmarking of large language models", arXiv:2310.07132.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import combinations
from typing import Any

import numba
import numpy as np

from coupled_arena.stats.counts import FloatArray

ROUNDING = 1e-12
"""Differences of violation ratios below this are rounding."""


class Order(IntEnum):
    """Order of dominance."""

    FIRST = 1
    SECOND = 2


def violation_ratios(samples: Sequence[FloatArray]) -> FloatArray:
    """Return the violation ratios of all pairs, in both orders.

    Parameters
    ----------
    samples : sequence of k ndarrays of float64, shape (n_i,)

    Returns
    -------
    ndarray of float64, shape (2, k, k)
        ``[order - 1, i, j]``: of "i dominates j". Those of (i, j) and (j, i) add up to one; on
        the diagonal is one half.

    Raises
    ------
    ValueError
        A sample is empty, not one-dimensional, or holds a number that is not finite.
    """
    ordered = [np.sort(sample) for sample in standardised(samples)]
    ratios = np.full((2, len(ordered), len(ordered)), 0.5)
    for i, j in combinations(range(len(ordered)), 2):
        ratios[:, i, j] = compare(ordered[i], ordered[j])
        ratios[:, j, i] = 1 - ratios[:, i, j]
    return ratios


def one_against_all(ratios: FloatArray) -> FloatArray:
    """Return each model's mean violation ratio against the others, the lower the better.

    Parameters
    ----------
    ratios : ndarray of float64, shape (..., k, k), k at least 2

    Returns
    -------
    ndarray of float64, shape (..., k)
    """
    k = ratios.shape[-1]
    return (ratios.sum(axis=-1) - 0.5) / (k - 1)


def standardised(samples: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the samples on a common scale of about [-1, 1], on which no square overflows.

    Violation ratios do not depend on the scale, and differences of integrals lose fewer digits
    around zero. Scaling by powers of two is exact.

    Raises
    ------
    ValueError
        A sample is empty, not one-dimensional, or holds a number that is not finite.
    """
    checked = [np.asarray(sample, dtype=np.float64) for sample in samples]
    for sample in checked:
        if sample.ndim != 1 or not sample.size:
            raise ValueError("A sample must be a list of one score or more.")
        if not np.isfinite(sample).all():
            raise ValueError("All scores must be finite numbers.")
    if not checked:
        return []
    checked = _scaled(checked)
    middle = _range_of(checked).mean()
    return _scaled([sample - middle for sample in checked])


def _range_of(samples: list[FloatArray]) -> FloatArray:
    return np.array([min(x.min() for x in samples), max(x.max() for x in samples)])


def _scaled(samples: list[FloatArray]) -> list[FloatArray]:
    exponent = int(np.frexp(np.abs(_range_of(samples)).max())[1])
    return [np.ldexp(sample, -exponent) for sample in samples]


@numba.njit(nogil=True, cache=True)
def compare(x: Any, y: Any) -> Any:
    """Return the violation ratios of "x dominates y" in both orders; both are sorted."""
    n, m = len(x), len(y)
    one, other = 0, 0  # the quantiles that hold from `start` on, in units of 1 / (n m)
    start, left = 0, 0.0  # left: the difference of the integrated quantiles there
    above = below = above_2 = below_2 = 0.0
    while start < n * m:
        end = min((one + 1) * m, (other + 1) * n)
        width = (end - start) / (n * m)
        difference = x[one] - y[other]
        right = left + difference * width
        if difference > 0:
            above += difference**2 * width
        else:
            below += difference**2 * width
        if (left < 0 < right) or (right < 0 < left):
            top, bottom = max(left, right), -min(left, right)
            above_2 += width * top**3 / (top + bottom)
            below_2 += width * bottom**3 / (top + bottom)
        elif left + right > 0:
            above_2 += width * (left * left + left * right + right * right)
        else:
            below_2 += width * (left * left + left * right + right * right)
        one += end == (one + 1) * m
        other += end == (other + 1) * n
        start, left = end, right
    first = below / (above + below) if above + below > 0 else 0.5
    second = below_2 / (above_2 + below_2) if above_2 + below_2 > 0 else 0.5
    return first, second
