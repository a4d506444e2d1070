"""Answers with the same words at the time of a vote are level in what is stored."""

from __future__ import annotations

import random

import pytest

from coupled_arena.battles.annotation import Annotation
from coupled_arena.battles.rounds import level, same_words
from coupled_arena.core.errors import VoteError
from coupled_arena.store.work_queues.battles import Backlog
from tests.battles.conftest import WORDS
from tests.battles.test_battle import QUESTION, finish
from tests.counted import counted, vote_count
from tests.stored import MODELS, fill


def say(models, *tables):
    """Have models always say the same words: each goes round through its own list, for ever."""
    for model, words in zip(models.values(), tables, strict=True):
        model.table[:] = -float("inf")
        for at in range(len(WORDS)):
            model.table[at, WORDS.index(words[at % len(words)])] = 0.0


def opened(arena, size=2, words=3):
    """Return a running round in which every model has said some words."""
    round_id = arena.ask("eve", QUESTION, size)
    while min(len(text.split()) for text in arena.view("eve", round_id).turns[0].answers) < words:
        pass
    return round_id


@pytest.mark.parametrize(
    ("moments", "groups"),
    [
        ([(("a",), ("b",))], ()),
        ([(("a",), ("a",))], ((0, 1),)),
        ([(("a", "x"), ("a", "y"), ("a", "x"))], ((0, 2),)),
        ([(("",), ("a",), ("",), ("a",))], ((0, 2), (1, 3))),
        ([(("a",), ("a",), ("b",)), (("ab",), ("ac",), ("ac",))], ((0, 1, 2),)),
    ],
)
def test_which_answers_have_the_same_words(moments, groups):
    assert same_words(*moments) == groups


@pytest.mark.parametrize(
    ("ranks", "groups", "levelled"),
    [
        ((1, 2, 3), (), (1, 2, 3)),
        ((1, 1, 3), (), (1, 1, 3)),
        ((1, 2, 3), ((1, 2),), (1, 2, 2)),
        ((1, 2, 3), ((0, 2),), (1, 2, 1)),
        ((3, 2, 1), ((0, 1),), (2, 2, 1)),
        ((4, 3, 2, 1), ((0, 3), (1, 2)), (1, 2, 2, 1)),
        ((1, 2, 3, 4), ((1, 2),), (1, 2, 2, 3)),
        ((1, 1, 1), ((0, 1),), (1, 1, 1)),
    ],
)
def test_they_share_the_best_of_their_places(ranks, groups, levelled):
    assert level(ranks, groups) == levelled


def test_an_early_vote_on_one_beginning_is_refused_and_the_answers_go_on(make_arena, models, store):
    say(models, *[["go ", "left "]] * 4)
    arena = make_arena(max_new_tokens=900)
    round_id = opened(arena)
    for ranks, both_bad in (([1, 2], False), ([2, 1], False), ([1, 1], False), ([1, 1], True)):
        with pytest.raises(VoteError, match="same so far: wait for the first difference"):
            arena.vote("eve", round_id, ranks, both_bad=both_bad)
    assert arena.view("eve", round_id).running
    assert not arena._rounds.of("eve", round_id).state.pending[1].cancelled.is_set()
    assert vote_count(store) == 0
    arena.stop("eve", round_id)


def test_answers_stopped_at_one_beginning_are_a_tie_or_bad_but_none_is_better(
    make_arena, models, store
):
    say(models, *[["go ", "left "]] * 4)
    arena = make_arena(max_new_tokens=900)
    for both_bad in (False, True):
        round_id = opened(arena)
        arena.stop("eve", round_id)
        assert finish(arena, "eve", round_id)[-1].reveal is None
        before = vote_count(store)
        with pytest.raises(VoteError, match="none is better: vote a tie"):
            arena.vote("eve", round_id, [2, 1])
        assert vote_count(store) == before
        told = arena.vote("eve", round_id, [1, 1], both_bad=both_bad)
        assert (told.ranks, told.both_bad) == ((1, 1), both_bad)


@pytest.mark.parametrize("early", [False, True])
def test_two_of_three_with_the_same_words_are_level(make_arena, models, store, early):
    say(models, *[["go ", "left "]] * 4)
    models["dot"].table[:] = models["dot"].table.roll(1, dims=1)
    arena = make_arena(max_new_tokens=900)
    while True:
        round_id = opened(arena, size=3)
        if "dot" in arena._rounds.of("eve", round_id).state.battle.models:
            break
        arena.stop("eve", round_id)
    if not early:
        arena.stop("eve", round_id)
        finish(arena, "eve", round_id)
    told = arena.vote("eve", round_id, [1, 2, 3])
    other = told.models.index("dot")
    same = tuple(place for place in range(3) if place != other)
    assert told.same == (same,)
    assert told.ranks == {0: (1, 2, 2), 1: (1, 2, 1), 2: (1, 1, 2)}[other]
    outcomes = {frozenset((a, b)): outcome for a, b, _, outcome, _ in counted(store)}
    assert outcomes.pop(frozenset(told.models) - {"dot"}) == "tie"
    assert set(outcomes.values()) <= {"first", "second"}


def test_stored_battles_with_the_same_words_among_three_are_level(store):
    (battle,) = fill(store, ["Which way?"], MODELS, texts=["same", "other", "same"])
    backlog = Backlog(store)
    annotation = Annotation(store, backlog, random.Random(1))
    told = annotation.vote("eve", annotation.next("eve"), [3, 2, 1])
    backlog.close()
    assert (told.battle, told.ranks, told.same) == (battle.id, (1, 2, 1), ((0, 2),))
    assert vote_count(store) == 1
