r"""One ranking out of several: the one nearest to all of them.

.. math:: \min_\pi \sum_i w_i\, d(\pi, \pi_i)

over rankings without ties. With Pearson's distance that is a sort, with Spearman's an assignment of
models to places. With Kendall's it is the Kemeny ranking: by dynamic programming over sets of up to
12 models, by integer programming beyond. All are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import coo_array
from scipy.stats import rankdata

from coupled_arena.core.choices import Distance
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.portfolio import checked_weights

_LARGEST_SETS = 12  # models whose sets are gone through: 4,096


@dataclass(frozen=True, eq=False)
class Aggregate:
    """The ranking nearest to several.

    Attributes
    ----------
    ranks : ndarray of int64, shape (k,)
        Of each model, 1 the best. Under Pearson's distance models with equal scores share the best
        of their ranks; else the earlier model comes first where two orders are equally near.
    distance : float
        Weighted mean distance to the given rankings.
    """

    ranks: IntArray
    distance: float
    kind: Distance


def aggregate(
    rankings: FloatArray,
    kind: Distance = Distance.PEARSON,
    weights: FloatArray | None = None,
) -> Aggregate:
    """Return the ranking that is nearest to all given ones.

    Parameters
    ----------
    rankings : ndarray, shape (m, k)
        Rank of each model, 1 the best; ties are equal numbers, of any convention.
    weights : ndarray of float64, shape (m,), optional
        Equal by default.

    Raises
    ------
    ValueError
        There is no ranking or no model, or a weight is negative or missing or all are zero.
    """
    given = np.asarray(rankings, dtype=np.float64)
    if given.ndim != 2 or not given.size or not np.isfinite(given).all():
        raise ValueError("There must be one ranking or more, with a rank for each model.")
    shares = checked_weights(None if weights is None else weights.tolist(), len(given))
    middle = rankdata(given, axis=1)
    if kind is Distance.PEARSON:
        return _nearest_by_correlation(middle, shares)
    costs = _footrule(middle, shares)
    order = (
        linear_sum_assignment(costs.T)[1]
        if kind is Distance.SPEARMAN
        else _kemeny(_disagreement(middle, shares))
    )
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return Aggregate(ranks, _mean_distance(ranks, middle, shares, kind), kind)


def distance(one: FloatArray, other: FloatArray, kind: Distance) -> float:
    """Return the distance of two rankings.

    Parameters
    ----------
    one, other : ndarray, shape (k,)
        Ranks; ties are equal numbers.
    """
    a, b = rankdata([one, other], axis=1)
    if kind is Distance.SPEARMAN:
        return float(np.abs(a - b).sum())
    if kind is Distance.PEARSON:
        return 1 - float(_standard(a) @ _standard(b))
    pairs = np.triu_indices(len(a), 1)
    product = np.sign(a[:, None] - a)[pairs] * np.sign(b[:, None] - b)[pairs]
    return float(((1 - product) / 2).sum())


def _standard(ranks: FloatArray) -> FloatArray:
    """Return ranks with mean 0 and length 1; zeros if all are tied."""
    centred = ranks - ranks.mean()
    length = float(np.sqrt(centred @ centred))
    return centred / length if length else centred


def _mean_distance(ranks: IntArray, given: FloatArray, shares: FloatArray, kind: Distance) -> float:
    each = [distance(ranks.astype(np.float64), ranking, kind) for ranking in given]
    return float(shares @ np.array(each))


def _nearest_by_correlation(given: FloatArray, shares: FloatArray) -> Aggregate:
    """Correlation with all is that with one vector, and greatest for ranks in its order."""
    score = np.round(shares @ np.array([_standard(ranks) for ranks in given]), 12)
    order = np.argsort(score, kind="stable")
    strict = np.empty(len(order), dtype=np.int64)
    strict[order] = np.arange(1, len(order) + 1)
    shared = (score[None, :] < score[:, None]).sum(axis=1) + 1
    far = _mean_distance(strict, given, shares, Distance.PEARSON)
    return Aggregate(shared.astype(np.int64), far, Distance.PEARSON)


def _footrule(given: FloatArray, shares: FloatArray) -> FloatArray:
    """Return what it costs to give each model each place, shape (k, k)."""
    places = np.arange(1, given.shape[1] + 1, dtype=np.float64)
    return np.einsum("i,imp->mp", shares, np.abs(given[:, :, None] - places))


def _disagreement(given: FloatArray, shares: FloatArray) -> FloatArray:
    """Return what it costs to put model a before model b, shape (k, k)."""
    sign = np.sign(given[:, :, None] - given[:, None, :])  # 1 where a ranks behind b
    return np.einsum("i,iab->ab", shares, (1 + sign) / 2)


def _kemeny(cost: FloatArray) -> IntArray:
    """Return models, best first, with the least cost over all pairs."""
    k = len(cost)
    return _by_sets(cost) if k <= _LARGEST_SETS else _by_integers(cost)


def _by_sets(cost: FloatArray) -> IntArray:
    """Put one model after another in front of those still to come."""
    k = len(cost)
    sets = np.arange(2**k, dtype=np.int64)
    members = (sets[:, None] >> np.arange(k, dtype=np.int64)) & 1
    behind = members @ cost.T  # [set, a]: a before all of the set
    least = np.zeros(2**k)  # of ordering a set
    first = np.zeros(2**k, dtype=np.int64)
    for one in range(1, 2**k):
        inside = np.flatnonzero(members[one])
        rest = one ^ (1 << inside)
        costs = np.round(least[rest] + behind[rest, inside], 12)
        best = int(costs.argmin())
        least[one], first[one] = costs[best], inside[best]
    order: list[int] = []
    left = 2**k - 1
    while left:
        order.append(int(first[left]))
        left ^= 1 << order[-1]
    return np.array(order)


def _by_integers(cost: FloatArray) -> IntArray:
    """Choose an order for each pair so that no three of them go in a circle.

    With x = 1 where i comes before j, for i < j: x_ij + x_jh - x_ih is 0 or 1.
    """
    k = len(cost)
    pair = {ij: number for number, ij in enumerate(combinations(range(k), 2))}
    triples = list(combinations(range(k), 3))
    columns = [[pair[i, j], pair[j, h], pair[i, h]] for i, j, h in triples]
    rows = np.repeat(np.arange(len(triples)), 3)
    values = np.tile([1.0, 1.0, -1.0], len(triples))
    circles = coo_array((values, (rows, np.ravel(columns))), shape=(len(triples), len(pair)))
    found = milp(
        [cost[i, j] - cost[j, i] for i, j in pair],
        integrality=np.ones(len(pair), dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(circles.tocsc(), 0, 1),
    )
    if found.x is None:
        raise ArithmeticError(f"The solver found no ranking: {found.message}")
    before = np.zeros(k)
    for (i, j), number in pair.items():
        before[i if found.x[number] > 0.5 else j] += 1
    return np.argsort(-before, kind="stable")
