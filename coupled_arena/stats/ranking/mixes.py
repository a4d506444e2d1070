r"""Win rates of a mix of strata, such as kinds of questions: a weighted sum of each one's own.

.. math:: \hat\theta_m = \sum_c w_c \hat\theta_{c,m}, \qquad
          \Sigma = \sum_c w_c^2 \Sigma_c + \sum_{c \ne d} w_c w_d \sum_v u_{v,c} u_{v,d}^\top,

with weights that add up to 1, and u the sums of the influence of one voter's votes. A prompt is in
one stratum, so strata share nothing but their voters. For exactly these voters nothing is shared.
This module knows nothing of stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.ranking.estimates import Estimate, Tastes
from coupled_arena.stats.ranking.voter_tastes import possible


@dataclass(frozen=True, eq=False)
class Stratum:
    """What a mix needs of one of its strata.

    Attributes
    ----------
    name : str
    weight : float
        Of any scale, above 0.
    estimate : Estimate
        All strata of a mix have the same models.
    by_voter : ndarray of float64, shape (voters, k), or None
        What a voter's votes add to the errors of the win rates; None where tastes do not matter.
        Voters are numbered the same in all strata.
    votes : ndarray of float64, shape (voters,), or None
        How many comparisons each voter decided.
    """

    name: str
    weight: float
    estimate: Estimate
    by_voter: FloatArray | None = None
    votes: FloatArray | None = None


def mixed(strata: Sequence[Stratum]) -> Estimate:
    """Return the win rates of a mix.

    A win rate of 0 or 1 rests on as many votes as the smallest stratum has. A mix is certain only
    where all of them are.
    """
    total = sum(each.weight for each in strata)
    weights = [each.weight / total for each in strata]
    parts, first = [each.estimate for each in strata], strata[0].estimate
    pairs = list(zip(weights, parts, strict=True))
    own = sum((w**2 * part.covariance for w, part in pairs), np.zeros_like(first.covariance))
    shared = _shared(strata, weights)
    covariance = own if shared is None else possible(own + shared)
    degrees = _degrees(weights, parts, voters_shared=shared is not None)
    return replace(
        first,
        theta=np.asarray(sum(w * part.theta for w, part in pairs), np.float64),
        covariance=covariance,
        floor=np.asarray(sum(w**2 * part.floor for w, part in pairs), np.float64),
        degrees=degrees,
        size=1 / np.asarray(sum(w**2 / part.size for w, part in pairs), np.float64),
        certain_size=np.min([part.certain_size for part in parts], axis=0),
        power_tuning=float(sum(w * part.power_tuning for w, part in pairs)),
        human=sum(part.human for part in parts),
        judge_only=sum(part.judge_only for part in parts),
        decided=sum(part.decided for part in parts),
        sizes=np.asarray(sum(part.sizes for part in parts), np.float64),
        # Not None: the counts of a mix are no record of wins and losses.
        clusters=sum(part.human if part.clusters is None else part.clusters for part in parts),
        warnings=tuple(f"{s.name}: {said}" for s in strata for said in s.estimate.warnings),
        sparse=None,
        tastes=_tastes(strata, weights, covariance, degrees),
    )


def _shared(strata: Sequence[Stratum], weights: Sequence[float]) -> FloatArray | None:
    """Return what voters share between strata; None where nobody's tastes matter."""
    sums = [w * s.by_voter for w, s in zip(weights, strata, strict=True) if s.by_voter is not None]
    if len(sums) < len(strata):
        return None
    whole = np.sum(sums, axis=0)
    return np.asarray(whole.T @ whole - sum(each.T @ each for each in sums), np.float64)


def _degrees(
    weights: Sequence[float], parts: Sequence[Estimate], *, voters_shared: bool
) -> FloatArray:
    """Return degrees of freedom by Satterthwaite; the same voters everywhere tell no more."""
    total, squares = np.zeros_like(parts[0].degrees), np.zeros_like(parts[0].degrees)
    for weight, part in zip(weights, parts, strict=True):
        variance = weight**2 * _of_differences(part.covariance)
        total += variance
        with np.errstate(divide="ignore", invalid="ignore"):
            squares += np.where(variance > 0, variance**2 / part.degrees, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(squares > 0, total**2 / squares, np.inf)
    lowest = np.min([part.degrees for part in parts], axis=0)
    found = np.where(total > 0, found, lowest)
    if voters_shared:
        found = np.minimum(found, np.max([part.degrees for part in parts], axis=0))
    return np.asarray(found, np.float64)


def _of_differences(covariance: FloatArray) -> FloatArray:
    """Return the variances of differences, on the diagonal those of the win rates."""
    own = np.diag(covariance)
    found = own[:, None] + own - 2 * covariance
    np.fill_diagonal(found, own)
    return np.maximum(found, 0.0)


def _tastes(
    strata: Sequence[Stratum],
    weights: Sequence[float],
    covariance: FloatArray,
    degrees: FloatArray,
) -> Tastes | None:
    known = [each.estimate.tastes for each in strata]
    votes = [each.votes for each in strata if each.votes is not None]
    if any(each is None for each in known) or len(votes) < len(strata):
        return None
    each = np.sum(votes, axis=0)
    each = each[each > 0]
    within = np.zeros_like(covariance)
    for weight, stratum, tastes in zip(weights, strata, known, strict=True):
        of_these = tastes.within if tastes is not None else None
        within += weight**2 * (stratum.estimate.covariance if of_these is None else of_these)
    before, after = float(np.trace(within)), float(np.trace(covariance))
    human = sum(stratum.estimate.human for stratum in strata)
    worth = human * (min(before / after, 1.0) if after > 0 else 1.0)
    if len(each) < 2 or each.max() <= 1:
        return Tastes(max(len(each), 1), human, float(human))
    median = float(np.median(degrees[np.triu_indices(len(degrees), 1)]))
    return Tastes(
        voters=len(each),
        votes=human,
        worth=worth,
        degrees=max(median, 1.0),
        each=float(np.median(each)),
        equal=float(each.sum() ** 2 / (each**2).sum()),
        within=within,
    )
