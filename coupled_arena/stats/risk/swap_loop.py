"""Random swaps of scores in compiled loops; see `swap_tests`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from coupled_arena.stats.risk.split_mix import GAMMA, HALF, WORD
from coupled_arena.stats.risk.split_mix_loop import word_of


@numba.njit(nogil=True, cache=True)
def count(
    places: Any,
    ours: Any,
    steps: Any,
    weights: Any,
    sizes: Any,
    seeds: Any,
    paired: Any,
    repetitions: Any,
    rounding: Any,
) -> Any:
    """Count swaps after which the statistic of each order is as high as it is."""
    first, second = sizes
    swapped = np.zeros(first if paired else first + second, np.bool_)
    shares = 1 / (first * repetitions), 1 / (second * repetitions)
    if not paired:
        swapped[first:] = True
    seen = _statistics(places, ours, steps, weights, swapped, shares, paired)
    counts = np.zeros(2)
    for seed in seeds:
        _swap(swapped, seed, second, paired)
        drawn = _statistics(places, ours, steps, weights, swapped, shares, paired)
        for order in range(2):
            counts[order] += drawn[order] >= seen[order] - rounding * abs(seen[order])
    return counts


@numba.njit(nogil=True, cache=True)
def _statistics(
    places: Any, ours: Any, steps: Any, weights: Any, swapped: Any, shares: Any, paired: Any
) -> Any:
    lead = area = first = second = 0.0
    for t in range(len(places)):
        # Paired, a swap gives a score to the other model; else it says whose the prompt is.
        other = swapped[places[t]] == (ours[t] or not paired)
        lead += shares[1] if other else -shares[0]
        first += weights[t] * lead
        second += weights[t] * area * abs(area)
        area += lead * steps[t]
    return first, second


@numba.njit(nogil=True, cache=True)
def _swap(swapped: Any, seed: Any, second: Any, paired: Any) -> None:
    """Draw whose scores are swapped, or which prompts the other model gets."""
    state, left = seed, second
    for place in range(len(swapped)):
        state += GAMMA
        word = word_of(state) >> HALF
        if paired:
            swapped[place] = (word & WORD(1)) == WORD(1)
        else:
            swapped[place] = (word * WORD(len(swapped) - place)) >> HALF < WORD(left)
            left -= swapped[place]
