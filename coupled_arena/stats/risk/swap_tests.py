r"""Are two models told apart at all? An exact test, by swapping their scores.

The bootstrap takes the scores that were seen for all there are. Where a violation ratio hangs on a
few prompts in a heavy tail it is too sure of it. If two models are equal, their scores on each
prompt could as well be swapped. With F the shares of scores up to t and H of both models together,
the share of random swaps after which

.. math:: \int (F_j - F_i)\,dH \quad\text{or}\quad \int A\,|A|\,dH,
   \; A(t) = \int_{-\infty}^t (F_j - F_i),

is as large as it was seen is a p-value that holds its level for equal models exactly, for any
number of prompts and any law. The first is above zero where i dominates j in the first order (it
is the statistic of Mann and Whitney), the other where it does in the second.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.risk.dominance import ROUNDING, standardised
from coupled_arena.stats.risk.split_mix import GAMMA, HALF, WORD, word_of


def swap_p_values(
    samples: Sequence[FloatArray],
    pairs: Sequence[tuple[int, int]],
    draws: int,
    *,
    paired: bool,
    seed: int = 0,
    repetitions: int = 1,
) -> FloatArray:
    """Return p-values of "i and j are equal" against "i dominates j", for some ordered pairs.

    Parameters
    ----------
    samples : sequence of k ndarrays of float64, shape (n_i,)
        Scores of each model; under pairing the same place is the same prompt.
    pairs : sequence of (int, int)
        i and j.
    draws : int
        Random swaps.
    paired : bool
        Swap the scores on a prompt; else deal all prompts of both models to them anew.
    repetitions : int
        Scores of each prompt, which stand next to each other and are swapped together.

    Returns
    -------
    ndarray of float64, shape (2, pairs)
        By the statistics of the first and the second order.
    """
    scores = standardised(samples)
    seeds = np.random.SeedSequence((seed, 1)).generate_state(draws, np.uint64)

    def test(pair: tuple[int, int]) -> FloatArray:
        x, y = (scores[model] for model in pair)
        pooled = np.concatenate([x, y])
        order = np.argsort(pooled, kind="stable")
        ours = order < len(x)
        places = np.where(ours | (not paired), order, order - len(x)) // repetitions
        values = pooled[order]
        last = np.append(np.diff(values) > 0, True)
        weights = np.diff(np.flatnonzero(last), prepend=-1) / len(values)
        by_place = np.zeros(len(values))
        by_place[last] = weights
        steps = np.append(np.diff(values), 0.0)
        sizes = np.array([len(x), len(y)]) // repetitions
        counts = _count(places, ours, steps, by_place, sizes, seeds, paired, repetitions, ROUNDING)
        return (1 + counts) / (draws + 1)

    if not pairs:
        return np.ones((2, 0))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.array(list(pool.map(test, pairs))).T


@numba.njit(nogil=True, cache=True)
def _count(
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
