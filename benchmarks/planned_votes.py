"""Does a plan keep its promise? As many votes as planned, drawn from a store's with replacement.

    python -m benchmarks.planned_votes arena.duckdb [--judge gpt-4] [--pairs A:B,C:D] [--power 0.8]
    python -m benchmarks.planned_votes --pilots [--repeats 600]
    python -m benchmarks.planned_votes --people [--repeats 100]

What is counted is how often the rank-sets of the board then separate the two models: by the votes
alone, and with a judge by as many fewer as the plan promises. A board with the any-time cut-off is
looked at while its votes come, and must have separated the two before they are all there. Shares
below the power that was asked for by more than three binomial errors are marked. A plan for a pair
on boards that hold few votes for it is left out, for drawing again shows the same few. Leads are
told. With `--pilots`, leads are estimates from few votes on made-up models. With `--people`, people
have tastes, true leads are told, and a plan may be to separate one model from several at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coupled_arena.analysis.audit.plan import PLANNED, PlanGoal, plan_separation
from coupled_arena.analysis.leaderboard.board_estimates import (
    BoardEstimates,
    Method,
    read_estimates,
)
from coupled_arena.core.choices import BoardSource, Cutoff
from coupled_arena.stats.counts import JudgedCounts, PairCounts
from coupled_arena.stats.judges.planner import (
    likely_lead,
    needs,
    spread_of_leads,
    variance_for_power,
)
from coupled_arena.stats.judges.powered_means import contrast
from coupled_arena.stats.ranking.estimates import Estimate, estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation
from coupled_arena.stats.simulation.coverage import estimate_drawn
from coupled_arena.stats.simulation.rank_set_runs import Ranking, binomial_error
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth, evenly
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection

LOOKS = 60  # of a board that is watched; more looks separate a little sooner
PER_VOTE = 4  # verdicts on other comparisons for each vote
Pair = tuple[str, str]


@dataclass(frozen=True)
class Kept:
    """How often a plan was kept.

    Attributes
    ----------
    votes, board : int
        Planned, on comparisons of either model; and on the whole board.
    share : float
        Of the draws that separated the two.
    filled_in : float
        Of those that had too few votes in some pair, which were filled in.
    """

    votes: int
    board: int
    share: float
    filled_in: float
    repeats: int

    @property
    def error(self) -> float:
        """Return the binomial standard error of the share."""
        return binomial_error(self.share, self.repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("db", type=Path, nargs="?")
    parser.add_argument("--pilots", action="store_true", help="plans from made-up pilots instead")
    parser.add_argument("--people", action="store_true", help="plans in people who have tastes")
    parser.add_argument("--judge")
    parser.add_argument("--models", help="only these: A,B,C")
    parser.add_argument("--pairs", help="A:B,C:D; by default neighbours by their win rates")
    parser.add_argument("--power", type=float, default=0.8)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--cutoffs", default=",".join(PLANNED))
    parser.add_argument("--most", type=int, default=200_000, help="votes of a board at most")
    given = parser.parse_args()
    if given.pilots:
        pilots(given.power, given.repeats, 10_000_000)
        return
    if given.people:
        campaigns(given.power, given.repeats)
        return
    models = tuple(given.models.split(",")) if given.models else None
    with Store.open(given.db) as store:
        board = read_estimates(store, Selection(judge=given.judge, models=models))
    cutoffs = [Cutoff(each) for each in given.cutoffs.split(",")]
    row(
        "pair",
        "cut-off",
        "by",
        "votes planned",
        "on the board",
        "separated",
        "asked for",
        "filled in",
    )
    row(*["---"] * 8)
    for pair in asked(board, given.pairs):
        for cutoff in cutoffs:
            for source in (BoardSource.HUMAN, *([BoardSource.PPR] if given.judge else [])):
                goal = PlanGoal(*pair, power=given.power, cutoff=cutoff, verdicts_per_vote=PER_VOTE)
                kept = keep(board, goal, source, given.repeats, given.most)
                show(pair, goal, source, kept)


PILOTS = ((3, 300), (5, 500), (8, 800))
"""Models, and the votes of a pilot."""


def pilots(power: float, repeats: int, most: int) -> None:
    """Print how often boards of as many votes separate two models as a pilot says.

    Strengths are normal, or evenly apart. The two are the first and second of the pilot.
    """
    row("models", "strengths", "pilot", "by its lead", "by the plan", "asked for", "votes, median")
    row(*["---"] * 7)
    for models, votes in PILOTS:
        for even in (True, False):
            found = [
                _piloted(models, votes, power, most, repeat, even) for repeat in range(repeats)
            ]
            naive, planned, needed = np.array(found, dtype=float).T
            shares = (f"{each.mean():.3f}" for each in (naive, planned))
            strengths = "evenly apart" if even else "normal"
            row(
                str(models),
                strengths,
                str(votes),
                *shares,
                f"{power:g}",
                f"{np.median(needed):,.0f}",
            )


def _piloted(
    models: int, votes: int, power: float, most: int, repeat: int, even: bool
) -> tuple[bool, bool, int]:
    """Whether a board separates the two, by the pilot's lead and by the plan; and its votes."""
    rng = np.random.default_rng([18, models, repeat])
    strengths = evenly(models, 0.25 * (models - 1)) if even else tuple(rng.normal(0, 0.4, models))
    truth = SimulatedTruth(strengths, votes, 1)
    pilot = estimate_from_votes(_votes_of(truth, rng))
    one, other = np.argsort(-pilot.theta)[:2]
    weights = contrast(models, int(one), int(other))
    critical = Separation(pilot, LIVE_DRAWS).rank_sets().critical_value
    lead, variance = float(weights @ pilot.theta), float(weights @ pilot.covariance @ weights)
    spread = spread_of_leads(pilot.theta, pilot.covariance)
    planned = likely_lead(lead, variance, spread, critical, power).planned
    separated, total = [], votes
    for each in (max(lead, 1e-3), planned):
        goal = variance_for_power(each, critical, 0.05, power)
        total = round(votes * needs(variance, 1000, 0, goal, 0).votes_alone / 1000)
        # A board of so many votes is as good as one of infinitely many: no draw tells them apart.
        board = replace(truth, human=min(max(total, models**2), most))
        made = estimate_from_votes(_votes_of(board, rng))
        ahead = Separation(made, LIVE_DRAWS).rank_sets().ahead
        separated.append(bool(ahead[one, other] or ahead[other, one]))
    return separated[0], separated[1], total


CAMPAIGNS = (
    ("one ahead of two equals", (0.4, 0, 0), 0, (1, 2)),
    ("one ahead of four equals", (0.5, 0, 0, 0, 0), 0, (1, 2, 3, 4)),
    ("one ahead of seven equals", (0.5, 0, 0, 0, 0, 0, 0, 0), 0, tuple(range(1, 8))),
    ("one behind four equals", (0, 0, 0, 0, -0.5), 4, (0, 1, 2, 3)),
    ("three evenly apart, first and second", evenly(3, 0.8), 0, (1,)),
    ("five evenly apart, second and third", evenly(5, 1.6), 1, (2,)),
    ("eight evenly apart, first and second", evenly(8, 2.8), 0, (1,)),
)
"""Strengths of models, and which one is to be separated from which others."""


def campaigns(power: float, repeats: int) -> None:
    """Print how often as many more people as a plan asks for separate a model from others.

    A pilot has 3,000 votes of 30 people with tastes of .7 log-odds.
    """
    row("strengths", "more people, median", "separated", "asked for")
    row(*["---"] * 4)
    for name, strengths, model, others in CAMPAIGNS:
        pilot = Campaign(strengths, 30, 3000, taste=0.7)
        found = [_enlarged(pilot, (model, *others), power, repeat) for repeat in range(repeats)]
        people, separated = np.array(found, dtype=float).T
        share = float(separated.mean())
        kept = f"{share:.3f} ± {binomial_error(share, repeats):.3f}"
        row(name, f"{np.median(people):,.0f}", kept, f"{power:g}")


def _enlarged(
    pilot: Campaign, models: tuple[int, ...], power: float, repeat: int
) -> tuple[int, bool]:
    """Return how many more people a plan asks for, and whether a board of so many separates."""
    one, first, *more = (pilot.models[place] for place in models)
    lead = float(pilot.theta[models[0]] - pilot.theta[models[1]])
    goal = PlanGoal(one, first, power=power, lead=lead, more=tuple(more))
    made = plan_separation(campaign_board(pilot, np.random.default_rng([5, repeat])), goal)
    asked_for = made.people_to_ask or 0
    people = pilot.voters + asked_for
    larger = replace(pilot, voters=people, votes=people * (made.votes_each or 100))
    board = campaign_board(larger, np.random.default_rng([6, repeat]))
    ahead = board.separation(BoardSource.HUMAN).rank_sets().ahead
    apart = (ahead | ahead.T)[models[0], list(models[1:])]
    return asked_for, bool(apart.all())


def campaign_board(truth: Campaign, rng: np.random.Generator) -> BoardEstimates:
    """Return the estimates of a campaign's votes."""
    drawn = truth.draw(rng)
    counts = drawn.counts()
    return BoardEstimates(
        selection=Selection(),
        method=Method(),
        votes=counts.votes,
        identical=PairCounts(counts.models, np.zeros_like(counts.votes.counts)),
        judged=counts,
        by_source={BoardSource.HUMAN: estimate_drawn(drawn, Ranking.HUMAN)},
        modes=None,
        mixed=(),
        left_out=0,
        version=(0,),
        idle=(),
        draws=2000,
    )


def _votes_of(truth: SimulatedTruth, rng: np.random.Generator) -> PairCounts:
    drawn = truth.draw(rng)
    assert isinstance(drawn, JudgedCounts)
    return drawn.votes


def asked(board: BoardEstimates, pairs: str | None) -> Iterator[Pair]:
    """Yield the pairs that were named, or each model and the next one."""
    if pairs:
        for pair in pairs.split(","):
            one, other = pair.split(":")
            yield one, other
        return
    human = board.by_source[BoardSource.HUMAN]
    yield from pairwise(human.models[i] for i in np.argsort(-human.theta))


def keep(
    board: BoardEstimates, goal: PlanGoal, source: BoardSource, repeats: int, most: int
) -> Kept | None:
    """Plan, and draw as often; None of a plan for a board of more votes than `most`."""
    if goal.lead is None:  # the votes are the truth here, and no pilot
        human = board.by_source[BoardSource.HUMAN]
        one, other = (human.models.index(name) for name in (goal.model, goal.other or ""))
        goal = replace(goal, lead=float(human.theta[one] - human.theta[other]))
    made = plan_separation(board, goal)
    powered = source is BoardSource.PPR
    votes = made.needs.votes if powered else made.needs.votes_alone
    total = round(votes * board.by_source[BoardSource.HUMAN].human / made.votes_there)
    if total > most:
        return None
    extra = PER_VOTE * total if powered else 0
    found = [
        _separates(board, goal, total, extra, np.random.default_rng([16, repeat]))
        for repeat in range(repeats)
    ]
    share, filled_in = np.mean(found, axis=0)
    return Kept(votes, total, float(share), float(filled_in), repeats)


def _separates(
    board: BoardEstimates, goal: PlanGoal, votes: int, alone: int, rng: np.random.Generator
) -> tuple[bool, bool]:
    """Whether a board tells the two apart, in the end or before, and has pairs filled in then."""
    watched = goal.cutoff is Cutoff.ANY_TIME
    models = board.votes.models
    fewest = 5 * len(models) * (len(models) - 1) / 2
    ends = np.geomspace(min(fewest, votes), votes, LOOKS).astype(int) if watched else [votes]
    seen = np.zeros_like(board.judged.labelled)
    verdicts = np.zeros_like(board.judged.unlabelled)
    before, filled_in = 0, False
    for end in map(int, ends):
        share = end / votes
        seen = seen + _drawn(_law(board, powered=alone > 0), end - before, rng)
        more = round(alone * share) - int(verdicts.sum())
        if alone:
            law = board.judged.labelled.sum(axis=2) + board.judged.unlabelled
            verdicts = verdicts + _drawn(law, more, rng)
        before = end
        counts = JudgedCounts(models, seen, verdicts)
        made = estimate(counts) if alone else estimate_from_votes(counts.votes)
        filled_in = made.sparse is not None
        if _apart(made, goal):
            return True, filled_in
    return False, filled_in


def _law(board: BoardEstimates, *, powered: bool) -> NDArray[np.int64]:
    """Return how frequent each kind of comparison with a vote is among those there are."""
    if powered:
        return board.judged.labelled
    return JudgedCounts.without_judge(board.votes).labelled


def _drawn(law: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.multinomial(n, law.ravel() / law.sum()).reshape(law.shape)


def _apart(made: Estimate, goal: PlanGoal) -> bool:
    if goal.model not in made.models or goal.other not in made.models:
        return False
    one, other = (made.models.index(name) for name in (goal.model, goal.other))
    ahead = Separation(made, LIVE_DRAWS).rank_sets(goal.alpha, goal.cutoff).ahead
    return bool(ahead[one, other] or ahead[other, one])


def show(pair: Pair, goal: PlanGoal, source: BoardSource, kept: Kept | None) -> None:
    start = (" \N{EN DASH} ".join(pair), goal.cutoff, source)
    if kept is None:
        row(*start, "", "too many to draw", "", f"{goal.power:g}", "")
        return
    low = kept.share < goal.power - 3 * binomial_error(goal.power, kept.repeats)
    share = f"{kept.share:.3f} ± {kept.error:.3f}{' **low**' if low else ''}"
    row(
        *start,
        f"{kept.votes:,}",
        f"{kept.board:,}",
        share,
        f"{goal.power:g}",
        f"{kept.filled_in:.2f}",
    )


def row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
