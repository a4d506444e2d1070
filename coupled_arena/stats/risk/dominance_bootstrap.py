"""Violation ratios of bootstrap samples, for all pairs of models and both orders.

What makes it fast: samples are sorted once, and a bootstrap sample is how often each prompt was
drawn, so writing its scores that often is its quantiles without another sort. Integrated quantiles
are running sums. `dominance_loop` does the same as `fill_arrays` in compiled loops, 20 times as
fast, where numba is installed.

Each bootstrap sample has random numbers of its own, see `split_mix`, so that draws depend on the
seed alone and not on which thread is where. A prompt is drawn by the high half of a 64-bit product,
so its probability is off by less than 2**-32.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.extras import compiled
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.progress import Track
from coupled_arena.stats.risk.dominance import compare, standardised
from coupled_arena.stats.risk.split_mix import HALF, LOW, ODD, WORD, words

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

    loop = compiled("coupled_arena.stats.risk.dominance_loop")
    fill = loop.fill if loop else fill_arrays

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
