"""A vote opens the next battle at once, and can be undone from there."""

from __future__ import annotations

import pytest

from coupled_arena.core.choices import Reveals
from coupled_arena.core.errors import VoteError
from tests.counted import vote_count
from tests.patience import PATIENCE
from tests.stored import fill, rows

QUESTIONS = [f"Which way is {n}?" for n in range(20)]


@pytest.fixture
def annotate(annotating):
    return lambda reveal=Reveals.END, *, undo=PATIENCE, share=0.0: annotating(reveal, undo, share)


def battle_of(annotation, round_id):
    return annotation.round_of("eve", round_id).state.battle.id


def vote(annotation, ranks=(1, 2)):
    """Vote on the battle that is open and move on; return the next round's id, None at the end."""
    annotation.vote("eve", annotation.opened("eve"), ranks)
    return annotation.move_on("eve")


def test_one_vote_an_item_is_enough(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate()
    round_id, seen = annotation.next("eve"), []
    while round_id:
        seen.append(battle_of(annotation, round_id))
        assert annotation.view("eve", round_id).reveal is None
        assert annotation.progress("eve").done == len(seen) - 1
        round_id = vote(annotation)
        assert vote_count(store) == len(seen) - 1  # the last one can still be undone
    assert len(set(seen)) == len(seen) == 20
    last = annotation.view("eve", annotation.opened("eve"))  # on show until it counts
    assert last.recorded.ranks == (1, 2)
    assert not annotation.opens("eve")
    annotation.go_on("eve")
    assert vote_count(store) == 20
    assert annotation.opens("eve")
    assert annotation.next("eve") is None


@pytest.mark.slow
def test_the_vote_before_can_be_undone_and_the_open_battle_comes_again(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate()
    first = annotation.next("eve")
    one = battle_of(annotation, first)
    other = battle_of(annotation, vote(annotation, (2, 1)))
    assert other != one
    assert annotation.last("eve").ranks == (2, 1)
    assert 0 < annotation.last("eve").left <= PATIENCE
    assert annotation.look_back("eve", undo=True) == first
    assert annotation.view("eve", first).recorded is None
    assert annotation.last("eve") is None
    assert rows(store, "select count(*) from pending_votes") == [(0,)]
    assert annotation.progress("eve").done == 0
    seen = {one}
    round_id = vote(annotation, (1, 2))
    while round_id:
        seen.add(battle_of(annotation, round_id))
        round_id = vote(annotation)
    assert other in seen
    assert len(seen) == 20
    annotation.go_on("eve")
    assert dict(rows(store, "select battle, ranks from votes"))[one] == [1, 2]


def test_what_is_too_late_or_not_there_is_refused(annotate, store):
    fill(store, QUESTIONS[:3])
    annotation = annotate(undo=0.0)
    annotation.next("eve")
    with pytest.raises(VoteError, match="no vote to undo"):
        annotation.look_back("eve", undo=True)
    assert annotation.move_on("eve") is None  # without a vote nobody moves on
    vote(annotation)
    assert annotation.last("eve").left == 0
    with pytest.raises(VoteError, match="counts"):
        annotation.look_back("eve", undo=True)
    annotation.vote("eve", annotation.opened("eve"), (1, 2))
    with pytest.raises(VoteError, match="undo that vote first"):
        annotation.look_back("eve", undo=False)


def test_reasons_can_be_given_after_moving_on(annotate, store):
    fill(store, QUESTIONS[:3])
    annotation = annotate()
    first = annotation.next("eve")
    vote(annotation)
    said = annotation.last("eve").vote
    annotation.explain("eve", said, ["style"], "")
    assert annotation.look_back("eve", undo=False) == first
    view = annotation.view("eve", first)
    assert view.recorded.vote == said
    assert view.reasons.criteria == ("style",)
    annotation.go_on("eve")
    assert annotation.next("eve") != first
    assert rows(store, "select vote, criteria from rationales") == [(said, ["style"])]


def test_nobody_moves_on_from_names_that_are_to_be_told(annotate, store):
    fill(store, QUESTIONS[:3])
    annotation = annotate(Reveals.EACH)
    first = annotation.next("eve")
    assert vote(annotation) is None
    assert annotation.opened("eve") == first
    assert annotation.view("eve", first).recorded


@pytest.mark.slow
def test_second_votes_are_kept_as_where_one_waits(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate(share=0.2)
    round_id, seen = annotation.next("eve"), []
    while round_id:
        seen.append(battle_of(annotation, round_id))
        assert annotation.progress("eve").done == len(seen) - 1
        round_id = vote(annotation)
        if round_id is None:  # the last vote that counts may make one more due
            annotation.go_on("eve")
            round_id = annotation.next("eve")
    assert len(seen) == 24  # a fifth of 20 comes twice
    assert len(set(seen)) == 20
    assert rows(store, "select count(*) from repeats") == [(4,)]
    assert annotation.progress("eve").done == 24


def test_a_restart_leaves_the_vote_that_could_be_undone(annotate, store):
    fill(store, QUESTIONS[:3])
    annotation = annotate()
    annotation.next("eve")
    vote(annotation)
    vote(annotation, (2, 1))
    annotation.close()
    later = annotate()
    view = later.view("eve", later.opened("eve"))
    assert view.recorded.ranks == (2, 1)
    assert vote_count(store) == 1
