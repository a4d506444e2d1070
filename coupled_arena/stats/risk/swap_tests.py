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

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.extras import compiled
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.dominance import ROUNDING, standardised
from coupled_arena.stats.risk.split_mix import HALF, WORD, words

_NUMBERS = 1 << 17  # numbers of an array that stays in the second cache


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
    loop = compiled("coupled_arena.stats.risk.swap_loop")
    count = loop.count if loop else count_arrays
    seeds = np.random.SeedSequence((seed, 1)).generate_state(draws, np.uint64).astype(np.uint64)

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
        counts = count(places, ours, steps, by_place, sizes, seeds, paired, repetitions, ROUNDING)
        return (1 + counts) / (draws + 1)

    if not pairs:
        return np.ones((2, 0))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.array(list(pool.map(test, pairs))).T


def count_arrays(
    places: IntArray,
    ours: NDArray[np.bool_],
    steps: FloatArray,
    weights: FloatArray,
    sizes: IntArray,
    seeds: NDArray[np.uint64],
    paired: bool,
    repetitions: int,
    rounding: float,
) -> FloatArray:
    """Count swaps after which the statistic of each order is as high as it is, by arrays."""
    first, second = sizes.tolist()
    signed = np.float64(1 / (second * repetitions)), np.float64(-1 / (first * repetitions))

    def statistics(swapped: NDArray[np.bool_]) -> FloatArray:
        # Paired, a swap gives a score to the other model; else it says whose the prompt is.
        other: NDArray[np.bool_] = swapped[places] == (ours | (not paired))[:, None]
        lead: FloatArray = np.cumsum(np.where(other, *signed), axis=0)
        area = np.zeros_like(lead)
        np.cumsum(lead[:-1] * steps[:-1, None], axis=0, out=area[1:])
        return np.stack([weights @ lead, weights @ (area * np.abs(area))])

    as_seen = np.zeros((first if paired else first + second, 1), np.bool_)
    as_seen[first:] = True
    seen = statistics(as_seen)
    counts = np.zeros(2)
    at_once = max(1, _NUMBERS // len(places))
    for begin in range(0, len(seeds), at_once):
        drawn = statistics(_swap(len(as_seen), seeds[begin : begin + at_once], second, paired))
        counts += (drawn >= seen - rounding * np.abs(seen)).sum(axis=1)
    return counts


def _swap(n: int, seeds: NDArray[np.uint64], second: int, paired: bool) -> NDArray[np.bool_]:
    """Draw whose scores are swapped, or which prompts the other model gets, shape (n, seeds)."""
    high = words(seeds, n) >> HALF
    if paired:
        return (high & WORD(1)) == WORD(1)
    to_come = np.arange(n, 0, -1).astype(WORD)
    drawn = ((high * to_come[:, None]) >> HALF).astype(np.int64)
    swapped = np.empty(drawn.shape, np.bool_)
    left = np.full(len(seeds), second)
    for place in range(n):
        swapped[place] = drawn[place] < left
        left -= swapped[place]
    return swapped
