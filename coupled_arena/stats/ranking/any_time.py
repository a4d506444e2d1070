r"""When two models are separated on a board that people watch: at all looks, not at one.

A reader who looks often and stops at the first separation finds one sooner or later, whatever the
level of each look. The bounds here hold at all looks together. For any number of models they come
from a mixture of normal laws over the size of the difference [1]_, which is asymptotic. For two
models alone they come from the capital of a gambler who bets on one of them, which is exact.

References
----------
.. [1] I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy & A. Ramdas, "Time-uniform central limit
   theory and asymptotic confidence sequences", Annals of Statistics 52, 2613-2640 (2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import betaln, ndtr, ndtri, stdtrit

from coupled_arena.core.choices import TieScore, Weighting
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.intervals import check_alpha, wilson
from coupled_arena.stats.ranking.estimates import Estimate

NARROWEST_AT = 1000
"""Votes at which the boundary is narrowest. Rates of .40 and .30 separate after 570 (median)."""

FEWEST_PER_OPPONENT = 5
"""Votes a model needs for each opponent: from then on, false separation is .02 in simulations."""

_PATHS, _LOOKS, _SEED = 10_000, 300, 7_1921  # of simulated boards
# Beta(10, 10), of how often the one is preferred: bets on pairs near one half, which take longest.
# Equal models separate in .024 of simulated boards at alpha = .05.
_BELIEF = 10.0


def boundary(votes: float, models: int, alpha: float) -> float:
    r"""Return how many standard deviations separate two models, at any number of votes.

    .. math:: c_n^2 = (1 + m/n)\,(\ln(1 + n/m) + \kappa), \qquad
              \kappa = 2 \ln \frac{k (k - 1)}{2 \alpha},

    with m such that it is narrowest at `NARROWEST_AT` votes.

    Parameters
    ----------
    votes : float
        n: those of the board, or prompts of its pairs where votes share them.
    models : int
        k.
    alpha : float
        Error level, joint over all pairs and all times.
    """
    level, scale = _mixture(models, alpha)
    return math.sqrt((1 + scale / votes) * (math.log1p(votes / scale) + level))


def stopping_votes(signal: float, models: int, alpha: float, power: float) -> float:
    """Return the votes by which two models are separated with a probability of `power`.

    A look after each vote is simulated, of differences that grow as the normal law has them.

    Parameters
    ----------
    signal : float
        Square of the difference in standard deviations, for each vote on the board.
    """
    start = FEWEST_PER_OPPONENT * models * (models - 1) / 2
    once = float(ndtri(power)) + boundary(max(start, 1 / signal), models, alpha)
    end = max(start, once**2 / signal)
    while boundary(end, models, alpha) + float(ndtri(power)) > math.sqrt(signal * end):
        end *= 2
    votes = np.geomspace(start, end, _LOOKS)
    sizes = np.maximum(np.diff(votes, prepend=0), 0.0)  # the first look may be the last
    steps = np.random.default_rng(_SEED).standard_normal((_PATHS, _LOOKS)) * np.sqrt(sizes)
    far = np.sqrt(signal * votes) + np.cumsum(steps, axis=1) / np.sqrt(votes)
    passed = far > [boundary(n, models, alpha) for n in votes]
    when = np.where(passed.any(axis=1), votes[passed.argmax(axis=1)], np.inf)
    return float(np.quantile(when, power, method="inverted_cdf"))


def log_capital(wins: int, losses: int) -> float:
    """Return the logarithm of what a bet of 1 has become that two models are not equal.

    Ties neither win nor lose. Of equal models it ever reaches 1 / alpha with a probability of at
    most alpha (Ville).
    """
    won = betaln(_BELIEF + wins, _BELIEF + losses) - betaln(_BELIEF, _BELIEF)
    return float(won) + (wins + losses) * math.log(2)


def information(estimate: Estimate) -> float:
    """Return the votes a board has learnt from, or prompts of its pairs where votes share them."""
    if estimate.clusters is None:
        return max(float(estimate.human), 1.0)
    return max(min(float(estimate.size.sum()) / 2, float(estimate.human)), 1.0)


@dataclass(frozen=True, eq=False)
class WinRates:
    """What intervals of win rates need of an estimate: little, so that many may be kept.

    Attributes
    ----------
    rate, variance, size, certain_size : ndarray of float64, shape (k,)
        As in `Estimate`.
    degrees : ndarray of float64, shape (k,), or None
        Of the variances; None where they are taken for known.
    """

    models: tuple[str, ...]
    rate: FloatArray
    variance: FloatArray
    size: FloatArray
    certain_size: FloatArray
    degrees: FloatArray | None

    @classmethod
    def of(cls, estimate: Estimate) -> WinRates:
        """Return those of an estimate."""
        known = estimate.clusters is None and estimate.ties is TieScore.LOSS
        return cls(
            estimate.models,
            estimate.theta,
            np.diag(estimate.covariance) + estimate.floor,
            estimate.size,
            estimate.certain_size,
            None if known else np.diag(estimate.degrees),
        )

    def intervals(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of an interval for each win rate by itself, right at all looks.

        Those of a model, made after any numbers of votes, all hold with probability 1 - alpha. A
        model with too few votes has the interval from 0 to 1.

        Raises
        ------
        ValueError
            `alpha` is not between 0 and 1.
        """
        check_alpha(alpha)
        begun = self.size >= FEWEST_PER_OPPONENT * max(len(self.models) - 1, 1)
        # A win rate is one number, as the difference of two models is: the boundary is theirs.
        level, scale = _mixture(2, alpha)
        n = np.maximum(self.size, 1.0)
        critical = np.sqrt((1 + scale / n) * (np.log1p(n / scale) + level))
        if self.degrees is not None:
            few, known = self.degrees < 1, np.maximum(self.degrees, 1)
            critical = np.where(few, np.inf, -stdtrit(known, ndtr(-critical)))
        low, high = wilson(self.rate, self.variance, self.certain_size, critical)
        return np.where(begun, low, 0.0), np.where(begun, high, 1.0)


def distance(estimate: Estimate, apart: FloatArray, alpha: float) -> FloatArray:
    """Return what is compared with the boundary: 0 as long as a model has too few votes.

    Two models that people alone voted on, each on a prompt of its own, are compared by the capital,
    on the scale of the boundary. It passes where the capital reaches 1 / alpha.

    Parameters
    ----------
    apart : ndarray of float64, shape (k, k)
        How far apart the models are, in standard deviations of the normal law.
    """
    k = len(estimate.models)
    if (record := plain_record(estimate)) is not None:
        wins, losses = record
        return np.full_like(apart, _as_distance(log_capital(wins, losses), estimate.human, alpha))
    begun = estimate.size >= FEWEST_PER_OPPONENT * (k - 1)
    return np.where(begun[:, None] & begun, apart, 0.0)


def plain_record(estimate: Estimate) -> tuple[int, int] | None:
    """Return wins and losses of the first of two models, where votes and nothing else tell them."""
    plain = (
        len(estimate.models) == 2
        and estimate.clusters is None
        and estimate.power_tuning == 0
        and estimate.weighting is not Weighting.POSITION
    )
    if not plain:
        return None
    # Ties count the same for both, whatever they count: the difference is that of the votes won.
    lead = round(float(estimate.theta[0] - estimate.theta[1]) * estimate.human)
    return (estimate.decided + lead) // 2, (estimate.decided - lead) // 2


def _as_distance(log_capital: float, votes: float, alpha: float) -> float:
    _, scale = _mixture(2, alpha)
    square = (1 + scale / votes) * (math.log1p(votes / scale) + 2 * log_capital)
    return math.sqrt(max(square, 0.0))


@cache
def _mixture(models: int, alpha: float) -> tuple[float, float]:
    """Return κ and m."""
    level = 2 * math.log(models * (models - 1) / (2 * alpha))
    at = level + 1.0
    for _ in range(100):  # a contraction: the error falls by 1 + x each time
        at = level + math.log1p(at)
    return level, NARROWEST_AT / at
