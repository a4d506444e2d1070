"""Votes that can be undone: stored at once, counted once, whoever comes first."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

from coupled_arena.battles import undo
from coupled_arena.battles.annotation import Annotation
from coupled_arena.battles.arena import Arena, ArenaRules
from coupled_arena.core.errors import PromptError, StoreLostError, VoteError
from coupled_arena.core.records import Finish, Prompt, Sampling, Source
from coupled_arena.store.database import Store
from coupled_arena.store.tables import votes
from coupled_arena.store.transfer.export import export, fingerprint
from coupled_arena.store.transfer.snapshots import snapshot
from coupled_arena.store.work_queues.battles import Backlog
from tests.battles.test_battle import QUESTION, endless, finish, played
from tests.counted import counted, vote_count
from tests.patience import until
from tests.stored import MODELS, fill, rows

LONG = 60.0  # seconds; no test waits for them


@pytest.fixture
def arena(make_arena):
    """An arena whose votes can be undone for longer than a test takes."""
    made = make_arena(undo_seconds=LONG)
    yield made
    made.close()


@pytest.fixture
def annotation(store):
    fill(store, [f"Which way is {n}?" for n in range(24)], MODELS[:2])
    backlog = Backlog(store)
    made = Annotation(store, backlog, random.Random(1), undo_seconds=LONG)
    yield made
    made.close()
    backlog.close()


@pytest.fixture(params=["arena", "annotation"])
def rounds(request):
    """An arena or an annotation, and a round of eve's that waits for her vote."""
    made = request.getfixturevalue(request.param)
    return made, played(made) if request.param == "arena" else made.next("eve")


def held(store):
    with store.cursor() as cursor:
        return votes.held(cursor)


def test_a_vote_that_can_be_undone_is_stored_and_counts_for_nothing(rounds, store):
    arena, round_id = rounds
    before = store.version(), counted(store), fingerprint(store), vote_count(store)
    reveals = rows(store, "from reveals")
    assert arena.vote("eve", round_id, [2, 1]) is None
    assert (store.version(), counted(store), fingerprint(store), vote_count(store)) == before
    assert rows(store, "from reveals") == reveals
    (vote,) = held(store)
    assert (vote.voter, vote.ranks, vote.source) == ("eve", (2, 1), Source.HUMAN)
    view = arena.view("eve", round_id)
    assert view.reveal is None
    assert (view.recorded.ranks, view.recorded.both_bad) == ((2, 1), False)
    assert 0 < view.recorded.left <= LONG


def test_nothing_that_a_browser_gets_before_the_vote_counts_tells_who_is_who(arena, models):
    round_id = played(arena, size=3)
    arena.vote("eve", round_id, [1, 2, 3])
    battle = arena._rounds.of("eve", round_id).state.battle
    text = json.dumps(dataclasses.asdict(arena.view("eve", round_id)))
    secrets = [*models, battle.mode.value, f"{battle.seed:016x}", str(battle.seed)]
    secrets += [battle.nonce.hex(), battle.id]
    assert [secret for secret in secrets if f'"{secret}"' in text or f" {secret}" in text] == []
    with pytest.raises(VoteError, match="Vote first"):
        arena.revealed_battle("eve", round_id)


def test_it_counts_at_once_when_the_voter_wants_the_names(rounds, store):
    arena, round_id = rounds
    arena.vote("eve", round_id, [2, 1])
    (vote,) = held(store)
    before = vote_count(store)
    arena.confirm("eve", round_id)
    arena.confirm("eve", round_id)  # a double press
    told = arena.view("eve", round_id).reveal
    assert (told.vote, told.ranks) == (vote.id, (2, 1))
    assert arena.view("eve", round_id).recorded is None
    assert (held(store), vote_count(store)) == ([], before + 1)
    assert (*told.models, "human", "second", 1) in counted(store)
    assert rows(store, "select voter from reveals where voter = 'eve'")
    with pytest.raises(VoteError, match="can no longer be undone"):
        arena.undo("eve", round_id)
    assert vote_count(store) == before + 1


def test_undo_opens_the_ballot_again(rounds, store):
    arena, round_id = rounds
    before = vote_count(store)
    blind = arena.view("eve", round_id)
    arena.vote("eve", round_id, [2, 1])
    arena.undo("eve", round_id)
    assert arena.view("eve", round_id) == blind
    assert (held(store), vote_count(store)) == ([], before)
    with pytest.raises(VoteError, match="no vote to undo"):
        arena.undo("eve", round_id)
    arena.vote("eve", round_id, [1, 1], both_bad=True)
    arena.confirm("eve", round_id)
    told = arena.view("eve", round_id).reveal
    assert (told.ranks, told.both_bad) == ((1, 1), True)
    assert vote_count(store) == before + 1


def test_only_its_owner_undoes_a_vote_or_gets_the_names(rounds, store):
    arena, round_id = rounds
    arena.vote("eve", round_id, [2, 1])
    for act in (arena.undo, arena.confirm):
        with pytest.raises(VoteError, match="not open"):
            act("mallory", round_id)
    assert len(held(store)) == 1
    assert arena.view("eve", round_id).reveal is None


def test_a_second_vote_is_refused_until_the_first_is_undone(rounds, store):
    arena, round_id = rounds
    arena.vote("eve", round_id, [2, 1])
    with pytest.raises(VoteError, match="undo that vote first"):
        arena.vote("eve", round_id, [1, 2])
    (vote,) = held(store)
    assert vote.ranks == (2, 1)


def test_answers_that_a_vote_stopped_stay_stopped_after_undo(make_arena, models, store):
    endless(models)
    arena = make_arena(max_new_tokens=900, coupled_share=0.0, undo_seconds=LONG)
    round_id = arena.ask("eve", QUESTION)
    while not all(arena.view("eve", round_id).turns[0].answers):
        pass
    arena.vote("eve", round_id, [1, 2])
    assert arena.view("eve", round_id).recorded.early
    with pytest.raises(PromptError, match="undo that to ask on"):
        arena.follow_up("eve", round_id, "and then")
    shown = arena.view("eve", round_id).turns
    arena.undo("eve", round_id)
    view = arena.view("eve", round_id)
    assert (view.running, view.turns) == (False, shown)
    arena.vote("eve", round_id, [2, 1])
    arena.confirm("eve", round_id)
    told = arena.view("eve", round_id).reveal
    assert (told.ranks, told.early) == ((2, 1), False)
    replies = store.battle(told.battle).replies
    assert {reply.finish for reply in replies} == {Finish.CANCELLED}
    arena.close()


def test_a_conversation_goes_on_after_undo(arena):
    round_id = played(arena)
    arena.vote("eve", round_id, [2, 1])
    arena.undo("eve", round_id)
    arena.follow_up("eve", round_id, "and then")
    view = finish(arena, "eve", round_id)[-1]
    assert [turn.prompt for turn in view.turns] == [QUESTION.text, "and then"]


# The time -------------------------------------------------------------------------------------


def test_a_vote_counts_when_its_time_is_over_with_no_page_to_ask(make_arena, store):
    arena = make_arena(undo_seconds=0.05)
    round_id = played(arena)
    before = vote_count(store)
    arena.vote("eve", round_id, [2, 1])
    until(lambda: vote_count(store) == before + 1)
    assert held(store) == []
    until(lambda: arena.view("eve", round_id).reveal)
    arena.close()


def test_the_time_of_an_undone_vote_is_not_that_of_the_next(make_arena, store, monkeypatch):
    timers = []
    monkeypatch.setattr(undo.Votes, "_later", lambda *arguments: timers.append(arguments))
    arena = make_arena(undo_seconds=LONG)
    round_id = played(arena)
    before = vote_count(store)
    arena.vote("eve", round_id, [2, 1])
    arena.undo("eve", round_id)
    arena.vote("eve", round_id, [1, 2])
    (votes, current, first, _), (_, _, second, _) = timers
    votes._time_is_over(current, first)
    assert vote_count(store) == before
    assert [vote.ranks for vote in held(store)] == [(1, 2)]
    votes._time_is_over(current, second)
    assert vote_count(store) == before + 1


def test_a_page_that_looks_when_the_time_is_over_gets_the_names(arena):
    round_id = played(arena)
    arena.vote("eve", round_id, [2, 1])
    assert asyncio.run(arena.look("eve", round_id)).reveal is None
    current = arena._rounds.of("eve", round_id)
    current.change(held=dataclasses.replace(current.state.held, until=0.0))
    assert asyncio.run(arena.look("eve", round_id)).reveal


def test_a_voter_who_asks_on_has_voted(arena, store):
    round_id = played(arena)
    arena.vote("eve", round_id, [2, 1])
    (vote,) = held(store)
    arena.ask("eve", Prompt("something else"))
    assert held(store) == [vote]
    arena.confirm("eve", round_id)
    assert arena.view("eve", round_id).reveal.vote == vote.id


def opened(rounds, turn):
    """Return a round that waits for her vote. Without it, its question is not asked again."""
    if isinstance(rounds, Arena):
        return played(rounds, prompt=Prompt(f"turn {turn}"))
    return rounds.next("eve")


@pytest.mark.slow
def test_undo_and_the_end_of_the_time_at_once_have_one_outcome(rounds, store):
    """Whoever comes first has it: the vote counts and undo is refused, or there is no vote."""
    arena, _ = rounds
    with ThreadPoolExecutor(4) as pool:
        for turn in range(20):
            round_id = opened(arena, turn)
            before = vote_count(store)
            arena.vote("eve", round_id, [2, 1])
            both = threading.Barrier(4)

            def attempt(act, both=both, round_id=round_id):
                both.wait()
                try:
                    act("eve", round_id)
                except VoteError as error:
                    return str(error)
                return None

            acts = [arena.undo, arena.confirm] * 2 if turn % 2 else [arena.confirm, arena.undo] * 2
            said = dict(zip(range(4), pool.map(attempt, acts), strict=True))
            counts = vote_count(store) - before
            refused = [text for place, text in said.items() if text and acts[place] == arena.undo]
            assert held(store) == []
            assert (arena.view("eve", round_id).reveal is not None) == bool(counts)
            assert (counts, len(refused)) in ((0, 1), (1, 2))


def test_many_presses_at_once_are_one_vote(rounds, store):
    arena, round_id = rounds
    both = threading.Barrier(8)

    def press(place):
        both.wait()
        try:
            return arena.vote("eve", round_id, [1 + place % 2, 2 - place % 2])
        except VoteError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(press, range(8)))
    assert said.count(None) == 1
    assert len(held(store)) == 1


# The end of the process -----------------------------------------------------------------------


@pytest.fixture
def db(tmp_path):
    return tmp_path / "arena.duckdb"


@contextmanager
def open_arena(db, models, worker, seconds=LONG, **more):
    with Store.open(db) as store:
        sampling = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=12)
        rules = ArenaRules(sampling, undo_seconds=seconds, **more)
        arena = Arena(models, worker, store, rules, random.Random(0))
        yield arena, store
        killed(arena)


def killed(arena):
    """Let nothing more come of an arena's votes: a process that is killed has no timers."""
    arena._votes._closing = True


def test_votes_left_by_a_crash_can_be_undone_when_the_arena_starts(db, models, worker):
    with open_arena(db, models, worker) as (arena, store):  # left without its close
        for owner in ("eve", "mia"):
            arena.vote(owner, played(arena, owner), [2, 1])
        left = held(store)
        before = vote_count(store)
        reasons = {"criteria": ["style"], "comment": "short"}
        arena.explain("eve", left[0].id, **reasons)
    assert len(left) == 2
    with open_arena(db, models, worker) as (arena, store):
        assert (held(store), vote_count(store)) == (left, before)
        eves, mias = arena.newest("eve"), arena.newest("mia")
        view = arena.view("eve", eves)
        assert (view.recorded.ranks, view.reveal) == ((2, 1), None)
        assert view.recorded.left > 0
        assert view.reasons.comment == "short"
        with pytest.raises(VoteError, match="not open"):
            arena.undo("mia", eves)
        arena.undo("eve", eves)
        arena.vote("eve", eves, [1, 2])
        arena.confirm("eve", eves)
        arena.confirm("mia", mias)
        votes = rows(store, "select vote, voter, ranks from votes where source = 'human'")
        assert sorted((voter, ranks) for _, voter, ranks in votes) == [
            ("eve", [1, 2]),
            ("mia", [2, 1]),
        ]
        assert rows(store, "select count(*) from reveals r semi join votes v using (battle, voter)")
        assert counted(store)
    with open_arena(db, models, worker) as (_, store):
        assert (held(store), vote_count(store)) == ([], before + 2)


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_votes_left_over_count_with_no_page_to_ask(db, models, worker, monkeypatch, seconds):
    with open_arena(db, models, worker) as (arena, store):
        arena.vote("eve", played(arena), [2, 1])
        before = vote_count(store)
    monkeypatch.setattr(undo, "_RETURN", 0.05)
    with open_arena(db, models, worker, seconds) as (_, store):
        until(lambda: vote_count(store) == before + 1)
        assert held(store) == []


def test_votes_left_by_a_crash_can_be_undone_over_stored_battles_too(db):
    with Store.open(db) as store:
        fill(store, ["Which way?"], MODELS[:2])
        with closing(Backlog(store)) as backlog:
            annotation = Annotation(store, backlog, undo_seconds=LONG)
            annotation.vote("eve", annotation.next("eve"), [2, 1])
            killed(annotation)
    with Store.open(db) as store, closing(Backlog(store)) as backlog:
        annotation = Annotation(store, backlog, undo_seconds=LONG)
        assert (len(held(store)), vote_count(store)) == (1, 0)
        round_id = annotation.next("eve")
        assert round_id == annotation.opened("eve")
        assert annotation.view("eve", round_id).recorded.ranks == (2, 1)
        annotation.undo("eve", round_id)
        annotation.vote("eve", round_id, [1, 2])
        annotation.confirm("eve", round_id)
        assert rows(store, "select ranks from votes") == [([1, 2],)]
        killed(annotation)


def test_a_voter_gets_the_same_battle_again_after_a_restart(db):
    with Store.open(db) as store:
        fill(store, [f"Which way is {n}?" for n in range(24)], MODELS[:2])
        drawn = []
        for owner in ("eve", "mia", "eve", "mia"):
            with closing(Backlog(store)) as backlog:
                annotation = Annotation(store, backlog)
                drawn.append(annotation.view(owner, annotation.next(owner)).commitment)
        assert drawn[:2] == drawn[2:]
        assert drawn[0] != drawn[1]


def test_a_vote_left_over_that_would_not_be_blind_is_named_and_dropped(db, models, worker, caplog):
    with open_arena(db, models, worker) as (arena, store):
        arena.vote("eve", played(arena), [2, 1])
        (vote,) = held(store)
        query = "insert into reveals values (?, 'eve', now())"
        store.write(lambda cursor: cursor.execute(query, [vote.battle]))
        before = vote_count(store)
    with open_arena(db, models, worker) as (_, store):
        assert (held(store), vote_count(store)) == ([], before)
    assert f"Vote {vote.id} of an earlier run does not count" in caplog.text


def test_an_orderly_end_leaves_what_can_be_undone(rounds, store, caplog):
    """It must not take from its voter the seconds that they were promised."""
    arena, round_id = rounds
    before = vote_count(store)
    arena.vote("eve", round_id, [2, 1])
    arena.close()
    assert (len(held(store)), vote_count(store)) == (1, before)
    assert "Votes that could still be undone: 1." in caplog.text


@pytest.fixture(params=["arena", "annotation"])
def last_rounds(request, make_arena, store):
    """As `rounds`, where nothing that can be undone is left for another start."""
    if request.param == "arena":
        made = make_arena(undo_seconds=LONG, held_over=False)
        yield made, played(made)
        return
    fill(store, [f"Which way is {n}?" for n in range(24)], MODELS[:2])
    with closing(Backlog(store)) as backlog:
        made = Annotation(store, backlog, random.Random(1), undo_seconds=LONG, held_over=False)
        yield made, made.next("eve")


def test_where_no_start_follows_beside_the_disk_the_end_counts_it(last_rounds, store, caplog):
    arena, round_id = last_rounds
    before = vote_count(store)
    arena.vote("eve", round_id, [2, 1])
    assert (len(held(store)), vote_count(store)) == (1, before)
    arena.close()
    assert (held(store), vote_count(store)) == ([], before + 1)
    assert arena.view("eve", round_id).reveal.ranks == (2, 1)
    with pytest.raises(VoteError, match="it can no longer be undone"):
        arena.undo("eve", round_id)
    assert "could still be undone" not in caplog.text


def test_a_vote_that_comes_during_the_end_counts_too(last_rounds, store):
    arena, round_id = last_rounds
    before = vote_count(store)
    arena.close()
    assert arena.vote("eve", round_id, [2, 1]).ranks == (2, 1)
    assert (held(store), vote_count(store)) == ([], before + 1)


def test_the_end_goes_on_where_a_last_vote_cannot_be_stored(db, models, worker, caplog):
    with open_arena(db, models, worker, held_over=False) as (arena, store):
        arena.vote("eve", played(arena), [2, 1])
        away = db.rename(db.with_name("away.duckdb"))
        arena.close()
        assert "A vote is not counted before the end" in caplog.text
        assert "Votes that could still be undone: 1." in caplog.text
        away.rename(db)
        assert len(held(store)) == 1


def test_a_vote_waits_while_the_database_is_away(db, models, worker, monkeypatch, caplog):
    monkeypatch.setattr(undo, "_RETRY", 0.05)
    with open_arena(db, models, worker, seconds=0.2) as (arena, store):
        round_id = played(arena)
        before = vote_count(store)
        arena.vote("eve", round_id, [2, 1])
        away = db.rename(db.with_name("away.duckdb"))
        until(lambda: "A vote waits to be counted" in caplog.text)
        with pytest.raises(StoreLostError):
            arena.confirm("eve", round_id)
        assert arena.view("eve", round_id).recorded
        away.rename(db)
        until(lambda: vote_count(store) == before + 1)
        until(lambda: arena.view("eve", round_id).reveal)
        arena.close()


# Copies ---------------------------------------------------------------------------------------


def test_no_copy_has_a_vote_that_can_still_be_undone(db, models, worker, tmp_path):
    with open_arena(db, models, worker) as (arena, store):
        round_id = played(arena)
        before = fingerprint(store)
        arena.vote("eve", round_id, [2, 1])
        (vote,) = held(store)
        assert fingerprint(store) == before
        for path in export(store, tmp_path / "out", "csv"):
            assert vote.id not in path.read_text()
        snapshot(store, tmp_path / "copy.duckdb")
        assert len(held(store)) == 1
        arena.close()
    with Store.open(tmp_path / "copy.duckdb") as copy:
        assert held(copy) == []
        assert rows(copy, "select 1 from votes where source = 'human'") == []
