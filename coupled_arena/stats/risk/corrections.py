"""Corrections of p-values for testing all pairs of models at once."""

from __future__ import annotations

import numpy as np
from scipy.stats import false_discovery_control

from coupled_arena.core.choices import Correction
from coupled_arena.stats.counts import FloatArray


def smallest_factor(k: int, correction: Correction) -> int:
    """Return by how much the smallest p-value of k models is multiplied."""
    tests = k * (k - 1)
    harmonic = (1 / np.arange(1, tests + 1)).sum()
    return {
        Correction.BONFERRONI: k**2,
        Correction.HOLM: tests,
        Correction.FDR: int(np.ceil(tests * harmonic)),
        Correction.NONE: 1,
    }[correction]


def adjust(p_values: FloatArray, correction: Correction) -> FloatArray:
    """Return p-values of all ordered pairs, corrected for being many.

    Parameters
    ----------
    p_values : ndarray of float64, shape (k, k)
        1 on the diagonal, where there is no test.

    Returns
    -------
    ndarray of float64, shape (k, k)
        To be compared with the error level.
    """
    k = len(p_values)
    if correction in (Correction.BONFERRONI, Correction.NONE):
        return np.minimum(p_values * smallest_factor(k, correction), 1.0)
    off = ~np.eye(k, dtype=bool)
    adjusted = np.ones((k, k))
    if correction is Correction.FDR:
        adjusted[off] = false_discovery_control(p_values[off], method="by")
    else:
        adjusted[off] = _holm(p_values[off])
    return adjusted


def _holm(p_values: FloatArray) -> FloatArray:
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
