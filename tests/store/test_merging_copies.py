"""Two annotators' copies of one database: their votes land on its battles."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coupled_arena.battles.annotation import Annotation
from coupled_arena.core.errors import VoteError
from coupled_arena.core.records import Finish, Mode, Origin, Source, new_id
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.export import export, fingerprint
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.store.work_queues.battles import Backlog
from tests.batches import at_once
from tests.counted import counted

FORMATS = ["parquet", "jsonl", "csv", "arena"]


@pytest.fixture(scope="module")
def copies(tmp_path_factory, new_battle):
    """Battles made on one machine, as three files: the owner's and two annotators', with votes."""
    folder = tmp_path_factory.mktemp("copies")
    origin = folder / "gpu.duckdb"
    with Store.open(origin) as store:
        for n in range(3):
            battle = new_battle(origin=Origin.GENERATE, seed=n, mode=Mode.INDEPENDENT)
            same = tuple(
                replace(reply, text="same" if n == 2 else reply.text, finish=Finish.STOP)
                for reply in battle.replies
            )
            store.add_battle(replace(battle, replies=same))
    for name in ("ann", "bob"):
        annotate(Path(shutil.copy(origin, folder / f"{name}.duckdb")), name)
    return origin, folder / "ann.duckdb", folder / "bob.duckdb"


def annotate(path, voter):
    """Vote on every battle that comes up."""
    with Store.open(path) as store:
        rounds = Annotation(store, Backlog(store))
        while round := rounds.next(voter):
            rounds.vote(voter, round, (1, 2) if voter == "ann" else (1, 1))


def taken(path, out, format):
    """Take the votes away."""
    with Store.open(path, read_only=True) as store:
        return export(store, out, format)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_both_annotators_votes_land_on_the_battles(copies, tmp_path, format):
    origin, *others = copies
    files = [taken(path, tmp_path / f"from {path.stem}", format) for path in others]
    with Store.open(Path(shutil.copy(origin, tmp_path))) as store:
        for written in files:
            done = import_files(store, written)
            assert (done.rejected, done.battles, done.votes) == ((), 0, 3)
        pairs = counted(store)
        before = fingerprint(store)
        done = import_files(store, [file for written in files for file in written])
        assert (done.rejected, done.battles, done.votes) == ((), 0, 0)
        assert fingerprint(store) == before
        with store.cursor() as cursor:
            modes = cursor.execute("select distinct mode from comparisons").fetchall()
    assert pairs == [
        ("alpha", "beta", "human", "first", 2),
        ("alpha", "beta", "human", "tie", 2),
        ("alpha", "beta", "identical", "tie", 2),
    ]
    assert modes == [("independent",)]


def test_votes_and_arena_rows_of_one_copy_are_the_same_votes(copies, tmp_path):
    origin, ann, _ = copies
    rows, tables = (taken(ann, tmp_path / format, format) for format in ("arena", "jsonl"))
    with (
        Store.open(Path(shutil.copy(origin, tmp_path))) as store,
        Store.open(ann, read_only=True) as copy,
    ):
        assert import_files(store, rows).votes == 3
        done = import_files(store, tables)
        assert (done.rejected, done.votes) == ((), 0)
        assert fingerprint(store) == fingerprint(copy)


def merged(store, copy, tmp_path):
    return import_files(store, export(copy, tmp_path / new_id(), "jsonl"))


@pytest.fixture
def pair(new_battle):
    """A store and a copy of it with one battle."""
    battle = new_battle(origin=Origin.GENERATE)
    with Store.in_memory() as store, Store.in_memory() as copy:
        for one in (store, copy):
            one.add_battle(battle)
        yield store, copy, battle


def current(store):
    with store.cursor() as cursor:
        return cursor.execute("select voter, ranks from current_votes order by voter").fetchall()


@pytest.mark.slow
def test_another_vote_under_a_known_id_is_rejected(pair, new_vote, tmp_path):
    store, copy, battle = pair
    vote = new_vote(battle, 1, 2, id="v1")
    store.cast(vote)
    copy.cast(replace(vote, ranks=(2, 1)))
    done = merged(store, copy, tmp_path)
    assert [row.reason for row in done.rejected] == ["vote v1 is known with other content"]
    assert current(store) == [("ann", [1, 2])]


@pytest.mark.slow
def test_a_changed_mind_supersedes_and_an_older_vote_does_not(pair, new_vote, tmp_path):
    store, copy, battle = pair
    first = new_vote(battle, 1, 2)
    second = new_vote(battle, 2, 1, cast_at=first.cast_at + timedelta(seconds=1))
    store.cast(first, reveal=False)
    copy.cast(second, reveal=False)
    assert merged(store, copy, tmp_path).votes == 1
    assert current(store) == [("ann", [2, 1])]
    with Store.in_memory() as late:
        late.add_battle(battle)
        late.cast(new_vote(battle, 1, 1, cast_at=first.cast_at), reveal=False)
        done = merged(store, late, tmp_path)
    assert [row.reason for row in done.rejected] == ["ann has voted on this later, in the store"]
    assert current(store) == [("ann", [2, 1])]


@pytest.mark.slow
def test_a_vote_after_the_names_were_told_is_rejected(pair, new_vote, tmp_path):
    store, copy, battle = pair
    vote = new_vote(battle, 1, 2)
    store.cast(vote)
    copy.cast(new_vote(battle, 2, 1, cast_at=vote.cast_at + timedelta(days=1)), reveal=False)
    done = merged(store, copy, tmp_path)
    assert [row.reason for row in done.rejected] == [
        "ann had been told the models before this vote"
    ]
    assert current(store) == [("ann", [1, 2])]


@pytest.mark.slow
def test_what_was_told_stays_told(pair, new_vote, tmp_path):
    store, copy, battle = pair
    vote = new_vote(battle, 1, 2)
    store.cast(vote, reveal=False)
    copy.cast(vote)
    assert merged(store, copy, tmp_path).rejected == ()
    with pytest.raises(VoteError, match="already revealed"):
        store.cast(new_vote(battle, 2, 1))


def test_a_conversation_that_went_on_in_a_copy_goes_on(new_battle, tmp_path):
    battle = new_battle(turns=2, arithmetic={})
    begun = replace(
        battle,
        prompts=battle.prompts[:1],
        replies=tuple(reply for reply in battle.replies if reply.turn == 0),
    )
    with Store.in_memory() as store, Store.in_memory() as copy:
        store.add_battle(begun)
        copy.add_battle(battle)
        done = merged(store, copy, tmp_path)
        assert (done.battles, done.rejected) == (0, ())
        assert store.battle(battle.id) == battle


@pytest.mark.slow
def test_another_battle_under_a_known_id_is_rejected_with_its_votes(new_battle, new_vote, tmp_path):
    changes = [
        {"seed": 7},
        {"models": ("alpha", "gamma")},
        {"mode": Mode.COUPLED},
        {"nonce": bytes(16)},
        {"repetition": 9},
    ]
    battles = [new_battle(mode=Mode.INDEPENDENT) for _ in changes]
    with Store.in_memory() as store, Store.in_memory() as copy:
        with at_once(store) as here, at_once(copy) as there:
            for battle, change in zip(battles, changes, strict=True):
                here.add_battle(battle)
                other = replace(battle, **change)
                there.add_battle(other)
                there.cast(new_vote(other, 1, 2, source=Source.HUMAN))
        before = fingerprint(store)
        done = merged(store, copy, tmp_path)
        assert {f"battle {battle.id} is known with other content" for battle in battles} <= {
            row.reason for row in done.rejected
        }
        assert fingerprint(store) == before


@pytest.mark.slow
def test_a_vote_of_2046_is_known_to_the_microsecond(pair, new_vote, tmp_path):
    """Of such seconds a double has less than half a microsecond to spare."""
    _, copy, battle = pair
    late = datetime(2046, 12, 1, 0, 8, 2, 3849, UTC)
    copy.cast(replace(new_vote(battle, 2, 1, source=Source.HUMAN), cast_at=late))
    done = import_files(copy, export(copy, tmp_path, "arena"))
    assert (done.votes, done.rejected) == (0, ())


def test_votes_alone_find_their_battles(pair, new_vote, tmp_path):
    store, copy, battle = pair
    copy.cast(new_vote(battle, 2, 1, source=Source.HUMAN))
    _, _, votes, *_ = export(copy, tmp_path, "csv")
    done = import_files(store, [votes])
    assert (done.votes, done.rejected) == (1, ())
    with Store.in_memory() as empty:
        done = import_files(empty, [votes])
        assert [row.reason for row in done.rejected] == [f"there is no battle {battle.id}"]
