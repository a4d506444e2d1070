"""Krippendorff's alpha: how far annotators agree beyond chance, from counts.

Alpha is 1 - D_o / D_e: the observed disagreement over the expected one, if the same votes fell on
the units at random. It allows any number of annotators and missing votes.

Alpha is nominal: two outcomes are the same or they are not. A vote for neither answer disagrees
with a vote for one of them as much as votes for different answers do.

The interval is by the jackknife over clusters, with quantiles of Student's t, and downwards on the
scale of the logarithm of D_o / D_e. The usual bootstrap of alpha is too short for few clusters.

References
----------
Krippendorff (2011), Computing Krippendorff's alpha-reliability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import check_alpha, critical_value

MANY_ANNOTATORS = 20
"""From so many on the noise of votes is taken from what annotators add."""
_STEEPEST = 100.0  # beyond, an exponential says nothing more


@dataclass(frozen=True)
class Agreement:
    """Alpha and its interval; None where the votes do not determine them.

    Attributes
    ----------
    alpha : float or None
        1: all agree. 0: as if by chance. Below: less than by chance.
    observed, expected : float or None
        Disagreement D_o, and D_e by chance: shares of pairs of votes.
    units, votes : int
        Units with two or more votes, and these votes.
    clusters : int
        Groups of units that may depend on each other.
    annotators : int or None
        People whom the interval is for people like; None where it is for exactly these.
    """

    alpha: float | None
    low: float | None
    high: float | None
    observed: float | None
    expected: float | None
    units: int
    votes: int
    clusters: int
    annotators: int | None = None


@dataclass(frozen=True, eq=False)
class Said:
    """Votes one by one, shape (votes,) each.

    Attributes
    ----------
    unit, annotator, outcome : ndarray of int64
        A row of the counts, a number of the annotator, a column of the counts.
    """

    unit: IntArray
    annotator: IntArray
    outcome: IntArray


def agreement(
    counts: IntArray, clusters: IntArray, level: float = 0.05, said: Said | None = None
) -> Agreement:
    """Return nominal alpha with its interval.

    Parameters
    ----------
    counts : ndarray of int, shape (units, outcomes)
        Annotators of each unit by their outcome; a unit with fewer than two is left out.
    clusters : ndarray of int, shape (units,)
        Units of one cluster may depend on each other.
    level : float
        Error level of the interval.
    said : Said, optional
        All votes of these units. With them the interval is for people like these annotators, who
        each have a tendency of their own; without, for exactly these.
    """
    check_alpha(level)
    pairable = counts.sum(1) > 1
    own = None if said is None else _own(counts, clusters, said)
    counts, clusters = counts[pairable], clusters[pairable]
    names, at = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(names), 1 + counts.shape[1]))
    np.add.at(sums, at, np.column_stack([_disagreeing(counts), counts]))
    observed, expected = (float(value) for value in _disagreements(sums.sum(0)))
    low, high = _interval(sums, level, own) if expected > 0 else (None, None)
    return Agreement(
        alpha=1 - observed / expected if expected > 0 else None,
        low=low,
        high=high,
        observed=observed if len(counts) else None,
        expected=expected if len(counts) else None,
        units=len(counts),
        votes=int(counts.sum()),
        clusters=len(names),
        annotators=own.annotators if own else None,
    )


@dataclass(frozen=True)
class _Own:
    """What tendencies of annotators add to the variance of alpha, and how many there are."""

    variance: float
    annotators: int


def _own(counts: IntArray, clusters: IntArray, said: Said) -> _Own | None:
    """Return it by what each vote adds to alpha; None of one annotator, or where nothing varies.

    A vote is in all pairs with the other votes of its unit, so an annotator who disagrees moves the
    disagreement by twice the share of their own votes. A vote on one prompt apart from this is in
    the variance by prompts already, and taken from it where annotators are many. Of few, chance
    may hide what they add, so all of it counts.
    """
    size = counts.sum(1)
    at = size[said.unit] > 1
    unit, who, outcome = said.unit[at], said.annotator[at], said.outcome[at]
    votes, people = len(unit), len(np.unique(who))
    if people < 2:
        return None
    often = np.bincount(outcome, minlength=counts.shape[1]) / votes
    differ = (size[unit] - counts[unit, outcome]) / (size[unit] - 1)
    observed, expected = differ.mean(), 1 - (often**2).sum()
    if expected <= 0:
        return None
    adds = 2 * (differ - observed) / expected
    adds = adds + 2 * observed / expected**2 * (often[outcome] - (often**2).sum())
    adds = adds / votes
    of_people = np.bincount(who, adds)
    both = who * (int(clusters.max()) + 1) + clusters[unit]
    _, cell = np.unique(both, return_inverse=True)
    alone = float((np.bincount(cell, adds) ** 2).sum()) if people >= MANY_ANNOTATORS else 0.0
    variance = float((of_people**2).sum()) * people / (people - 1) - alone
    return _Own(max(variance, 0.0), people)


def _disagreeing(counts: IntArray) -> FloatArray:
    """Return of each unit the pairs of votes that differ, as a share of a vote's pairs."""
    votes = counts.sum(1)
    return (votes**2 - (counts**2).sum(1)) / (votes - 1)


def _disagreements(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return D_o and D_e of sums over units, shape (..., 1 + outcomes); 0 where there are none."""
    counts = sums[..., 1:]
    votes = counts.sum(-1)
    some = votes > 1
    observed = np.divide(sums[..., 0], votes, out=np.zeros_like(votes), where=some)
    differing = votes**2 - (counts**2).sum(-1)
    expected = np.divide(differing, votes * (votes - 1), out=np.zeros_like(votes), where=some)
    return observed, expected


def _interval(
    sums: FloatArray, level: float, own: _Own | None
) -> tuple[float | None, float | None]:
    """Return the interval of sums over clusters; None where these determine none."""
    n = len(sums)
    observed, expected = _disagreements(sums.sum(0))
    if not observed:
        # They never differ, however one looks. That none of n clusters has a disagreement leaves a
        # share of 1 - (level / 2) ** (1 / n) possible, in each of which at worst all disagree.
        return float(1 - (1 - (level / 2) ** (1 / n)) / expected), 1.0
    without, by_chance = _disagreements(sums.sum(0) - sums)
    if n < 2 or not by_chance.all():
        return None, None
    alphas = 1 - without / by_chance
    error = np.sqrt((n - 1) / n * ((alphas - alphas.mean()) ** 2).sum())
    degrees = float(n - 1)
    if own is not None and own.variance > 0:
        total = float(error**2) + own.variance
        parts = error**4 / degrees + own.variance**2 / (own.annotators - 1)
        # Satterthwaite's: between those of prompts and those of annotators.
        degrees, error = max(float(total**2 / parts), 1.0), math.sqrt(total)
    if not error:
        return None, None
    reach = float(critical_value(level, np.array(degrees)) * error)
    ratio = float(observed / expected)
    # Where few disagree the ratio's law is skew: alpha may lie as far below as its logarithm says.
    worst = min(float(observed) * math.exp(min(reach / ratio, _STEEPEST)), 1.0)
    return 1 - worst / float(expected), min(1 - ratio + reach, 1.0)
