r"""Random draws behind the tests of dominance: bootstrap samples, and swaps of scores.

Samples are sorted once. A bootstrap sample is how often each prompt was drawn. Each score, written
that often, gives its quantiles without another sort. Running sums give the integrated ones.

The bootstrap takes the observed scores for all there are. A violation ratio may depend on a few
prompts in a heavy tail; then the bootstrap is too sure of it. So swaps test exactly whether two
models differ at all. If two models are equal, their scores on each prompt could as well be swapped.
With F the shares of scores up to t and H of both models together, the share of random swaps after
which

.. math:: \int (F_j - F_i)\,dH \quad\text{or}\quad \int A\,|A|\,dH,
   \; A(t) = \int_{-\infty}^t (F_j - F_i),

is at least as large as observed is a p-value. It holds its level for equal models exactly, for any
number of prompts and any law. The first is above zero where i dominates j in the first order: it is
the statistic of Mann and Whitney. The other is so in the second. Scores with few values have many
swaps with the same number. Among these the number of the other order decides.

Each draw has random numbers of its own from SplitMix64 [1]_, so draws depend on the seed alone and
not on threads. A prompt is drawn by the high half of a 64-bit product, so its probability is off by
less than 2**-32. `compiled_loops` computes the same, 20 times as fast, where numba is installed.

References
----------
.. [1] G. L. Steele, D. Lea & C. H. Flood, "Fast splittable pseudorandom number generators",
   OOPSLA 2014.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.extras import compiled
from coupled_arena.core.process import Track
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.dominance import ROUNDING, compare, standardised

_CHUNK = 100  # bootstrap samples that a thread takes at a time
_TINY = 1e-300  # keeps 0/0 at 0
_NUMBERS = 1 << 16  # scores that one array holds: calls cost little, memory is small


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
    seeds = np.random.SeedSequence(seed).generate_state(draws, np.uint64).astype(np.uint64)
    k = len(samples)
    ratios = np.empty((2, draws, k * (k - 1) // 2))

    loop = compiled("coupled_arena.stats.risk.compiled_loops")
    fill = loop.fill_ratios if loop else fill_arrays

    def fill_part(part: slice) -> None:
        fill(scores, prompts, starts, seeds[part], paired, repetitions, ratios[:, part])

    _in_threads(fill_part, draws, track)
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


def fill_arrays(
    scores: FloatArray,
    prompts: NDArray[np.uint32],
    starts: IntArray,
    seeds: NDArray[np.uint64],
    paired: bool,
    repetitions: int,
    ratios: FloatArray,
) -> None:
    """Fill ratios, shape (2, seeds, pairs), by arrays."""
    models = [slice(*ends) for ends in pairwise(starts.tolist())]
    even = len(set(np.diff(starts).tolist())) == 1
    at_once = max(1, _NUMBERS // len(scores))
    for begin in range(0, len(seeds), at_once):
        part = slice(begin, begin + at_once)
        quantiles: list[FloatArray] = []
        counts = np.empty((0, 0), np.int64)
        for number, model in enumerate(models):
            if number == 0 or not paired:
                own = seeds[part] + np.array([number], WORD) * ODD
                counts = _draw(own, (model.stop - model.start) // repetitions)
            quantiles.append(_written(scores[model], counts[:, prompts[model]]))
        if even:
            _compare_even(np.stack(quantiles, axis=1), ratios[:, part])
            continue
        for pair, (x, y) in enumerate(combinations(quantiles, 2)):
            ratios[0, part, pair], ratios[1, part, pair] = compare(x, y)


def _draw(seeds: NDArray[np.uint64], n: int) -> IntArray:
    """Count how often each of n prompts is among n drawn with replacement, shape (seeds, n)."""
    drawn = words(seeds, (n + 1) // 2)
    halves = np.concatenate([drawn & LOW, drawn[: n // 2] >> HALF])
    prompts = ((halves * WORD(n)) >> HALF).astype(np.int64)
    prompts += n * np.arange(len(seeds))
    return np.bincount(prompts.ravel(), minlength=n * len(seeds)).reshape(-1, n)


def _written(scores: FloatArray, times: IntArray) -> FloatArray:
    """Write sorted scores as often as they were drawn in each sample, shape (seeds, n)."""
    rows = np.broadcast_to(scores, times.shape)
    return np.repeat(rows.ravel(), times.ravel()).reshape(times.shape)


def _compare_even(quantiles: FloatArray, ratios: FloatArray) -> None:
    """Compare all pairs of samples of one size, shapes (seeds, k, n) and (2, seeds, pairs)."""
    integrals = np.pad(np.cumsum(quantiles, axis=2), ((0, 0), (0, 0), (1, 0)))
    k, at = quantiles.shape[1], 0
    for i in range(k - 1):
        rows = slice(at, at + k - 1 - i)
        for order, differences in enumerate((quantiles, integrals)):
            d = differences[:, i + 1 :] - differences[:, i, None]
            below, total = (_linear_squares if order else _squares)(d)
            half = np.full_like(total, 0.5)
            ratios[order, :, rows] = np.divide(below, total, out=half, where=total > 0)
        at = rows.stop


def _squares(d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sum of each row's squares where it is above zero, and everywhere."""
    positive = np.maximum(d, 0)
    return _dot(positive, positive), _dot(d, d)


def _linear_squares(d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return thrice the integral of d² where d is above zero, and everywhere, for each row.

    Between a and b of one sign the integral is (a² + ab + b²) / 3; where the sign changes, its
    positive part is v³ / 3(v + w) = (v² - v² w / (v + w)) / 3, w being how far below zero it goes.
    """
    a, b = d[..., :-1], d[..., 1:]
    total = _dot(a, a) + _dot(a, b) + _dot(b, b)
    positive = np.maximum(d, 0)
    p, q = positive[..., :-1], positive[..., 1:]
    v = p + q
    w = v - a - b
    squares = v * v
    above = squares.sum(axis=-1) - _dot(p, q) - _dot(squares, w / (v + w + _TINY))
    # Exact where a row has one sign: rounding would leave something of the other.
    above = np.where(d.min(axis=-1) >= 0, total, above)
    return np.where(d.max(axis=-1) <= 0, 0.0, above), total


def _dot(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.einsum("...t,...t->...", x, y)


_SWAPPED_NUMBERS = 1 << 17  # numbers of an array that stays in the second cache


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
    loop = compiled("coupled_arena.stats.risk.compiled_loops")
    count = loop.count_swaps if loop else count_arrays
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
    """Count swaps after which the statistic of each order is as high as it is, by arrays.

    Where it is the same, that of the other order must be as high.
    """
    first, second = sizes.tolist()
    signed = np.float64(1 / (second * repetitions)), np.float64(-1 / (first * repetitions))

    def statistics(swapped: NDArray[np.bool_]) -> FloatArray:
        # Paired, a swap exchanges the scores; else it assigns the prompt to a model.
        other: NDArray[np.bool_] = swapped[places] == (ours | (not paired))[:, None]
        lead: FloatArray = np.cumsum(np.where(other, *signed), axis=0)
        area = np.zeros_like(lead)
        np.cumsum(lead[:-1] * steps[:-1, None], axis=0, out=area[1:])
        return np.stack([weights @ lead, weights @ (area * np.abs(area))])

    as_seen = np.zeros((first if paired else first + second, 1), np.bool_)
    as_seen[first:] = True
    seen = statistics(as_seen)
    counts = np.zeros(2)
    at_once = max(1, _SWAPPED_NUMBERS // len(places))
    for begin in range(0, len(seeds), at_once):
        drawn = statistics(_swap(len(as_seen), seeds[begin : begin + at_once], second, paired))
        as_high = drawn >= seen - rounding * np.abs(seen)
        higher = drawn > seen + rounding * np.abs(seen)
        counts += (higher | (as_high & as_high[::-1])).sum(axis=1)
    return counts


def _swap(n: int, seeds: NDArray[np.uint64], second: int, paired: bool) -> NDArray[np.bool_]:
    """Draw which scores are swapped, or which prompts the other model gets, shape (n, seeds)."""
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


WORD = np.uint64
GAMMA = WORD(0x9E3779B97F4A7C15)  # added to the state before each word
LOW, HALF = WORD(0xFFFFFFFF), WORD(32)  # the two halves of a word
ODD = WORD(0xBF58476D1CE4E5B9)
_SECOND = WORD(0x94D049BB133111EB)
_SHIFTS = WORD(30), WORD(27), WORD(31)


def word_of(state: Any) -> Any:
    """Return the word of a state; of an array, the word of each."""
    word = (state ^ (state >> _SHIFTS[0])) * ODD
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND
    return word ^ (word >> _SHIFTS[2])


def words(seeds: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """Return the first words of each stream, shape (count, seeds)."""
    steps = GAMMA * np.arange(1, count + 1, dtype=WORD)
    return word_of(seeds + steps[:, None])
