"""Goodness of fit, for tests that compare frequencies with an exact law."""

from __future__ import annotations

import numpy as np
from scipy import stats


def chi_square_p(counts, probabilities):
    """Return the p-value of observed counts under a law; cells expecting under 5 are pooled.

    An outcome the law excludes gives 0.
    """
    counts, probabilities = np.asarray(counts, float), np.asarray(probabilities, float)
    assert counts.shape == probabilities.shape
    assert abs(probabilities.sum() - 1) < 1e-9
    if counts[probabilities == 0].any():
        return 0.0
    expected = probabilities * counts.sum()
    small = expected < 5
    if small.any():
        counts = np.append(counts[~small], counts[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
        if expected[-1] < 5:  # the pool itself is too small: join it to the next smallest cell
            order = np.argsort(expected)
            counts, expected = counts[order], expected[order]
            counts = np.append(counts[2:], counts[:2].sum())
            expected = np.append(expected[2:], expected[:2].sum())
    assert len(counts) > 1, "a law with one cell cannot be tested"
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, len(counts) - 1))
