"""Integrals of what is linear between two points, above zero and below it."""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import FloatArray


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
