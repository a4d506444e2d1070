"""Audits of people who vote often, from the store: as rows say, for whom, and in which words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.analysis.audit.chosen import AuditChoice, read_chosen
from coupled_arena.analysis.audit.plan import PlanGoal, plan_interval
from coupled_arena.analysis.audit.result import read_audit
from coupled_arena.analysis.audit.verdicts import LiveAudits
from coupled_arena.core.choices import Control, JudgeScore, Ties, Truth, Voters
from coupled_arena.core.errors import ArenaError
from coupled_arena.stats.simulation.audit_votes import AuditedVotes
from coupled_arena.stats.simulation.truths import Campaign
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.transfer.comparison_rows import store_of_rows
from coupled_arena.views.figures.caption import audit_method
from coupled_arena.views.tables.audit import audit_answer, audit_text
from coupled_arena.views.words.audit import audit_warnings
from coupled_arena.views.words.plan import plan_words

J = Selection(judge="j")
OUTCOMES = np.array(["first", "second", "tie"], dtype=object)
TRUTH = Campaign((0.6, 0.0, -0.6), 6, 300, taste=2.0, prompts=60, prompt_effect=1.0, judge_only=150)
THESE = "This audit holds for exactly the people who voted, and for nobody else."


def store_of(drawn, voter=None):
    """Return a store of what was drawn."""
    models, who = np.array(drawn.models, dtype=object), drawn.voter if voter is None else voter
    rows = pd.DataFrame(
        {
            "n": np.arange(len(drawn.vote)),
            "model_a": models[drawn.first],
            "model_b": models[drawn.second],
            "human": np.where(drawn.shown, OUTCOMES[drawn.vote], None),
            "verdict": OUTCOMES[drawn.verdict],
            "prompt": [f"Question {n}" for n in drawn.prompt],
            "voter": np.where(drawn.shown, np.char.add("voter ", who.astype(str)), None),
            "mode": "unknown",
            "identical": False,
        }
    )
    return store_of_rows(rows, "j")


@pytest.fixture(scope="module")
def drawn():
    return TRUTH.draw(np.random.default_rng(34))


@pytest.fixture(scope="module")
def store(drawn):
    with store_of(drawn) as opened:
        yield opened


@pytest.mark.parametrize("ties", list(Ties))
@pytest.mark.parametrize("voters", list(Voters))
def test_intervals_are_those_of_rows(store, drawn, ties, voters):
    found = read_audit(store, J, ties, voters=voters)
    expected = AuditedVotes.of(drawn, voters=voters is Voters.LIKE, ties=ties).intervals()
    rows = {row.model: row for row in found.models}
    ends = {"win rate": "b", "with the judge": "powered", "bias": "bias", "worth": "tau_max"}
    for name, column in ends.items():
        for place, model in enumerate(drawn.models):
            made = [getattr(rows[model], f"{column}_{end}") for end in ("low", "high")]
            wanted = expected[name][:, place]
            if made == [None, None]:
                assert np.isnan(wanted).all()
            else:
                assert made == pytest.approx(wanted, rel=1e-9)
    pairs = {(each.model, each.other): each for each in found.differences}
    for place, (one, other) in enumerate([(0, 1), (0, 2), (1, 2)]):
        each = pairs.get((drawn.models[one], drawn.models[other]))
        if each is not None:  # otherwise people prefer the other one
            assert [each.human_low, each.human_high] == pytest.approx(
                expected["difference"][:, place], rel=1e-9
            )


def test_people_like_these_are_the_default_and_known_less_well(store):
    found, these = (audit_answer(read_audit(store, J, voters=voters)) for voters in Voters)
    assert (found["voters"], these["voters"]) == ("like", "these")
    assert (found["people"], these["people"]) == (6, None)
    assert found["votes_worth"] < 150
    assert audit_answer(read_audit(store, J)) == found
    for one, other in zip(found["models"], these["models"], strict=True):
        assert one["model"] == other["model"]
        assert one["b_high"] - one["b_low"] > other["b_high"] - other["b_low"]
        names = ("b", "p", "q", "agreement", "judge_bias", "rho_squared", "tau_max", "powered")
        assert [one[name] for name in names] == [other[name] for name in names]


def test_the_audit_says_whom_it_is_for(store):
    like, these = (read_audit(store, J, voters=voters) for voters in Voters)
    worth = audit_answer(like)["votes_worth"]
    made = "6 people with different tastes made these 300 comparisons."
    about = f"They tell as much as about {worth:,.0f} comparisons, each by another person."
    assert f"{made} {about}" in audit_warnings(like)
    assert (
        "More people help this audit, not more comparisons by the same people."
        in audit_warnings(like)
    )
    assert THESE in audit_warnings(these)
    assert "alpha 0.05, voters like" in audit_text(like)
    assert "for exactly these voters" in " ".join(audit_method(these))
    assert "for exactly these voters" not in " ".join(audit_method(like))


def test_a_plan_of_an_interval_speaks_in_people(store):
    estimates = read_audit(store, J).estimates
    tasted = estimates.means.tasted
    (width,) = [row.b_high - row.b_low for row in read_audit(store, J).models[:1]]
    place = estimates.models.index("model 1")
    wide, narrow = (
        plan_interval(estimates, PlanGoal("model 1", width=share * width)) for share in (0.5, 0.05)
    )
    assert (wide.people.n, wide.people.each, wide.people.equal) == (
        6,
        50,
        pytest.approx(6, rel=0.02),
    )
    assert wide.people.within == pytest.approx(tasted.these[place, place])
    variance = wide.people.within + wide.people.between
    assert variance == pytest.approx(estimates.means.covariance[place, place])
    # Six people more who vote as often halve the variance, and so on.
    votes = wide.needs.votes_alone / wide.votes_there
    assert wide.people_to_ask == pytest.approx(6 * (votes - 1), abs=1)
    assert not narrow.same_people
    assert any("Tastes differ" in each for each in plan_words(narrow))


def test_one_person_speaks_for_nobody_else(drawn):
    with store_of(drawn, np.zeros_like(drawn.voter)) as alone:
        like, these = (read_audit(alone, J, voters=voters) for voters in Voters)
    assert like.models == these.models
    assert like.differences == these.differences
    assert "One person cast all votes: this audit speaks for that person only." in (
        audit_warnings(like)
    )
    answer = audit_answer(like)
    assert (answer["voters"], answer["people"], answer["votes_worth"]) == ("these", 1, None)


def test_a_voter_for_each_vote_changes_nothing(drawn):
    with store_of(drawn, np.arange(len(drawn.voter))) as apart:
        like, these = (read_audit(apart, J, voters=voters) for voters in Voters)
    assert like.models == these.models
    assert audit_warnings(like) == tuple(w for w in audit_warnings(these) if w != THESE)


def test_a_benchmark_has_no_voters(store):
    choice = AuditChoice(truth=Truth.BENCHMARK, voters=Voters.THESE)
    with pytest.raises(ArenaError, match="voters is about votes"):
        read_chosen(store, J, choice, lambda _: "j")
    grades = pd.DataFrame({"model": ["a"] * 4, "prompt": list("pqrs"), "truth": [1, 0, 1, 0]})
    with pytest.raises(ArenaError, match="voters"):
        ca.audit(grades.assign(judge=[1, 1, 0, 0]), voters="these")
    assert ca.audit(grades.assign(judge=[1, 1, 0, 0])).to_dict()["voters"] is None


def test_the_page_keeps_both_apart(store):
    live = LiveAudits(store)
    like, these = (live.get(J, Ties.LOSS, Control.NONE, voters) for voters in Voters)
    assert like is not these
    assert live.get(J, Ties.LOSS) is like
    assert (like.bias_variance > these.bias_variance).all()


def test_probabilities_are_for_people_like_the_voters_too(store):
    soft = replace(J, judge_score=JudgeScore.PROBABILITY)
    like, these = (read_audit(store, soft, voters=voters) for voters in Voters)
    # Nothing is known of probabilities here: verdicts count in their place.
    assert [row.b_low for row in like.models] == pytest.approx(
        [row.b_low for row in read_audit(store, J).models]
    )
    assert like.models != these.models
