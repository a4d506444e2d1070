r"""Win rates from people's votes, a judge's verdicts, or both together.

Prediction-powered ranking [1]_ corrects many verdicts by few votes. With h and g the indicators
that people and the judge prefer a model, and strata s that the settings choose,

.. math:: \hat\theta_m = \sum_{s \ni m} v_s\,[\lambda \bar g_{N,s} + \bar h_{n,s}
          - \lambda \bar g_{m,s}],

where n counts comparisons with a vote, m those of them that have a verdict too, and N those with a
verdict alone. A judge may be silent on any votes, which count all the same. Without a judge, λ = 0;
several judges have a λ each (`judge_weights`). Everything here is a function of counts. The cell of
a comparison determines its influence on the error of θ̂ (`Influence`), and the covariance is the
Gram matrix of these sums. Where several votes share a prompt, uncertainty depends on the number of
prompts and not of votes (`PairPrompts`).

The covariance printed in [1]_ divides by N² and n² where a model's mean has only N_m and n_m terms.
So it is too small by about (2/k)² for k models. It is here as `Covariance.PUBLISHED`.

References
----------
.. [1] I. Chatzi, E. Straitouri, S. Thejaswi & M. Gomez-Rodriguez, "Prediction-powered ranking of
   large language models", NeurIPS 2024, arXiv:2402.17826.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coupled_arena.core.choices import Covariance, TieScore, Weighting
from coupled_arena.core.language import _
from coupled_arena.stats.counts import FloatArray, JudgedCounts, PairCounts
from coupled_arena.stats.influence import Influence, PairProducts
from coupled_arena.stats.ranking.judge_weights import verdict_scores, weigh_judges
from coupled_arena.stats.ranking.sparse_pairs import SparsePairs, sparse_pairs, unjoined_groups
from coupled_arena.stats.ranking.strata import (
    PairPrompts,
    Strata,
    StratumCells,
    certain_size,
    certain_variance,
    degrees_alone,
    degrees_by_pair,
    degrees_of_freedom,
    effective_size,
    few_prompts,
    residuals_by_pair,
    shortage,
    stratum_weight,
    tie_scores,
    unbiased,
)


@dataclass(frozen=True)
class Tastes:
    """Who voted, and the cost of voters' own tastes in votes.

    Attributes
    ----------
    voters : int
        How many people; each vote without a known voter counts as one person.
    worth : float
        Equivalent number of votes, each by a person of its own.
    degrees : float or None
        Degrees of freedom of the covariance by voters, the median over differences. None where
        the covariance does not depend on voters: with one voter, or one voter for each vote.
    each : float
        Votes of a person, the median.
    equal : float
        How many equally busy people would tell as much of how tastes differ.
    within : ndarray of float64, shape (k, k), or None
        The covariance for exactly these people; None like `degrees`.
    """

    voters: int
    votes: int
    worth: float
    degrees: float | None = None
    each: float = 1.0
    equal: float = 0.0
    within: FloatArray | None = None

    @property
    def alone(self) -> bool:
        """Whether one person cast all votes: then nothing is known of other people."""
        return self.voters < 2


@dataclass(frozen=True, eq=False)
class Estimate:
    """Win rates with their joint uncertainty, and the settings they were computed with.

    Attributes
    ----------
    models : tuple of str
        The k models that any vote (of a judge-only estimate: verdict) is about.
    theta : ndarray of float64, shape (k,)
        Estimated probability that the model is preferred; outside [0, 1] by chance at most.
    covariance : ndarray of float64, shape (k, k)
    floor : ndarray of float64, shape (k,)
        Variance that intervals add for opponents who were always or never beaten: five wins of
        five are no proof, and have no sample variance.
    degrees : ndarray of float64, shape (k, k)
        Degrees of freedom of the variances of differences, on the diagonal of the win rates' own;
        infinite for the published covariance.
    size : ndarray of float64, shape (k,)
        Votes on one pair that would tell a model's win rate as exactly as its own do; prompts
        where votes share them.
    power_tuning : float
        λ, the weight of the judge, 0 without one; of several the sum of `judge_weights`.
    human, judge_only : int
        Comparisons with a vote, and with a verdict alone.
    decided : int
        Comparisons with a vote that a model won.
    certain_size : ndarray of float64, shape (k,)
        Comparisons (or prompts) that a win-rate of 0 or 1 rests on. The chance of losing none, Π
        p_o^n_o over opponents o, is at most θ to the power K·min n_o, with K opponents.
    weighting : Weighting
        The one in force, which may be another than was asked for.
    free : ndarray of float64, shape (k, k)
        Degrees of freedom that each pair's part in the variances is known with.
    residuals : ndarray of float64, shape (k, k)
        By how much `influence` makes good, in squares, that residuals were taken from a mean of
        their pair; 1 where they were not.
    sizes : ndarray of float64, shape (k, k), symmetric
        Comparisons of each pair with a vote.
    clusters : int or None
        Clusters of human comparisons that the covariance comes from; None where comparisons do
        not depend on each other, or nobody counted.
    sparse : SparsePairs or None
        How the stratified mean fills in pairs with few comparisons; None where there are none.
    tastes : Tastes or None
        Of an estimate for people like the voters, see `coupled_arena.stats.ranking.voter_tastes`.
        None where it is for exactly these.
    """

    models: tuple[str, ...]
    theta: FloatArray
    covariance: FloatArray
    degrees: FloatArray
    floor: FloatArray
    size: FloatArray
    power_tuning: float
    judge_weights: tuple[float, ...]
    human: int
    judge_only: int
    decided: int
    certain_size: FloatArray
    weighting: Weighting
    kind: Covariance
    influence: Influence
    free: FloatArray
    residuals: FloatArray
    sizes: FloatArray
    warnings: tuple[str, ...] = ()
    clusters: int | None = None
    sparse: SparsePairs | None = None
    ties: TieScore = TieScore.LOSS
    tastes: Tastes | None = None

    @property
    def standard_error(self) -> FloatArray:
        """Square roots of the variances, shape (k,)."""
        return np.sqrt(np.diag(self.covariance))

    def joins(self, one: str, other: str) -> bool:
        """Whether votes tell of two models' order, directly or through others."""
        if self.sparse is None:
            return True
        groups = self.sparse.groups
        return bool(groups[self.models.index(one)] == groups[self.models.index(other)])

    def clustered(
        self, gram: FloatArray, clusters: int, products: PairProducts | None = None
    ) -> Estimate:
        """Return the same estimate where comparisons of one cluster depend on each other.

        The estimate must have been made with the prompts of its comparisons.

        Parameters
        ----------
        gram : ndarray of float64, shape (k, k)
            Sum over clusters of s sᵀ, with s the sum of `influence` over the cluster. With pairs
            filled in, also of what votes add for third models.
        clusters : int
            How many clusters G have a human comparison (of a judge-only estimate: a verdict). No
            variance has more than G - 1 degrees of freedom: one cluster says nothing of its own
            uncertainty. A mean that weighs all comparisons the same is taken from G clusters, and
            its residuals are short of (G / (G - 1))². Stratified ones know of it by pair.
        products : PairProducts, optional
            The part of each pair in `gram`. Without it the degrees of freedom are those of the pair
            that is known least. They are no more than the true ones, and as good where all have
            many.
        """
        if self.sparse is not None:
            gram = gram + self.sparse.misfit
        if clusters == self.human:  # no two votes share a cluster
            return replace(self, covariance=gram)
        counted = self.weighting is Weighting.COUNT and clusters > 1
        inflation = (clusters / (clusters - 1)) ** 2 if counted else 1.0
        if products is None:
            degrees = np.full_like(gram, self.free.min(where=self.free > 0, initial=np.inf))
        else:
            degrees = degrees_of_freedom(products, np.maximum(self.free, 1.0))
        # Count weighting takes one mean from all comparisons of a model, and none from a pair's.
        taken = 1.0 if self.weighting is Weighting.COUNT else 0.0
        degrees = np.clip(degrees - taken, 0.0, clusters - 1)
        return replace(self, covariance=gram * inflation, degrees=degrees, clusters=clusters)


def estimate_from_votes(
    counts: PairCounts,
    weighting: Weighting = Weighting.STRATIFIED,
    kind: Covariance = Covariance.CORRECTED,
    prompts: PairPrompts | None = None,
    ties: TieScore = TieScore.LOSS,
) -> Estimate:
    """Estimate win rates from one kind of label alone: all votes, or all verdicts of a judge.

    See `estimate`; λ is 0.
    """
    return estimate(JudgedCounts.without_judge(counts), weighting, kind, prompts, ties)


def estimate(
    counts: JudgedCounts,
    weighting: Weighting = Weighting.STRATIFIED,
    kind: Covariance = Covariance.CORRECTED,
    prompts: PairPrompts | None = None,
    ties: TieScore = TieScore.LOSS,
) -> Estimate:
    """Estimate win rates from votes and verdicts of one judge or several, prediction-powered.

    The stratified mean needs `MINIMUM_PER_PAIR` human comparisons, on as many prompts, in every
    pair, and fills in what is missing, with a warning; see
    `coupled_arena.stats.ranking.sparse_pairs`. The position-weighted one needs as many in every
    order of every pair. The count-weighted mean takes their place where they are short, and with
    two models alone. It also does for the published covariance, which is defined for no other.

    Parameters
    ----------
    counts : JudgedCounts
        A model without votes is left out, with a warning.
    prompts : PairPrompts, optional
        On how many prompts the comparisons are, of the same models; by order of presentation for
        the position-weighted mean. Without it each comparison has a prompt of its own. The
        covariance still takes comparisons for independent, until `Estimate.clustered`.
    """
    # All votes count, also where the judge abstains: a board without them covered .44 where the
    # judge was silent on a fifth of one model's losses.
    counts, absent = _with_votes(counts)
    cells = StratumCells.of(counts, ties, verdict_scores(ties, counts)[0])
    known = None if prompts is None else prompts.of(counts.models)
    weighting, fallback = _weighting_in_force(cells, known, weighting, kind)
    few: tuple[str, ...] = ()
    if known is not None:
        known = known if weighting is Weighting.POSITION else known.at_least
        few = few_prompts(known, cells.n.sum(axis=2))
    return _estimated(counts, cells, known, weighting, kind, (*absent, *fallback, *few), ties)


def _estimated(
    counts: JudgedCounts,
    cells: StratumCells,
    known: PairPrompts | None,
    weighting: Weighting,
    kind: Covariance,
    warnings: tuple[str, ...],
    ties: TieScore,
) -> Estimate:
    """Return the estimate by the weighting in force."""
    strata = Strata.of(cells, known, weighting)
    sparse = sparse_pairs(cells, strata, ties) if weighting is Weighting.STRATIFIED else None
    share = None if sparse is None else sparse.share
    judges = weigh_judges(counts, cells, known, weighting, share, ties)
    tuning, cells, strata = judges.tuning, judges.cells, judges.strata
    published, plain = kind is Covariance.PUBLISHED, np.ones(cells.n.shape[:2])
    how = weighting, tuning, sparse, (tie_scores(ties), judges.scores), counts.spoken
    theta, influence = weighted_mean(cells, strata, *how, published=published)
    if sparse is not None:
        covariance, size = sparse.gram(influence, counts), sparse.size(strata.votes[..., 0])
        degrees = sparse.degrees_alone(strata.votes[..., 0])
    else:
        covariance, size = influence.gram(counts), effective_size(cells, strata, weighting)
        degrees = degrees_alone(cells.n.sum(axis=2), counted=weighting is Weighting.COUNT)
    return Estimate(
        *(counts.models, theta, covariance),
        degrees=np.full_like(degrees, np.inf) if published else degrees,
        floor=certain_variance(cells, strata, weighting, share),
        size=size,
        power_tuning=tuning,
        judge_weights=tuple(judges.weights.tolist()),
        human=int(counts.votes.counts.sum()),
        judge_only=int(counts.alone.sum()),
        decided=int(counts.votes.wins.sum()),
        certain_size=certain_size(strata.votes, weighting, share),
        weighting=weighting,
        kind=kind,
        influence=influence,
        free=degrees_by_pair(cells, known, weighting, tuning),
        residuals=plain if published else residuals_by_pair(strata, weighting, share),
        sizes=cells.n.sum(axis=2),
        warnings=warnings,
        sparse=sparse,
        ties=ties,
    )


def _with_votes(counts: JudgedCounts) -> tuple[JudgedCounts, tuple[str, ...]]:
    """Leave out the models that have no vote."""
    voted = counts.with_both
    absent = [model for model in counts.models if model not in voted.models]
    if not absent:
        return counts, ()
    text = _("These models have no vote, and so no place: {models}.")
    return voted, (text.format(models=", ".join(absent)),)


def _weighting_in_force(
    cells: StratumCells, prompts: PairPrompts | None, weighting: Weighting, kind: Covariance
) -> tuple[Weighting, tuple[str, ...]]:
    """Return the weighting that the comparisons allow, and why it is not the one asked for."""
    if weighting is Weighting.COUNT:
        return weighting, ()
    if kind is Covariance.PUBLISHED:
        warning = _("The published covariance belongs to count weighting, which is used here.")
        return Weighting.COUNT, (warning,)
    short = shortage(cells, prompts, weighting)
    if short and weighting is Weighting.STRATIFIED and len(cells.n) > 2:
        warning = _(
            "{short}: a fit to all votes (Bradley-Terry) fills in the rest, and error bars allow "
            "for that."
        ).format(short=short)
        return weighting, tuple(text for text in (warning, unjoined_groups(cells)) if text)
    if short:
        warning = _(
            "{short}: until then each comparison weighs the same, which favours models that met "
            "weak opponents more often."
        ).format(short=short)
        return Weighting.COUNT, (warning,)
    return weighting, ()


def weighted_mean(
    cells: StratumCells,
    strata: Strata,
    weighting: Weighting,
    weight_of_judge: float,
    sparse: SparsePairs | None,
    scores: tuple[FloatArray, FloatArray],
    spoken: FloatArray,
    *,
    published: bool = False,
) -> tuple[FloatArray, Influence]:
    """Return win rates, and what comparisons add to the errors of their two models.

    Parameters
    ----------
    weight_of_judge : float
        λ.
    sparse : SparsePairs or None
        Of the stratified mean.
    scores : tuple of ndarray of float64
        Of votes and of verdicts, as in `Influence.of_means`.
    spoken : ndarray of float64, shape (codes,)
        Likewise.
    published : bool
        Whether to divide as the paper's covariance does.
    """
    s, v = strata.sums, stratum_weight(len(cells.n), weighting)
    share = 1.0 if sparse is None else sparse.share[..., None]
    per_vote, per_echo, per_verdict = (share * v / np.maximum(n, 1) for n in (s.n, s.m, s.N))
    tuning = np.where(strata.tuned, weight_of_judge, 0.0)
    theta = per_vote * cells.h + tuning * (per_verdict * cells.G - per_echo * cells.g)
    centre, echo_centre = s.h / np.maximum(s.n, 1), s.g / np.maximum(s.m, 1)
    verdict_centre = s.G / np.maximum(s.N, 1)
    if published:
        per_vote, per_echo, per_verdict = (
            np.full_like(n, 2 / n.sum()) if n.any() else per
            for n, per in ((cells.n, per_vote), (cells.m, per_echo), (cells.N, per_verdict))
        )
    elif weighting is not Weighting.COUNT:  # within strata, unbiased
        # A few votes may all agree: they are held against the fit, not against their own mean.
        taken = np.where(share == 1, 1.0, 0.0)
        per_vote = per_vote * np.sqrt(unbiased(strata.votes, taken))
        per_echo = per_echo * np.sqrt(unbiased(strata.heard, taken))
        per_verdict = per_verdict * np.sqrt(unbiased(strata.alone, 1.0))
    total = theta.sum((1, 2))
    if sparse is not None:
        centre = np.where(share < 1, sparse.expected[..., None], centre)
        echo_centre = np.where(share < 1, verdict_centre, echo_centre)
    means = (per_vote, centre), (per_echo, echo_centre), (per_verdict, verdict_centre)
    direct = Influence.of_means(*means, tuning, scores, spoken)
    if sparse is None:
        return total, direct
    filled = v * ((1 - sparse.share) * sparse.expected).sum(axis=1)
    return total + filled, sparse.of_both(direct)
