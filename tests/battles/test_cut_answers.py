"""Answers that the limit cut: who is told, and when."""

from __future__ import annotations

import dataclasses
import random
from contextlib import closing

import pytest

from coupled_arena.analysis.battles import OpenedBattle
from coupled_arena.battles.annotation import Annotation
from coupled_arena.battles.rounds import Round, reveal_of
from coupled_arena.core.records import Finish, Origin
from coupled_arena.store.queries.battle_record import BattleRecord
from coupled_arena.store.work_queues.battles import Backlog
from coupled_arena.views.battle_pages import battle_page, cut_words
from tests.battles.test_battle import endless, played
from tests.store.conftest import make_battle, make_vote
from tests.stored import fill, imported

LONG = 60.0  # seconds; no test waits for them


@pytest.mark.parametrize("undo_seconds", [0, LONG])
def test_a_round_tells_it_once_the_vote_counts(make_arena, models, undo_seconds):
    """Before, a browser knows texts alone: who never finds an end would be known by it."""
    endless(models)
    arena = make_arena(max_new_tokens=3, undo_seconds=undo_seconds)
    round_id = played(arena)
    assert [turn.cut_at for turn in arena.view("eve", round_id).turns] == [()]
    arena.vote("eve", round_id, [1, 2])
    if undo_seconds:
        assert [turn.cut_at for turn in arena.view("eve", round_id).turns] == [()]
        arena.confirm("eve", round_id)
    view = arena.view("eve", round_id)
    assert view.reveal
    assert [turn.cut_at for turn in view.turns] == [(3, 3)]


def test_a_stopped_round_says_so_of_all_its_answers_alike_until_the_vote_counts():
    """Whoever stopped it knows that one had not ended; which one, they learn with the names."""
    stop, cancelled = Finish.STOP, Finish.CANCELLED
    for finishes in [(stop, stop), (stop, cancelled), (cancelled, stop), (cancelled, cancelled)]:
        battle = make_battle()
        replies = (
            dataclasses.replace(reply, finish=finish)
            for reply, finish in zip(battle.replies, finishes, strict=True)
        )
        battle = dataclasses.replace(battle, replies=tuple(replies))
        current = Round("eve", battle)
        (turn,) = current.state.view().turns
        assert turn.stopped == ((False, False) if finishes == (stop, stop) else (True, True))
        assert turn.cut_at == ()
        current.change(reveal=reveal_of(battle, make_vote(battle)))
        (turn,) = current.state.view().turns
        assert turn.stopped == tuple(finish is cancelled for finish in finishes)


@pytest.mark.parametrize(
    ("finish", "limit", "told", "words"),
    [
        (Finish.LENGTH, 77, 77, "cut at 77 tokens"),
        (Finish.LENGTH, 1, 1, "cut at 1 token"),
        (Finish.LENGTH, 0, 0, "cut at the limit"),  # imports may not know it
        (Finish.STOP, 77, None, ""),
    ],
)
def test_a_stored_battle_tells_it_before_the_vote(store, finish, limit, told, words):
    battle = imported("ann-model", "bob-model", origin=Origin.IMPORT)
    first, second = battle.replies
    battle = dataclasses.replace(
        battle,
        replies=(dataclasses.replace(first, finish=finish), second),
        sampling=dataclasses.replace(battle.sampling, max_new_tokens=limit),
    )
    store.add_battle(battle)
    with closing(Backlog(store)) as backlog:
        annotation = Annotation(store, backlog, random.Random(0))
        (turn,) = annotation.view("eve", annotation.next("eve")).turns
    assert turn.cut_at == (told, None)
    (shown,) = battle_page(OpenedBattle(battle, BattleRecord((), (), ())))["turns"]
    assert shown["answers"][0]["notes"] == words
    assert not words or cut_words(battle) == words


def test_one_s_own_part_ends(store):
    """What a voter would recognise is no part of theirs."""
    fill(store, ["One?", "Two?"])
    fill(store, ["Same?"], texts=["same", "same"])
    with closing(Backlog(store)) as backlog:
        annotation = Annotation(store, backlog, random.Random(0))
        assert (annotation.progress("eve").done, annotation.progress("eve").asked) == (0, 3)
        while round_id := annotation.next("eve"):
            annotation.vote("eve", round_id, [1, 2])
        assert (annotation.progress("eve").done, annotation.progress("eve").asked) == (3, 3)
        assert annotation.progress("mia").done == 0
