"""Rounds that a judge decides: verdicts alone, both orders, and nothing where it fails."""

from __future__ import annotations

import dataclasses
import json
import threading
from contextlib import closing

import pytest

from coupled_arena.battles.judge_feedback import (
    Decisions,
    OrderFeedback,
    outcome_of,
    pair_feedback,
    questions_on,
)
from coupled_arena.battles.judge_runs.request import Allowance, JudgeOnRequest
from coupled_arena.core.errors import JudgeError, PromptError, StoreLostError, VoteError
from coupled_arena.core.records import Outcome, Prompt, Swap
from coupled_arena.core.verdicts import Verdict
from coupled_arena.judging.judge import Judge
from coupled_arena.judging.prompt import JudgePrompt
from coupled_arena.judging.spec import JudgeSpec
from coupled_arena.store.queries.battle_record import record_of
from coupled_arena.store.tables import judges
from coupled_arena.store.work_queues.judging import MatchupSelection, PendingMatchups
from tests.batches import at_once
from tests.battles.test_battle import QUESTION, finish, played
from tests.judging.scripted import KEY, RESET, completion, failure, scripted, verdict
from tests.patience import PATIENCE, until
from tests.store.conftest import make_battle

SPEC = JudgeSpec("strict", "strong", JudgePrompt("Judge well.", "0" * 64))


@pytest.fixture
def arena(make_arena):
    return make_arena(undo_seconds=60.0)


@pytest.fixture
def server():
    with scripted(lambda _: verdict("A")) as served:
        yield served


@pytest.fixture
def judging(store, server):
    """Let a judge at the scripted server decide; visitors may ask as much as a test says."""
    store.write(lambda cursor: judges.bind(cursor, *SPEC.binding))
    opened = []

    def build(hourly=1000, daily=1000):
        judge = Judge(SPEC, base_url=server.url, key=KEY, timeout=PATIENCE, patience=0.0)
        opened.append(JudgeOnRequest(judge, 4, Allowance(hourly, daily)))
        return Decisions(store, opened[-1])

    yield build
    for asking in opened:
        asking.close()


def rows(store, table):
    with store.cursor() as cursor:
        return cursor.execute(f"select * from {table}").fetchall()


def nothing_decided(store):
    return [rows(store, table) for table in ("verdicts", "votes", "pending_votes", "reveals")]


def settled(current):
    until(lambda: current.state.judging is None)
    return current.state


def test_both_orders_are_stored_with_the_reveal_and_no_vote(arena, store, judging, server):
    decisions, round_id = judging(), played(arena)
    before = nothing_decided(store)
    current = arena.round_of("eve", round_id)
    decisions.begin(current)
    told = settled(current).reveal
    found = rows(store, "verdicts")
    assert len(server.asked) == len(found) == 2
    assert {(row[4], row[5]) for row in found} == {(0, 1), (1, 0)}
    assert [told.models, told.vote, told.source, told.ranks] == [
        current.state.battle.models,
        None,
        None,
        (),
    ]
    assert nothing_decided(store)[1:3] == before[1:3]  # no vote, pending or counted
    assert [(row[0], row[1]) for row in rows(store, "reveals")] == [(told.battle, "eve")]
    with store.cursor() as cursor:  # "A" in both orders: whatever is first
        (outcome,) = cursor.execute("select verdict from judgements").fetchall()
    assert outcome == ("tie",)
    for ranks in ([1, 2], [1, 1]):
        with pytest.raises(VoteError, match="is decided"):
            arena.vote("eve", round_id, ranks)
    with pytest.raises(PromptError, match="over"):
        arena.follow_up("eve", round_id, "and now")
    with pytest.raises(VoteError, match="is decided"):
        decisions.begin(current)


def test_nothing_of_it_is_told_or_stored_while_it_reads(arena, store, judging, server):
    asked, released = threading.Event(), threading.Event()

    def second_waits(_):
        if len(server.asked) > 1:
            asked.set()
            assert released.wait(PATIENCE)
        return verdict("A")

    server.script = second_waits
    decisions, round_id = judging(), played(arena)
    current = arena.round_of("eve", round_id)
    before, version = nothing_decided(store), store.version()
    decisions.begin(current)
    assert asked.wait(PATIENCE)
    until(lambda: arena.view("eve", round_id).judging.answered == 1)
    decisions.begin(current)  # pressed twice, or in another tab
    assert (nothing_decided(store), store.version()) == (before, version)
    view = arena.view("eve", round_id)
    assert view.reveal is None
    text = json.dumps(dataclasses.asdict(view))
    assert not [name for name in current.state.battle.models if f'"{name}"' in text]
    assert "verdict" not in text
    with pytest.raises(VoteError, match="judge is reading"):
        arena.vote("eve", round_id, [1, 2])
    with pytest.raises(PromptError, match="judge is reading"):
        arena.follow_up("eve", round_id, "and now")
    released.set()
    assert settled(current).reveal
    assert len(server.asked) == 2


def test_called_off_the_round_is_its_visitors_again(arena, store, judging, server):
    released = threading.Event()
    server.script = lambda _: verdict("A") if released.wait(PATIENCE) else None
    decisions, round_id = judging(), played(arena)
    current = arena.round_of("eve", round_id)
    before = nothing_decided(store)
    decisions.begin(current)
    until(lambda: server.asked)
    decisions.cancel(current)
    assert arena.view("eve", round_id).unjudged is None
    assert arena.vote("eve", round_id, [1, 2]) is None
    released.set()
    assert nothing_decided(store)[0] == before[0]
    assert current.state.reveal is None
    with pytest.raises(VoteError, match="undo that vote first"):
        decisions.begin(current)
    arena.undo("eve", round_id)
    decisions.begin(current)
    assert settled(current).reveal
    decisions.cancel(current)  # too late
    assert current.state.reveal


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (RESET, "does not answer"),
        (failure(401), "does not answer"),
        (failure(429, code="insufficient_quota"), "does not answer"),
        (completion("Both are nice."), "could not be read"),
        (completion(None, finish_reason="content_filter"), "could not be read"),
    ],
    ids=["outage", "key", "quota", "prose", "refusal"],
)
def test_where_it_fails_the_round_is_as_it_was(arena, store, judging, server, reply, words):
    server.script = lambda _: reply
    decisions, round_id = judging(), played(arena)
    current, before = arena.round_of("eve", round_id), nothing_decided(store)
    decisions.begin(current)
    assert settled(current).reveal is None
    view = arena.view("eve", round_id)
    assert words in view.unjudged
    assert server.url not in view.unjudged
    assert nothing_decided(store) == before
    server.script = lambda _: verdict("B")
    decisions.begin(current)
    assert settled(current).reveal
    assert arena.view("eve", round_id).unjudged is None


def test_what_was_readable_is_not_paid_for_again(arena, store, judging, server):
    server.script = lambda _: verdict("A") if len(server.asked) % 2 else RESET
    decisions, round_id = judging(), played(arena)
    current = arena.round_of("eve", round_id)
    decisions.begin(current)
    assert settled(current).reveal is None
    assert rows(store, "verdicts") == []
    asked = len(server.asked)
    server.script = lambda _: verdict("A")
    decisions.begin(current)
    assert settled(current).reveal
    assert len(server.asked) == asked + 1
    assert len(rows(store, "verdicts")) == 2


def test_a_conversation_that_goes_on_is_read_anew(arena, store, judging, server):
    server.script = lambda _: verdict("A") if len(server.asked) % 2 else RESET
    decisions, round_id = judging(), played(arena)
    current = arena.round_of("eve", round_id)
    decisions.begin(current)
    assert settled(current).unjudged.trouble
    arena.follow_up("eve", round_id, "and now")
    assert arena.view("eve", round_id).unjudged is None
    finish(arena, "eve", round_id)
    server.script = lambda _: verdict("A")
    server.asked.clear()
    decisions.begin(current)
    assert settled(current).reveal
    assert [len(server.asked), len(rows(store, "verdicts"))] == [2, 2]
    assert all("2 OF 2" in body["messages"][1]["content"] for body in server.asked)


def test_only_whole_answers_are_judged(make_arena, store, judging):
    arena = make_arena(max_new_tokens=4000)
    for model in arena.models.values():
        model.table[:, -1] = -float("inf")  # never ends by itself
    decisions = judging()
    round_id = arena.ask("eve", QUESTION)
    current = arena.round_of("eve", round_id)
    with pytest.raises(VoteError, match="still being written"):
        decisions.begin(current)
    until(lambda: len(current.state.pending[1].texts[0]) > 20)
    arena.stop("eve", round_id)
    finish(arena, "eve", round_id)
    with pytest.raises(VoteError, match="stopped"):
        decisions.begin(current)
    assert rows(store, "verdicts") == []


def test_it_is_its_visitors_round_alone(arena):
    round_id = played(arena)
    with pytest.raises(VoteError, match="not open"):
        arena.round_of("mallory", round_id)


def test_four_models_are_six_pairs(arena, store, judging, server):
    decisions, round_id = judging(), played(arena, prompt=Prompt("up or down"), size=4)
    current = arena.round_of("eve", round_id)
    decisions.begin(current)
    assert settled(current).reveal
    with store.cursor() as cursor:
        said = record_of(cursor, current.state.battle.id).verdicts
        judged = cursor.execute("select i - 1, j - 1, verdict from judgements").fetchall()
    pairs = pair_feedback(4, said, Swap.BOTH)
    assert len(pairs) == 6
    assert not any(pair.missing for pair in pairs)
    assert sorted(judged) == [(p.first, p.second, p.outcome.value) for p in pairs]
    with store.cursor() as cursor:
        (battle,) = cursor.execute("select distinct battle from judgements").fetchall()[0]
    assert battle == current.state.battle.id


def test_the_outcome_of_both_orders_is_that_of_the_store(store):
    """All ways in which two orders can answer, unreadable ones and repeats included."""
    store.write(lambda cursor: judges.bind(cursor, *SPEC.binding))
    labels = [None, *Outcome]
    made, battles, given_all = [], [], []
    for one in labels:
        for other in labels:
            battle = make_battle()
            battles.append(battle)
            said = [(0, 1, one), (1, 0, other)]
            made += [(battle.id, said)]
            given = [
                Verdict(f"{battle.id}{i}", battle.id, "strict", i, j, outcome, "raw")
                for i, j, outcome in said
            ]
            given_all += given
    with at_once(store) as batch:
        for battle in battles:
            batch.add_battle(battle)
    store.write(lambda cursor: judges.add_verdicts(cursor, given_all))
    with store.cursor() as cursor:
        known = dict(cursor.execute("select battle, verdict from judgements").fetchall())
    for battle, said in made:
        outcome = outcome_of([OrderFeedback(i, j, o, "raw") for i, j, o in said])
        assert (outcome and outcome.value) == known.get(battle)


@pytest.mark.parametrize("swap", Swap)
def test_it_asks_what_a_run_over_the_store_would(arena, store, swap):
    asked = []
    for n in range(6):
        round_id = played(arena, prompt=Prompt(f"which way now {n}", prefix="Go "), size=2 + n % 3)
        battle = arena.round_of("eve", round_id).state.battle
        asked += questions_on(battle, swap)
    with PendingMatchups(store, MatchupSelection("strict", swap)) as pending:
        stored = [matchup for page in pending.pages() for matchup in page]
    ids = {question.battle for question in asked}
    stored = [matchup for matchup in stored if matchup.battle in ids]
    alike = {(m.battle, *sorted((m.first_place, m.second_place))) for m in asked if m.identical}
    stored = [m for m in stored if (m.battle, m.first_place, m.second_place) not in alike]
    stored = [m for m in stored if (m.battle, m.second_place, m.first_place) not in alike]

    def key(matchup):
        return matchup.battle, matchup.first_place, matchup.second_place

    assert sorted((m for m in asked if not m.identical), key=key) == sorted(stored, key=key)


def test_a_visitor_asks_no_more_than_they_may(arena, judging, server):
    decisions, first = judging(hourly=3), played(arena)
    current = arena.round_of("eve", first)
    decisions.begin(current)
    assert settled(current).reveal
    current = arena.round_of("eve", played(arena))
    for _ in range(1000):
        with pytest.raises(JudgeError, match=r"3 questions an hour.*1 more than are left"):
            decisions.begin(current)
    assert current.state.judging is None
    assert len(server.asked) == 2
    other = arena.round_of("ann", played(arena, "ann"))
    decisions.begin(other)
    assert settled(other).reveal


def test_all_together_ask_no_more_than_they_may(arena, judging, server):
    decisions = judging(daily=3)
    rounds = [arena.round_of(owner, played(arena, owner)) for owner in ("ann", "bob")]
    decisions.begin(rounds[0])
    assert settled(rounds[0]).reveal
    with pytest.raises(JudgeError, match="in a day"):
        decisions.begin(rounds[1])
    assert len(server.asked) == 2


def test_an_allowance_comes_back_with_time_and_for_what_had_no_answer():
    now = [0.0]
    allowance = Allowance(4, 6, lambda: now[0])
    allowance.take("eve", 2)
    now[0] = 60.0
    allowance.take("eve", 2)
    with pytest.raises(JudgeError, match="come back in 60 min"):
        allowance.take("eve", 2)
    with pytest.raises(JudgeError, match="this needs more"):
        allowance.take("eve", 5)
    allowance.give_back("eve", 2)
    allowance.take("eve", 2)
    now[0] = 3601.0
    allowance.take("eve", 2)
    with pytest.raises(JudgeError, match="in a day"):
        allowance.take("ann", 1)
    now[0] = 86_401.0
    allowance.take("ann", 1)


def test_what_cannot_be_stored_decides_nothing(arena, store, judging, monkeypatch):
    decisions, round_id = judging(), played(arena)
    current, before = arena.round_of("eve", round_id), nothing_decided(store)

    def lost():
        raise StoreLostError("gone")

    monkeypatch.setattr(store, "check_file", lost)
    decisions.begin(current)
    assert "could not be stored" in settled(current).unjudged.trouble
    monkeypatch.undo()
    assert current.state.reveal is None
    assert nothing_decided(store) == before


def test_closing_drops_what_is_in_flight(arena, store, server):
    store.write(lambda cursor: judges.bind(cursor, *SPEC.binding))
    released = threading.Event()
    server.script = lambda _: verdict("A") if released.wait(PATIENCE) else None
    judge = Judge(SPEC, base_url=server.url, key=KEY, timeout=PATIENCE, patience=0.0)
    current = arena.round_of("eve", played(arena))
    with closing(JudgeOnRequest(judge, 4, Allowance(9, 9))) as asking:
        decisions = Decisions(store, asking)
        decisions.begin(current)
        until(lambda: server.asked)
    released.set()
    assert rows(store, "verdicts") == []
    with pytest.raises(JudgeError, match="closing"):
        decisions.begin(arena.round_of("ann", played(arena, "ann")))
