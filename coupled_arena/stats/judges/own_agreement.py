"""The share of comparisons on which a judge agrees with one voter."""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import IntArray
from coupled_arena.stats.intervals import critical_value, wilson


def agreement_interval(agreed: IntArray, counted: IntArray, alpha: float) -> tuple[float, float]:
    r"""Return Wilson's interval of a share whose comparisons depend on each other by prompt.

    Its variance is that of a ratio of sums over prompts,
    :math:`\frac{G}{G-1} \sum_g (a_g - \hat p n_g)^2 / n^2`, and its critical value Student's with
    G - 1 degrees of freedom: from one prompt nothing can be concluded. A share that never varied
    is as uncertain as one of G trials.

    Parameters
    ----------
    agreed, counted : ndarray of int64, shape (g,)
        For each prompt, comparisons that agree and all comparisons.
    alpha : float
        Error level, between 0 and 1.
    """
    prompts, n = len(counted), counted.sum()
    rate = agreed.sum() / n
    spread = prompts / max(prompts - 1, 1) * np.sum((agreed - rate * counted) ** 2) / n**2
    low, high = wilson(
        np.array([rate]),
        np.array([spread]),
        np.array([float(prompts)]),
        critical_value(alpha, prompts - 1),
    )
    return float(low[0]), float(high[0])
