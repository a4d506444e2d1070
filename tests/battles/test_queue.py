"""Rounds that wait for their answers: their place, who gives it up, and what becomes of them."""

from __future__ import annotations

import asyncio

import pytest

from coupled_arena.battles.compare import compare
from coupled_arena.core.errors import PromptError, VoteError
from coupled_arena.core.records import Mode, Prompt, Sampling
from coupled_arena.generation.capacity import Capacity
from tests.battles.test_battle import QUESTION, endless, finish, played
from tests.patience import until

BUSY = "The arena is busy"


@pytest.fixture
def capacity():
    return Capacity(most_at_once=1, most_waiting=3)


MOST = 10**6  # tokens: hours


def unending(models):
    endless(models)
    for model in models.values():
        model.context_length = 2 * MOST


@pytest.fixture
def arena(make_arena, models):
    unending(models)
    return make_arena(max_new_tokens=MOST)


def speaks(arena, owner, round_id):
    return all(arena.view(owner, round_id).turns[-1].answers)


def place(arena, owner, round_id):
    return arena.view(owner, round_id).ahead


def test_comparisons_fill_no_more_than_battles_may(arena, models, worker):
    """Twenty at once past a limit of four: one runs, three wait, and a question is one too many."""
    sampling, refused, running = Sampling(max_new_tokens=MOST), [], []
    for _ in range(20):
        try:
            compared = compare(models, worker, ["ann", "bob"], "why", Mode.COUPLED, sampling)
            running.append(compared.running)
        except PromptError as error:
            refused.append(str(error))
    assert (len(running), len(refused), worker.battles) == (4, 16, 4)
    assert all(told.startswith(BUSY) for told in refused)
    with pytest.raises(PromptError, match=BUSY):
        arena.ask("ann", QUESTION)
    for one in running:
        one.cancelled.set()
    until(lambda: not worker.battles)
    assert arena.ask("ann", QUESTION)


def test_who_waits_sees_their_place_move(arena, store):
    rounds = {owner: arena.ask(owner, QUESTION) for owner in ("ann", "ben", "cleo", "dan")}
    until(lambda: speaks(arena, "ann", rounds["ann"]))
    assert until(lambda: place(arena, "dan", rounds["dan"])) == 2
    assert [place(arena, owner, rounds[owner]) for owner in rounds] == [None, 0, 1, 2]
    with pytest.raises(PromptError, match=BUSY):
        arena.ask("eve", QUESTION)
    waiting = arena.view("dan", rounds["dan"])
    assert waiting.running
    assert waiting.turns[0].answers == ("", "")
    arena.stop("cleo", rounds["cleo"])
    until(lambda: place(arena, "dan", rounds["dan"]) == 1)
    arena.stop("ann", rounds["ann"])
    until(lambda: speaks(arena, "ben", rounds["ben"]))
    assert place(arena, "ben", rounds["ben"]) is None
    until(lambda: place(arena, "dan", rounds["dan"]) == 0)
    arena.stop("ben", rounds["ben"])
    until(lambda: speaks(arena, "dan", rounds["dan"]))
    arena.stop("dan", rounds["dan"])
    assert not finish(arena, "dan", rounds["dan"])[-1].error
    arena.vote("dan", rounds["dan"], [1, 1])
    (stored,) = store.cursor().execute("select arithmetic from battles").fetchall()
    assert stored[0]["turn 0/most battles at once"] == "1"  # who waits does not decode


def test_a_question_that_was_given_up_leaves_nothing(arena, store):
    running = arena.ask("ann", QUESTION)
    given_up = arena.ask("ben", QUESTION)
    until(lambda: place(arena, "ben", given_up) == 0)
    with pytest.raises(VoteError, match="nothing to compare"):
        arena.vote("ben", given_up, [1, 2])
    arena.stop("ben", given_up)
    last = finish(arena, "ben", given_up)[-1]
    assert "before its answers began" in last.error
    assert not last.running
    assert [turn.prompt for turn in last.turns] == [QUESTION.text]
    assert store.cursor().execute("select count(*) from battles").fetchone() == (0,)
    assert arena.newest("ben") is None
    arena.stop("ann", running)


def test_a_reload_keeps_the_place_and_leaving_gives_it_up(make_arena, models, worker):
    unending(models)
    arena = make_arena(max_new_tokens=MOST, patience=0.05)
    first = arena.ask("ann", QUESTION)
    waits = arena.ask("ben", QUESTION)
    until(lambda: place(arena, "ben", waits) == 0)

    async def reload():
        before = arena.watch("ben", waits)
        await anext(before)
        after = arena.watch("ben", waits)  # the page is there again before the other is missed
        await anext(after)
        await before.aclose()
        for _ in range(3):
            view = await anext(after)
        assert view.ahead == 0
        await after.aclose()
        while worker.battles > 1:
            await asyncio.sleep(0.01)

    asyncio.run(reload())
    arena.stop("ann", first)


def test_another_question_of_a_visitor_replaces_the_one_that_waits(arena):
    """So nobody fills the queue; the newer one goes to its end."""
    first = arena.ask("ann", QUESTION)
    until(lambda: speaks(arena, "ann", first))
    old = arena.ask("eve", QUESTION)
    other = arena.ask("ben", QUESTION)
    until(lambda: place(arena, "eve", old) == 0)
    new = arena.ask("eve", Prompt("and now"))
    until(lambda: place(arena, "eve", new) == 1)
    assert place(arena, "ben", other) == 0
    assert "before its answers began" in finish(arena, "eve", old)[-1].error
    assert arena.newest("eve") == new
    more = arena.ask("ann", Prompt("more"))  # what is being answered goes on
    until(lambda: place(arena, "ann", more) == 2)
    assert arena.view("ann", first).running
    arena.stop("ann", first)


def test_a_follow_up_that_waits_can_be_given_up(make_arena, models, store):
    arena = make_arena(max_new_tokens=MOST)
    mine = played(arena)
    unending(models)
    busy = arena.ask("ann", QUESTION)
    until(lambda: speaks(arena, "ann", busy))
    arena.follow_up("eve", mine, "and then")
    until(lambda: place(arena, "eve", mine) == 0)
    assert len(arena.view("eve", mine).turns) == 2
    told = arena.vote("eve", mine, [1, 2])
    assert not told.early  # all answers that there were had ended
    assert len(arena.view("eve", mine).turns) == 1
    assert {reply.turn for reply in store.battle(told.battle).replies} == {0}
    arena.stop("ann", busy)


@pytest.mark.parametrize("capacity", [Capacity(kv_tokens=40)])
def test_what_never_fits_is_refused_whatever_the_pair(make_arena, models, capacity):
    """The room counts for all models, or a refusal would tell which ones a round has."""
    for name in ("ann", "bob", "cas"):
        models[name].context_length = 20  # so their answers are shorter, and these models have room
    arena = make_arena(max_new_tokens=30)
    for _ in range(20):
        with pytest.raises(PromptError, match="too long for the models"):
            arena.ask("eve", Prompt("one two three four five six seven eight nine ten eleven"))
