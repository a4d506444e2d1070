r"""Several metrics, or verdicts on pairs, as one score for each reply; win rates for comparison.

Each metric becomes the share of all models' scores that are not above it, so metrics of any scale
meet in (0, 1]. A portfolio is their weighted geometric mean (independent copula), or the share of
all replies that are worse in every metric (empirical copula). Scores of all models are pooled: a
copula of each model's own scores depends on their order alone, and forgets how good they are.

Higher is better in all metrics here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import Copula
from coupled_arena.core.extras import compiled
from coupled_arena.core.language import _
from coupled_arena.stats.counts import FloatArray, IntArray

TILE = 512  # points whose sets of lower ones stay in the second cache


def portfolio(
    scores: Sequence[FloatArray], copula: Copula, weights: Sequence[float] | None = None
) -> list[FloatArray]:
    """Return the portfolio of each model's replies.

    Parameters
    ----------
    scores : sequence of k ndarrays of float64, shape (n_i, metrics)
        Higher is better.
    weights : sequence of float, optional
        Importance of each metric, in any unit; equal by default. The empirical copula has none.

    Returns
    -------
    list of k ndarrays of float64, shape (n_i,)
        In (0, 1] for the independent copula, in [0, 1) for the empirical one.

    Raises
    ------
    ValueError
        There are no scores or they do not fit, one is not finite, or a weight is negative or
        missing or all are zero.
    """
    if not scores or not all(x.ndim == 2 and x.size for x in scores):
        raise ValueError("Each model must have scores with a column for each metric.")
    if len({x.shape[1] for x in scores}) > 1:
        raise ValueError("All models must have the same metrics.")
    pooled = np.concatenate(list(scores))
    if not np.isfinite(pooled).all():
        raise ValueError("All scores must be finite numbers.")
    shares = checked_weights(weights, pooled.shape[1])
    values = (
        empirical_copula(pooled)
        if copula is Copula.EMPIRICAL
        else np.exp(np.log(distribution(pooled)) @ shares)
    )
    return np.split(values, np.cumsum([len(x) for x in scores])[:-1])


def checked_weights(weights: Sequence[float] | None, metrics: int) -> FloatArray:
    """Return weights that add up to one, shape (metrics,).

    Raises
    ------
    ValueError
        A weight is negative, missing or not finite, or all are zero.
    """
    given = np.ones(metrics) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.shape != (metrics,):
        raise ValueError(f"There must be {metrics} weights, one for each metric.")
    if not (np.isfinite(given).all() and (given >= 0).all() and given.any()):
        raise ValueError(_("Weights must not be negative or infinite, and one must be above zero."))
    given = given / given.max()  # the sum of large ones would be infinite
    return given / given.sum()


def distribution(pooled: FloatArray) -> FloatArray:
    """Return the share of all scores that are at most this one, by metric, in (0, 1].

    Parameters
    ----------
    pooled : ndarray of float64, shape (n, metrics)
    """
    return _counted(pooled, "right") / len(pooled)


def empirical_copula(pooled: FloatArray) -> FloatArray:
    """Return the share of all points that are strictly lower in every metric.

    Points are taken in tiles. A point's lower ones within a tile, in one metric, are the first few
    in the tile's order: one of 513 sets, kept as bits. Its lower ones in every metric are the
    intersection of these sets, and its bits are counted.

    Parameters
    ----------
    pooled : ndarray of float64, shape (n, metrics)

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    n = len(pooled)
    lower = np.ascontiguousarray(_counted(pooled, "left").T.astype(np.int32))
    starts = range(0, n, TILE)
    loop = compiled("coupled_arena.stats.risk.compiled_loops")
    count_lower = loop.count_lower if loop else count_lower_arrays
    workers = min(os.cpu_count() or 1, len(starts))
    counts = np.zeros((workers, n), dtype=np.int64)

    def count(worker: int) -> None:
        for start in starts[worker::workers]:
            order = start + np.argsort(lower[:, start : start + TILE], axis=1)
            count_lower(lower, order, start, counts[worker])

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(count, range(workers)))
    return counts.sum(axis=0) / n


def count_lower_arrays(
    lower: NDArray[np.int32], order: IntArray, start: int, counts: IntArray
) -> None:
    """Add how many points of a tile, sorted by each metric, are below each point."""
    size = order.shape[1]
    sizes: IntArray = np.arange(size + 1, dtype=np.int64).reshape(-1, 1)
    common = np.full((lower.shape[1], -(-size // 8)), 255, np.uint8)
    for values, places in zip(lower, order - start, strict=True):
        rank = np.empty(size, np.int64)
        rank[places] = np.arange(size)
        members: NDArray[np.bool_] = np.greater(sizes, rank)
        sets = np.packbits(members, axis=1)
        below = np.cumsum(np.bincount(values[start : start + size], minlength=len(values)))
        common &= sets[np.concatenate([[0], below])[values]]
    counts += np.bitwise_count(common).sum(axis=1, dtype=np.int64)


def _counted(pooled: FloatArray, side: Literal["left", "right"]) -> IntArray:
    """Count scores below each one by metric, or those not above it ("right"), shape (n, m)."""
    counts = np.empty(pooled.shape, dtype=np.int64)
    for metric in range(pooled.shape[1]):
        column = pooled[:, metric]
        counts[:, metric] = np.searchsorted(np.sort(column), column, side=side)
    return counts


def mean_win_rates(samples: Sequence[FloatArray]) -> FloatArray:
    """Return the share of other models with a lower mean score, shape (k,)."""
    # Exact sums: the same scores in another order have the same mean.
    means = np.array([math.fsum(sample) / len(sample) for sample in samples])
    return (means[:, None] > means[None, :]).sum(axis=1) / (len(means) - 1)


def sample_win_rates(scores: FloatArray) -> FloatArray:
    """Return how often each model alone is best, a tie being a win for nobody.

    Parameters
    ----------
    scores : ndarray of float64, shape (k, n)
        Of k models on the same n prompts.

    Returns
    -------
    ndarray of float64, shape (k,)
    """
    best = scores == scores.max(axis=0)
    return (best & (best.sum(axis=0) == 1)).mean(axis=1)


def verdict_scores(
    prompts: IntArray, first: IntArray, second: IntArray, outcomes: IntArray, k: int
) -> FloatArray:
    r"""Return how far each model is ahead of the others, prompt by prompt.

    The score of model i is :math:`\sum_j (X_{ij} - X_{ji})` with X = 1 for a win and -1 for a loss.
    So a win counts 2, a loss -2; "both good" and "both bad" cancel. A pair with several verdicts on
    one prompt, such as one in each order, counts with their mean.

    Parameters
    ----------
    prompts : ndarray of int64, shape (n,)
        Number of each verdict's prompt, from 0 on.
    first, second : ndarray of int64, shape (n,)
        The models shown first and second.
    outcomes : ndarray of int64, shape (n,)
        Place in `coupled_arena.stats.counts.OUTCOMES`.
    k : int
        Number of models.

    Returns
    -------
    ndarray of float64, shape (number of prompts, k)
        NaN where a model lacks a verdict against another one: its sum is not like the others'.

    Raises
    ------
    ValueError
        The arrays differ in length, a model meets itself, or a number is out of range.
    """
    rows = np.stack([prompts, first, second, outcomes]) if len(prompts) else np.zeros((4, 0), int)
    limits = np.array([np.inf, k, k, 4])[:, None]
    if (rows < 0).any() or (rows >= limits).any() or (rows[1] == rows[2]).any():
        raise ValueError("Verdicts must be on two of the models and have one of four outcomes.")
    points = np.array([2.0, -2.0, 0.0, 0.0])[rows[3]]
    shape = (int(rows[0].max(initial=-1)) + 1, k, k)
    sums, counts = np.zeros(shape), np.zeros(shape)
    for one, other, sign in ((rows[1], rows[2], 1), (rows[2], rows[1], -1)):
        np.add.at(sums, (rows[0], one, other), sign * points)
        np.add.at(counts, (rows[0], one, other), 1)
    counts[:, np.arange(k), np.arange(k)] = 1
    with np.errstate(invalid="ignore"):
        return (sums / counts).sum(axis=2)
