r"""Violation ratios of stochastic dominance, exact for samples of any sizes.

Higher scores are better. X dominates Y in the first order where its quantiles are nowhere lower. It
does so in the second where its integrated quantiles are nowhere lower: nobody who fears bad
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
from functools import lru_cache
from itertools import combinations

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray

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
    around zero. Scaling by powers of two is exact. Float64 is needed: of nearly equal models,
    ratios by float32 are off by up to .76.

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


def compare(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the violation ratios of "x dominates y" in both orders.

    Parameters
    ----------
    x, y : ndarray of float64, shapes (..., n) and (..., m)
        Sorted.

    Returns
    -------
    tuple of ndarray of float64, shape (...,)
    """
    one, other, width = _pieces(x.shape[-1], y.shape[-1])
    difference = x[..., one] - y[..., other]
    squares = difference * difference * width
    right = np.cumsum(difference * width, axis=-1)
    left = np.zeros_like(right)
    left[..., 1:] = right[..., :-1]
    areas = width * (left * left + left * right + right * right)
    areas_below = np.where(left + right > 0, 0.0, areas)
    crosses = (np.minimum(left, right) < 0) & (np.maximum(left, right) > 0)
    v, w = np.abs(left[crosses]), np.abs(right[crosses])
    wide = np.broadcast_to(width, left.shape)[crosses] / (v + w)
    areas[crosses] = wide * (v**3 + w**3)
    areas_below[crosses] = wide * np.where(left[crosses] < 0, v, w) ** 3
    return _share(np.where(difference > 0, 0.0, squares), squares), _share(areas_below, areas)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return the share that a part's sum has in the whole's, one half of nothing."""
    parts, wholes = np.asarray(part.sum(axis=-1)), np.asarray(whole.sum(axis=-1))
    half = np.full_like(wholes, 0.5, dtype=np.float64)
    return np.divide(parts, wholes, out=half, where=wholes > 0)


@lru_cache(maxsize=64)  # a bootstrap asks for the same sizes again and again
def _pieces(n: int, m: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pieces on which both quantile functions are constant: the places, the width."""
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    starts = np.concatenate([[0], ends[:-1]])
    return starts // m, starts // n, (ends - starts) / (n * m)
