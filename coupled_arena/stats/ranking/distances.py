"""How far apart models are: differences of estimates in units of their standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, ndtri, ndtri_exp, stdtr

from coupled_arena.core.choices import Covariance
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.ranking.any_time import plain_record
from coupled_arena.stats.ranking.estimates import Estimate

FEW_VOTES = 30
"""Votes of a model below which the normal law is allowed to be off, see `Distances`."""

FEW_DEGREES = 40
"""Degrees of freedom below which no variance is taken for known: that of a newcomer."""


@dataclass(frozen=True, eq=False)
class Distances:
    """How far apart any two of k models are.

    Attributes
    ----------
    covariance : ndarray of float64, shape (k, k)
        Of the estimates, with what few votes do not show of it.
    sd : ndarray of float64, shape (k, k)
        Standard deviations of differences, infinite where nothing can be concluded.
    estimated : ndarray of float64, shape (k, k)
        Differences in units of them, on the scale of the normal law. That law puts them as far out
        as Student's t does, which they follow with `Estimate.degrees`.
    known : ndarray of float64, shape (k, k)
        Likewise, with variances taken for known, as Bonferroni's cut-off and chi2 are printed,
        where no voters share prompts and no difference has fewer than `FEW_DEGREES`.

    Notes
    -----
    Few votes vary less than what they are drawn from, two wins of two not at all. So some models
    get the variance of their votes and two wins and two losses more, as in the interval of Agresti
    and Coull. These are models with fewer than `FEW_VOTES`, or with votes that never varied. Their
    differences, like those of two models alone, must pass the score test too. Its variance is the
    one that holds if the models are equal. That is d²/n larger than the sample's at a difference of
    d in n comparisons. 95 % rank-sets of two equal models then cover .935 or more from 5 to 30
    votes, with the sample's variance as little as .81. Those of a new model among three equals
    cover .984 or more from one vote on. The sample's variance would put it first or last after its
    first vote. This is exact, with ties 0, .3 and .6 of the votes. Of three or more models with few
    votes each, the score test takes Student's law, too. Three equal ones without ties cover .964 or
    more from 5 to 9 votes a pair, and .925 to .937 without it. Prompts are counted in the place of
    votes where these share them. Where one of two models won every vote, the exact test of so many
    wins takes the place of all this. Below `FEW_VOTES` plain votes must pass it, too.
    """

    covariance: FloatArray
    sd: FloatArray
    estimated: FloatArray
    known: FloatArray

    @classmethod
    def of(cls, estimate: Estimate) -> Distances:
        """Measure them."""
        covariance = _guarded(estimate)
        spread = _spread(estimate, covariance)
        few = estimate.clusters is not None or estimate.degrees.min() < FEW_DEGREES
        degrees = estimate.degrees, np.full_like(estimate.degrees, np.inf)
        estimated, known = (_distance(estimate, spread, each) for each in degrees)
        return cls(covariance, np.sqrt(spread), estimated, estimated if few else known)


def _guarded(estimate: Estimate) -> FloatArray:
    """Return the covariance with what few votes do not show of it: two wins of two have none."""
    if _wholly_won(estimate):
        # That of equal models without ties. With no variance the max-t cut-off would be 0, and
        # two wins of two would separate.
        return np.array([[1.0, -1.0], [-1.0, 1.0]]) / (4 * estimate.certain_size.min())
    if estimate.kind is Covariance.PUBLISHED or len(estimate.theta) <= 2:
        return estimate.covariance
    rate, size = np.clip(estimate.theta, 0, 1), estimate.size
    drawn_in = (size * rate + 2) / (size + 4)
    guard = (drawn_in * (1 - drawn_in) - rate * (1 - rate)) / size
    return estimate.covariance + np.diag(np.where(_few(estimate), guard, 0))


def _few(estimate: Estimate) -> NDArray[np.bool_]:
    """Return which models have votes too few, or too much alike, for the normal law."""
    return (estimate.size < FEW_VOTES) | (np.diag(estimate.covariance) == 0)


def _distance(estimate: Estimate, spread: FloatArray, degrees: FloatArray) -> FloatArray:
    """Return how far apart any two models are, in standard deviations of the normal law."""
    difference = np.abs(estimate.theta[:, None] - estimate.theta[None, :])
    score, t = _score(estimate), difference / np.sqrt(spread)
    if _wholly_won(estimate):
        return np.where(np.eye(2, dtype=np.bool_), 0.0, _of_wins(estimate.certain_size.min()))
    guarded = score > 0
    # Votes that nothing ties together are few in one way: the score test allows for it alone.
    alone = guarded & (estimate.clusters is None)
    far = _as_normal(t, np.where(alone, np.inf, degrees))
    guard = difference / np.sqrt(spread + score)
    if len(estimate.theta) > 2:  # of more models, few votes of both are few in both ways
        few = _few(estimate)
        both = guarded & few[:, None] & few[None, :]
        guard = np.where(both, _as_normal(np.minimum(t, guard), degrees), guard)
    far = np.where(guarded, np.minimum(far, guard), far)
    record = plain_record(estimate)
    if record is None or estimate.human >= FEW_VOTES or estimate.kind is Covariance.PUBLISHED:
        return far
    return np.minimum(far, _of_record(*record))


def _wholly_won(estimate: Estimate) -> bool:
    """Return whether one of two models won every vote, so that nothing varies."""
    if estimate.kind is Covariance.PUBLISHED or len(estimate.theta) != 2:
        return False
    return bool(np.ptp(estimate.theta) == 1 and not estimate.covariance.any())


def _of_wins(votes: float) -> float:
    """Return what the normal law puts as far out as so many wins of as many, of equal models."""
    return -float(ndtri_exp(-votes * np.log(2)))  # pyright: ignore[reportUnknownArgumentType]


def _of_record(wins: int, losses: int) -> float:
    """Return likewise of wins and losses, which is nothing where they are as many."""
    tail = float(bdtrc(max(wins, losses) - 1, wins + losses, 0.5))
    return max(-float(ndtri(tail)), 0.0) if wins != losses else 0.0


def _as_normal(t: FloatArray, degrees: FloatArray) -> FloatArray:
    """Return what the normal law puts as far out as Student's puts t; 0 without any degree."""
    known = np.where(np.isfinite(degrees), np.maximum(degrees, 1e-3), 1.0)
    tail = stdtr(known, -t)
    return np.where(np.isfinite(degrees), np.where(degrees > 0, -ndtri(tail), 0.0), t)


def _score(estimate: Estimate) -> FloatArray:
    """Return by how much the variance of a difference is larger if the two models are equal."""
    squares = (estimate.theta[:, None] - estimate.theta[None, :]) ** 2
    if estimate.kind is Covariance.PUBLISHED:
        return np.zeros_like(squares)
    if len(squares) == 2:
        return squares / estimate.size  # both rest on the same votes
    # Equal models have the mean of all their votes, which each misses by the other's part of d.
    few, one, other = _few(estimate), estimate.size[:, None], estimate.size[None, :]
    larger = squares * (other**2 / one + one**2 / other) / (one + other) ** 2
    return np.where(few[:, None] | few[None, :], larger, 0)


def _spread(estimate: Estimate, guarded: FloatArray) -> FloatArray:
    """Return the variances of differences, infinite where nothing can be concluded."""
    variance = np.diag(estimate.covariance)
    # A difference that never varied among the votes has what few votes may hide for a variance,
    # and of two models none; rounding leaves about 1e-16 of the variances in its place.
    total = variance[:, None] + variance
    varied = _of_differences(estimate.covariance) > 1e-12 * total
    found = _of_differences(guarded)
    hidden = found > np.maximum(1e-12 * total, np.finfo(float).tiny)
    return np.where(varied | hidden, found, np.inf)


def _of_differences(covariance: FloatArray) -> FloatArray:
    variance = np.diag(covariance)
    return variance[:, None] + variance[None, :] - 2 * covariance
