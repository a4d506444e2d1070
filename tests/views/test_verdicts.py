"""The sentences that tabs open with say what rank-sets, intervals and tests hold, and no more."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from coupled_arena.analysis.audit.plan import PlanGoal, plan_separation
from coupled_arena.analysis.coupling.savings import StoredScores, coupling
from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates, Method
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.analysis.risk.result import RiskSettings, risk_report
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.choices import BoardSource, Correction, Covariance, Cutoff, Weighting
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode
from coupled_arena.stats.counts import JudgedCounts, PairCounts
from coupled_arena.stats.coupling.score_tables import ScoreTable
from coupled_arena.stats.ranking.estimates import estimate_from_votes
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.simulation.resampling import ResamplingPlan, resample
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables.exclusions import Excluded
from coupled_arena.views.words.coupling import coupling_verdict
from coupled_arena.views.words.experiments import resampling_verdict
from coupled_arena.views.words.risk import risk_verdict
from coupled_arena.views.words.verdict import board_verdict
from coupled_arena.views.words.votes import left_out_words

DRAWS = 2_000  # behind a cut-off: sentences follow from it, however rough it is
NAMES = ("ant", "bee", "cow", "dog", "elk", "fox")


def board_of(rows, *, alpha=0.05, idle=(), covariance=Covariance.CORRECTED, cutoff=Cutoff.MAX_T):
    """Return the board of rows (first, second, outcome, times)."""
    votes = PairCounts.from_rows(rows)
    k = len(votes.models)
    by_source = (
        {BoardSource.HUMAN: estimate_from_votes(votes, Weighting.STRATIFIED, covariance)}
        if votes.comparisons.any()
        else {}
    )
    estimates = BoardEstimates(
        selection=Selection(),
        method=Method(covariance=covariance),
        votes=votes,
        identical=PairCounts(votes.models, np.zeros_like(votes.counts)),
        judged=JudgedCounts(
            votes.models, np.zeros((k, k, 4, 4), dtype=int), np.zeros((k, k, 4), dtype=int)
        ),
        by_source=by_source,
        modes=None,
        mixed=(Mode.COUPLED,),
        left_out=0,
        version=(0,),
        idle=idle,
        draws=DRAWS,
    )
    return leaderboard(estimates, alpha=alpha, cutoff=cutoff)


def duels(*results):
    """Return rows of (winner, loser, wins, losses)."""
    return [
        row
        for a, b, won, lost in results
        for row in ((a, b, "first", won), (a, b, "second", lost))
        if row[3]
    ]


class TestBoard:
    def test_nobody_has_voted(self):
        said = board_verdict(board_of([]))
        assert said == "No votes yet. Cast the first one in the Battle tab."

    def test_two_models_one_clearly_first(self):
        rows = duels(("ant", "bee", 90, 10))
        assert board_verdict(board_of(rows)) == "ant is first of 2, 95% sure."
        idle = board_of(rows, idle=("cow",))
        assert board_verdict(idle) == "ant is first of 2 that have votes, 95% sure."

    def test_two_models_that_cannot_be_told_apart(self):
        said = board_verdict(board_of(duels(("ant", "bee", 12, 8))))
        assert said.startswith(
            "Not decided yet: ant and bee may each be first, 95% sure. At their present "
            "difference, about "
        )

    def test_all_equal_and_nothing_to_plan_from(self):
        said = board_verdict(
            board_of(duels(*((*pair, 10, 10) for pair in combinations(NAMES[:3], 2))))
        )
        assert said == ("Not decided yet: ant, bee and cow may each be first, 95% sure.")

    def test_many_that_may_be_first_are_counted(self):
        pairs = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
        said = board_verdict(board_of(duels(*((*pair, 10, 10) for pair in pairs))))
        assert said == ("Not decided yet: any of the 6 models may be first, 95% sure.")

    def test_one_model_alone_has_nobody_to_beat(self):
        board = board_of(duels(("ant", "bee", 90, 10)))
        alone = replace(board, standings=board.standings[:1])
        assert board_verdict(alone) == (
            "Only ant has votes or verdicts that count: there is no other model to compare it with."
        )

    def test_the_error_level_decides(self):
        rows = duels(("ant", "bee", 62, 40))
        assert board_verdict(board_of(rows, alpha=0.1)) == "ant is first of 2, 90% sure."
        assert board_verdict(board_of(rows, alpha=0.01)).startswith("Not decided yet")

    def test_who_alone_may_be_first_is_not_said_to_be_it(self):
        rows = duels(("ant", "bee", 90, 10), ("ant", "cow", 80, 20), ("bee", "cow", 30, 30))
        board = board_of(rows)
        first, *others = board.standings
        wide = replace(first, place=replace(first.place, rank_low=1, rank_high=2))
        said = board_verdict(replace(board, standings=(wide, *others)))
        assert said == "Only ant may be first of 3, 95% sure."

    def test_votes_are_asked_for_as_the_planner_does(self):
        board = board_of(duels(("ant", "bee", 12, 8)))
        asked = plan_separation(
            board.estimates, PlanGoal("ant", "bee", lead=0.2)
        ).votes_to_cast_alone
        (number,) = re.findall(r"about ([\d,]+) more votes", board_verdict(board))
        assert int(number.replace(",", "")) == pytest.approx(asked, rel=0.05)  # two digits
        assert "more votes" not in board_verdict(replace(board, cutoff=Cutoff.CHI2))

    def test_of_three_the_first_must_part_from_both_others(self):
        """With .8 for the second alone, one ahead of two equals was first in .67 of boards."""
        rows = (("ant", "bee", 22, 18), ("ant", "cow", 22, 18), ("bee", "cow", 20, 20))
        board = board_of(duels(*rows))
        goal = PlanGoal("ant", "bee", present=True)
        alone, both = (
            plan_separation(board.estimates, each).votes_to_cast_alone
            for each in (goal, replace(goal, more=("cow",)))
        )
        said = board_verdict(board)
        (number,) = re.findall(r"about ([\d,]+) more votes on them would", said)
        assert int(number.replace(",", "")) == pytest.approx(both, rel=0.05)
        assert both > 1.15 * alone

    def test_who_watches_is_told_how_long_and_that_it_is_safe(self):
        board = board_of(duels(("ant", "bee", 12, 8)), cutoff=Cutoff.ANY_TIME)
        goal = PlanGoal("ant", "bee", lead=0.2, cutoff=Cutoff.ANY_TIME)
        asked = plan_separation(board.estimates, goal).votes_to_cast_alone
        (number,) = re.findall(r"about ([\d,]+) more votes", board_verdict(board))
        assert int(number.replace(",", "")) == pytest.approx(asked, rel=0.05)  # two digits
        assert "95% sure, however often you look" in board_verdict(board)

    def test_so_many_votes_that_nobody_casts_them(self):
        said = board_verdict(board_of(duels(("ant", "bee", 50_010, 50_000))))
        assert "more than 1,000,000 more votes" in said

    def test_intervals_that_are_too_narrow_are_called_so(self):
        rows = duels(("ant", "bee", 90, 10), ("bee", "cow", 90, 10), ("ant", "cow", 95, 5))
        said = board_verdict(board_of(rows, covariance=Covariance.PUBLISHED))
        assert said.endswith("95% sure by the published covariance, which is too narrow.")

    def test_no_sentence_outruns_its_rank_sets(self):
        """Of 300 drawn boards: who is called first, or possible, is so by the rank-sets."""
        rng, kinds = np.random.default_rng(15), set()
        for _ in range(300):
            k = int(rng.integers(2, 6))
            strength, scale = rng.normal(size=k) * rng.choice([0, 1, 3]), rng.choice([3, 30, 300])
            rows = duels(
                *(
                    (NAMES[i], NAMES[j], *won)
                    for i in range(k)
                    for j in range(i + 1, k)
                    if (won := _split(rng, rng.poisson(scale), strength[i] - strength[j])) != (0, 0)
                )
            )
            if not rows:
                continue
            board = board_of(rows, alpha=float(rng.choice([0.01, 0.05, 0.2])))
            kinds.add(_holds(board, board_verdict(board)))
        # Who alone may be first, and is not apart from all, is too rare to be drawn.
        assert kinds >= {"is", "each", "any"}


def _split(rng, n, lead):
    won = int(rng.binomial(n, 1 / (1 + np.exp(-lead))))
    return won, int(n) - won


def _holds(board, said):
    """Check a sentence against the ranks that are possible, and return its kind."""
    places = {row.model: row.place for row in board.standings if row.place}
    possible = {model for model, place in places.items() if place.rank_low == 1}
    assert f"{100 * (1 - board.alpha):.4g}% sure" in said
    if match := re.match(r"(\w+) is first of (\d+)", said):
        assert possible == {match[1]}
        assert places[match[1]].rank_high == 1
        assert int(match[2]) == len(places)
        return "is"
    if match := re.match(r"Only (\w+) may be first", said):
        assert possible == {match[1]}
        return "may"
    if match := re.match(r"Not decided yet: any of the (\d+) models may", said):
        assert len(possible) == len(places) == int(match[1])
        return "any"
    match = re.match(r"Not decided yet: (.*?) may each be first", said)
    listed = re.sub(r" and (\d+) more$", "", match[1])
    others = re.search(r"and (\d+) more$", match[1])
    named = set(re.split(r", | and ", listed))
    assert named <= possible
    assert len(possible) == len(named) + (int(others[1]) if others else 0) > 1
    return "each"


def risky(k, shifts, prompts=120, seed=3, metric="truth"):
    rng = np.random.default_rng(seed)
    own = tuple(f"q{at}" for at in range(prompts))
    values = tuple(
        shift + rng.normal(size=(prompts, 1)) for shift in np.resize(np.array(shifts, float), k)
    )
    return RiskScores(NAMES[:k], (metric,), (own,) * k, values)


def risk_said(scores, **settings):
    report = risk_report(scores, RiskSettings(bootstraps=999, **settings))
    return risk_verdict(report, report.view), report.view


class TestRisk:
    def test_one_model_fails_least_badly(self):
        said, _ = risk_said(risky(3, [3, 0, 0]))
        assert said == (
            "ant fails least badly: it ranks ahead of every other model, at 95% for all pairs at "
            "once."
        )

    def test_equal_models_are_not_told_apart(self):
        said, _ = risk_said(risky(3, [0, 0, 0]))
        assert said == (
            "Cannot tell yet which model fails least badly: no two models can be told apart, at "
            "95% for all pairs at once."
        )

    def test_who_is_ahead_of_some_alone_is_not_first(self):
        """A plain count of wins would have called both of the best ones least bad."""
        said, _ = risk_said(risky(3, [3, 3, 0]))
        assert said.startswith(
            "Cannot tell yet which model fails least badly: ant and bee may each do so, and "
        )
        assert "ranks ahead of 1 of 2 others" in said

    def test_what_is_not_joint_is_not_called_joint(self):
        said, _ = risk_said(risky(2, [3, 0]), correction=Correction.NONE, alpha=0.1)
        assert said.endswith("at 90% for each pair by itself.")

    def test_no_sentence_outruns_its_tests(self):
        rng, settled = np.random.default_rng(5), set()
        for seed in range(40):
            shifts = rng.choice([0, 0.3, 1.5], size=4)
            said, view = risk_said(risky(4, shifts, prompts=40, seed=seed))
            wins = view.dominance[Order.SECOND].relative.wins
            beats_all = {m for m, row in zip(view.models, wins, strict=True) if row.sum() == 3}
            claimed = set(re.findall(r"^(\w+) fails least badly", said))
            assert claimed == beats_all
            settled.add(bool(claimed))
        assert settled == {True, False}


def saved(shared, prompts=60, seed=1):
    """Return what coupling saves where so much of the luck is shared."""
    rng = np.random.default_rng(seed)
    luck = rng.normal(size=(prompts, 4, 1))
    own = rng.normal(size=(2, prompts, 4, 2))
    coupled = shared * luck + np.sqrt(1 - shared**2) * own[0]
    models = NAMES[:2]
    return coupling(StoredScores("quiz", ScoreTable(models, coupled, own[1])))


def test_models_that_no_votes_join_need_votes_between_them():
    board = board_of(duels(("ant", "bee", 12, 8), ("cow", "dog", 14, 9)))
    said = board_verdict(board)
    assert "No votes join cow and ant" in said
    assert "more votes on" not in said
    with pytest.raises(ArenaError, match="No votes join cow and ant"):
        plan_separation(board.estimates, PlanGoal(model="cow", other="ant"))


@pytest.mark.parametrize("more", [(), ("another",)])
def test_a_judge_that_cannot_be_planned_with_takes_no_plan_away(more):
    board = board_of(duels(("ant", "bee", 12, 8)))
    alone = board_verdict(board)
    assert "more votes on ant and bee" in alone
    selection = Selection(judge="gpt", more_judges=more)
    estimates = replace(board.estimates, selection=selection)
    assert board_verdict(replace(board, estimates=estimates)) == alone


def test_savings_are_claimed_where_the_interval_misses_zero():
    kinds = set()
    for seed, shared in enumerate([0.0, 0.2, 0.4, 0.9] * 5):
        found = saved(shared, seed=seed)
        pair = found.pairs[0]
        said = coupling_verdict(found, pair)
        kind = (pair.savings_low > 0) - (pair.savings_high < 0)
        assert ("coupling saves samples to" in said) == (kind == 0)
        assert said.startswith("Too early") == (kind == 0)
        assert ("costs samples" in said) == (kind < 0)
        kinds.add(kind)
    assert kinds >= {0, 1}


def judged(right):
    """Return comparisons of three models, and how often the judge says what people say."""
    rng = np.random.default_rng(2)
    labelled = np.zeros((3, 3, 4, 4), dtype=int)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        for _ in range(200):
            best = int(rng.random() > 0.6)
            labelled[i, j, best, best if rng.random() < right else 1 - best] += 1
    return JudgedCounts(NAMES[:3], labelled, np.zeros((3, 3, 4), dtype=int))


@pytest.mark.parametrize(
    ("right", "repeats", "kind"),
    [(0.95, 150, "narrow"), (0.95, 3, "Too early"), (0.5, 40, "Too early")],
)
def test_an_experiment_says_what_its_repeats_show(right, repeats, kind):
    plan = ResamplingPlan(total=300, human=(60,), repeats=repeats, draws=DRAWS)
    result = resample(judged(right), plan)
    said = resampling_verdict(result, "gpt")
    assert kind in said
    for one in result.qualities:
        if one.ranking in ("human", "ppr"):
            assert f"{one.size:.2f}" in said
    low, high = map(float, (re.findall(r"\((\d\.\d+) to (\d\.\d+) fewer", said) or [(0, 0)])[0])
    assert (low > 0) == (kind == "narrow")
    assert low <= high


def test_votes_and_comparisons_are_told_apart_where_both_are_counted():
    """Twenty comparisons of fifteen votes: some of these were on three answers."""
    estimates = board_of(duels(("ant", "bee", 12, 8))).estimates
    apart = "A vote on three or more answers gives a comparison for each pair of them."
    for votes, named, said in ((15, 1, True), (15, 0, False), (21, 1, False)):
        found = replace(estimates, excluded=Excluded(0, votes, named=named))
        assert (apart in left_out_words(found)) == said, (votes, named)
