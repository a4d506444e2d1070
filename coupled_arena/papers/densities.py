"""Densities of values: alone, several by one kernel, two together; Gaussian kernels.

By itself a sample has Scott's bandwidth: the deviation of its n values times n^(-1/5); two values
together their covariance, and n^(-1/6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import gaussian_kde

from coupled_arena.stats.counts import FloatArray

_POINTS, _CELLS = 300, 60  # along an axis, alone and of two values together
_REACH = 3.0  # widths beyond the outermost values


def densities(samples: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, float]:
    """Return the density of each sample, all with one kernel.

    Its width is Silverman's [1]_ for a sample of the mean size with the spread of all. The spread
    is the lesser of the standard deviation and of the middle half's width over 1.34. One long tail
    does not make that too wide. It is half the mean gap of neighbouring scores at least, so that
    few different ones leave no teeth.

    Parameters
    ----------
    samples : sequence of k ndarrays of float64, shape (n_i,)

    Returns
    -------
    points : ndarray of float64, shape (300,)
    curves : ndarray of float64, shape (k, 300)
    width : float
        Standard deviation of the kernel.

    Raises
    ------
    ValueError
        All scores are the same.

    References
    ----------
    .. [1] B. W. Silverman, "Density estimation for statistics and data analysis", 1986, eq. 3.31.
    """
    pooled = np.concatenate(samples)
    spread = float(pooled.std())
    if not spread:
        raise ValueError("All scores are the same.")
    lower, upper = np.quantile(pooled, [0.25, 0.75])
    middle = float(upper - lower) / 1.34
    silverman = 0.9 * (min(spread, middle) or spread) * (len(pooled) / len(samples)) ** -0.2
    width = max(silverman, float(np.diff(np.unique(pooled)).mean()) / 2)
    points = np.linspace(
        pooled.min() - _REACH * width, pooled.max() + _REACH * width, _POINTS, dtype=np.float64
    )
    curves = np.stack([_density(sample, points, width) for sample in samples])
    return points, curves, width


def _density(sample: FloatArray, points: FloatArray, width: float) -> FloatArray:
    scores, counts = np.unique(sample, return_counts=True)
    found = np.array(
        [(counts * np.exp(-(((point - scores) / width) ** 2) / 2)).sum() for point in points]
    )
    return found / (len(sample) * width * np.sqrt(2 * np.pi))


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

    Nothing where it does not exist, or is too narrow to be drawn: all values of one are the same,
    or follow from the other's.

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
    deviations = float(a.std(ddof=1)), float(b.std(ddof=1))
    # Two prompts are always on a line, which rounding may hide from the kernel.
    if not min(deviations) > 0 or np.linalg.matrix_rank(np.corrcoef(a, b)) < 2:
        return None
    kernel = gaussian_kde(np.stack([a, b]))
    both = np.concatenate([a, b])
    reach = _REACH * float(kernel.factor) * max(deviations)
    axis = np.linspace(float(both.min()) - reach, float(both.max()) + reach, _CELLS)
    points = np.stack([np.tile(axis, _CELLS), np.repeat(axis, _CELLS)])
    density = np.asarray(kernel(points)).reshape(_CELLS, _CELLS)
    return (axis, density) if density.max() > 0 else None  # a ridge between the cells
