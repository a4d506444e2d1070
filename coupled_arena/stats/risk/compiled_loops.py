"""Compiled loops of the risk room: the same numbers as arrays, 10 to 70 times as fast.

First violation ratios of bootstrap samples and swaps of scores (`dominance_draws`), then lower
points of a tile as bits (`portfolio`). Only `compiled` imports this module, where numba is there.

Pairs of quantiles are compared on pieces that stay in the first cache, in loops that the compiler
turns into vector instructions.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from coupled_arena.stats.risk import dominance_draws
from coupled_arena.stats.risk.dominance_draws import GAMMA, HALF, LOW, ODD, WORD
from coupled_arena.stats.risk.portfolio import TILE

word_of = numba.njit(nogil=True, cache=True)(dominance_draws.word_of)


_PIECE = 256  # quantiles of all models that the first cache holds
_TWICE = 4  # copies of a score that are written at once; more are rare
_TINY = 1e-300  # keeps 0/0 at 0
# Sums in any order, so that they can be vectors; NaN and infinity cannot occur.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "fastmath": {"contract", "reassoc", "nsz", "nnan"},
    "error_model": "numpy",
}


@numba.njit(**_OPTIONS)
def fill_ratios(
    scores: Any,
    prompts: Any,
    starts: Any,
    seeds: Any,
    paired: Any,
    repetitions: Any,
    ratios: Any,
) -> None:
    """Fill ratios, shape (2, seeds, pairs)."""
    k = len(starts) - 1
    largest, smallest = 0, len(scores)
    for model in range(k):
        size = starts[model + 1] - starts[model]
        largest, smallest = max(largest, size), min(smallest, size)
    counts = np.empty(largest, np.int32)
    quantiles = np.empty((k, largest + _TWICE))
    integrals = np.empty((k, largest + 1))
    for b in range(len(seeds)):
        for model in range(k):
            start, end = starts[model], starts[model + 1]
            if model == 0 or not paired:
                seed = seeds[b] + WORD(model) * ODD
                _draw(seed, counts[: (end - start) // repetitions])
            row, sums = quantiles[model], integrals[model]
            _write(scores[start:end], prompts[start:end], counts, row, sums)
        if smallest == largest:
            _compare_even(quantiles, integrals, ratios[:, b])
            continue
        pair = 0
        for i in range(k):
            for j in range(i + 1, k):
                x = quantiles[i, : starts[i + 1] - starts[i]]
                y = quantiles[j, : starts[j + 1] - starts[j]]
                ratios[0, b, pair], ratios[1, b, pair] = _compare(x, y)
                pair += 1


@numba.njit(**_OPTIONS)
def _draw(seed: Any, counts: Any) -> None:
    """Count how often each of n prompts is among n drawn with replacement."""
    n = WORD(len(counts))
    counts[:] = 0
    state = seed
    for number in range(0, len(counts), 2):
        state += GAMMA
        word = word_of(state)
        counts[((word & LOW) * n) >> HALF] += 1
        if number + 1 < len(counts):
            counts[((word >> HALF) * n) >> HALF] += 1


@numba.njit(**_OPTIONS)
def _write(scores: Any, prompts: Any, counts: Any, quantiles: Any, integrals: Any) -> None:
    """Write sorted scores as often as they were drawn, and their running sums."""
    at = WORD(0)  # without a sign, so that no index has to be looked at
    for rank in range(len(scores)):
        times = counts[prompts[rank]]
        for copy in range(_TWICE):  # usually too many; the next score writes over them
            quantiles[at + WORD(copy)] = scores[rank]
        for copy in range(_TWICE, times):
            quantiles[at + WORD(copy)] = scores[rank]
        at += WORD(times)
    total = 0.0
    integrals[0] = 0.0
    for t in range(len(scores)):
        total += quantiles[t]
        integrals[t + 1] = total


@numba.njit(**_OPTIONS)
def _compare_even(quantiles: Any, integrals: Any, ratios: Any) -> None:
    """Compare all pairs of samples of one size."""
    k, n = len(integrals), integrals.shape[1] - 1
    totals = np.zeros((2, ratios.shape[1]))
    ratios[:] = 0.0
    for start in range(0, n, _PIECE):
        end = min(start + _PIECE, n)
        pair = 0
        for i in range(k):
            for j in range(i + 1, k):
                below, total = _squares(quantiles[j, start:end], quantiles[i, start:end])
                ratios[0, pair] += below
                totals[0, pair] += total
                piece = slice(start, end + 1)
                below, total = _linear_squares(integrals[j, piece], integrals[i, piece])
                ratios[1, pair] += below
                totals[1, pair] += total
                pair += 1
    for order in range(2):
        for pair in range(ratios.shape[1]):
            if totals[order, pair] > 0:
                ratios[order, pair] /= totals[order, pair]
            else:
                ratios[order, pair] = 0.5


@numba.njit(**_OPTIONS)
def _squares(x: Any, y: Any) -> Any:
    """Return the sum of (x - y)² where x is above y, and everywhere."""
    above, total = 0.0, 0.0
    for t in range(len(x)):
        difference = x[t] - y[t]
        positive = max(difference, 0.0)
        above += positive * positive
        total += difference * difference
    return above, total


@numba.njit(**_OPTIONS)
def _linear_squares(x: Any, y: Any) -> Any:
    """Return thrice the integral of (x - y)² where x is above y, and everywhere.

    Between a and b of one sign the integral is (a² + ab + b²) / 3; where the sign changes, its
    positive part is v³ / 3(v + w) = (v² - v² w / (v + w)) / 3, w being how far below zero it goes.
    """
    total, positive, negative = 0.0, 0.0, 0.0
    for t in range(len(x) - 1):
        a, b = x[t] - y[t], x[t + 1] - y[t + 1]
        total += b * (a + 2 * b)
        upward = max(b, 0.0)
        positive += upward
        negative += upward - b
    first, last = x[0] - y[0], x[-1] - y[-1]
    total += first * first - last * last  # the sum has 2b² for a² + b² of the next
    positive += max(first, 0.0)
    negative += max(-first, 0.0)
    if negative == 0 or positive == 0:
        return (total if positive > 0 else 0.0), total
    above = 0.0
    for t in range(len(x) - 1):
        a, b = x[t] - y[t], x[t + 1] - y[t + 1]
        p, q = max(a, 0.0), max(b, 0.0)
        v = p + q
        w = v - a - b
        above += v * v - p * q - v * v * w / (v + w + _TINY)
    return above, total


@numba.njit(nogil=True, cache=True)
def _compare(x: Any, y: Any) -> Any:
    """Return the violation ratios of "x dominates y" in both orders; both are sorted."""
    n, m = len(x), len(y)
    one, other = 0, 0  # the quantiles that hold from `start` on, in units of 1 / (n m)
    start, left = 0, 0.0  # left: the difference of the integrated quantiles there
    above = below = above_2 = below_2 = 0.0
    while start < n * m:
        end = min((one + 1) * m, (other + 1) * n)
        width = (end - start) / (n * m)
        difference = x[one] - y[other]
        right = left + difference * width
        if difference > 0:
            above += difference**2 * width
        else:
            below += difference**2 * width
        if (left < 0 < right) or (right < 0 < left):
            top, bottom = max(left, right), -min(left, right)
            above_2 += width * top**3 / (top + bottom)
            below_2 += width * bottom**3 / (top + bottom)
        elif left + right > 0:
            above_2 += width * (left * left + left * right + right * right)
        else:
            below_2 += width * (left * left + left * right + right * right)
        one += end == (one + 1) * m
        other += end == (other + 1) * n
        start, left = end, right
    first = below / (above + below) if above + below > 0 else 0.5
    second = below_2 / (above_2 + below_2) if above_2 + below_2 > 0 else 0.5
    return first, second


@numba.njit(nogil=True, cache=True)
def count_swaps(
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
    """Count swaps as `dominance_draws.count_arrays` does."""
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
            other = 1 - order
            gap, even = drawn[order] - seen[order], rounding * abs(seen[order])
            also = drawn[other] >= seen[other] - rounding * abs(seen[other])
            counts[order] += gap > even or (gap >= -even and also)
    return counts


@numba.njit(nogil=True, cache=True)
def _statistics(
    places: Any, ours: Any, steps: Any, weights: Any, swapped: Any, shares: Any, paired: Any
) -> Any:
    lead = area = first = second = 0.0
    for t in range(len(places)):
        # Paired, a swap exchanges the scores; else it assigns the prompt to a model.
        other = swapped[places[t]] == (ours[t] or not paired)
        lead += shares[1] if other else -shares[0]
        first += weights[t] * lead
        second += weights[t] * area * abs(area)
        area += lead * steps[t]
    return first, second


@numba.njit(nogil=True, cache=True)
def _swap(swapped: Any, seed: Any, second: Any, paired: Any) -> None:
    """Draw which scores are swapped, or which prompts the other model gets."""
    state, left = seed, second
    for place in range(len(swapped)):
        state += GAMMA
        word = word_of(state) >> HALF
        if paired:
            swapped[place] = (word & WORD(1)) == WORD(1)
        else:
            swapped[place] = (word * WORD(len(swapped) - place)) >> HALF < WORD(left)
            left -= swapped[place]


_WORDS = TILE // 64
_NONE, _ONE = np.uint64(0), np.uint64(1)
_SIX, _LOW_SIX = np.uint64(6), np.uint64(63)
# Counting bits in parallel, in a form that compilers know.
_FIVES, _THREES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_FOUR, _TWO, _FIFTEENS = np.uint64(4), np.uint64(2), np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES, _TOP = np.uint64(0x0101010101010101), np.uint64(56)


@numba.njit(nogil=True, cache=True)
def count_lower(lower: Any, order: Any, start: Any, counts: Any) -> None:
    """Add how many points of a tile, sorted by each metric, are below each point."""
    metrics, n = lower.shape
    sets = np.empty((metrics, TILE + 1, _WORDS), np.uint64)
    place = np.empty((n, metrics), np.uint16)  # which set is a point's
    by_rank = np.empty(n + 1, np.int64)
    for metric in range(metrics):
        by_rank[:] = 0
        sets[metric, 0] = _NONE
        for rank in range(order.shape[1]):
            point = order[metric, rank]
            member = np.uint64(point - start)
            for word in range(_WORDS):
                sets[metric, rank + 1, word] = sets[metric, rank, word]
            sets[metric, rank + 1, member >> _SIX] |= _ONE << (member & _LOW_SIX)
            by_rank[lower[metric, point] + 1] += 1
        for rank in range(n):
            by_rank[rank + 1] += by_rank[rank]
        for point in range(n):
            place[point, metric] = by_rank[lower[metric, point]]
    for point in range(n):
        counts[point] += _size_of_intersection(sets, place[point])


@numba.njit(nogil=True, cache=True)
def _size_of_intersection(sets: Any, place: Any) -> Any:
    size = np.uint64(0)
    for word in range(_WORDS):
        bits = sets[0, place[0], word]
        for metric in range(1, len(place)):
            bits &= sets[metric, place[metric], word]
        bits -= (bits >> _ONE) & _FIVES
        bits = (bits & _THREES) + ((bits >> _TWO) & _THREES)
        size += (((bits + (bits >> _FOUR)) & _FIFTEENS) * _ONES) >> _TOP
    return np.int64(size)
