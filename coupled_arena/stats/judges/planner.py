"""How many votes a question needs, with and without a judge, and what a judge explains of them.

A plan scales from the comparisons that exist. More comparisons like them reduce the variance in
proportion to their number, and a little less where they fall into pairs of models by chance.
With r verdicts alone for each vote, a vote is worth τ = 1 / (1 - ρ²/(1 + 1/r)) votes.

A judge that only knows which models are strong explains votes across pairs of models. It adds
nothing to a stratified win rate, which compares within pairs already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import nctdtrit, ndtr, ndtri, stdtrit

from coupled_arena.core.choices import TieScore, Weighting
from coupled_arena.core.language import _
from coupled_arena.stats.counts import FloatArray, IntArray, JudgedCounts, PairCounts
from coupled_arena.stats.influence import Influence
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.judges.agreement import worth
from coupled_arena.stats.ranking.estimates import estimate_from_votes


@dataclass(frozen=True)
class Needs:
    """Votes and verdicts that a question takes, those that are there included.

    Attributes
    ----------
    votes_alone : int
        Human votes without a judge.
    votes : int
        Human votes with the judge, each of which has a verdict too.
    verdicts : int
        The judge's verdicts, on those comparisons and on others.
    verdicts_per_vote : float
        r: those on others, for each vote.
    tau : float
        What a vote is worth with so many verdicts.
    tau_max : float
        The same with verdicts without end; infinite for a judge that is always right.
    """

    votes_alone: int
    votes: int
    verdicts: int
    verdicts_per_vote: float
    tau: float
    tau_max: float


def variance_for_width(width: float, alpha: float) -> float:
    """Return the variance at which an interval has this width.

    Raises
    ------
    ValueError
        The width is not between 0 and 1, or `alpha` is not.
    """
    if not 0 < width < 1:
        text = _("The width of an interval lies between 0 and 1, not at {width:g}.")
        raise ValueError(text.format(width=width))
    return (width / 2 / float(critical_value(alpha))) ** 2


def variance_for_power(difference: float, critical: float, alpha: float, power: float) -> float:
    """Return the variance at which a difference passes a cut-off with this probability.

    Parameters
    ----------
    difference : float
        The true one.
    critical : float
        The cut-off, in standard deviations of a difference: that of the board, which compares
        all its models at once (`coupled_arena.stats.ranking.rank_sets.RankSets.critical_value`).
    alpha : float
        Its error level, which a power must exceed to be one.
    power : float
        Probability that the two are separated.

    Raises
    ------
    ValueError
        There is no difference, or the power is not between `alpha` and 1.
    """
    check_power(difference, alpha, power)
    return (difference / (critical + float(ndtri(power)))) ** 2


_JOINT_DRAWS, _JOINT_SEED = 100_000, 20_261_126  # a power is then known to .0013


def power_of_each(
    errors: FloatArray, correlation: FloatArray, critical: float, power: float
) -> float:
    """Return the power that the hardest of several separations needs, so that all of them pass.

    Two models behind a third, with a power of .8 each, are both behind in .68 of all boards.

    Parameters
    ----------
    errors : ndarray of float64, shape (m,)
        The standard deviation of each difference, relative to the difference itself.
    correlation : ndarray of float64, shape (m, m)
        Of the differences, each in the direction in which it is above zero.
    critical, power : float
        As in `variance_for_power`, of all separations together.
    """
    if len(errors) == 1:
        return power
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0))
    normal = np.random.default_rng(_JOINT_SEED).standard_normal((_JOINT_DRAWS, len(errors)))
    # With f times the votes difference j passes where √f is at least (c - z_j) times its error.
    root_of_votes = ((critical - normal @ root.T) * errors).max(axis=1)
    hardest = float(np.quantile(root_of_votes, power)) / float(errors.max())
    return float(np.asarray(ndtr(hardest - critical)))


def check_power(difference: float, alpha: float, power: float) -> None:
    """Refuse what cannot be planned.

    Raises
    ------
    ValueError
        There is no difference, or the power is not between `alpha` and 1.
    """
    if not alpha < power < 1:
        raise ValueError(
            _("The power lies between alpha and 1, not at {power:g}.").format(power=power)
        )
    if not 0 < abs(difference) < 1:
        text = _(
            "Models that differ by {difference:g} cannot be separated: give a difference "
            "between 0 and 1."
        )
        raise ValueError(text.format(difference=difference))


@dataclass(frozen=True)
class LikelyLead:
    """A lead that a pilot estimates, as far as its votes tell it.

    Attributes
    ----------
    planned : float
        Whoever plans for this one separates two models with the power asked for, on average over
        the leads that they may have.
    least, most : float
        Quantiles .1 and .9 of these.
    """

    planned: float
    least: float
    most: float


_STEPS = 2_000  # quantiles of a normal law: their mean is exact to 1e-3 of a power
_HALVINGS = 60
_LEAST_SPREAD = 0.25  # of a board's leads, as a variance in units of the pilot's: never all equal


def likely_lead(
    lead: float, variance: float, spread: float, critical: float, power: float
) -> LikelyLead:
    """Return what a pilot's lead promises: less than it says, for it may owe much to chance.

    Leads of a board are normal around 0 with their own variance, the prior of an empirical Bayes
    estimate. A plan for the estimate itself had power .30 to .76 in place of .8. Estimates that are
    too large cost more power than those that are too small give.

    Parameters
    ----------
    lead, variance : float
        The pilot's estimate, and its variance.
    spread : float
        `spread_of_leads` of the board.
    critical : float
        As in `variance_for_power`.
    power : float
        Probability that the two are separated.
    """
    spread = max(spread, _LEAST_SPREAD * variance)
    shrunk = spread / (spread + variance)
    chance = ndtri((np.arange(_STEPS) + 0.5) / _STEPS)
    leads = np.abs(shrunk * abs(lead) + np.sqrt(shrunk * variance) * chance)
    low, high = 0.0, float(leads.max() + np.sqrt(variance)) / max(critical, 1.0)
    for _step in range(_HALVINGS):
        error = (low + high) / 2
        ends = np.stack([leads, -leads]) / error - critical
        found = float(np.asarray(ndtr(ends), np.float64).sum(axis=0).mean())
        low, high = (error, high) if found > power else (low, error)
    least, most = np.quantile(leads, [0.1, 0.9])
    return LikelyLead(low * (critical + float(ndtri(power))), float(least), float(most))


def spread_of_leads(theta: FloatArray, covariance: FloatArray) -> float:
    """Return the mean over all pairs of models of lead² less its variance."""
    one, other = np.triu_indices(len(theta), 1)
    own = np.diag(covariance)
    variances = own[one] + own[other] - 2 * covariance[one, other]
    return float(((theta[one] - theta[other]) ** 2 - variances).mean())


def check_variance(variance: float) -> None:
    """Refuse votes that say nothing of how far others would scatter, as perfect records do.

    Raises
    ------
    ValueError
        The variance is 0, or unknown.
    """
    if not variance > 0:
        raise ValueError(_("Too few votes yet to plan from: nothing in them varies."))


def unsure_variance(critical: float, power: float, degrees: float, times: float = 1.0) -> float:
    """Return how many times the votes keep a power where a variance is only estimated.

    A plan rests on the root s of a variance with few degrees of freedom. It is kept where a
    standard normal number plus the cut-off is at most a multiple of s. Their ratio is noncentral
    Student's t. The board that is planned for has about `times` the degrees, and a cut-off by
    Student's t.
    """
    planned = critical + float(ndtri(power))
    then = float(stdtrit(degrees * max(times, 1.0), float(ndtr(critical))))
    times_root = nctdtrit(degrees, then, power)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]
    return (float(times_root) / planned) ** 2  # pyright: ignore[reportUnknownArgumentType]


def needs(
    variance: float,
    votes: int,
    explained: float,
    goal: float,
    verdicts_per_vote: float,
    votes_there: int = 0,
    unevenness: float = 0.0,
) -> Needs:
    """Return what it takes to reach a variance.

    Parameters
    ----------
    variance : float
        Of the estimate by people alone, with so many votes as these:
    explained : float
        ρ²: the share of it that the judge can explain.
    goal : float
        The variance to reach.
    verdicts_per_vote : float
        r: verdicts on comparisons that nobody votes on, for each vote.
    votes_there : int
        Votes that were cast already: if they are more than r verdicts a vote call for, fewer
        verdicts do.
    unevenness : float
        By what share the variance of so many votes is larger when they are drawn anew, see
        `unevenness_of`; it falls as they become more.

    Raises
    ------
    ValueError
        The variance or ρ² is unknown, or r is negative.
    """
    check_variance(variance if math.isfinite(explained) else 0.0)
    if not 0 <= verdicts_per_vote < math.inf:
        text = _("There cannot be {verdicts_per_vote:g} verdicts for each vote.")
        raise ValueError(text.format(verdicts_per_vote=verdicts_per_vote))
    # f times the votes have variance / f * (1 + unevenness / f).
    f = variance / goal
    f = (f + math.sqrt(f**2 + 4 * f * unevenness)) / 2
    return _scaled(votes * f, explained, verdicts_per_vote, votes_there)


def unevenness_of(counts: FloatArray, weights: FloatArray) -> float:
    """Return by what share a mean over pairs of models varies more for few votes in each.

    A pair's part in the variance is in inverse proportion to its votes less one. Votes come to
    pairs by chance, now more and now fewer. So the mean of 1/n is larger than one over the mean, by
    a share of 1/n as well: 2/n together.

    Parameters
    ----------
    counts : ndarray, shape (p,)
        Votes of each pair, 1 or more.
    weights : ndarray, shape (p,)
        Of a pair's mean in the variance, for equal numbers of votes.
    """
    parts = weights / counts
    return 2 * float((parts / counts).sum() / parts.sum())


def _scaled(alone: float, explained: float, verdicts_per_vote: float, votes_there: int) -> Needs:
    """Return what takes the place of so many votes alone."""
    r = verdicts_per_vote
    tau = worth(explained, 1 / r if r else math.inf)
    with_judge = math.ceil(alone / tau)
    if with_judge < votes_there < alone:
        with_judge, tau = votes_there, alone / votes_there
        used = (1 - 1 / tau) / explained
        r = used / (1 - used)
    return Needs(
        votes_alone=math.ceil(alone),
        votes=with_judge,
        verdicts=math.ceil(with_judge * (1 + r)),
        verdicts_per_vote=r,
        tau=tau,
        tau_max=worth(explained, 0.0),
    )


def explained_within_pairs(
    counts: JudgedCounts,
    weights: FloatArray,
    weighting: Weighting = Weighting.STRATIFIED,
    ties: TieScore = TieScore.LOSS,
) -> float:
    """Return the share of the variance of Σ c_m θ̂_m that verdicts without end would remove.

    Of several such sums it is the share of the sum of their variances.

    The judge has one weight for all models, which minimises the sum of their variances, as in
    `coupled_arena.stats.ranking.estimates.estimate`. With r verdicts alone for each vote the share
    is 1 + 1/r times less.

    Parameters
    ----------
    weights : ndarray of float64, shape (k,) or (sums, k)
        c; the identity matrix is the whole board.
    weighting : Weighting
        Of the board.
    ties : TieScore
        Likewise.

    Returns
    -------
    float
        NaN where a model of the sum has no vote with a verdict, or nothing varies.
    """
    met = counts.labelled.sum(axis=(2, 3))
    known = (met + met.T).any(axis=1)
    weights = np.atleast_2d(weights)
    if not known[(weights != 0).any(axis=0)].all():
        return float("nan")
    counts = counts.of([m for m, there in zip(counts.models, known, strict=True) if there])
    weights, verdicts = weights[:, known], counts.labelled.sum(axis=2)
    votes = _influence(counts.votes.counts, counts, weighting, ties)
    echo = _influence(verdicts, counts, weighting, ties)
    echo = Influence(echo.labelled.swapaxes(2, 3), echo.unlabelled)
    human, cross, judge = votes.gram(counts), votes.gram(counts, echo), echo.gram(counts)
    cost = float(np.trace(judge))
    variance, shared, spent = (
        float(np.trace(weights @ each @ weights.T)) for each in (human, cross, judge)
    )
    if not variance > 0:
        return float("nan")
    tuning = float(np.clip(np.trace(cross) / cost, 0, 1)) if cost > 0 else 0.0
    return max((2 * tuning * shared - tuning**2 * spent) / variance, 0.0)


def _influence(
    outcomes: IntArray, counts: JudgedCounts, weighting: Weighting, ties: TieScore
) -> Influence:
    """Return what a comparison adds to win-rates by one kind of label alone."""
    labels = PairCounts(counts.models, outcomes)
    made = estimate_from_votes(labels, weighting, ties=ties).influence
    return Influence(made.labelled, np.zeros_like(made.unlabelled))
