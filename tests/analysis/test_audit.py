"""The audit of a store: clustered by prompt as plain loops do it, and everything it may lack."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from coupled_arena.analysis.audit.plan import PlanGoal, plan_interval, plan_separation
from coupled_arena.analysis.audit.result import audit, read_audit
from coupled_arena.analysis.audit.verdicts import LiveAudits, read_audit_estimates
from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.core.choices import BoardSource, Ties, Voters
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode, Prompt
from coupled_arena.stats.ranking.rank_sets import rank_sets
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.words.audit import audit_warnings, audit_words
from coupled_arena.views.words.plan import plan_words
from tests.batches import at_once, judge
from tests.store.conftest import make_battle, make_vote
from tests.store.test_comparisons import World

GPT = Selection(judge="gpt")
ALONE = "One person cast all votes: this audit speaks for that person only."
RANKS = {"first": (1, 2), "second": (2, 1), "tie": (1, 1)}


def fight(store, models, human, verdict, times=1, *, prompt=None, swapped=None, mode=Mode.COUPLED):
    with at_once(store) as batch:
        for _ in range(times):
            prompts = (Prompt(prompt),) if prompt else ()
            battle = make_battle(*models, mode=mode, prompts=prompts, replies=())
            batch.add_battle(battle)
            if human:
                batch.cast(make_vote(battle, *RANKS[human]))
            if verdict:
                judge(batch, "gpt", battle, 0, 1, verdict)
            if swapped:
                judge(batch, "gpt", battle, 1, 0, swapped)


@pytest.fixture(scope="module")
def judged():
    """Three models; 60 comparisons with both labels, 90 with a verdict alone."""
    with Store.in_memory() as store:
        with at_once(store) as batch:
            fill(batch)
        yield store


def fill(batch):
    for models in (("a", "b"), ("b", "c"), ("c", "a")):
        fight(batch, models, "first", "first", 8)
        fight(batch, models, "first", "second", 3, swapped="second")
        fight(batch, models, "second", "second", 4)
        fight(batch, models, "second", "tie", 2)
        fight(batch, models, "tie", "first", 3, swapped="second")
        fight(batch, models, None, "first", 20, swapped="second")
        fight(batch, models, None, "second", 10)


@pytest.fixture(scope="module", params=[1, 2])
def world(request):
    with Store.in_memory() as store:
        yield World(store, make_battle, make_vote, request.param)


@pytest.mark.slow
@pytest.mark.parametrize("ties", Ties)
def test_comparisons_of_one_prompt_are_added_up_before_they_are_squared(world, ties):
    found = read_audit_estimates(world.store, GPT, ties, voters=Voters.THESE)
    means, models = found.means, found.judged.models
    influences = means.human_influence.of_pairs, means.judge_influence.of_pairs
    k, outcomes = len(models), ["first", "second", "tie", "both_bad"]
    bias, rho = found.table.bias_influence(ties), found.table.rho_influence(ties)
    view = {0: [0, 1, 2, 2], 1: [1, 0, 2, 2]}
    sums, voted = defaultdict(lambda: np.zeros(4 * k)), set()
    for battle, a, b, _, human, verdict in world.rows("gpt"):
        if not verdict or a == b:
            continue
        g, h = outcomes.index(verdict), human and outcomes.index(human)
        prompt, at = world.key(battle), (models.index(a), models.index(b))
        if human:
            voted.add(prompt)
        for role, m in enumerate(at):
            for family, influence in enumerate(influences):
                kind = influence.labelled[*at, h, g] if human else influence.unlabelled[*at, g]
                sums[prompt][family * k + m] += kind[role]
            if human:
                seen = view[role][h], view[role][g]
                sums[prompt][2 * k + m] += bias[m, *seen]
                sums[prompt][3 * k + m] += rho[m, *seen]
    added = np.array(list(sums.values()))
    gram = added.T @ added
    inflation = (len(voted) / (len(voted) - 1)) ** 2
    assert means.clusters == len(voted)
    np.testing.assert_allclose(means.covariance, gram[: 2 * k, : 2 * k] * inflation, atol=1e-14)
    own = np.diag(gram) * inflation
    np.testing.assert_allclose(found.bias_variance, own[2 * k : 3 * k], atol=1e-14)
    np.testing.assert_allclose(found.rho_variance, own[3 * k :], atol=1e-14)


def test_the_numbers_of_a_small_store(judged):
    report = read_audit(judged, GPT)
    rows = {row.model: row for row in report.models}
    assert set(rows) == {"a", "b", "c"}
    for row in rows.values():
        # Shown first in 20 votes and second in 20: won 11 + 6 by people, 11 + 4 by the judge. What
        # it gives to the second in both orders is a tie.
        assert (row.n, row.judge_only) == (40, 60)
        assert row.b == pytest.approx(17 / 40)
        assert (row.both, row.judge_alone, row.human_alone) == (8 + 4, 3 + 0, 3 + 2)
        assert row.judge_score == pytest.approx(15 / 40)
        assert row.judge_bias == pytest.approx(-2 / 40)
        assert row.bias_low < row.judge_bias < row.bias_high
        assert row.b_low < row.b < row.b_high
        assert row.powered_low < row.powered < row.powered_high
        assert row.tau_max_low < row.tau_max < row.tau_max_high
        assert 1 < row.tau < row.tau_max
    assert len(report.differences) == 3
    assert report.row_agreement == report.row_agreement_strict == (8 + 4) / 20
    assert report.first_by_people == 11 / 20
    assert report.smallest_gap == pytest.approx(0)
    assert report.order_is_safe is False
    assert audit_warnings(report) == (ALONE,)


def test_ties_that_are_dropped(judged):
    report = read_audit(judged, GPT, Ties.DROP)
    for row in report.models:
        assert (row.n, row.votes) == (24, 40)
        assert (row.both, row.judge_alone, row.human_alone, row.neither) == (12, 0, 0, 12)
        assert row.tau_max is None  # no limit at all
    assert report.tau_max_range.keys() == {Ties.LOSS}


def test_what_the_judge_explains_of_the_board_is_what_it_explains_row_by_row(judged):
    """With λ = Σ Cov(h, g) / Σ Var(g), both over pairs, each divided by its votes."""
    variance = shared = cost = 0.0
    for _ in range(3):  # three pairs with the same 20 votes, in which a is shown first
        h = np.repeat([1, 1, 0, 0, 0.5], [8, 3, 4, 2, 3])
        g = np.repeat([1, 0.5, 0, 0.5, 1], [8, 3, 4, 2, 3])
        human, verdict = h - h.mean(axis=0), g - g.mean(axis=0)
        variance += (human**2).sum()
        shared += (human * verdict).sum()
        cost += (verdict**2).sum()
    expected = shared**2 / cost / variance
    for ties in Ties:  # the board keeps ties, as half a win, whatever the audit does
        report = read_audit(judged, GPT, ties)
        assert report.board_explained == pytest.approx(expected)
        assert report.board_tau_max == pytest.approx(1 / (1 - expected))
        worth = (
            f"they tell as much as {10 / (1 - expected):.1f} at most. Between the same two models"
        )
        assert any(worth in sentence for sentence in audit_words(report)) == (ties is Ties.LOSS)


def test_words(judged):
    said = "\n".join(audit_words(read_audit(judged, GPT)))
    assert "With gpt, 10 human votes tell as much as" in said
    assert "With the 90 verdicts on other comparisons" in said
    assert "The largest bias is -5.0 points, on a (-" in said
    assert "Too early to say whether it is biased" in said
    assert "may rank the models in another order" in said
    # Asked twice: 9 times the second in both orders, 9 + 60 times the same model.
    assert "names the other model in 11.5% of 78 pairs" in said
    assert "Judge and people say the same of 60.0% of the 60" in said


def test_a_judge_that_cannot_turn_the_order_around(store):
    fight(store, ("a", "b"), "first", "first", 15)
    fight(store, ("a", "b"), "second", "second", 5)
    fight(store, ("a", "b"), "second", "first")
    report = read_audit(store, GPT)
    assert report.largest_bias == pytest.approx(1 / 21)
    assert report.smallest_gap == pytest.approx(9 / 21)
    assert report.order_is_safe is True
    assert "would rank the models as people do" in "\n".join(audit_words(report))


def test_the_frontier_is_not_said_to_be_a_matter_of_skill(store):
    """With votes as truth the flag is about win-rates: agreement .6 of a model preferred .7."""
    fight(store, ("a", "b"), "first", "first", 9)
    fight(store, ("a", "b"), "first", "second", 5)
    fight(store, ("a", "b"), "second", "second", 3)
    fight(store, ("a", "b"), "second", "first", 3)
    report = read_audit(store, GPT)
    assert [row.at_frontier for row in report.models] == [True, False]
    (sentence,) = (said for said in audit_words(report) if said.startswith("a: "))
    assert "no better" not in sentence


def test_what_is_missing_is_said(store):
    fight(store, ("a", "b"), "first", "first", 3)
    fight(store, ("c", "d"), None, "first", mode=Mode.INDEPENDENT)
    fight(store, ("e", "f"), "first", None)
    judge(store, "gpt", _battle(store), 0, 1, None)
    said = "\n".join(audit_warnings(read_audit(store, GPT)))
    assert "mixes battles of different modes: coupled, independent" in said
    assert "2 models without a comparison that counts: c and d." in said
    assert "always said the same of a and b, so" in said
    assert "2 models without a verdict of gpt: e and f." in said
    assert "which do not count: 1." in said


def _battle(store):
    battle = make_battle("a", "b", prompts=(), replies=())
    store.add_battle(battle)
    return battle


@pytest.mark.parametrize(
    ("human", "verdict", "message"),
    [
        (None, "first", "No comparison has both"),
        ("first", "first", "The judge adds nothing yet"),
    ],
)
def test_half_of_the_data(store, human, verdict, message):
    fight(store, ("a", "b"), human, verdict, 9)
    report = read_audit(store, GPT)
    assert any(message in warning for warning in audit_warnings(report))
    assert bool(audit_words(report)) == (human is not None)


def test_a_judge_that_has_said_nothing_here(judged):
    report = read_audit(judged, Selection(judge="gpt", mode=Mode.INDEPENDENT))
    assert (report.models, report.differences, audit_words(report)) == ((), (), ())
    assert audit_warnings(report) == ("No comparison has both a vote and a verdict of gpt.",)


def test_few_prompts(store):
    for n, prompt in enumerate(("Why?", "How?", "When?")):
        fight(store, ("a", "b"), "first", "first", 6 + n, prompt=prompt)
        fight(store, ("a", "b"), "second", "first", 5 - n, prompt=prompt)
        fight(store, ("a", "b"), None, "second", 5, prompt=prompt)
    report = read_audit(store, GPT)
    assert any("All votes are on 3 prompts" in warning for warning in audit_warnings(report))
    assert report.estimates.means.degrees == 2


def test_an_audit_is_kept_until_the_store_changes(store):
    fight(store, ("a", "b"), "first", "first")
    live = LiveAudits(store)
    first = live.get(GPT, Ties.LOSS)
    assert live.get(GPT, Ties.LOSS) is first
    assert live.get(GPT, Ties.DROP) is not first
    fight(store, ("a", "b"), "first", "first")
    assert live.get(GPT, Ties.LOSS).judged.labelled.sum() == 2


class TestPlan:
    def test_an_interval(self, judged):
        estimates = read_audit_estimates(judged, GPT)
        plan = plan_interval(estimates, PlanGoal("a", width=0.1, verdicts_per_vote=5, price=0.01))
        b, rho_squared = 17 / 40, estimates.means.rho_squared[0]
        alone = 1.959964**2 * b * (1 - b) / 0.05**2
        assert plan.needs.votes_alone == pytest.approx(alone, abs=1)
        tau = 1 / (1 - rho_squared / (1 + 1 / 5))
        assert plan.needs.votes == pytest.approx(alone / tau, abs=1)
        assert (plan.votes_there, plan.verdicts_there) == (40, 100)
        assert plan.votes_to_cast == plan.needs.votes - 40
        assert plan.verdicts_to_buy == plan.needs.verdicts - 100
        assert plan.cost == pytest.approx(0.01 * plan.verdicts_to_buy)
        said = "\n".join(plan_words(plan))
        assert "A 95% interval of width 0.1 for a's win rate" in said
        each = plan.cost / (plan.votes_to_cast_alone - plan.votes_to_cast)
        assert f"{each:,.2f} for each vote saved" in said

    def test_a_place_apart(self, judged):
        """By the leaderboard's variance, and its cut-off for all three models: 2.3, not 1.96."""
        board = read_estimates(judged, GPT)
        human = board.by_source[BoardSource.HUMAN]
        plan = plan_separation(board, PlanGoal("a", "b", lead=0.1))
        critical = rank_sets(human).critical_value
        assert 2.2 < critical < 2.5
        variance = np.array([1, -1, 0]) @ human.covariance @ [1, -1, 0]
        # 60 comparisons touch a or b; votes drawn anew are not twenty in each pair, but by chance.
        goal = (0.1 / (critical + 0.841621)) ** 2
        more = plan.needs.votes_alone / 60
        pairs = np.array([20, 20, 20]) * more
        parts = np.array([4, 1, 1]) / pairs  # a vote on a and b moves both
        assert variance / more * np.average(1 + 2 / pairs, weights=parts) == pytest.approx(
            goal, rel=1 / plan.needs.votes_alone
        )
        assert (plan.critical_value, plan.board_models) == (critical, 3)
        assert "The leaderboard compares 3 models" in plan_words(plan)[0]

    def test_enough_is_enough(self, judged):
        plan = plan_interval(read_audit_estimates(judged, GPT), PlanGoal("a", width=0.9, price=1))
        assert (plan.votes_to_cast, plan.verdicts_to_buy, plan.cost) == (0, 0, 0)
        assert plan_words(plan)[-1].endswith("enough without the judge.")

    @pytest.mark.parametrize(
        ("question", "message"),
        [
            (PlanGoal("zeta"), "gpt has no verdict on 'zeta'"),
            (PlanGoal("a", "zeta"), "The leaderboard has no vote on 'zeta'"),
            (PlanGoal("a", "a"), "from itself"),
            (PlanGoal("a", "b", lead=0), "cannot be separated"),
            (PlanGoal("a", width=2), "width"),
            (PlanGoal("a", price=-1), "price"),
            (PlanGoal("a", verdicts_per_vote=-1), "verdicts for each vote"),
        ],
    )
    def test_what_cannot_be_planned(self, judged, question, message):
        plan, read = (
            (plan_separation, read_estimates)
            if question.other
            else (plan_interval, read_audit_estimates)
        )
        estimates = read(judged, GPT)
        with pytest.raises(ArenaError, match=message):
            plan(estimates, question)

    def test_too_few_votes(self, store):
        fight(store, ("a", "b"), "first", "first", 3)
        with pytest.raises(ArenaError, match="Too few votes"):
            plan_interval(read_audit_estimates(store, GPT), PlanGoal("a"))


def test_an_error_level_lies_between_0_and_1(judged):
    with pytest.raises(ValueError, match="alpha"):
        audit(read_audit_estimates(judged, GPT), 1.5)
