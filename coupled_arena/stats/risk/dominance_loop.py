"""The bootstrap of violation ratios in compiled loops; see `dominance_bootstrap`.

Pairs are compared on pieces of the quantiles that stay in the first cache, in loops that the
compiler turns into vector instructions.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from coupled_arena.stats.risk.split_mix import GAMMA, HALF, LOW, ODD, WORD
from coupled_arena.stats.risk.split_mix_loop import word_of

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
def fill(
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
