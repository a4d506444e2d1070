"""Rank-sets: the positions each model may have, right for all models at once, or for each alone.

Two models are separated where their estimates differ by more than c standard deviations of the
difference. A model's rank-set runs from 1 + (separated and better) to k - (separated and worse).
With probability 1 - alpha, all rank-sets together cover the true ranks. A marginal rank-set
promises this of its own model alone: it compares this model with the others only.

A covariance from few voters or prompts has an error that all differences share, so the cut-off is
drawn with it. Each draw of the differences is divided by a standard deviation from a Wishart draw.
Both come from a shrunk covariance [3]_. By chance, differences seem to depend on each other more
than they do. This makes the largest of them too small. With correlations as they seem, 95 %
sets of eight equal models covered .93 with 4 degrees of freedom, and of twelve .91.

The step-down cut-off is narrower than max-t, and as safe [1]_ [2]_. It first finds the differences
that are surely not zero, with their sign, because these cannot mislead in the other direction.
Then separated pairs leave the comparison, and the cut-off falls for the rest, until no other pair
passes it.

This module knows nothing of votes, only of estimates.

References
----------
.. [1] J. P. Romano & M. Wolf, "Exact and approximate stepdown methods for multiple hypothesis
   testing", Journal of the American Statistical Association 100, 94-108 (2005).
.. [2] M. Mogstad, J. P. Romano, A. Shaikh & D. Wilhelm, "Inference for ranks with applications to
   mobility across neighbourhoods and academic achievement across countries", Review of Economic
   Studies 91, 476-518 (2024).
.. [3] Y. Chen, A. Wiesel, Y. C. Eldar & A. O. Hero, "Shrinkage algorithms for MMSE covariance
   estimation", IEEE Transactions on Signal Processing 58, 5016-5029 (2010).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtr, ndtri, stdtrit

from coupled_arena.core.choices import Cutoff, Scope, TieScore
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import check_alpha, critical_value, wilson
from coupled_arena.stats.ranking import any_time
from coupled_arena.stats.ranking.distances import Distances
from coupled_arena.stats.ranking.estimates import Estimate

DRAWS = 100_000
LIVE_DRAWS = 20_000  # the level is off by .0015 at alpha = .05, and a page must not wait
SEED = 20_240_227
_CHUNK = 4_000_000  # numbers at once while the largest differences are drawn
_KNOWN = 300  # degrees of freedom from which a covariance of clusters is as good as known
_IN_WISHARTS = 100_000_000  # numbers in all, which take seconds
_FEWEST_DRAWS = 5000  # the level is off by .003 at alpha = .05


@dataclass(frozen=True, eq=False)
class RankSets:
    """Possible positions of k models, 1 is best.

    Attributes
    ----------
    low, high : ndarray of int64, shape (k,)
        Best and worst position that the votes leave possible.
    rank : ndarray of int64, shape (k,)
        Position by the estimates alone; equal estimates share the better one.
    cutoff, scope : Cutoff, Scope
    critical_value : float
        c, in standard deviations of a difference, as the normal law has them. Each model has its
        own where they are marginal, of which this is the largest.
    alpha : float
        Error level.
    ahead : ndarray of bool, shape (k, k)
        Whether the model of the row is separated from that of the column, and better.
    """

    low: IntArray
    high: IntArray
    rank: IntArray
    cutoff: Cutoff
    critical_value: float
    alpha: float
    ahead: NDArray[np.bool_]
    scope: Scope = Scope.JOINT

    @property
    def sizes(self) -> IntArray:
        """How many positions each model may have, shape (k,)."""
        return self.high - self.low + 1


class Separation:
    """Differences between models in units of their standard deviation.

    What costs time does not depend on the error level, so one object serves every alpha.

    Parameters
    ----------
    draws : int
        Draws behind the max-t cut-off. The error level it holds is off by a standard error of
        sqrt(alpha (1 - alpha) / draws): .0007 at alpha = .05 and 100,000 draws.
    """

    def __init__(self, estimate: Estimate, draws: int = DRAWS) -> None:
        self._estimate = estimate
        self._theta = estimate.theta
        self._draws = draws
        self._apart = Distances.of(estimate)
        self._pairs = np.stack(np.triu_indices(len(self._theta), 1))
        self._degrees = _shared_degrees(estimate)
        self._largest: dict[Scope, FloatArray] = {}

    def rank_sets(
        self, alpha: float = 0.05, cutoff: Cutoff = Cutoff.MAX_T, scope: Scope = Scope.JOINT
    ) -> RankSets:
        """Return the rank-sets at one error level.

        Raises
        ------
        ValueError
            `alpha` is not between 0 and 1.
        """
        check_alpha(alpha)
        critical = self._critical_values(alpha, cutoff, scope)
        better = self._theta[:, None] > self._theta
        distance = self._apart.estimated
        if cutoff in (Cutoff.BONFERRONI, Cutoff.CHI2):
            distance = self._apart.known
        elif cutoff is Cutoff.ANY_TIME:
            distance = any_time.distance(self._estimate, distance, alpha)
        ahead = better & (distance > critical[:, None])
        return RankSets(
            low=1 + (better & (distance > critical)).sum(axis=0, dtype=np.int64),
            high=len(ahead) - ahead.sum(axis=1, dtype=np.int64),
            rank=1 + better.sum(axis=0, dtype=np.int64),
            cutoff=cutoff,
            critical_value=float(critical.max(initial=0.0)),
            alpha=alpha,
            ahead=ahead,
            scope=scope,
        )

    def _critical_values(self, alpha: float, cutoff: Cutoff, scope: Scope) -> FloatArray:
        """Return c of each model's rank-set, shape (k,)."""
        k = len(self._theta)
        if k < 2:
            return np.zeros(k)
        # A marginal rank-set comes from k - 1 comparisons, joint ones from k (k - 1) / 2.
        joint = scope is Scope.JOINT
        share = alpha / (k * (k - 1)) if joint else alpha / (2 * (k - 1))
        if cutoff is Cutoff.CHI2:
            return np.full(k, np.sqrt(chdtri(k if joint else k - 1, alpha)))
        if cutoff is Cutoff.BONFERRONI:
            return np.full(k, ndtri(1 - share))
        if cutoff is Cutoff.ANY_TIME:
            votes = any_time.information(self._estimate)
            return np.full(k, any_time.boundary(votes, k, alpha if joint else alpha * k / 2))
        if cutoff is Cutoff.STEP_DOWN:
            found = [self._stepped_down(alpha, pairs) for pairs in self._compared(scope)]
            return np.broadcast_to(np.array(found), k)
        if scope not in self._largest:
            self._largest[scope] = self._furthest(self._compared(scope))
        return np.broadcast_to(np.quantile(self._largest[scope], 1 - alpha, axis=1), k)

    def _compared(self, scope: Scope) -> list[NDArray[np.bool_]]:
        """Return which pairs are compared at once: all, or for each model its own."""
        if scope is Scope.JOINT:
            return [np.ones(self._pairs.shape[1], np.bool_)]
        return [(self._pairs == model).any(axis=0) for model in range(len(self._theta))]

    def _stepped_down(self, alpha: float, compared: NDArray[np.bool_]) -> float:
        first, second = pairs = self._pairs[:, compared]
        far = self._apart.estimated[first, second]
        return step_down(lambda: self._drawn(pairs), far, alpha, self._as_normal)

    def _furthest(self, compared: list[NDArray[np.bool_]]) -> FloatArray:
        """Return the largest difference of each draw, shape (sets of pairs, draws)."""
        found = [
            [far[pairs].max(axis=0) for pairs in compared]
            for far in map(np.abs, self._drawn(self._pairs))
        ]
        return self._as_normal(np.concatenate(found, axis=1))

    def _drawn(self, pairs: IntArray) -> Iterator[FloatArray]:
        """Draw differences / sd where all are equal, of the better of a pair less the other.

        They are on the scale of Student's t where few clusters tell the covariance.
        """
        first, second = pairs
        signs = np.where(self._theta[first] < self._theta[second], -1.0, 1.0)
        sd = signs * self._apart.sd[first, second]
        if self._degrees is not None:
            signs = np.where(np.isfinite(sd), signs, 0.0)
            yield from self._drawn_with_wishart(pairs, signs, self._degrees)
            return
        root = _root(self._apart.covariance)
        normal = _standard_normal(self._draws, len(root))
        contrasts = (root[first] - root[second]) / sd[:, None]
        step = max(_CHUNK // len(first), 1)
        for start in range(0, self._draws, step):
            yield contrasts @ normal[start : start + step].T

    def _drawn_with_wishart(
        self, pairs: IntArray, signs: FloatArray, degrees: float
    ) -> Iterator[FloatArray]:
        """Draw them with one Wishart draw of the covariance for all differences.

        With Student's t for each difference by itself, sets of 8 models with 5 voters covered .83.
        """
        first, second = pairs
        root = _root(shrunk(self._apart.covariance, degrees))
        k = len(root)
        draws = min(self._draws, max(_IN_WISHARTS // (k * k), _FEWEST_DRAWS))
        normal = _standard_normal(self._draws, k)
        contrasts = signs[:, None] * (root[first] - root[second])
        step = max(_CHUNK // (len(first) + k * k), 1)
        for start in range(0, draws, step):
            some = normal[start : min(start + step, draws)]
            factor = root @ _wishart(len(some), k, degrees, start)
            guessed = factor @ factor.swapaxes(1, 2)
            own = np.diagonal(guessed, axis1=1, axis2=2)
            variance = own[:, first] + own[:, second] - 2 * guessed[:, first, second]
            yield (contrasts @ some.T) / np.sqrt(np.where(variance > 0, variance, 1)).T

    def _as_normal(self, drawn: FloatArray) -> FloatArray:
        """Return what the normal law puts as far out, as `Distances.estimated` has it."""
        if self._degrees is None:
            return drawn
        return np.sign(drawn) * np.interp(np.abs(drawn), *_student(self._degrees))


def _shared_degrees(estimate: Estimate) -> float | None:
    """Return how well clusters tell the covariance that all differences share, if not well.

    Each difference by itself is held against Student's t, so two models need no more.
    """
    k, tastes = len(estimate.theta), estimate.tastes
    if k < 3:
        return None
    found = None if tastes is None else tastes.degrees
    if found is None and estimate.clusters is not None:
        found = float(np.median(estimate.degrees[np.triu_indices(k, 1)]))
    return found if found is not None and 0 < found < _KNOWN else None


def shrunk(covariance: FloatArray, degrees: float) -> FloatArray:
    """Return the covariance of differences, shrunk towards equal models apart from each other.

    This is the oracle approximating shrinkage of [3]_ in the k - 1 dimensions of differences. The
    fewer the degrees of freedom, and the more alike the models' variances, the more of it is taken.

    Parameters
    ----------
    covariance : ndarray of float64, shape (k, k)
        Of k > 2 estimates, with as many degrees of freedom.

    Returns
    -------
    ndarray of float64, shape (k, k)
        Every row adds up to 0: a part that all models share moves no difference.
    """
    k = len(covariance)
    centre = np.eye(k) - 1 / k
    apart = centre @ covariance @ centre
    p, trace, squares = k - 1, float(np.trace(apart)), float((apart**2).sum())
    unlike = (degrees + 1 - 2 / p) * (squares - trace**2 / p)
    wanted = (1 - 2 / p) * squares + trace**2
    share = 1.0 if unlike <= wanted else wanted / unlike
    return (1 - share) * apart + share * trace / p * centre


def _root(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)), dtype=np.float64)


@cache
def _standard_normal(draws: int, k: int) -> NDArray[np.float64]:
    """Return the same numbers for every estimate, so that equal votes give equal rank-sets."""
    return np.random.default_rng(SEED).standard_normal((draws, k))


@lru_cache(maxsize=2)
def _student(degrees: float) -> tuple[FloatArray, FloatArray]:
    """Return values of Student's t, and those that the normal law puts as far out."""
    normal = np.linspace(0, 8, 8001)  # between these a straight line is off by 1e-6
    return -np.asarray(stdtrit(degrees, ndtr(-normal)), np.float64), normal


def _wishart(draws: int, k: int, degrees: float, start: int) -> NDArray[np.float64]:
    """Return factors of k x k matrices that are the unit matrix on average, by Bartlett.

    As many as `degrees` normal vectors make such a matrix; the last one counts in part. They are
    the same for every estimate, from a `start` on.
    """
    rng = np.random.default_rng([SEED + 1, start])
    if degrees <= k - 1:
        whole = math.ceil(degrees)
        found = rng.standard_normal((draws, k, whole))
        found[:, :, -1] *= math.sqrt(degrees - whole + 1)
        return found / math.sqrt(degrees)
    found, each = np.zeros((draws, k, k)), np.arange(k)
    below = np.tril_indices(k, -1)
    found[:, *below] = rng.standard_normal((draws, len(below[0])))
    found[:, each, each] = np.sqrt(rng.chisquare(degrees - each, (draws, k)))
    return found / math.sqrt(degrees)


def rank_sets(
    estimate: Estimate,
    alpha: float = 0.05,
    cutoff: Cutoff = Cutoff.MAX_T,
    draws: int = DRAWS,
    scope: Scope = Scope.JOINT,
) -> RankSets:
    """Return the rank-sets of an estimate; see `Separation`."""
    return Separation(estimate, draws).rank_sets(alpha, cutoff, scope)


def intervals(estimate: Estimate, alpha: float = 0.05) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of an interval for each model's win-rate by itself, within [0, 1].

    Wilson's, see `coupled_arena.stats.intervals.wilson`: the normal interval where there are many
    votes.

    Returns
    -------
    low, high : ndarray of float64, shape (k,)

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    variance = np.diag(estimate.covariance) + estimate.floor
    # Wilson's interval allows for few votes by itself, as it knows the variance of wins and losses.
    # For few prompts it does not, nor where half a win has a variance of its own: of two models
    # with four votes and ties .3 it held .87, with Student's t .98.
    known = estimate.clusters is None and estimate.ties is TieScore.LOSS
    degrees = None if known else np.diag(estimate.degrees)
    critical = critical_value(alpha, degrees)
    return wilson(estimate.theta, variance, estimate.certain_size, critical)


_FIRST_STEP = 0.1  # share of alpha for the first step; a larger one widens the second


def step_down(
    draws: Callable[[], Iterable[FloatArray]],
    distance: FloatArray,
    alpha: float,
    scaled: Callable[[FloatArray], FloatArray] = lambda drawn: drawn,
) -> float:
    """Return the cut-off at which no further pair is separated.

    Parameters
    ----------
    draws : callable
        Yields standardised differences where all models are equal, in pieces of shape (p, any), of
        the better model of each pair less the other. They are the same at each call.
    distance : ndarray of float64, shape (p,)
        The standardised differences there are, of the better model less the other.
    alpha : float
        Error level.
    scaled : callable, optional
        Puts what was drawn on the scale of `distance`; larger values stay larger.
    """
    beta = _FIRST_STEP * alpha
    largest = scaled(np.concatenate([np.abs(piece).max(axis=0) for piece in draws()]))
    surely = np.maximum(distance - np.quantile(largest, 1 - beta), 0.0)[:, None]
    order = np.argsort(-distance)
    wrong = np.concatenate([(-scaled(piece) - surely).max(axis=0) for piece in draws()])
    left = 0
    while True:
        among = order[left:]
        right = scaled(np.concatenate([piece[among].max(axis=0) for piece in draws()]))
        critical = float(np.quantile(np.maximum(wrong, right), 1 - alpha + beta))
        passed = int((distance > critical).sum())
        if passed <= left or passed == len(distance):
            return critical
        left = passed
