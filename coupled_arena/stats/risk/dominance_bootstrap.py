"""Violation ratios of bootstrap samples, for all pairs of models and both orders.

What makes it fast: samples are sorted once, and a bootstrap sample is how often each prompt was
drawn, so writing its scores that often is its quantiles without another sort. Integrated quantiles
are running sums. Pairs are compared on pieces of the quantiles that stay in the first cache, in
loops that the compiler turns into vector instructions.

Each bootstrap sample has random numbers of its own, see `split_mix`, so that draws depend on the
seed alone and not on which thread is where. A prompt is drawn by the high half of a 64-bit product,
so its probability is off by less than 2**-32.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.progress import Track
from coupled_arena.stats.risk.dominance import compare, standardised
from coupled_arena.stats.risk.split_mix import GAMMA, HALF, LOW, ODD, WORD, word_of

_CHUNK = 100  # bootstrap samples that a thread takes at a time
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


def bootstrap_ratios(
    samples: Sequence[FloatArray],
    draws: int,
    *,
    paired: bool,
    seed: int = 0,
    repetitions: int = 1,
    track: Track = iter,
) -> FloatArray:
    """Return the violation ratios of bootstrap samples.

    Parameters
    ----------
    samples : sequence of k ndarrays of float64, shape (n_i,)
        Scores of each model; under pairing the same place is the same prompt.
    draws : int
        Number of bootstrap samples B.
    paired : bool
        Draw prompts, the same for all models; else draw each model's by themselves.
    repetitions : int
        Scores of each prompt, which stand next to each other and are drawn together.
    track : callable
        Goes through the bootstrap samples, so many at a time.

    Returns
    -------
    ndarray of float64, shape (2, B, k (k - 1) / 2)
        ``[order - 1, b, pair]``: of "i dominates j" for the pairs i < j in the order of
        ``itertools.combinations``.

    Raises
    ------
    ValueError
        There is no draw, a sample cannot be used, paired samples have different sizes, or the
        repetitions do not divide a size.
    """
    if draws < 1 or repetitions < 1:
        raise ValueError("There must be one bootstrap sample and one repetition at least.")
    scores, prompts, starts = _sorted(standardised(samples), repetitions, paired=paired)
    seeds = np.random.SeedSequence(seed).generate_state(draws, np.uint64)
    k = len(samples)
    ratios = np.empty((2, draws, k * (k - 1) // 2))

    def fill(part: slice) -> None:
        _fill(scores, prompts, starts, seeds[part], paired, repetitions, ratios[:, part])

    _in_threads(fill, draws, track)
    return ratios


def _in_threads(fill: Callable[[slice], None], draws: int, track: Track) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            begins = range(0, draws, _CHUNK)
            filled = pool.map(fill, [slice(begin, begin + _CHUNK) for begin in begins])
            for _ in track(begins):
                next(filled)
        except BaseException:  # Ctrl-C: do not finish what nobody will read
            pool.shutdown(cancel_futures=True)
            raise


def _sorted(
    samples: Sequence[FloatArray], repetitions: int, *, paired: bool
) -> tuple[FloatArray, NDArray[np.uint32], IntArray]:
    """Return all models' sorted scores in a row, the prompt of each, and where a model begins."""
    sizes = np.array([len(sample) for sample in samples])
    if paired and len(set(sizes.tolist())) > 1:
        raise ValueError("Paired samples must have the same prompts.")
    if (sizes % repetitions).any():
        raise ValueError("Each prompt must have as many scores as there are repetitions.")
    orders = [np.argsort(sample, kind="stable") for sample in samples]
    scores = np.concatenate([x[o] for x, o in zip(samples, orders, strict=True)])
    prompts = (np.concatenate(orders) // repetitions).astype(np.uint32)
    return scores, prompts, np.concatenate([[0], np.cumsum(sizes)])


@numba.njit(**_OPTIONS)
def _fill(
    scores: Any,
    prompts: Any,
    starts: Any,
    seeds: Any,
    paired: Any,
    repetitions: Any,
    ratios: Any,
) -> None:
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
                ratios[0, b, pair], ratios[1, b, pair] = compare(x, y)
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
