"""How many prompts and bootstrap samples the tests of dominance take."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.risk.corrections import smallest_factor
from coupled_arena.stats.risk.dominance_tests import DominancePlan, PairTests


def fewest_bootstraps(k: int, plan: DominancePlan) -> int:
    """Return how many bootstrap samples some pair needs to win at all by percentile."""
    return int(np.ceil(smallest_factor(k, plan.correction) / plan.alpha)) - 1


def samples_needed(
    tests: PairTests, size: int, plan: DominancePlan, gap: float = 0.1, power: float = 0.95
) -> FloatArray:
    """Return about how many prompts it takes to find a gap.

    The error of an estimate falls with the root of n. The estimated gap of an undecided pair is
    mostly noise, so the gap is given. Holm's and the false discovery rate's first level stands for
    their others.

    Parameters
    ----------
    size : int
        Prompts there are.
    gap : float
        Difference of violation ratios to be found: 0.1 tells .45 from .55.
    power : float
        Probability to find it.

    Returns
    -------
    ndarray of float64, shape (k, k)
    """
    critical = ndtri(1 - plan.alpha / smallest_factor(len(tests.wins), plan.correction))
    return np.ceil(size * ((critical + ndtri(power)) * tests.deviation / gap) ** 2)
