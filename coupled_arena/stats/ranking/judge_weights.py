r"""λ, the weight of a judge beside people's votes; of several judges, the weight of each.

With g the vector of the scores of J judges, the weights minimise the same sum of variances as λ
does for one judge:

.. math:: \min_\lambda\; \lambda^\top C \lambda - 2\, b^\top \lambda
          \quad\text{with}\quad \lambda_j \ge 0,\; \sum_j \lambda_j \le 1,

where C are the (co)variances of the judges within pairs of models, and b their covariances with
votes. The bound keeps the weight of all judges together at or below that of people. Everywhere else
they are one judge with a finer score: λ is the sum of the weights, and the score their mean of g.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from coupled_arena.core.choices import TieScore, Weighting
from coupled_arena.stats.counts import OUTCOMES, FloatArray, JudgedCounts
from coupled_arena.stats.ranking.strata import PairPrompts, Strata, StratumCells, tie_scores

_SAME = 1e-10  # of the largest eigenvalue: below it, two judges count as the same one
_ROUNDING = 1e-12


class JudgeWeights(NamedTuple):
    """The weights of judges, and the sums that follow from them.

    Attributes
    ----------
    weights : ndarray of float64, shape (judges,)
        λ of each.
    tuning : float
        The sum of the weights.
    scores : ndarray of float64, shape (2, 4**judges)
        Of each verdict, for the model shown first and for the other.
    cells, strata
        The sums with these scores.
    """

    weights: FloatArray
    tuning: float
    scores: FloatArray
    cells: StratumCells
    strata: Strata


def weigh_judges(
    counts: JudgedCounts,
    cells: StratumCells,
    prompts: PairPrompts | None,
    weighting: Weighting,
    share: FloatArray | None,
    ties: TieScore,
) -> JudgeWeights:
    """Weigh the judges of some counts.

    Parameters
    ----------
    cells : StratumCells
        Of these counts, by the first judge's scores.
    prompts, weighting, ties
        As in `estimate`.
    share : ndarray of float64, shape (k, k), or None
        The weight of pairs' own means, where they do not have all of it.
    """
    each = verdict_scores(ties, counts)

    def summed(scores: FloatArray) -> tuple[StratumCells, Strata]:
        found = cells if counts.judges == 1 else StratumCells.of(counts, ties, scores)
        return found, Strata.of(found, prompts, weighting)

    def terms(scores: FloatArray) -> _Terms:
        return _terms(*summed(scores), weighting, share)

    if counts.judges == 1:
        tuning = terms(each[0]).tuning
        return JudgeWeights(np.array([tuning]), tuning, each[0], *summed(each[0]))
    alone = [terms(scores) for scores in each]
    cost = np.diag([one.cost for one in alone])
    for i, j in combinations(range(len(each)), 2):
        both = terms(each[i] + each[j]).cost
        cost[i, j] = cost[j, i] = (both - alone[i].cost - alone[j].cost) / 2
    weights = least_weights(np.array([one.scale * one.gain for one in alone]), cost)
    tuning = float(weights.sum())
    shares = weights / tuning if tuning > 0 else np.full(len(each), 1 / len(each))
    scores = np.tensordot(shares, each, axes=1)
    return JudgeWeights(weights, tuning, scores, *summed(scores))


def verdict_scores(ties: TieScore, counts: JudgedCounts) -> FloatArray:
    """Return what each judge says of both models by each code, shape (judges, 2, codes)."""
    if counts.mixed:
        mixtures = [tie_scores(ties)[:, [i, j]].mean(axis=1) for i, j in combinations(range(3), 2)]
        return np.column_stack([tie_scores(ties), *mixtures, np.zeros(2)])[None]
    digits = np.indices((len(OUTCOMES),) * counts.judges).reshape(counts.judges, -1)
    scores = np.stack([tie_scores(ties)[:, digit] for digit in digits])
    return np.pad(scores, ((0, 0), (0, 0), (0, int(counts.has_silent))))  # what is not said


def least_weights(gain: FloatArray, cost: FloatArray) -> FloatArray:
    """Return the weights w that minimise w' cost w - 2 gain' w; none negative, nor their sum > 1.

    Where judges say the same, so that weights are not unique, they are as even as can be.
    """
    best, lowest = np.zeros(len(gain)), 0.0
    for weights in _lowest_points(gain, cost):
        if (weights < -_ROUNDING).any() or weights.sum() > 1 + _ROUNDING:
            continue
        height = float(weights @ cost @ weights - 2 * gain @ weights)
        if height < lowest - _ROUNDING * abs(lowest):
            best, lowest = np.maximum(weights, 0), height
    return best


def _lowest_points(gain: FloatArray, cost: FloatArray) -> Iterator[FloatArray]:
    """Yield the lowest point of every face of the allowed weights, the largest faces first."""
    everyone = range(len(gain))
    for size in reversed(everyone):
        for chosen in combinations(everyone, size + 1):
            at = np.array(chosen)
            inside = _pseudo_inverse(cost[np.ix_(at, at)])
            for sum_is_one in (False, True):
                weights = np.zeros(len(gain))
                weights[at] = inside @ gain[at]
                if sum_is_one:
                    weights[at] = _on_the_edge(gain[at], cost[np.ix_(at, at)])
                yield weights


def _on_the_edge(gain: FloatArray, cost: FloatArray) -> FloatArray:
    """Return the lowest point of all weights whose sum is 1."""
    start = np.full(len(gain), 1 / len(gain))
    along = np.eye(len(gain)) - 1 / len(gain)
    step = _pseudo_inverse(along @ cost @ along) @ (along @ (gain - cost @ start))
    return start + along @ step


def _pseudo_inverse(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.pinv(matrix, rcond=_SAME, hermitian=True), dtype=np.float64)


class _Terms(NamedTuple):
    """What λ follows from: λ² cost - 2 λ gain, times a number, is what the judge adds to variances.

    With count weighting they are those of Algorithm 4 of the paper, and `scale` what it multiplies
    their ratio by.
    """

    gain: float
    cost: float
    scale: float

    @property
    def tuning(self) -> float:
        """λ, of one judge."""
        if not self.cost > 0:
            return 0.0
        return float(np.clip(self.scale * (self.gain / self.cost), 0, 1))


def _terms(
    cells: StratumCells, strata: Strata, weighting: Weighting, share: FloatArray | None = None
) -> _Terms:
    """Return the terms of λ: the trace-minimising one, or with count weighting the paper's.

    `share` is the weight of pairs' own means, where they do not have all of it.
    """
    s = strata.sums
    h, g, verdict = (x / np.maximum(n, 1) for x, n in ((s.hm, s.m), (s.g, s.m), (s.G, s.N)))
    # Sums over each cell of (h - mean)(g - mean) and so on, with the means of its stratum.
    scatter_hg = cells.hg - cells.hm * g - cells.g * h + cells.m * h * g
    scatter_g = cells.gg - 2 * cells.g * g + cells.m * g**2
    scatter_verdict = cells.GG - 2 * cells.G * verdict + cells.N * verdict**2
    if weighting is Weighting.COUNT:
        n, m, judge_only = (float(size.sum() / 2) for size in (cells.n, cells.m, cells.N))
        if not m or not judge_only:
            return _Terms(0.0, 0.0, 1.0)
        cost = scatter_verdict.sum() / judge_only**2
        return _Terms(float(scatter_hg.sum() / (n * m)), float(cost), m / (m + judge_only))
    tuned = strata.tuned * (1.0 if share is None else share[..., None] ** 2)
    both, echoes, unlabelled = (
        tuned / np.maximum(size * (less - 1), 1)
        for size, less in ((s.n, s.m), (s.m, s.m), (s.N, s.N))
    )
    gain = (scatter_hg * both).sum()
    cost = (scatter_g * echoes + scatter_verdict * unlabelled).sum()
    return _Terms(float(gain), float(cost), 1.0)
