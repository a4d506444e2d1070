"""Battles that come a second time to the same person: when, how, and where that is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coupled_arena.core.choices import Reveals
from coupled_arena.core.records import Vote, new_id
from coupled_arena.store.tables import repeats, votes
from coupled_arena.store.work_queues.battles import Backlog
from tests.counted import counted, vote_count
from tests.stored import MODELS, fill, rows

QUESTIONS = [f"Which way is {n}?" for n in range(40)]


@pytest.fixture
def annotate(annotating):
    def make(share=0.2, *, votes_each=None, undo=0.0, **more):
        return annotating(Reveals.END, undo, share, votes_each, **more)

    return make


def vote_on_all(annotation, owner, choose=lambda view: (2, 1)):
    """Vote on everything; return the battles in the order in which they came, and the views."""
    came = []
    while round_id := annotation.next(owner):
        battle = annotation.round_of(owner, round_id).state.battle
        view = annotation.view(owner, round_id)
        annotation.vote(owner, round_id, choose(view))
        came.append((battle, view))
    return came


def prefers_the_longer(view):
    first, second = view.turns[0].answers
    return (1, 2) if (len(first), first) > (len(second), second) else (2, 1)


@pytest.mark.slow
def test_nobody_is_asked_again_about_names_they_were_told(annotate, store):
    """As where an arena told names after each vote, and begins to keep them back."""
    fill(store, QUESTIONS)
    annotation = annotate(share=0.3)
    told = [battle.id for battle, _view in vote_on_all(annotation, "eve")[:15]]
    for table in ("repeats", "reveals"):
        store.write(lambda cursor, table=table: cursor.execute(f"delete from {table}"))
    store.write(lambda cursor: votes.add_reveals(cursor, [(battle, "eve") for battle in told]))
    backlog = Backlog(store, None, 0.3)
    asked = [backlog.draw_again("eve", salt) for salt in range(20)]
    assert all(asked)
    assert not {each.id for each in asked} & set(told)
    backlog.close()


@pytest.mark.slow
def test_a_share_comes_twice_well_apart_and_turned(annotate, store):
    made = {battle.id: battle for battle in fill(store, QUESTIONS)}
    came = vote_on_all(annotate(), "eve", prefers_the_longer)
    ids = [battle.id for battle, _ in came]
    again = [at for at, battle in enumerate(ids) if battle in ids[:at]]
    assert len(again) == 8  # a fifth of 40
    for at in again:
        first = ids.index(ids[at])
        between = {*ids[first + 1 : at]} - {ids[at]}
        assert len(between) >= 10
        assert came[at][1].turns[0].answers == came[first][1].turns[0].answers[::-1]
        assert came[at][0].models == made[ids[at]].models[::-1]
    assert len({ids[at] for at in again}) == 8  # none comes a third time
    seconds = rows(store, "select battle, voter, ranks, shown from repeats")
    firsts = dict(rows(store, "select battle, ranks from votes"))
    assert {battle for battle, *_ in seconds} == {ids[at] for at in again}
    # Whoever goes by the text says the same of it, whichever side it is on.
    assert all(ranks == firsts[battle] for battle, _, ranks, _ in seconds)
    assert {tuple(shown) for *_, shown in seconds} == {(1, 0)}


def test_second_votes_are_on_no_board(annotate, store):
    fill(store, QUESTIONS)
    vote_on_all(annotate(0.5), "eve", lambda view: (1, 2))
    assert rows(store, "select count(*) from repeats") == [(20,)]
    assert vote_count(store) == len(QUESTIONS)
    assert sum(n for *_, n in counted(store)) == len(QUESTIONS)
    assert rows(store, "select distinct ranks from repeats") == [([2, 1],)]  # of the other side


@pytest.mark.slow
def test_three_answers_keep_their_ranks(annotate, store):
    fill(store, QUESTIONS[:20], MODELS)
    vote_on_all(annotate(0.5), "eve", lambda view: (1, 2, 3))
    assert rows(store, "select distinct ranks, shown from repeats") == [([3, 2, 1], [2, 1, 0])]


def test_nothing_comes_twice_within_ten(annotate, store):
    fill(store, QUESTIONS[:10])
    annotation = annotate(0.5)
    assert len(vote_on_all(annotation, "eve")) == 10
    assert annotation.opens("eve")


@pytest.mark.slow
def test_a_share_is_done_with_its_repeats(annotate, store):
    fill(store, QUESTIONS[:20])
    annotation = annotate(0.1)
    asked = annotation.progress("eve").asked
    assert asked == 22
    for _ in range(asked):
        assert not annotation.opens("eve")
        round_id = annotation.next("eve")
        annotation.vote("eve", round_id, (1, 2))
    assert annotation.next("eve") is None
    progress = annotation.progress("eve")
    assert (progress.done, progress.asked, progress.repeated) == (22, 22, 2)
    assert annotation.opens("eve")


@pytest.mark.slow
def test_repeats_stay_where_they_are_after_a_restart(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate()
    orders = []
    for _ in range(2):
        came = [annotation.next("eve")]
        orders.append(came)
    assert orders[0] == orders[1]
    due = [Backlog(store, None, 0.2)._due("eve", n) for n in range(60)]
    assert due == [Backlog(store, None, 0.2)._due("eve", n) for n in range(60)]
    assert due[:11] == [0] * 11
    assert due[50] == 10
    assert due != [Backlog(store, None, 0.2)._due("mia", n) for n in range(60)]


def until_a_repeat(annotation, owner):
    while round_id := annotation.next(owner):
        if annotation._opened[owner].drawn.repeat:
            return round_id
        annotation.vote(owner, round_id, (1, 2))
        annotation.confirm(owner, round_id)
    raise AssertionError("nothing came twice")


def test_a_second_vote_can_be_undone_and_explained(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate(undo=60.0)
    round_id = until_a_repeat(annotation, "eve")
    annotation.vote("eve", round_id, (1, 2))
    assert annotation.view("eve", round_id).recorded
    annotation.undo("eve", round_id)
    assert annotation.view("eve", round_id).recorded is None
    annotation.vote("eve", round_id, (2, 1))
    vote = annotation.view("eve", round_id).recorded.vote
    annotation.explain("eve", vote, ["style"], "so")
    annotation.go_on("eve")
    view = annotation.view("eve", round_id)
    assert (view.counted.ranks, view.reasons.comment) == ((2, 1), "so")
    annotation.next("eve")
    (row,) = rows(store, "select second_vote, ranks, criteria, comment from repeats")
    assert row == (vote, [1, 2], ["style"], "so")
    assert rows(store, "select count(*) from rationales") == [(0,)]


@pytest.mark.slow
@pytest.mark.parametrize("rules", [{}, {"undo": 60.0, "held_over": False}])
def test_one_that_is_left_open_is_stored_when_the_server_ends(annotate, store, rules):
    fill(store, QUESTIONS)
    annotation = annotate(**rules)
    round_id = until_a_repeat(annotation, "eve")
    annotation.vote("eve", round_id, (1, 2))
    assert rows(store, "select count(*) from repeats") == [(0,)]
    annotation.close()
    assert rows(store, "select count(*) from repeats") == [(1,)]


@pytest.mark.slow
def test_a_repeat_takes_no_vote_from_others(annotate, store):
    fill(store, QUESTIONS[:30])
    annotation = annotate(0.5, votes_each=2)
    round_id = until_a_repeat(annotation, "eve")
    number = annotation._opened["eve"].drawn.number
    came = vote_on_all(annotation, "mia")
    assert annotation.round_of("eve", round_id)
    assert number in [annotation._backlog.find(battle.id).number for battle, _ in came]


def test_ranks_and_places():
    assert repeats.exchanged((1, 2, 3), (2, 0, 1)) == (2, 3, 1)
    vote = Vote(new_id(), new_id(), "eve", (1, 2))
    assert repeats.SecondVote(replace(vote, ranks=(2, 1)), (1, 0)).criteria == ()
