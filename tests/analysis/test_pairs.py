"""How a pair stands: the votes behind its link, and no more than they can bear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from coupled_arena.analysis.battles import _standings, pair_standings, read_battles
from coupled_arena.core.records import Prompt, Source
from coupled_arena.store.queries.battle_record import own_rounds
from coupled_arena.store.queries.model_pages import PairVotes
from coupled_arena.store.tables import votes
from coupled_arena.views.addresses import read_address
from coupled_arena.views.own_votes import own_rounds_view, standing_view
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote


def vote(store, *outcomes, models=("ann", "bob"), prompt=None, source=Source.HUMAN):
    """Store a vote for each order of ranks, on a question of its own unless one is given."""
    with at_once(store) as batch:
        for number, ranks in enumerate(outcomes):
            asked = (Prompt(prompt or f"{models} {number} {len(outcomes)} {source}"),)
            battle = make_battle(*models, prompts=asked)
            batch.add_battle(battle)
            batch.cast(make_vote(battle, *ranks, source=source))


def test_it_counts_the_battles_behind_its_link_whichever_was_shown_first(store):
    vote(store, *[(1, 2)] * 5, *[(2, 1)] * 2, (1, 1))
    vote(store, *[(1, 2)] * 3, models=("bob", "ann"))
    vote(store, (1, 1), source=Source.IDENTICAL)
    vote(store, (1, 2, 3), models=("cas", "bob", "ann"))
    vote(store, (1, 2), models=("cas", "dot"))
    (standing,) = pair_standings(store, ("ann", "bob"))
    found = standing.votes
    assert (found.first, found.second) == ("ann", "bob")
    assert (found.wins, found.losses, found.neither, found.prompts) == (5, 6, 2, 13)
    (other,) = pair_standings(store, ("bob", "ann"))
    assert (other.votes.first, other.votes.wins) == ("bob", 6)
    assert other.low == pytest.approx(-standing.high)
    shown = standing_view(standing)
    listed = read_battles(store, read_address(shown["href"]).wanted, "nothing")
    assert listed.tally.comparisons == found.votes == 13
    assert shown["votes"] == "13 votes so far"
    among = pair_standings(store, ("cas", "bob", "dot"))
    assert [(each.votes.first, each.votes.second) for each in among] == [
        ("cas", "bob"),
        ("cas", "dot"),
    ]


def test_what_one_vote_changed_is_how_the_pair_stood_without_it(store):
    """Before one's vote the page would have said so; another voter's vote on the battle stays."""
    vote(store, *[(1, 2)] * 4, (2, 1), (1, 1))
    (stood,) = pair_standings(store, ("ann", "bob"))
    battle = make_battle("bob", "ann", prompts=(Prompt("Mine?"),))
    store.add_battle(battle)
    store.cast(make_vote(battle, 2, 1, voter="eve"))
    (standing,) = pair_standings(store, ("ann", "bob"), but=(battle.id, "eve"))
    assert standing.before == stood
    assert stood.win_rate[0] == pytest.approx(4.5 / 6)
    assert standing.win_rate[0] == pytest.approx(5.5 / 7)
    assert standing.win_rate[1] < standing.win_rate[0] < standing.win_rate[2]
    effect = standing_view(standing)["effect"]
    assert effect.startswith("Your vote moved the win rate of ann from 75.0% (")
    assert " to 78.6% (" in effect
    store.cast(make_vote(battle, 1, 2, voter="mia"))
    (standing,) = pair_standings(store, ("ann", "bob"), but=(battle.id, "eve"))
    assert (standing.before.votes.wins, standing.before.votes.losses) == (4, 2)
    for but in ((battle.id, "zoe"), ("nothing", "eve"), None):
        (standing,) = pair_standings(store, ("ann", "bob"), but=but)
        assert standing.before is None
        assert standing_view(standing)["effect"] == ""
    vote(store, (1, 2), models=("cas", "dot"))
    (first,) = pair_standings(store, ("cas", "dot"))
    assert first.before is None
    anything = replace(standing, before=standing, low=-1.0, high=1.0)
    assert standing_view(anything)["effect"] == ""


def test_nothing_is_said_of_a_pair_without_votes(store):
    store.add_battle(make_battle("ann", "bob"))
    assert pair_standings(store, ("ann", "bob")) == ()
    assert pair_standings(store, ("ann", "nobody")) == ()


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ([(2, 1)], "and that is yours."),
        ([(1, 2)] * 3, "Far too few to say which model people prefer."),
        ([(1, 2), (2, 1)] * 12, "Too few to say which model people prefer: ann may be from"),
        ([(1, 2)] * 30 + [(2, 1)] * 5, "People prefer ann: it is"),
        ([(2, 1)] * 30 + [(1, 2)] * 5, "People prefer bob: it is"),
    ],
)
def test_the_words_are_as_cautious_as_the_votes(store, outcomes, words):
    vote(store, *outcomes)
    (standing,) = pair_standings(store, ("ann", "bob"))
    assert words in standing_view(standing)["words"]


def test_what_nobody_was_asked_about_is_no_vote_of_the_visitors(store):
    vote(store, (1, 1), source=Source.IDENTICAL)
    (standing,) = pair_standings(store, ("ann", "bob"))
    assert standing_view(standing, Source.IDENTICAL)["words"] == "and that is this tie."
    assert standing_view(standing)["words"] == "and that is yours."
    judged = standing_view(standing, None)["words"]
    assert "Far too few to say" in judged
    assert "yours" not in judged
    changed = replace(standing, low=-0.5, high=0.5, before=standing)
    assert standing_view(changed)["effect"].startswith("Your vote")
    assert standing_view(changed, Source.IDENTICAL)["effect"] == ""


@pytest.mark.slow
def test_many_votes_on_few_questions_are_little_evidence_on_others(store):
    vote(store, *[(1, 2)] * 100, prompt="Always the same?")
    (standing,) = pair_standings(store, ("ann", "bob"))
    assert (standing.low, standing.high) == (-1, 1)
    for prompt in ("The second one?", "The third one?"):
        vote(store, *[(1, 2)] * 100, prompt=prompt)
    (standing,) = pair_standings(store, ("ann", "bob"))
    vote(store, *[(1, 2)] * 3, models=("cas", "dot"))
    (same,) = pair_standings(store, ("cas", "dot"))
    assert (standing.low, standing.high) == (same.low, same.high)
    assert "Far too few to say" in standing_view(standing)["words"]


def test_the_interval_holds_what_it_promises():
    """Votes on a prompt agree; a share 0.45 : 0.35 is covered as often as 95 % of intervals are."""
    rng = np.random.default_rng(1)
    covered, repeats, prompts = 0, 300, 40
    for _ in range(repeats):
        drawn = rng.choice([1, -1, 0], size=prompts, p=[0.45, 0.35, 0.2]).repeat(3)
        counts = [int((drawn == said).sum()) for said in (1, -1, 0)]
        (standing,) = _standings([PairVotes("a", "b", *counts, prompts)], 0.05)
        covered += standing.low <= 0.1 <= standing.high
    assert stats.binom.cdf(covered, repeats, 0.95) > 1e-4


# One's own ------------------------------------------------------------------------------------


def test_own_rounds_are_those_that_were_told_to_oneself(store):
    asked = (Prompt("<b>Who?</b> " + "x" * 300),)
    told, early, other, judged = (make_battle("ann", "bob", prompts=asked) for _ in range(4))
    three = make_battle("ann", "bob", "cas")
    for battle in (told, early, other, three, judged):
        store.add_battle(battle)
    store.cast(make_vote(told, 2, 1, voter="eve"), reveal=False)
    store.cast(make_vote(told, 1, 2, voter="eve"))
    store.cast(make_vote(early, 1, 2, voter="eve"), reveal=False)
    store.cast(make_vote(other, 1, 2, voter="mia"))
    store.cast(make_vote(three, 2, 1, 1, voter="eve"))
    store.write(lambda cursor: votes.add_reveals(cursor, [(judged.id, "eve")]))
    with store.cursor() as cursor:
        found = own_rounds(cursor, "eve", 10)
        assert own_rounds(cursor, "nobody", 10) == []
        assert len(own_rounds(cursor, "eve", 1)) == 1
    assert [each.battle for each in found] == [judged.id, three.id, told.id]
    view = own_rounds_view(found)
    assert [row["choice"] for row in view["rows"]] == [
        "The judge decided: ann and bob.",
        "Your order: bob and cas, then ann.",
        "You preferred ann to bob.",
    ]
    assert view["rows"][2]["href"] == f"?battle={told.id}"
    assert len(view["rows"][2]["question"]) == 201
    assert read_address(view["all"]).mine
