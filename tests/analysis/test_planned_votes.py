"""A plan's promise, held against votes drawn from real ones with replacement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.planned_votes import campaign_board, keep
from coupled_arena.analysis.audit.plan import PlanGoal, plan_separation
from coupled_arena.analysis.leaderboard.board_estimates import (
    read_estimates,
)
from coupled_arena.analysis.leaderboard.given_tables import store_of_votes
from coupled_arena.core.choices import BoardSource, Cutoff
from coupled_arena.core.vote_columns import VERDICT
from coupled_arena.stats.simulation.rank_set_runs import binomial_error
from coupled_arena.stats.simulation.truths import Campaign
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.words.plan import plan_words
from tests.stats.real_votes import all_rows, golden, needs_real_votes

MODELS = ("gpt-4", "claude-v1", "gpt-3.5-turbo", "vicuna-13b")
WINNERS = np.array(["model_a", "model_b", "tie", "both_bad"])


@pytest.fixture(scope="module")
def board():
    """All votes of people, with GPT-4's verdicts, between four models."""
    rows, names = all_rows(), np.array(golden()["models"])
    votes = pd.DataFrame(
        {
            "model_a": names[rows.a],
            "model_b": names[rows.b],
            "winner": WINNERS[rows.h],
            VERDICT: WINNERS[rows.g],
        }
    )
    between = votes.model_a.isin(MODELS) & votes.model_b.isin(MODELS)
    with store_of_votes(votes[between])[0] as store:
        return read_estimates(store, Selection(judge=VERDICT))


@needs_real_votes
@pytest.mark.parametrize(
    ("cutoff", "source"),
    [
        (Cutoff.MAX_T, BoardSource.PPR),
        (Cutoff.STEP_DOWN, BoardSource.HUMAN),
        pytest.param(Cutoff.ANY_TIME, BoardSource.HUMAN, marks=pytest.mark.slow),
    ],
)
def test_a_board_separates_two_models_as_often_as_was_planned(board, cutoff, source):
    goal = PlanGoal("gpt-4", "gpt-3.5-turbo", power=0.8, cutoff=cutoff, verdicts_per_vote=4)
    kept = keep(board, goal, source, repeats=100, most=50_000)
    assert kept is not None
    assert kept.share == pytest.approx(0.8, abs=3 * binomial_error(0.8, kept.repeats))
    assert kept.filled_in < 0.05


@needs_real_votes
def test_a_step_down_plan_has_the_cut_off_that_so_many_votes_will_have(board):
    """Of few votes, which tell few models apart, it is higher than of many."""
    leads = (0.4, 0.1, 0.02)
    goals = [PlanGoal(*MODELS[:2], lead=lead, cutoff=Cutoff.STEP_DOWN) for lead in leads]
    plans = [plan_separation(board, goal) for goal in goals]
    assert plans[0].needs.votes_alone < plans[0].votes_there < plans[2].needs.votes_alone
    assert plans[0].critical_value > plans[1].critical_value >= plans[2].critical_value
    once = plan_separation(board, PlanGoal(*MODELS[:2], lead=leads[2]))
    assert plans[2].critical_value < once.critical_value


@needs_real_votes
def test_what_is_too_much_to_draw_is_left_out(board):
    goal = PlanGoal("gpt-4", "claude-v1")
    assert keep(board, goal, BoardSource.HUMAN, repeats=1, most=10) is None


def planned_people(truth, seed, lead=None):
    board = campaign_board(truth, np.random.default_rng(seed))
    return plan_separation(board, PlanGoal(*truth.models[:2], lead=lead))


def test_plans_are_in_people_where_tastes_show():
    truth = Campaign((0.3, 0.0), 10, 1000, taste=0.7)
    made = planned_people(truth, 1, 0.05)
    assert made.votes_each == 100
    assert made.people_to_ask > 20
    assert made.same_people is False
    assert made.same_people_votes is None
    said = " ".join(plan_words(made))
    assert "more people with about 100 comparisons each." in said
    assert "same people can never" in said
    # Nobody has a taste: votes are votes. One vote each: likewise.
    for other in (replace(truth, taste=0.0), replace(truth, voters=1000)):
        plain = planned_people(other, 1, 0.05)
        assert (plain.people_to_ask, plain.votes_each, plain.same_people) == (None, None, None)


def test_votes_of_the_same_people_settle_what_is_large():
    truth = Campaign((0.8, 0.0), 60, 1200, taste=0.5)
    made = planned_people(truth, 3, 0.08)
    assert made.same_people
    crowd = made.people
    assert made.people_to_ask * crowd.each < made.same_people_votes
    more = 1 + made.same_people_votes / crowd.votes
    assert crowd.within / more + crowd.between == pytest.approx(crowd.goal, rel=0.01)


@pytest.mark.slow
def test_the_votes_that_the_true_difference_takes_lie_where_a_plan_says():
    """With probability .8, where leads are normal: on boards of other models each time."""
    repeats, held = 100, 0
    for repeat in range(repeats):
        rng = np.random.default_rng([8, repeat])
        truth = Campaign(tuple(rng.normal(0, 0.5, 6)), 900, 900)
        board = campaign_board(truth, rng)
        lead = float(truth.theta[0] - truth.theta[1])
        made, known = (
            plan_separation(board, PlanGoal(*truth.models[:2], lead=each)) for each in (None, lead)
        )
        held += made.votes_least <= known.needs.votes_alone <= made.votes_most
    assert held / repeats == pytest.approx(0.8, abs=3 * (0.8 * 0.2 / repeats) ** 0.5)


@pytest.mark.slow
def test_so_many_people_more_separate_the_two_as_often_as_planned():
    repeats, kept = 60, 0
    for repeat in range(repeats):
        truth = Campaign((0.3, 0.0), 10, 1000, taste=0.7)
        lead = float(-np.diff(truth.theta)[0])
        made = planned_people(truth, [5, repeat], lead)
        people = 10 + made.people_to_ask
        more = replace(truth, voters=people, votes=people * made.votes_each)
        board = campaign_board(more, np.random.default_rng([6, repeat]))
        kept += board.separation(BoardSource.HUMAN).rank_sets().low.max() == 2
    assert kept / repeats > 0.8 - 3 * (0.8 * 0.2 / repeats) ** 0.5


@pytest.mark.slow
def test_the_first_parts_from_two_equals_as_often_as_planned():
    """By a plan for one of them alone in .67 of boards."""
    truth, repeats, kept = Campaign((0.4, 0.0, 0.0), 30, 3000, taste=0.7), 60, 0
    lead = float(truth.theta[0] - truth.theta[1])
    for repeat in range(repeats):
        board = campaign_board(truth, np.random.default_rng([5, repeat]))
        goal = PlanGoal(truth.models[0], truth.models[1], lead=lead, more=truth.models[2:])
        made = plan_separation(board, goal)
        people = truth.voters + made.people_to_ask
        more = replace(truth, voters=people, votes=people * made.votes_each)
        board = campaign_board(more, np.random.default_rng([6, repeat]))
        kept += board.separation(BoardSource.HUMAN).rank_sets().ahead[0, 1:].all()
    assert kept / repeats > 0.8 - 2 * (0.8 * 0.2 / repeats) ** 0.5
