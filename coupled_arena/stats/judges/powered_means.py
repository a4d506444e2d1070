r"""How often each model is preferred, each comparison weighing the same: with and without a judge.

PPI++ [1]_ corrects many verdicts by few votes. With y the error of people's win-rate and f a score
by the judge that is known for every comparison,

.. math:: \hat b = \hat b_n + \lambda (\bar f_N - \bar f_n), \quad
          \lambda = \frac{Cov(y, f)}{(1 + n/N) Var(f)}.

With ties as losses f is s̃ and all is as in `coupled_arena.stats.judges.agreement`. The judge's s̃
may be the probability that it prefers the model. The mean f̄_n is over the comparisons on which it
does not abstain: n' of them in place of n where the judge is meant. With ties dropped the win-rate
is a ratio, P(won | neither calls it a tie). Nobody knows which comparisons without a vote people
would tie. So f is s̃ less its mean, and 0 where the judge says tie. This correction is unbiased,
and can do less than ρ² promises, never more.

References
----------
.. [1] A. N. Angelopoulos, J. C. Duchi & T. Zrnic, "PPI++: efficient prediction-powered inference",
   arXiv:2311.01453 (2023).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from coupled_arena.core.choices import Ties
from coupled_arena.stats.counts import FloatArray, IntArray, JudgedCounts, whole_counts
from coupled_arena.stats.intervals import critical_value, wilson
from coupled_arena.stats.judges.agreement import FEW, HALF, efficiency
from coupled_arena.stats.judges.samples import (
    MIXED_SPOKEN,
    MIXED_WIN,
    WIN,
    Compared,
    ModelCounts,
    OwnInfluence,
    Sample,
    kept_pairs,
    kept_verdicts,
    ratio,
)
from coupled_arena.stats.judges.voter_tastes import Ballots, Tasted, for_people
from coupled_arena.stats.ranking.voter_tastes import Shares

FEWEST_VERDICTS = 2
"""Verdicts alone that a model needs before its judge counts: one has no variance."""


@dataclass(frozen=True, eq=False)
class PoweredMeans:
    """Win-rates of k models by people alone and with a judge, and their joint uncertainty.

    Attributes
    ----------
    human : ndarray of float64, shape (k,)
        b, by people alone; NaN without a comparison that counts.
    correction : ndarray of float64, shape (k,)
        What the verdicts alone add at λ = 1; 0 where they are fewer than `FEWEST_VERDICTS`.
    power_tuning : ndarray of float64, shape (k,)
        λ, the weight of the judge; 0 where it has no say.
    rho_squared : ndarray of float64, shape (k,)
        Squared correlation of y and f; ρ² of the 2x2 table where ties are losses.
    votes, echoes, judge_only : ndarray of int64, shape (k,)
        n, n' and N: comparisons with both labels, of these those on which the judge does not
        abstain, and comparisons with a verdict alone. Ties are counted.
    size : ndarray of int64, shape (k,)
        Comparisons that `human` is a fraction of: n, less ties that are dropped.
    human_influence, judge_influence : OwnInfluence
        What a comparison adds to the errors of `human` and of `correction`.
    echo : ndarray of float64, shape (k, k)
        Covariance of the mean of f over the comparisons that have a vote, likewise independent.
    parts : int
        Comparisons with both labels, or what else is taken as independent.
    independent : ndarray of float64, shape (2k, 2k)
        Covariance of `human` and `correction`, in this order, if no two of these parts depend on
        each other.
    covariance : ndarray of float64, shape (2k, 2k)
        The one in force.
    corners : ndarray of float64, shape (k, 4, 2)
        What half a comparison of each kind would add to both errors; 0 where each kind is there
        `FEW` times. Of few comparisons the rare kinds may be missing, and with them what varies.
    clusters : int or None
        As in `coupled_arena.stats.ranking.estimates.Estimate`.
    tasted : Tasted or None
        What is known of people like the voters, where the covariance is for these.
    """

    models: tuple[str, ...]
    ties: Ties
    human: FloatArray
    correction: FloatArray
    power_tuning: FloatArray
    rho_squared: FloatArray
    votes: IntArray
    echoes: IntArray
    judge_only: IntArray
    size: IntArray
    human_influence: OwnInfluence
    judge_influence: OwnInfluence
    echo: FloatArray
    parts: int
    independent: FloatArray
    covariance: FloatArray
    corners: FloatArray
    clusters: int | None = None
    tasted: Tasted | None = None

    @classmethod
    def of(cls, counts: JudgedCounts, ties: Ties) -> PoweredMeans:
        """Estimate from counts, as if no two comparisons depended on each other."""
        return cls.of_sample(Compared(counts), ties)

    @classmethod
    def of_sample(cls, sample: Sample, ties: Ties) -> PoweredMeans:
        """Estimate from whatever a judge and the truth both speak of."""
        own = sample.own
        scores = _Scores.of(own, ties)
        votes, judge_only = (
            whole_counts(own.labelled.sum((1, 2))),
            whole_counts(own.unlabelled.sum(1)),
        )
        echoes = whole_counts(own.labelled.sum(1) @ MIXED_SPOKEN) if own.mixed else votes
        usable = (judge_only >= FEWEST_VERDICTS) & ((echoes > 1) | (echoes == votes))
        correction = np.where(usable, ratio((own.unlabelled * scores.f).sum(1), judge_only), 0.0)
        covariance, variance_y, variance_f = scores.moments(own)
        weight = ratio(covariance, variance_f * (1 + ratio(echoes, judge_only)))
        weight = weight * ratio(echoes, votes)
        sizes = votes, echoes, judge_only
        human_influence, judge_influence = scores.influences(*sizes, correction)
        echo = replace(judge_influence, unlabelled=np.zeros_like(judge_influence.unlabelled))
        independent = np.block(
            [
                [sample.gram(one, other) for other in (human_influence, judge_influence)]
                for one in (human_influence, judge_influence)
            ]
        )
        return cls(
            models=own.models,
            ties=ties,
            human=scores.human,
            correction=correction,
            power_tuning=np.where(usable, np.nan_to_num(weight), 0.0),
            rho_squared=np.where(
                (variance_f == 0) & (variance_y > 0),
                0.0,
                ratio(covariance**2, variance_f * variance_y),
            ),
            votes=votes,
            echoes=echoes,
            judge_only=judge_only,
            size=scores.size,
            human_influence=human_influence,
            judge_influence=judge_influence,
            echo=sample.gram(echo, echo),
            parts=sample.size,
            independent=independent,
            covariance=independent,
            corners=scores.corners(own, votes, echoes),
        )

    @property
    def powered(self) -> FloatArray:
        """Win-rates corrected by the verdicts alone, shape (k,)."""
        return self.human + self.power_tuning * self.correction

    @property
    def tau(self) -> FloatArray:
        """What one vote is worth with the verdicts there are, shape (k,)."""
        usable = self.judge_only >= FEWEST_VERDICTS
        return efficiency(
            self.rho_squared, np.where(usable, ratio(self.echoes, self.judge_only), np.inf)
        )

    def clustered(self, gram: FloatArray, clusters: int) -> PoweredMeans:
        """Return the same where comparisons of one cluster depend on each other.

        See `coupled_arena.stats.ranking.estimates.Estimate.clustered`; `gram` is (2k, 2k).
        """
        if clusters == self.parts:
            return replace(self, covariance=gram)
        grouped = replace(self, clusters=clusters)
        return replace(grouped, covariance=gram * grouped.inflation)

    def of_people(
        self, ballots: Ballots, adds: csr_array, prompts: Shares | None = None
    ) -> PoweredMeans:
        """Return the same for people like its voters, of the one for exactly these.

        Parameters
        ----------
        ballots : Ballots
            With a cell for each model.
        adds : csr_array, shape (kinds, 2k)
            What a vote of a kind adds to `human` and to `correction`.
        prompts : Shares, optional
            How votes are spread over prompts that several share.
        """
        cell = np.tile(np.arange(len(self.models)), 2)
        found = for_people(ballots, adds, cell, self.independent, self.covariance, prompts)
        if found is None:
            return self
        return replace(self, covariance=found.covariance, tasted=found)

    def human_interval(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return Wilson's interval of people's win-rates, shape (k,) each; NaN where unknown."""
        k = len(self.models)
        critical = critical_value(alpha, self.degrees_of(np.eye(k, 2 * k)))
        variance = np.diag(self.covariance)[:k]
        return _known(self.human, wilson(self.human, variance, self.certain_size, critical))

    def powered_interval(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the same with the judge; the votes that λ was taken from count two less."""
        judged = np.diag(self.power_tuning)
        weights = np.hstack([np.eye(len(self.models)), judged])
        tuned = self.power_tuning != 0
        free = np.where(tuned, np.maximum(self.size - 2, 0.5), self.size)
        variance = np.diag(weights @ self.covariance @ weights.T) * ratio(self.size, free)
        known = self.degrees_of(weights)
        degrees = free if known is None else np.minimum(free, known)
        critical = np.where(tuned, critical_value(alpha, degrees), critical_value(alpha, known))
        return _known(self.human, wilson(self.powered, variance, self.certain_size, critical))

    @property
    def votes_worth(self) -> float | None:
        """Votes of one person each that tell as much; None where it does not matter who voted."""
        if self.tasted is None:
            return None
        k = len(self.models)
        these, like = (float(np.trace(x[:k, :k])) for x in (self.tasted.these, self.covariance))
        return self.parts * (min(these / like, 1.0) if like > 0 else 1.0)

    @property
    def certain_size(self) -> FloatArray:
        """Comparisons, or people, that a win-rate of 0 or 1 rests on; shape (k,)."""
        size = self.size.astype(np.float64)
        if self.tasted is None:
            return size
        squares = np.diag(self.tasted.shares.squares)
        return np.minimum(size, 1 / np.where(squares > 0, squares, np.inf))

    def degrees_of(self, weights: FloatArray) -> FloatArray | None:
        """Return the degrees of freedom of variances of sums; None where they are many.

        Parameters
        ----------
        weights : ndarray of float64, shape (sums, 2k)
            Of `human` and `correction`.
        """
        if self.tasted is None:
            return None if self.degrees is None else np.full(len(weights), float(self.degrees))
        return np.array([self.tasted.degrees(each, self.degrees) for each in weights])

    @property
    def inflation(self) -> float:
        """What residuals of few clusters are short of, as a factor of variances."""
        g = self.clusters
        return (g / (g - 1)) ** 2 if g is not None and g > 1 else 1.0

    @property
    def degrees(self) -> int | None:
        """Degrees of freedom of the covariance; None where there are many."""
        return None if self.clusters is None else self.clusters - 1


@dataclass(frozen=True, eq=False)
class _Scores:
    """y, shape (k, 3, 3), and f, shape (k, 3), by win, loss and tie; both are 0 on average.

    Of mixed verdicts there are seven.
    """

    human: FloatArray
    size: IntArray
    y: FloatArray
    f: FloatArray

    @classmethod
    def of(cls, own: ModelCounts, ties: Ties) -> _Scores:
        if own.mixed:
            return cls._mixed(own)
        kept = own.labelled * kept_pairs(ties)
        size = kept.sum((1, 2))
        human = ratio(kept[:, 0].sum(1), size)
        share = ratio(size, own.labelled.sum((1, 2)))[:, None, None]
        judged = own.labelled.sum(1)
        judge_score = ratio(judged[:, 0], judged @ kept_verdicts(ties))[:, None]
        y = ratio(kept_pairs(ties) * (WIN[:, None] - human[:, None, None]), share)
        f = ratio(kept_verdicts(ties) * (WIN - judge_score), share[:, 0])
        return cls(human, size.astype(np.int64), np.nan_to_num(y), np.nan_to_num(f))

    @classmethod
    def _mixed(cls, own: ModelCounts) -> _Scores:
        """Return the same of mixed verdicts, with ties as losses."""
        size, verdicts = own.labelled.sum((1, 2)), own.labelled.sum(1)
        human = ratio(own.labelled[:, 0].sum(1), size)
        judge_score = ratio(verdicts @ MIXED_WIN, verdicts @ MIXED_SPOKEN)[:, None]
        y = np.broadcast_to(WIN[:, None] - human[:, None, None], own.labelled.shape)
        f = MIXED_SPOKEN * np.nan_to_num(MIXED_WIN - judge_score)
        return cls(human, whole_counts(size), np.nan_to_num(y), f)

    def moments(self, own: ModelCounts) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Cov(y, f), Var(y) and Var(f), shape (k,) each."""
        f = self.f[:, None, :]
        products = (self.y * f, self.y**2, np.broadcast_to(f**2, self.y.shape))
        n = own.labelled.sum((1, 2))
        covariance, y, f = (ratio((own.labelled * each).sum((1, 2)), n) for each in products)
        return covariance, y, f

    def corners(self, own: ModelCounts, votes: IntArray, echoes: IntArray) -> FloatArray:
        """Return what `PoweredMeans.corners` are."""
        s, f = self.y[:, :, 0], self.f
        won = s > 0
        called = f > 0
        ends = [
            (y, g, (own.labelled * (won == y)[:, :, None] * (called == g)[:, None, :]).sum((1, 2)))
            for y in (False, True)
            for g in (False, True)
        ]
        few = np.min([n for _, _, n in ends], axis=0) < FEW
        y = [self.y.min((1, 2)), self.y.max((1, 2))]
        g = [f.min(1), f.max(1)]
        moves = [
            (y[at] / np.maximum(votes, 1), -g[to] / np.maximum(echoes, 1))
            for at in (0, 1)
            for to in (0, 1)
        ]
        return np.where(few[:, None, None], np.sqrt(HALF) * np.array(moves).transpose(2, 0, 1), 0.0)

    def influences(
        self, votes: IntArray, echoes: IntArray, judge_only: IntArray, correction: FloatArray
    ) -> tuple[OwnInfluence, OwnInfluence]:
        """Return what a comparison adds to the errors of the win-rate and of the correction."""
        per_vote, per_echo = (1 / np.maximum(n, 1)[:, None] for n in (votes, echoes))
        per_verdict = 1 / np.maximum(judge_only, 1)[:, None]
        on_both = np.broadcast_to(-(self.f * per_echo)[:, None, :], self.y.shape)
        return (
            OwnInfluence(self.y * per_vote[..., None], np.zeros_like(self.f)),
            OwnInfluence(on_both, (self.f - correction[:, None]) * per_verdict),
        )


def _known(
    rate: FloatArray, bounds: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    low, high = (np.where(np.isfinite(rate), bound, np.nan) for bound in bounds)
    return low, high


@dataclass(frozen=True)
class Difference:
    """Win-rate of a model less that of another, by people alone and with the judge.

    Bounds are NaN where the difference never varied. `tuning` and `other_tuning` are λ and λ'.
    """

    model: str
    other: str
    human: float
    human_low: float
    human_high: float
    powered: float
    powered_low: float
    powered_high: float
    tuning: float
    other_tuning: float


def difference(means: PoweredMeans, model: int, other: int, alpha: float) -> Difference:
    """Estimate the difference of two models, given by their places in `means`.

    Raises
    ------
    ValueError
        A model has no comparison that counts.
    """
    if not np.isfinite(means.human[[model, other]]).all():
        raise ValueError("Without votes there is no difference.")
    signs, tuning = contrast(len(means.models), model, other), joint_tuning(means, model, other)
    human = float(means.human[model] - means.human[other])
    powered = human + float(tuning @ means.correction)
    return Difference(
        means.models[model],
        means.models[other],
        human,
        *_bounds(means, human, signs, np.zeros_like(tuning), alpha),
        powered,
        *_bounds(means, powered, signs, tuning, alpha),
        float(tuning[model]),
        -float(tuning[other]),
    )


def contrast(k: int, model: int, other: int | None = None) -> FloatArray:
    """Return the weights of win-rates that give a model's, or its lead over another; shape (k,)."""
    signs = np.zeros(k)
    signs[model] = 1.0
    if other is not None:
        signs[other] = -1.0
    return signs


def joint_tuning(means: PoweredMeans, model: int, other: int) -> FloatArray:
    """Return the judge's weights λ and -λ' that minimise the variance together, shape (k,).

    They solve Cov(f̄_N - f̄_n) (λ, -λ')ᵀ = Cov(f̄_n, b_m - b_m'). On comparisons of all models at
    once that is (1 + n/N) Cov(s̃) (λ, -λ')ᵀ = Cov(s̃, s_m - s_m'). Comparisons of the two with each
    other tie their errors.
    """
    k = len(means.models)
    weights = np.zeros(k)
    usable = [m for m in (model, other) if means.judge_only[m] >= FEWEST_VERDICTS]
    cross = means.independent[k:, :k] @ contrast(k, model, other)
    square = means.independent[k:, k:][np.ix_(usable, usable)]
    weights[usable] = -np.linalg.pinv(square) @ cross[usable]
    return weights


def explained(means: PoweredMeans, weights: FloatArray) -> float:
    """Return the share of the variance of Σ c_m b_m that the judge can explain.

    Parameters
    ----------
    weights : ndarray of float64, shape (k,)
        c, see `contrast`; for one model the share is its `rho_squared`.
    """
    k, at = len(means.models), np.flatnonzero(weights)
    cross = (means.independent[k:, :k] @ weights)[at]
    variance = weights @ means.independent[:k, :k] @ weights
    gained = cross @ np.linalg.pinv(means.echo[np.ix_(at, at)]) @ cross
    return float(gained / variance) if variance > 0 else float("nan")


def _bounds(
    means: PoweredMeans, centre: float, signs: FloatArray, tuning: FloatArray, alpha: float
) -> tuple[float, float]:
    weights = np.concatenate([signs, tuning])
    variance = float(weights @ means.covariance @ weights)
    n = int(means.size[signs != 0].min())
    # The mean, and each weight of the judge, were taken from the same votes, or clusters of them.
    tuned = int((tuning != 0).sum())
    free = n - 1 - tuned
    degrees = free if means.degrees is None else min(free, means.degrees - tuned)
    if degrees < 1:
        return -1.0, 1.0
    # The weights are from single votes, so they fit what tastes add no better than others would.
    people = means.degrees_of(weights[None, :]) if means.tasted else None
    # A difference that never varied among the votes has no variance to be judged by.
    if variance <= 1e-12 * float(weights**2 @ np.diag(means.covariance)):
        return float("nan"), float("nan")
    if tuned:  # the judge's weights fit what is there, and so hide what is missing
        alone = float(weights @ means.independent @ weights)
        moves = means.corners @ np.stack([signs, tuning], axis=1)[..., None]
        variance += float((moves**2).sum()) * max(variance / alone, 1.0)
    grown = n / free if means.degrees is None else max(n / free, means.degrees / degrees)
    least = degrees if people is None else min(degrees, float(people[0]))
    half = float(critical_value(alpha, np.array(least))) * float(np.sqrt(variance * grown))
    return max(centre - half, -1.0), min(centre + half, 1.0)
