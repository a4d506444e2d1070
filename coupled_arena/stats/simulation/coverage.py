"""Coverage of rank-sets and intervals against a known truth.

A `SimulatedTruth` draws votes and verdicts in each repeat. They are ranked by the votes alone, and
prediction-powered. Rank-sets keep their level if the sets of all models contain the true positions
in 1 - alpha of the repeats. Equal models have several true positions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import Covariance, Cutoff, TieScore, Voters, Weighting
from coupled_arena.core.process import Track
from coupled_arena.stats.counts import FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.intervals import check_alpha
from coupled_arena.stats.ranking.estimates import Estimate, estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation, intervals
from coupled_arena.stats.ranking.strata import PairPrompts
from coupled_arena.stats.ranking.verdict_shift import ShiftTest, verdict_shift, without_verdicts
from coupled_arena.stats.simulation.rank_set_runs import Ranking, binomial_error, rank_bounds
from coupled_arena.stats.simulation.rankings import Rankings
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth

RANKINGS = (Ranking.HUMAN, Ranking.PPR)


@dataclass(frozen=True)
class SimulationPlan:
    """What to simulate, and how to rank it.

    Attributes
    ----------
    alpha : float
        Error level of the rank-sets, jointly, and of each interval.
    weighting, covariance
        As in `estimate`. The published covariance knows nothing of clusters.
    voters : Voters
        Whom a board of votes in a campaign speaks for.
    ties : TieScore, optional
        By default half a win, as on boards, and a loss with the published covariance.
    seed : int
        A repeat depends on the seed and its own number alone.
    draws : int
        Draws behind the max-t cut-off, few by default as in `ResamplingPlan`.

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    truth: SimulatedTruth | Campaign
    repeats: int
    alpha: float = 0.05
    cutoffs: tuple[Cutoff, ...] = tuple(Cutoff)
    weighting: Weighting = Weighting.STRATIFIED
    covariance: Covariance = Covariance.CORRECTED
    voters: Voters = Voters.LIKE
    ties: TieScore | None = None
    seed: int = 0
    draws: int = LIVE_DRAWS

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if self.repeats < 1 or self.seed < 0:
            raise ValueError("There must be a repeat at least, and no negative seed.")

    @property
    def tie_score(self) -> TieScore:
        """What a tie counts for."""
        return TieScore.of(self.ties, self.covariance)

    @property
    def win_rates(self) -> FloatArray:
        """The true win rates, by the tie score, shape (k,)."""
        return self.truth.win_rates(self.tie_score)


@dataclass(frozen=True)
class RankSetCoverage:
    """How one cut-off fared.

    Attributes
    ----------
    coverage : float
        Share of repeats where all rank-sets contain the true positions.
    coverage_error : float
        Its binomial standard error.
    size : float
        Positions in a rank-set, mean over models and repeats.
    """

    ranking: Ranking
    cutoff: Cutoff
    coverage: float
    coverage_error: float
    size: float


@dataclass(frozen=True, eq=False)
class IntervalCoverage:
    """How the intervals of the win rates fared.

    Attributes
    ----------
    coverage : ndarray of float64, shape (k,)
        Share of repeats where a model's interval contains its true win rate.
    bias : ndarray of float64, shape (k,)
        Mean estimate minus truth; NaN of a model that never had a vote.
    width : float
        Mean over models and repeats.
    """

    ranking: Ranking
    coverage: FloatArray
    bias: FloatArray
    width: float


@dataclass(frozen=True, eq=False)
class Simulation:
    """The outcome of a simulation, with its settings.

    Attributes
    ----------
    repeats : int
        Those that were finished.
    rank_sets : tuple of RankSetCoverage
        One for each ranking (human, ppr) and cut-off.
    intervals : tuple of IntervalCoverage
        One for each ranking.
    filled : int
        Repeats in which pairs had too few votes, and what was missing was filled in.
    fallbacks : int
        Repeats in which too few votes in some pair put another weighting in place.
    warnings : tuple of str
        What the estimates warned of on any repeat.
    """

    plan: SimulationPlan
    repeats: int
    rank_sets: tuple[RankSetCoverage, ...]
    intervals: tuple[IntervalCoverage, ...]
    filled: int
    fallbacks: int
    warnings: tuple[str, ...]


def simulate(plan: SimulationPlan, track: Track = iter) -> Simulation:
    """Draw votes and verdicts from a known truth, and count how often estimates cover it.

    Parameters
    ----------
    track : callable
        As in `resample`.

    Raises
    ------
    ValueError
        `track` passed no repeat on.
    """
    outcomes = [_repeat(plan, repeat) for repeat in track(range(plan.repeats))]
    if not outcomes:
        raise ValueError("No repeat was finished.")
    bounds = np.stack([one.bounds for one in outcomes])
    estimated = np.stack([one.estimated for one in outcomes])
    return Simulation(
        plan=plan,
        repeats=len(outcomes),
        rank_sets=_rank_set_coverage(plan, bounds),
        intervals=tuple(
            _interval_coverage(plan.win_rates, ranking, estimated[:, place])
            for place, ranking in enumerate(RANKINGS)
        ),
        filled=sum(one.filled for one in outcomes),
        fallbacks=sum(one.fallback for one in outcomes),
        warnings=tuple(dict.fromkeys(w for one in outcomes for w in one.warnings)),
    )


@dataclass(frozen=True, eq=False)
class _Repeat:
    """What one repeat found.

    `bounds` are the rank-sets, shape (rankings, cutoffs, 2, k); `estimated` holds estimate, low
    and high, shape (rankings, 3, k).
    """

    bounds: IntArray
    estimated: FloatArray
    filled: bool
    fallback: bool
    warnings: tuple[str, ...]


def _repeat(plan: SimulationPlan, repeat: int) -> _Repeat:
    drawn = plan.truth.draw(np.random.default_rng([plan.seed, repeat]))
    settings = plan.weighting, plan.covariance, plan.voters, plan.ties
    estimates = [estimate_drawn(drawn, ranking, *settings) for ranking in RANKINGS]
    return _Repeat(
        bounds=bounds_of(plan, estimates),
        estimated=np.stack([_intervals(one, plan) for one in estimates]),
        filled=any(one.sparse is not None for one in estimates),
        fallback=any(one.weighting is not plan.weighting for one in estimates),
        warnings=tuple(w for one in estimates for w in one.warnings),
    )


def bounds_of(plan: SimulationPlan, estimates: Iterable[Estimate]) -> IntArray:
    """Return the rank-sets of estimates by each cut-off, shape (estimates, cutoffs, 2, k)."""
    separations = [(Separation(one, plan.draws), one.models) for one in estimates]
    return np.array(
        [
            [rank_bounds(each, present, plan.truth.models, plan.alpha, c) for c in plan.cutoffs]
            for each, present in separations
        ]
    )


def estimate_drawn(
    drawn: JudgedCounts | Rankings,
    ranking: Ranking,
    weighting: Weighting = Weighting.STRATIFIED,
    covariance: Covariance = Covariance.CORRECTED,
    voters: Voters = Voters.LIKE,
    ties: TieScore | None = None,
    *,
    check: bool = True,
) -> Estimate:
    """Estimate win rates from what a truth drew, by the votes alone or prediction-powered.

    The options are those of `SimulationPlan`; `check` is whether verdicts alone are used only if
    they are like those beside votes.
    """
    settings = weighting, covariance, TieScore.of(ties, covariance)
    if not isinstance(drawn, Rankings) or covariance is Covariance.PUBLISHED:
        counts = drawn.counts() if isinstance(drawn, Rankings) else drawn
        prompts, rows = None, None
    else:
        counts, rows = drawn.counts(), drawn
        prompts = drawn.prompts(by_order=weighting is Weighting.POSITION)
    found = _of_counts(counts, ranking, *settings, prompts)
    if ranking is Ranking.HUMAN:
        return _in_clusters(found, rows, voters)
    check &= covariance is Covariance.CORRECTED
    shift = verdict_shift(found, counts, prompts) if check else None
    if shift is not None:
        test = ShiftTest.of(_in_clusters(shift, rows and rows.heard, Voters.THESE))
        if test is not None and test.different:
            people = _of_counts(counts, Ranking.HUMAN, *settings, prompts)
            return without_verdicts(found, _in_clusters(people, rows, voters))
    return _in_clusters(found, rows, voters)


def _in_clusters(found: Estimate, drawn: Rankings | None, voters: Voters) -> Estimate:
    """Return an estimate that knows of the clusters in what it was made from, if there are any."""
    if drawn is None:
        return found
    rows = drawn.of(found.models)
    gram = rows.gram(found.influence, found.sparse)
    products = rows.products(found.influence)
    clustered = found.clustered(gram, rows.clusters, products)
    return rows.of_people(clustered, found) if voters is Voters.LIKE else clustered


def _of_counts(
    counts: JudgedCounts,
    ranking: Ranking,
    weighting: Weighting,
    kind: Covariance,
    ties: TieScore,
    prompts: PairPrompts | None = None,
) -> Estimate:
    if ranking is Ranking.HUMAN:
        return estimate_from_votes(counts.votes, weighting, kind, prompts, ties)
    return estimate(counts, weighting, kind, prompts, ties)


def _intervals(one: Estimate, plan: SimulationPlan) -> FloatArray:
    """Return estimate, low and high, shape (3, k); anything is possible without votes."""
    models = plan.truth.models
    found = np.tile(np.array([[np.nan], [0.0], [1.0]]), len(models))
    places = [models.index(model) for model in one.models]
    found[:, places] = one.theta, *intervals(one, plan.alpha)
    return found


def _rank_set_coverage(plan: SimulationPlan, bounds: IntArray) -> tuple[RankSetCoverage, ...]:
    low, high = plan.truth.ranks
    held: NDArray[np.bool_] = (bounds[..., 0, :] <= low) & (high <= bounds[..., 1, :])
    shares = held.all(-1).mean(0)
    sizes = (bounds[..., 1, :] - bounds[..., 0, :] + 1).mean((0, -1))
    return tuple(
        RankSetCoverage(
            ranking=ranking,
            cutoff=cutoff,
            coverage=float(shares[i, j]),
            coverage_error=binomial_error(float(shares[i, j]), len(bounds)),
            size=float(sizes[i, j]),
        )
        for i, ranking in enumerate(RANKINGS)
        for j, cutoff in enumerate(plan.cutoffs)
    )


def _interval_coverage(theta: FloatArray, ranking: Ranking, found: FloatArray) -> IntervalCoverage:
    low, high = found[:, 1], found[:, 2]
    return IntervalCoverage(
        ranking=ranking,
        coverage=((low <= theta) & (theta <= high)).mean(0),
        bias=found[:, 0].mean(0) - theta,
        width=float((high - low).mean()),
    )
