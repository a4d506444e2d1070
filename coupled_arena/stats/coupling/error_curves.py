"""How the error of a score difference falls with the number of samples, under both protocols.

A sample is one prompt in one repetition: an answer of each model. All samples together stand for
the truth. A random part of them, drawn without replacement, misses it by an error, so the curves
meet zero at all samples.

`published_curves` and `Gain` repeat the paper [1]_ digit for digit. Sub-samples of every size from
20 to all samples, in steps of 20, are drawn 1,000 times. Where the mean errors of a coupled and an
independent size agree to a tolerance, these sizes are a saving, and the largest one counts. A
sub-sample is the beginning of an order that NumPy's ``RandomState(repeat)`` draws, first of the
coupled and then of the independent samples. So the same 1,000 orders serve all sizes and pairs.

This maximum is biased upwards: without any saving it reports about .1. All pairs of a data set
share their orders. So the number of pairs above a bound is one draw and not a mean: another seed
moves all of them together.

References
----------
.. [1] N. Corvelo Benz, S. Tsirtsis, E. Straitouri, I. Chatzi, A. Artola Velasco, S. Thejaswi &
   M. Gomez-Rodriguez, "Evaluation of large language models via coupled token generation",
   AISTATS 2026, arXiv:2502.01754, sections 4 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from coupled_arena.core.process import Track
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.coupling.score_tables import ScoreTable


@dataclass(frozen=True, eq=False)
class ErrorCurves:
    """Absolute errors of every pair of models at growing numbers of samples.

    Attributes
    ----------
    pairs : tuple of (str, str)
    sizes : ndarray of int64, shape (sizes,)
        Numbers of samples.
    mean : ndarray of float64, shape (2, pairs, sizes)
        Mean absolute error over the sub-samplings; coupled first, then independent.
    mean_error : ndarray of float64, shape (2, pairs, sizes)
        Standard error of the mean.
    low, high : ndarray of float64, shape (2, pairs, sizes)
        Between which 95 % of the errors lie.
    """

    pairs: tuple[tuple[str, str], ...]
    sizes: IntArray
    mean: FloatArray
    mean_error: FloatArray
    low: FloatArray
    high: FloatArray


def error_curves(
    table: ScoreTable,
    sizes: IntArray,
    repeats: int = 1_000,
    seed: int = 0,
    track: Track = iter,
) -> ErrorCurves:
    """Draw sub-samples and measure their errors.

    Parameters
    ----------
    sizes : ndarray of int64
        Numbers of samples, each from 1 to all.
    repeats : int
        Sub-samplings; each is a random order of each protocol's samples. The beginnings of this
        order serve all sizes and pairs.
    track : callable
        Gets the numbers of the repeats and passes them on: shows a progress bar, or stops early.

    Raises
    ------
    ValueError
        A size is out of range, or there are fewer than two repeats.
    """
    samples = table.coupled.shape[0] * table.coupled.shape[1]
    check_draws(sizes, samples, repeats)
    pairs = list(combinations(range(len(table.models)), 2))
    scores = np.stack([table.coupled, table.independent]).reshape(2, samples, -1)
    drawn = _errors(scores, np.array(pairs, dtype=np.int64), sizes, repeats, seed, track)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return ErrorCurves(
        pairs=tuple((table.models[i], table.models[j]) for i, j in pairs),
        sizes=sizes,
        mean=drawn.mean(axis=0),
        mean_error=drawn.std(axis=0, ddof=1) / len(drawn) ** 0.5,
        low=low,
        high=high,
    )


def check_draws(sizes: IntArray, samples: int, repeats: int) -> None:
    """Refuse sub-samples that cannot be drawn, or too few to have an error.

    Raises
    ------
    ValueError
        A size is out of range, or there are fewer than two repeats.
    """
    if sizes.size == 0 or sizes.min() < 1 or sizes.max() > samples:
        raise ValueError(f"Numbers of samples must lie between 1 and {samples:,}.")
    if repeats < 2:
        raise ValueError("There must be two repeats at least.")


def _errors(
    scores: FloatArray, pairs: IntArray, sizes: IntArray, repeats: int, seed: int, track: Track
) -> FloatArray:
    """Return the absolute errors of all sub-samplings, shape (repeats, 2, pairs, sizes)."""
    scores = scores - scores.mean(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    first, second = pairs.T
    errors = [
        np.abs([beginnings(one, rng.permutation(len(one)), sizes, first, second) for one in scores])
        for _ in track(range(repeats))
    ]
    return np.stack(errors)


def beginnings(
    scores: FloatArray, order: IntArray, sizes: IntArray, first: IntArray, second: IntArray
) -> FloatArray:
    """Return the mean score differences of the first samples of an order, shape (pairs, sizes).

    Parameters
    ----------
    scores : ndarray of float64, shape (samples, k)
    order : ndarray of int64, shape (samples,)
    sizes : ndarray of int64, shape (sizes,)
    first, second : ndarray of int64, shape (pairs,)
        Places of the two models of each pair.
    """
    # Differences are linear: summing models takes a third of the time of summing pairs.
    upto = np.cumsum(scores[order], axis=0)[sizes - 1] / sizes[:, None]
    return (upto[:, first] - upto[:, second]).T


REPEATS = 1_000
TOLERANCE = 0.01
_STEP = 20
_FEWEST_POINTS = 20
_STATES = 2**32  # seeds of a RandomState


@dataclass(frozen=True)
class Gain:
    """The largest saving at any size.

    Attributes
    ----------
    gain : float
        1 - coupled/independent; 0 where no sizes agree at which coupling saves something.
    coupled, independent : int or None
        The sizes.
    error : float or None
        The mean absolute error of both, which is the coupled one's.
    """

    gain: float
    coupled: int | None = None
    independent: int | None = None
    error: float | None = None


@dataclass(frozen=True, eq=False)
class PublishedCurves:
    """Mean absolute errors of every pair of models at growing numbers of samples.

    Attributes
    ----------
    pairs : tuple of (str, str)
    sizes : ndarray of int64, shape (sizes,)
    mean, mean_error : ndarray of float64, shape (2, pairs, sizes)
        Over the sub-samplings, and its standard error; coupled first, then independent.
    """

    pairs: tuple[tuple[str, str], ...]
    sizes: IntArray
    mean: FloatArray
    mean_error: FloatArray

    def gain(self, pair: int, tolerance: float = TOLERANCE) -> Gain:
        """Return the largest saving of one pair.

        The errors may differ by the tolerance times the smaller one. As in the paper the smallest
        size does not count for coupled samples.
        """
        coupled, independent = self.mean[0, pair][:, None], self.mean[1, pair][None, :]
        agree = np.abs(coupled - independent) <= tolerance * np.minimum(coupled, independent)
        agree[0] = False
        sizes = self.sizes.astype(np.float64)
        gains = np.where(agree, 1 - sizes[:, None] / sizes[None, :], 0.0)
        i, j = np.unravel_index(np.argmax(gains), gains.shape)
        if not gains[i, j] > 0:
            return Gain(0.0)
        error = float(self.mean[0, pair, i])
        return Gain(float(gains[i, j]), int(self.sizes[i]), int(self.sizes[j]), error)


def published_sizes(samples: int) -> IntArray:
    """Return the paper's numbers of samples: every 20 below all of them.

    Where there are fewer than 400 samples it is every twentieth part of them.
    """
    step = min(_STEP, max(samples // _FEWEST_POINTS, 1))
    return np.arange(step, samples, step, dtype=np.int64)


def published_curves(
    table: ScoreTable,
    seed: int = 0,
    repeats: int = REPEATS,
    sizes: IntArray | None = None,
    track: Track = iter,
) -> PublishedCurves:
    """Draw sub-samples as the paper does, and average their errors.

    Parameters
    ----------
    seed : int
        With 0 the orders are those of the paper; another one draws as many others.
    repeats : int
        Sub-samplings.
    sizes : ndarray of int64, optional
        Numbers of samples in growing order; by default `published_sizes`.
    track : callable
        Gets the numbers of the repeats and passes them on: shows a progress bar, or stops early.

    Raises
    ------
    ValueError
        A size is out of range, or there are fewer than two repeats.
    """
    samples, k = table.coupled.shape[0] * table.coupled.shape[1], len(table.models)
    sizes = published_sizes(samples) if sizes is None else sizes
    check_draws(sizes, samples, repeats)
    places = list(combinations(range(k), 2))
    first, second = np.array(places, dtype=np.int64).T
    protocols = [scores.reshape(samples, k) for scores in (table.coupled, table.independent)]
    protocols = [scores - scores.mean(axis=0) for scores in protocols]
    sums, squares = np.zeros((2, 2, len(places), len(sizes)))
    done = 0
    for repeat in track(range(repeats)):
        done += 1
        state = np.random.RandomState((seed * repeats + repeat) % _STATES)
        for at, scores in enumerate(protocols):
            errors = np.abs(beginnings(scores, state.permutation(samples), sizes, first, second))
            sums[at] += errors
            squares[at] += errors**2
    check_draws(sizes, samples, done)
    mean = sums / done
    variance = np.maximum(squares - done * mean**2, 0.0) / (done - 1)
    return PublishedCurves(
        pairs=tuple((table.models[i], table.models[j]) for i, j in places),
        sizes=sizes,
        mean=mean,
        mean_error=np.sqrt(variance / done),
    )
