"""Rounds on fake models: what is stored, what is shown when, what is refused."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
from collections import Counter

import pytest
import torch

from coupled_arena.battles import rounds
from coupled_arena.battles.pair_sampling import new_battle
from coupled_arena.battles.rounds import REVEALED_LIFETIME, ROUND_LIFETIME
from coupled_arena.core.errors import PromptError, SettingsError, VoteError
from coupled_arena.core.records import Finish, Mode, Prompt, Sampling, Source, commitment
from tests.counted import counted, vote_count

QUESTION = Prompt("which way now")


def finish(arena, owner, round_id):
    async def views():
        return [view async for view in arena.watch(owner, round_id)]

    return asyncio.run(views())


def played(arena, owner="eve", prompt=QUESTION, size=2):
    """Play rounds until one does not end in identical answers."""
    while True:
        round_id = arena.ask(owner, prompt, size)
        if finish(arena, owner, round_id)[-1].reveal is None:
            return round_id


def test_a_round_from_question_to_reveal(make_arena, store):
    arena = make_arena()
    round_id = played(arena)
    blind = arena.view("eve", round_id)
    assert not blind.running
    assert blind.reveal is None
    told = arena.vote("eve", round_id, [2, 1])
    stored = store.battle(told.battle)
    assert told.models == stored.models
    assert (told.mode, int(told.seed, 16)) == (stored.mode, stored.seed)
    assert told.commitment == blind.commitment
    assert commitment(int(told.seed, 16), bytes.fromhex(told.nonce)) == blind.commitment
    assert [reply.text for reply in stored.replies] == list(blind.turns[0].answers)
    assert arena.view("eve", round_id).reveal == told
    (human,) = [row for row in counted(store) if row[2] == "human"]
    assert human == (*told.models, "human", "second", 1)


def test_nothing_blind_tells_names_mode_or_seed(make_arena, models):
    arena = make_arena()
    round_id = played(arena, size=3)
    state = arena._rounds.of("eve", round_id).state
    text = json.dumps(dataclasses.asdict(arena.view("eve", round_id)))
    secrets = [*models, state.battle.mode.value, f"{state.battle.seed:016x}"]
    secrets += [str(state.battle.seed), state.battle.nonce.hex(), state.battle.id]
    assert [secret for secret in secrets if f'"{secret}"' in text or f" {secret}" in text] == []


def test_pairs_sides_and_modes_are_drawn_evenly():
    rng = random.Random(1)
    names = ["ann", "bob", "cas", "dot"]
    draws = [new_battle(names, 2, Sampling(), coupled_share=0.25, rng=rng) for _ in range(1200)]
    orders = Counter(battle.models for battle in draws)
    assert len(orders) == 12
    # Chi-square with 11 degrees of freedom; 33.1 is its 0.9995 quantile.
    assert sum((n - 100) ** 2 / 100 for n in orders.values()) < 33.1
    coupled = sum(battle.mode is Mode.COUPLED for battle in draws)
    assert abs(coupled - 300) < 4 * (1200 * 0.25 * 0.75) ** 0.5
    assert len({battle.seed for battle in draws}) == 1200


def test_a_battle_needs_enough_models():
    with pytest.raises(SettingsError, match="3 needs 3 enabled models; there are 2"):
        new_battle(["ann", "bob"], 3, Sampling(), coupled_share=0.5, rng=random.Random(1))


def test_identical_answers_are_a_tie_nobody_is_asked_about(make_arena, models, store):
    models["bob"].table = models["cas"].table = models["dot"].table = models["ann"].table
    arena = make_arena(coupled_share=1.0)
    round_id = arena.ask("eve", QUESTION)
    told = finish(arena, "eve", round_id)[-1].reveal
    assert told is not None
    assert (told.source, told.ranks, told.both_bad) == (Source.IDENTICAL, (1, 1), False)
    assert [row[2:] for row in counted(store)] == [("identical", "tie", 1)]
    with pytest.raises(VoteError, match="have voted"):
        arena.vote("eve", round_id, [1, 2])


def test_a_follow_up_has_noise_of_its_own_and_sees_the_conversation(make_arena, store):
    arena = make_arena()
    round_id = played(arena)
    arena.follow_up("eve", round_id, "and then")
    view = finish(arena, "eve", round_id)[-1]
    assert [turn.prompt for turn in view.turns] == ["which way now", "and then"]
    told = view.reveal or arena.vote("eve", round_id, [1, 1])
    stored = store.battle(told.battle)
    assert {reply.turn for reply in stored.replies} == {0, 1}
    assert len(stored.replies) == 4
    with pytest.raises(PromptError, match="round is over"):
        arena.follow_up("eve", round_id, "more")


def endless(models):
    for model in models.values():
        model.table[:, -1] = -float("inf")


def test_an_early_vote_stops_the_answers_and_is_recorded_as_early(make_arena, models, store):
    endless(models)
    arena = make_arena(max_new_tokens=900)
    round_id = arena.ask("eve", QUESTION)
    while not all(arena.view("eve", round_id).turns[0].answers):
        pass
    told = arena.vote("eve", round_id, [1, 2])
    assert told.early
    replies = store.battle(told.battle).replies
    assert {reply.finish for reply in replies} == {Finish.CANCELLED}
    assert len({len(reply.tokens) for reply in replies}) == 1  # lockstep


def test_stop_keeps_the_round_open_for_a_vote(make_arena, models):
    endless(models)
    arena = make_arena(max_new_tokens=900, coupled_share=0.0)
    round_id = arena.ask("eve", QUESTION)
    while not all(arena.view("eve", round_id).turns[0].answers):
        pass
    arena.stop("eve", round_id)
    assert not finish(arena, "eve", round_id)[-1].running
    assert not arena.vote("eve", round_id, [1, 1], both_bad=True).early


def test_leaving_a_running_round_frees_the_engine(make_arena, models, worker):
    endless(models)
    arena = make_arena(max_new_tokens=900, patience=0)
    round_id = arena.ask("eve", QUESTION)
    done = arena._rounds.of("eve", round_id).state.pending[1].done

    async def leave():
        one, other = arena.watch("eve", round_id), arena.watch("eve", round_id)
        await anext(one)
        await anext(other)
        await one.aclose()
        await asyncio.sleep(0)
        still_watched = arena._rounds.of("eve", round_id).state.pending[1].cancelled.is_set()
        await other.aclose()
        while not done.is_set():
            await asyncio.sleep(0.01)
        return still_watched

    assert asyncio.run(leave()) is False
    assert worker.battles == 0


def test_a_round_goes_on_while_its_page_reloads(make_arena, models):
    endless(models)
    arena = make_arena(max_new_tokens=900)
    assert arena.newest("eve") is None
    arena.ask("eve", QUESTION)
    round_id = arena.ask("eve", Prompt("and now"))
    arena.ask("mia", QUESTION)

    async def reload():
        watching = arena.watch("eve", round_id)
        await anext(watching)
        await watching.aclose()
        assert arena.newest("eve") == round_id
        views = arena.watch("eve", round_id)
        before = (await anext(views)).turns[0].answers
        while (view := await anext(views)).turns[0].answers == before:
            pass
        arena.stop("eve", round_id)
        return view, [view async for view in views][-1]

    running, stopped = asyncio.run(reload())
    assert running.running
    assert not stopped.running
    assert arena.newest("eve") == round_id
    assert arena.newest("zoe") is None


def test_ranks_that_order_nothing_are_refused(make_arena, store):
    arena = make_arena()
    round_id = played(arena)
    before = vote_count(store)
    wrong = [[1], [1, 2, 3], [0, 1], [2, 2], [1, 3], ["1", "2"], [True, 1], [1.0, 2.0], []]
    for ranks, both_bad in (([1, 2], True), *((ranks, False) for ranks in wrong)):
        with pytest.raises(VoteError):
            arena.vote("eve", round_id, ranks, both_bad=both_bad)
        assert vote_count(store) == before
    arena.vote("eve", round_id, [1, 2])


def test_a_vote_belongs_to_the_owner_and_happens_once(make_arena, store):
    arena = make_arena()
    round_id = played(arena)
    before = vote_count(store)
    for owner, guess in [("mallory", round_id), ("eve", "0" * 32), ("eve", "")]:
        with pytest.raises(VoteError, match="not open"):
            arena.vote(owner, guess, [1, 2])
        with pytest.raises(VoteError, match="not open"):
            arena.view(owner, guess)
    arena.vote("eve", round_id, [1, 2])
    with pytest.raises(VoteError, match="have voted"):
        arena.vote("eve", round_id, [2, 1])
    assert vote_count(store) == before + 1


def test_what_was_revealed_before_the_last_question_is_forgotten_first(make_arena):
    arena = make_arena()
    asked = ("which way now", "who goes there", "what comes next")
    old, unvoted, last = (played(arena, prompt=Prompt(text)) for text in asked)
    of_bob = played(arena, "bob")
    kept = [("eve", unvoted), ("eve", last), ("bob", of_bob)]
    for owner, round_id in [("eve", old), *kept[1:]]:
        arena.vote(owner, round_id, [2, 1])
    for owner, round_id in [("eve", old), *kept]:
        arena._rounds.of(owner, round_id).opened -= REVEALED_LIFETIME
    arena.ask("cas", QUESTION)
    with pytest.raises(VoteError, match="not open"):
        arena.view("eve", old)
    assert [arena.view(*each).reveal is None for each in kept] == [True, False, False]
    assert (arena.newest("eve"), arena.newest("bob")) == (last, of_bob)


def test_rounds_of_visitors_who_never_come_back_are_forgotten(make_arena, monkeypatch):
    monkeypatch.setattr(rounds, "_SWEEP", 0.0)
    arena = make_arena()
    kept = [played(arena, owner) for owner in ("eve", "dan")][1]
    for each in arena._rounds.own("eve"):
        each.opened -= ROUND_LIFETIME
    assert {each.owner for each in arena._rounds.all()} == {"eve", "dan"}
    assert arena.newest("eve") is None
    new = played(arena, "bob")
    assert {each.owner for each in arena._rounds.all()} == {"dan", "bob"}
    assert (arena.newest("dan"), arena.newest("bob"), arena.newest("cas")) == (kept, new, None)


def test_three_models_are_voted_on_by_an_order(make_arena, store):
    arena = make_arena()
    round_id = played(arena, size=3)
    told = arena.vote("eve", round_id, [2, 1, 2])
    rows = {(a, b): outcome for a, b, source, outcome, _ in counted(store) if source == "human"}
    a, b, c = told.models
    assert rows == {(a, b): "second", (a, c): "tie", (b, c): "first"}


@pytest.mark.parametrize("text", ["", "  \n", "x" * 40_001, "a \ud800 b", "a\x00b"])
def test_prompts_that_cannot_be_answered(make_arena, text):
    with pytest.raises(PromptError):
        make_arena().ask("eve", Prompt(text))


def test_too_long_a_prompt_does_not_tell_which_models_a_round_has(make_arena, models):
    models["dot"].context_length = 5
    arena = make_arena()
    for _ in range(20):  # pairs with and without the model that reads less
        with pytest.raises(PromptError, match="too long for the models") as caught:
            arena.ask("eve", Prompt("one two three four five six"))
        assert "5" not in str(caught.value)


def test_a_refusing_template_does_not_tell_which_models_a_round_has(make_arena, models):
    def refuse(messages):
        raise PromptError("A chat template refuses this conversation: no dots")

    models["dot"].encode = refuse
    arena = make_arena()
    for _ in range(20):
        with pytest.raises(PromptError, match="use other words") as caught:
            arena.ask("eve", QUESTION)
        assert "dot" not in str(caught.value)


def broken_off(arena, models):
    round_id = arena.ask("eve", QUESTION)
    view = finish(arena, "eve", round_id)[-1]
    assert view.error
    assert not any(name in view.error for name in models)
    assert not view.running
    assert [turn.prompt for turn in view.turns] == [QUESTION.text]  # what the page goes on showing
    with pytest.raises(VoteError):
        arena.vote("eve", round_id, [1, 2])


@pytest.mark.parametrize(
    "table",
    [torch.zeros(0, 2), None],  # torch refuses to index it, as when memory is short; a TypeError
    ids=["memory", "defect"],
)
def test_a_failing_step_drops_the_round_and_the_arena_goes_on(make_arena, models, table):
    arena = make_arena()
    tables = {name: model.table for name, model in models.items()}
    for model in models.values():
        model.table = table
    broken_off(arena, models)
    broken_off(arena, models)
    for name, model in models.items():
        model.table = tables[name]
    played(arena)


def test_nobody_waits_for_an_engine_that_has_ended(make_arena, models, worker):
    arena = make_arena()
    worker.close()
    broken_off(arena, models)
