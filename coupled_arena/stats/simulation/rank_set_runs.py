"""Rank-sets over many repeats: the positions of a model, how narrow and how right they are.

Also how much two rankings overlap. This module knows nothing of how votes are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import Cutoff
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.ranking.rank_sets import Separation

BoolArray = NDArray[np.bool_]


class Ranking(StrEnum):
    """What a ranking is made of."""

    BASELINE = "baseline"  # the votes on all comparisons drawn
    JUDGE = "judge"  # the verdicts on all of them
    HUMAN = "human"  # the votes on a few of them
    PPR = "ppr"  # prediction-powered: the votes on a few, the verdicts on all


@dataclass(frozen=True, eq=False)
class RankSetRuns:
    """The rank-sets of one ranking on every repeat.

    Attributes
    ----------
    human : int or None
        Comparisons that kept their vote; None where this plays no role.
    low, high : ndarray of int64, shape (alphas, repeats, k)
        Best and worst position of each model; 1 is best.
    """

    ranking: Ranking
    human: int | None
    low: IntArray
    high: IntArray

    @property
    def positions(self) -> FloatArray:
        """Shape (alphas, k, k): share of repeats where a model's rank-set has a position."""
        places = np.arange(1, self.low.shape[2] + 1, dtype=np.int64)
        has: BoolArray = (self.low[..., None] <= places) & (places <= self.high[..., None])
        return np.mean(has, axis=1)

    def sets(self, alpha: int, model: int) -> dict[tuple[int, int], float]:
        """Return the share of repeats of each rank-set (low, high), the most frequent first.

        Parameters
        ----------
        alpha, model : int
            Which error level and which model, by their index.
        """
        pairs = np.stack([self.low[alpha, :, model], self.high[alpha, :, model]], axis=1)
        found, times = np.unique(pairs, axis=0, return_counts=True)
        order = np.argsort(-times, kind="stable")
        return {(int(found[i, 0]), int(found[i, 1])): float(times[i] / len(pairs)) for i in order}


@dataclass(frozen=True)
class RankSetQuality:
    """How narrow rank-sets are, and how well they agree with the baseline's.

    Attributes
    ----------
    size : float
        Positions in a rank-set, mean over models and repeats.
    intersection : float
        Share of repeats where the rank-set of every model meets the baseline's.
    coverage : float
        Share of repeats where the rank-set of every model contains the baseline's.
    size_error, intersection_error, coverage_error : float
        Monte-Carlo standard errors; NaN of the size after a single repeat.
    """

    ranking: Ranking
    human: int | None
    alpha: float
    size: float
    size_error: float
    intersection: float
    intersection_error: float
    coverage: float
    coverage_error: float


def rank_bounds(
    separation: Separation,
    present: Sequence[str],
    models: Sequence[str],
    alpha: float,
    cutoff: Cutoff,
) -> IntArray:
    """Return lowest and highest positions, where a model without votes may have any.

    Parameters
    ----------
    separation : Separation
        Of the models that are `present` in the estimate.
    models : sequence of str
        All models.

    Returns
    -------
    ndarray of int64, shape (2, len(models))
    """
    found = separation.rank_sets(alpha, cutoff)
    bounds = np.tile(np.array([[1], [len(models)]], dtype=np.int64), len(models))
    places = [models.index(model) for model in present]
    bounds[:, places] = found.low, found.high + len(models) - len(present)
    return bounds


def quality_of(run: RankSetRuns, baseline: RankSetRuns, index: int, alpha: float) -> RankSetQuality:
    """Hold the rank-sets of one ranking, at the error level of this index, against the baseline's.

    Parameters
    ----------
    run, baseline : RankSetRuns
        Of the same repeats.
    index : int
        Which error level of the runs, the one of `alpha`.
    """
    low, high = run.low[index], run.high[index]
    base_low, base_high = baseline.low[index], baseline.high[index]
    sizes = (high - low + 1).mean(axis=1)
    repeats = len(sizes)
    met: BoolArray = ((low <= base_high) & (base_low <= high)).all(axis=1)
    held: BoolArray = ((low <= base_low) & (base_high <= high)).all(axis=1)
    intersection, coverage = float(met.mean()), float(held.mean())
    return RankSetQuality(
        ranking=run.ranking,
        human=run.human,
        alpha=alpha,
        size=float(sizes.mean()),
        size_error=float(sizes.std(ddof=1) / repeats**0.5) if repeats > 1 else float("nan"),
        intersection=intersection,
        intersection_error=binomial_error(intersection, repeats),
        coverage=coverage,
        coverage_error=binomial_error(coverage, repeats),
    )


def binomial_error(share: float, repeats: int) -> float:
    """Return the standard error of a share of so many repeats."""
    return (share * (1 - share) / repeats) ** 0.5


def rank_biased_overlap(first: FloatArray, second: FloatArray, persistence: float) -> float:
    r"""Return the rank-biased overlap [1]_ of two rankings of the same k items.

    p is the persistence, and A_d the share of the best d that the rankings have in common. It is
    cut off after all items, without extrapolation, as the ranking paper has it:

    .. math:: (1 - p) \sum_{d=1}^{k} p^{d-1} A_d \le 1 - p^k

    Where items are tied it is the expectation over all orders of theirs, in each ranking for
    itself.

    Parameters
    ----------
    first, second : ndarray of float64, shape (k,)
        Of each item: the more, the better its position.
    persistence : float
        Above 0, below 1: the nearer to 1, the more the bottom weighs.

    Raises
    ------
    ValueError
        The shapes or the persistence do not fit.

    References
    ----------
    .. [1] W. Webber, A. Moffat & J. Zobel, "A similarity measure for indefinite rankings", ACM
       Transactions on Information Systems 28(4), 2010.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"Rankings of shapes {first.shape} and {second.shape} do not compare.")
    if not 0 < persistence < 1:
        raise ValueError(f"The persistence lies between 0 and 1, not at {persistence}.")
    depth = np.arange(1, len(first) + 1, dtype=np.int64)
    shared = (_among_best(first, depth) * _among_best(second, depth)).sum(1) / depth
    return float((1 - persistence) * (persistence ** (depth - 1) * shared).sum())


def _among_best(values: FloatArray, depth: IntArray) -> FloatArray:
    """Return the probability that each is among the best d, shape (depths, k)."""
    ahead = (values[None, :] > values[:, None]).sum(1)
    tied = (values[None, :] == values[:, None]).sum(1)
    return np.clip((depth[:, None] - ahead) / tied, 0, 1)
