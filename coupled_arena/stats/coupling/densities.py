"""Densities of values, alone and two together: Gaussian kernels with Scott's bandwidth.

That is the deviation of the n values times n^(-1/5); of two values together their covariance, and
n^(-1/6).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import gaussian_kde

from coupled_arena.stats.counts import FloatArray

_POINTS, _CELLS = 200, 60  # along an axis, alone and of two values together
_REACH = 3  # bandwidths beyond the values to which a density is followed


def density_of(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where a density is drawn, and how high; zero where all values are the same.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)

    Returns
    -------
    x, density : ndarray of float64, shape (points,)
    """
    spread = float(values.std(ddof=1))
    low, high = float(values.min()), float(values.max())
    if not spread > 0:
        return np.linspace(low - 0.5, high + 0.5, _POINTS), np.zeros(_POINTS)
    kernel = gaussian_kde(values)
    reach = _REACH * float(kernel.factor) * spread
    x = np.linspace(low - reach, high + reach, _POINTS)
    return x, np.asarray(kernel(x))


def joint_density_of(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return where the density of two values together is drawn, and how high.

    Nothing where it does not exist: all values of one are the same, or follow from the other's.

    Parameters
    ----------
    a, b : ndarray of float64, shape (n,)

    Returns
    -------
    axis : ndarray of float64, shape (cells,)
        Of both values.
    density : ndarray of float64, shape (cells, cells)
        ``[b, a]``.
    """
    try:
        kernel = gaussian_kde(np.stack([a, b]))
    except np.linalg.LinAlgError:
        return None
    both = np.concatenate([a, b])
    reach = _REACH * float(kernel.factor) * max(float(a.std(ddof=1)), float(b.std(ddof=1)))
    axis = np.linspace(float(both.min()) - reach, float(both.max()) + reach, _CELLS)
    points = np.stack([np.tile(axis, _CELLS), np.repeat(axis, _CELLS)])
    return axis, np.asarray(kernel(points)).reshape(_CELLS, _CELLS)
