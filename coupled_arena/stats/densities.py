"""Densities of scores, estimated by a Gaussian kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coupled_arena.stats.counts import FloatArray

_POINTS = 300
_REACH = 3.0  # widths beyond the outermost scores


def densities(samples: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, float]:
    """Return the density of each sample, all with one kernel.

    Its width is Silverman's [1]_ for a sample of the mean size with the spread of all: the lesser
    of the standard deviation and of the middle half's width over 1.34, which one long tail does
    not make too wide. It is half the mean gap of neighbouring scores at least, so that few
    different ones leave no teeth.

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
