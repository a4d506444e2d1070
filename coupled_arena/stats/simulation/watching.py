"""Coverage of rank-sets for a reader who looks at a growing board many times.

Votes come one after the other, and each look ranks all votes so far. In a campaign voters come one
after the other, each with all their votes, and nobody looks before the third. The level is broken
if a rank-set lacks a true position of its model at any look. A reader who stops at the first
separation would believe a wrong order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import Cutoff, Design, Pairing
from coupled_arena.core.process import Track
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.next_pair import pair_chances, unsettled
from coupled_arena.stats.ranking.rank_sets import Separation
from coupled_arena.stats.simulation.coverage import (
    RANKINGS,
    SimulationPlan,
    bounds_of,
    estimate_drawn,
)
from coupled_arena.stats.simulation.rank_set_runs import Ranking, binomial_error
from coupled_arena.stats.simulation.rankings import Rankings
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth

WATCHED_VOTERS = 3
"""Voters of a campaign from whom on somebody looks: two tell nothing of how tastes differ."""


@dataclass(frozen=True)
class WatchPlan:
    """What to simulate, and how often somebody looks.

    Attributes
    ----------
    simulation : SimulationPlan
        The votes of its truth are all that come; the verdicts alone are there from the first look.
    every : int
        Votes from one look to the next.
    pairing : Pairing
        How pairs are chosen; other values than uniform replace the truth's design.

    Raises
    ------
    ValueError
        Nobody ever looks, there are several judges, or votes that share prompts or voters are to be
        spent one by one.
    """

    simulation: SimulationPlan
    every: int
    pairing: Pairing = Pairing.UNIFORM

    def __post_init__(self) -> None:
        truth, votes = self.truth, self.votes
        if not 1 <= self.every <= votes:
            raise ValueError(
                f"Of {votes} votes one can look after each 1 to {votes}, "
                f"not after each {self.every}."
            )
        if truth.more_judges:
            raise ValueError("A board that is watched has one judge.")
        clustered = (Design.CLUSTERED, Design.VOTERS)
        apart = isinstance(truth, SimulatedTruth) and truth.design not in clustered
        if self.pairing is not Pairing.UNIFORM and not apart:
            raise ValueError("Pairs are chosen by what they settle where votes share no prompts.")

    @property
    def truth(self) -> SimulatedTruth | Campaign:
        """From which the votes are drawn."""
        return self.simulation.truth

    @property
    def votes(self) -> int:
        """All that come."""
        return self.truth.votes if isinstance(self.truth, Campaign) else self.truth.human


@dataclass(frozen=True)
class Watched:
    """How one cut-off fared.

    Attributes
    ----------
    coverage : float
        Share of repeats where at every look all rank-sets contain the true positions.
    coverage_error : float
        Its binomial standard error.
    coverage_at_last : float
        The same at the last look alone.
    separated : float
        Share of repeats where the best model was ever separated from all others.
    votes : float
        Median votes at the first look where it was; NaN if in most repeats it never was.
    settled : float
        Share of repeats where the rank-sets of all models ever were their true positions.
    settled_votes : float
        Median votes at the first look where they were; likewise.
    size : float
        Positions in a rank-set at the last look, mean over models and repeats.
    """

    ranking: Ranking
    cutoff: Cutoff
    coverage: float
    coverage_error: float
    coverage_at_last: float
    separated: float
    votes: float
    settled: float
    settled_votes: float
    size: float


@dataclass(frozen=True, eq=False)
class Watch:
    """The outcome, with its settings.

    Attributes
    ----------
    repeats : int
        Those that were finished.
    cutoffs : tuple of Watched
        One for each ranking (human, ppr) and cut-off.
    """

    plan: WatchPlan
    repeats: int
    cutoffs: tuple[Watched, ...]


def watch(plan: WatchPlan, track: Track = iter) -> Watch:
    """Draw votes from a known truth one after the other, and look at the rank-sets as they come.

    Parameters
    ----------
    track : callable
        As in `coupled_arena.stats.simulation.resampling.resample`.

    Raises
    ------
    ValueError
        `track` passed no repeat on.
    """
    bounds = [_repeat(plan, repeat) for repeat in track(range(plan.simulation.repeats))]
    if not bounds:
        raise ValueError("No repeat was finished.")
    found = tuple(
        _watched(plan, ranking, cutoff, np.stack([one[:, i, j] for one in bounds]))
        for i, ranking in enumerate(RANKINGS)
        for j, cutoff in enumerate(plan.simulation.cutoffs)
    )
    return Watch(plan, len(bounds), found)


def _repeat(plan: WatchPlan, repeat: int) -> NDArray[np.int64]:
    """Return the rank-sets at all looks, shape (looks, rankings, cutoffs, 2, k)."""
    rng = np.random.default_rng([plan.simulation.seed, repeat])
    grown = _drawn if plan.pairing is Pairing.UNIFORM else _spent
    return np.stack([_look(plan, seen) for seen in grown(plan, rng)])


def _drawn(plan: WatchPlan, rng: np.random.Generator) -> Iterator[JudgedCounts | Rankings | None]:
    """Yield what there is at each look: votes come in any order, or voter after voter.

    None stands for a look at a campaign that has too few voters.
    """
    drawn = plan.truth.draw(rng)
    rows = Rankings.apart(drawn) if isinstance(drawn, JudgedCounts) else drawn
    votes = rng.permutation(np.flatnonzero(rows.shown))
    begin = 0
    if isinstance(plan.truth, Campaign) and rows.voter is not None:
        votes = votes[np.argsort(rows.voter[votes], kind="stable")]
        comes = np.unique(rows.voter[votes], return_index=True)[1] + 1
        begin = int(comes[WATCHED_VOTERS - 1]) if len(comes) >= WATCHED_VOTERS else len(votes) + 1
    come = np.full(len(rows.shown), -1)
    come[votes] = np.arange(len(votes))
    for n in range(plan.every, len(votes) + 1, plan.every):
        seen = _so_far(rows, come, n) if n >= begin else None
        yield seen.counts() if seen is not None and isinstance(drawn, JudgedCounts) else seen


def _spent(plan: WatchPlan, rng: np.random.Generator) -> Iterator[JudgedCounts]:
    """Yield what there is at each look, of votes on pairs that looked undecided at the last one."""
    truth = plan.truth
    assert isinstance(truth, SimulatedTruth)  # campaigns are never spent one by one
    k = len(truth.models)
    one, other = np.triu_indices(k, 1)
    chances, none = np.full(len(one), 1 / len(one)), np.zeros((k, k), dtype=np.int64)
    alone = none.copy()
    alone[one, other] = rng.multinomial(truth.judge_only, chances)
    labelled, unlabelled = truth.compare(rng, none), truth.compare(rng, alone).sum(2)
    for _ in range(plan.every, truth.human + 1, plan.every):
        met = none.copy()
        met[one, other] = rng.multinomial(plan.every, chances)
        first = rng.binomial(met, 0.5)
        labelled = labelled + truth.compare(rng, first + (met - first).T)
        seen = JudgedCounts(truth.models, labelled, unlabelled)
        yield seen
        chances = _chances(plan, seen)[one, other]


def _chances(plan: WatchPlan, seen: JudgedCounts) -> NDArray[np.float64]:
    how = plan.simulation
    settings = how.weighting, how.covariance, how.voters, how.ties
    found = estimate_drawn(seen, Ranking.HUMAN, *settings)
    rank_sets = Separation(found, how.draws).rank_sets(how.alpha, Cutoff.ANY_TIME)
    wanted = np.ones((len(seen.models),) * 2, dtype=np.bool_)  # of a model without votes all
    at = [seen.models.index(model) for model in found.models]
    wanted[np.ix_(at, at)] = unsettled(rank_sets, plan.pairing)
    return pair_chances(seen.votes, wanted)


def _so_far(rows: Rankings, come: NDArray[np.int64], votes: int) -> Rankings:
    there = come < votes
    fields = ("prompt", "first", "second", "vote", "verdict", "shown")
    seen = {name: getattr(rows, name)[there] for name in fields}
    return replace(rows, **seen, voter=None if rows.voter is None else rows.voter[there])


def _look(plan: WatchPlan, seen: JudgedCounts | Rankings | None) -> NDArray[np.int64]:
    """Return the rank-sets at one look, shape (rankings, cutoffs, 2, k); all ranks without one."""
    how, k = plan.simulation, len(plan.truth.models)
    if seen is None:
        shape = len(RANKINGS), len(how.cutoffs), k
        return np.stack([np.ones(shape, np.int64), np.full(shape, k)], axis=2)
    settings = how.weighting, how.covariance, how.voters, how.ties
    # Without verdicts alone a judge tells nothing more: both rankings are people's.
    rankings = RANKINGS if plan.truth.judge_only else RANKINGS[:1]
    found = bounds_of(how, (estimate_drawn(seen, each, *settings) for each in rankings))
    return np.broadcast_to(found, (len(RANKINGS), *found.shape[1:]))


def _watched(
    plan: WatchPlan, ranking: Ranking, cutoff: Cutoff, bounds: NDArray[np.int64]
) -> Watched:
    """Sum up rank-sets of shape (repeats, looks, 2, k)."""
    low, high = plan.truth.ranks
    held = ((bounds[:, :, 0] <= low) & (high <= bounds[:, :, 1])).all(axis=2)
    coverage = float(held.all(axis=1).mean())
    first = (bounds[:, :, 1] == 1).any(axis=2)
    exact = ((bounds[:, :, 0] == low) & (bounds[:, :, 1] == high)).all(axis=2)
    last = bounds[:, -1]
    return Watched(
        ranking=ranking,
        cutoff=cutoff,
        coverage=coverage,
        coverage_error=binomial_error(coverage, len(bounds)),
        coverage_at_last=float(held[:, -1].mean()),
        separated=float(first.any(axis=1).mean()),
        votes=_median_votes(plan, first),
        settled=float(exact.any(axis=1).mean()),
        settled_votes=_median_votes(plan, exact),
        size=float((last[:, 1] - last[:, 0] + 1).mean()),
    )


def _median_votes(plan: WatchPlan, there: NDArray[np.bool_]) -> float:
    """Return the median votes at the first look where something was there, of (repeats, looks)."""
    votes = np.where(there.any(axis=1), plan.every * (1.0 + there.argmax(axis=1)), np.inf)
    median = float(np.quantile(votes, 0.5, method="inverted_cdf"))
    return median if np.isfinite(median) else float("nan")
