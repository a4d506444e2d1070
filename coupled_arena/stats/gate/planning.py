"""How many units show that a candidate is as good, if it is as good as a pilot's flips allow.

A pilot says how many units differ, and by how much. The plan is for a candidate of the same spread
that is exactly as good. Each difference is then as often a loss as a win.
"""

from __future__ import annotations

import math

import numpy as np

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.gate.betting import Bets, check_margin
from coupled_arena.stats.intervals import check_alpha, critical_value, wilson

_REPEATS = 200  # of a simulated gate: a quantile of .8 is off by .03
_BLOCK = 1000  # units at once
MOST = 200_000
"""Units beyond which a plan says only that it takes more."""


def units_needed(
    sizes: FloatArray, share: float, margin: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return how many units show it with a probability of `power`, with a look after each.

    Parameters
    ----------
    sizes : ndarray of float64, shape (any,)
        Absolute differences of units that differ, above 0 and at most 1.
    share : float
        Of all units, those that differ.

    Returns
    -------
    int or None
        None if more than `MOST`.
    """
    check_margin(margin)
    check_alpha(alpha)
    rng = np.random.default_rng(0)
    bets = Bets.on(np.array([-margin]), margin, _REPEATS)
    shown, done = np.full(_REPEATS, np.inf), 0
    while done < MOST and np.isfinite(shown).mean() < power:
        apart = rng.random((_BLOCK, _REPEATS)) < share
        signs = np.where(rng.random((_BLOCK, _REPEATS)) < 0.5, -1.0, 1.0)
        drawn = signs * rng.choice(sizes, (_BLOCK, _REPEATS)) if sizes.size else signs
        bets, above, _ = bets.walked(np.where(apart, drawn, 0.0))
        reached = above[..., 0] >= math.log(1 / alpha)
        when = np.where(reached.any(axis=0), done + 1 + reached.argmax(axis=0), np.inf)
        shown, done = np.minimum(shown, when), done + _BLOCK
    found = float(np.quantile(shown, power, method="inverted_cdf"))
    return int(found) if math.isfinite(found) else None


def share_bounds(differing: int, units: int, alpha: float = 0.2) -> tuple[float, float]:
    """Return Wilson's interval of the share of units that differ, of those of a pilot."""
    rate = np.array([differing / units])
    low, high = wilson(
        rate, rate * (1 - rate) / units, np.array([float(units)]), critical_value(alpha)
    )
    return float(low[0]), float(high[0])
