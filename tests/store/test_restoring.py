"""A database that is lost, damaged or exchanged, and the way back from its snapshots."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import duckdb
import pytest

from coupled_arena.core.errors import StoreBusyError, StoreError, StoreLostError
from coupled_arena.store.checks.examine import faults
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.restoring import restore
from coupled_arena.store.transfer.snapshots import (
    SnapshotThread,
    count_rows,
    generations,
    open_for_reading,
    open_for_writing,
    snapshot,
    snapshot_path,
)
from tests.batches import at_once
from tests.patience import until


@pytest.fixture
def db(tmp_path):
    return tmp_path / "arena.duckdb"


@pytest.fixture(scope="module")
def kept(tmp_path_factory, new_battle, new_vote):
    db = tmp_path_factory.mktemp("kept") / "arena.duckdb"
    with Store.open(db) as store:
        with at_once(store) as batch:
            for _ in range(3):
                battle = new_battle()
                batch.add_battle(battle)
                batch.cast(new_vote(battle))
        snapshot(store, snapshot_path(db))
    return db


@pytest.fixture
def voted(db, kept):
    """A database with three votes and a snapshot of all of them."""
    shutil.copytree(kept.parent, db.parent, dirs_exist_ok=True)
    return db


def votes(path):
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute("select vote from votes order by all").fetchall()


def beside(db):
    return sorted(path.name for path in db.parent.iterdir())


def test_a_new_database_never_takes_the_place_of_a_lost_one(voted):
    held = votes(voted)
    voted.unlink()
    for opened in (open_for_writing, open_for_reading):
        with pytest.raises(StoreError, match=r"3 battles, 3 votes.*`coupled-arena restore --db"):
            opened(voted)
    assert not voted.exists()
    assert votes(snapshot_path(voted)) == held


def test_an_emptied_or_exchanged_database_is_not_served(voted, tmp_path, new_battle, new_vote):
    other = tmp_path / "other.duckdb"
    with Store.open(other) as store, at_once(store) as batch:
        for n in range(9):  # more rows than the lost one, but not its own
            battle = new_battle()
            batch.add_battle(battle)
            batch.cast(new_vote(battle, voter=f"voter {n}"))
    other.replace(voted)
    with pytest.raises(StoreError, match="lacks what its snapshot"):
        open_for_writing(voted)


def test_a_database_may_be_begun_anew_once_its_snapshots_are_elsewhere(voted):
    voted.unlink()
    for path in generations(voted):
        path.unlink()
    with open_for_writing(voted) as store:
        assert store.version() == (0, 0, 0, 0)


def test_a_damaged_database_names_the_way_back(voted):
    with voted.open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(StoreError, match="coupled-arena restore"):
        open_for_writing(voted)
    done = restore(voted)
    assert (done.votes, done.source) == (3, str(snapshot_path(voted)))


@pytest.mark.parametrize(
    ("left", "told"), [(5000, "it is cut off"), (None, "it is damaged")], ids=["cut", "changed"]
)
def test_a_damaged_database_without_snapshots_is_told_in_words(voted, left, told):
    for path in generations(voted):
        path.unlink()
    with voted.open("r+b") as file:
        if left:
            file.truncate(left)
        else:
            file.seek(8192)
            file.write(bytes(4096))
    with pytest.raises(StoreError, match=rf"{told}\. Bring back a copy.*\.$"):
        open_for_writing(voted)


@pytest.mark.parametrize("newer", ["empty", "full"])
def test_copies_with_other_times_bring_the_fullest_back(voted, tmp_path, newer):
    full = snapshot_path(voted)
    empty = full.with_name(f"{full.stem}-day{full.suffix}")
    with Store.open(tmp_path / "other.duckdb") as store:
        snapshot(store, empty)
    voted.unlink()
    os.utime(full, (9e8, 9e8 if newer == "empty" else 2e9))
    done = restore(voted)
    assert (done.votes, done.source) == (3, str(full))
    assert sorted(generations(voted)) == sorted([full, empty])


def test_a_snapshot_is_not_replaced_by_one_with_fewer_rows(voted, tmp_path):
    held = votes(snapshot_path(voted))
    with (
        Store.open(tmp_path / "empty.duckdb") as empty,
        pytest.raises(StoreError, match="it is kept"),
    ):
        snapshot(empty, snapshot_path(voted))
    assert votes(snapshot_path(voted)) == held


def test_an_unreadable_snapshot_is_set_aside(voted):
    copy = snapshot_path(voted)
    copy.write_bytes(b"no database")
    with open_for_writing(voted) as store:
        snapshot(store, copy)
    assert len(votes(copy)) == 3
    aside = copy.with_name("arena.snapshot-unreadable.duckdb")
    assert aside.read_bytes() == b"no database"


@pytest.mark.slow
def test_older_snapshots_are_kept_for_an_hour_and_a_day(voted, new_battle):
    newest = snapshot_path(voted)
    counts = {}
    with open_for_writing(voted) as store:
        for age in (60 * 3600, 30 * 3600, 2 * 3600, 60, 0):  # of the snapshot there is, in seconds
            written = newest.stat().st_mtime - age
            os.utime(newest, (written, written))
            store.add_battle(new_battle())
            snapshot(store, newest)
    for path in generations(voted):
        with Store.open(path, read_only=True) as copy:
            counts[path.name] = copy.version()[1]
    assert counts == {
        "arena.snapshot.duckdb": 8,
        "arena.snapshot-hour.duckdb": 6,
        "arena.snapshot-day.duckdb": 5,
    }


def test_restoring_sets_aside_what_is_in_the_way(voted):
    held = votes(voted)
    log = voted.with_name(f"{voted.name}.wal")
    log.write_bytes(b"of another database")
    voted.write_bytes(b"no database")
    done = restore(voted)
    assert votes(voted) == held
    assert len(done.set_aside) == 2
    assert {Path(path).read_bytes() for path in done.set_aside} == {
        b"of another database",
        b"no database",
    }
    with open_for_writing(voted) as store, store.cursor() as cursor:
        assert faults(cursor) == []


def test_the_newest_whole_snapshot_is_restored(voted, new_battle):
    with open_for_writing(voted) as store:
        store.add_battle(new_battle())
        snapshot(store, snapshot_path(voted))  # its forerunner becomes that of the hour
    newest = snapshot_path(voted)
    with newest.open("r+b") as file:
        file.truncate(newest.stat().st_size // 2)
    voted.unlink()
    done = restore(voted)
    assert done.source.endswith("arena.snapshot-hour.duckdb")
    assert (done.battles, len(done.passed_over)) == (3, 1)
    with open_for_writing(voted) as store:
        assert store.version()[1] == 3


def test_going_back_to_an_older_snapshot_must_be_asked_for(voted, new_battle):
    with open_for_writing(voted) as store:
        store.add_battle(new_battle())
        snapshot(store, snapshot_path(voted))
    with pytest.raises(StoreError, match="whole and has all"):
        restore(voted)
    older = voted.with_name("arena.snapshot-hour.duckdb")
    done = restore(voted, older)
    assert done.battles == 3
    with open_for_writing(voted) as store:  # the newer snapshot no longer stands in the way
        assert store.version()[1] == 3
    assert sum(".replaced-" in name for name in beside(voted)) == 2


def test_nothing_is_restored_under_a_running_arena(voted, python):
    script = (
        "import sys\nfrom pathlib import Path\nfrom coupled_arena.store.database import Store\n"
        "with Store.open(Path(sys.argv[1])):\n    print('open', flush=True)\n    sys.stdin.read()"
    )
    owner = python(script, voted)
    assert owner.stdout.readline() == "open\n"
    with pytest.raises(StoreBusyError):
        restore(voted)
    assert beside(voted) == ["arena.duckdb", "arena.snapshot.duckdb"]


def test_a_file_that_is_no_snapshot_restores_nothing(voted, tmp_path):
    held = votes(voted)
    (tmp_path / "notes.txt").write_text("hello")
    for name, why in (("notes.txt", "not a DuckDB database"), ("none", "no such file")):
        with pytest.raises(StoreError, match=why):
            restore(voted, tmp_path / name)
    assert votes(voted) == held


@pytest.mark.parametrize(
    "damage",
    [
        "delete from battles where battle = (select min(battle) from battles)",
        "delete from comparisons where battle_no = (select min(battle_no) from comparisons)",
    ],
)
def test_a_database_that_does_not_agree_with_itself_is_not_whole(voted, damage):
    with Store.open(voted) as store, store.cursor() as cursor:
        assert faults(cursor) == []
        cursor.execute(damage)
        assert faults(cursor)


@pytest.mark.parametrize("how", ["deleted", "moved", "exchanged"])
def test_nothing_is_acknowledged_once_the_file_is_gone(voted, tmp_path, how, new_battle):
    with Store.open(voted) as store:
        assert store.trouble() == ""
        if how == "deleted":
            voted.unlink()
        else:
            voted.rename(tmp_path / "aside.duckdb")
        if how == "exchanged":
            voted.write_bytes((tmp_path / "aside.duckdb").read_bytes())
        assert store.trouble() == "its file was moved, deleted or exchanged"
        with pytest.raises(StoreLostError, match="moved, deleted or exchanged"):
            store.add_battle(new_battle())
        assert store.version()[1] == 3
        if how == "moved":
            (tmp_path / "aside.duckdb").rename(voted)
            assert store.add_battle(new_battle())


class TestTheThread:
    def test_a_lost_file_s_last_votes_are_in_the_snapshot(self, db, new_battle, new_vote):
        with open_for_writing(db) as store:
            battle = new_battle()
            store.add_battle(battle)
            snapshot(store, snapshot_path(db))
            thread = SnapshotThread(store, snapshot_path(db), 3600.0)
            until(lambda: thread.copied == store.version())
            vote = new_vote(battle)
            store.cast(vote)
            db.unlink()
            thread.close()
        assert votes(snapshot_path(db)) == [(vote.id,)]

    def test_it_survives_every_error_and_says_so_once(self, db, monkeypatch, new_battle, caplog):
        failing = threading.Event()
        failing.set()
        real, looks = Store.version, []

        def version(self):
            looks.append(self)
            if failing.is_set():
                raise MemoryError("no room")
            return real(self)

        monkeypatch.setattr(Store, "version", version)
        with open_for_writing(db) as store:
            store.add_battle(new_battle())
            thread = SnapshotThread(store, snapshot_path(db), 0.01)
            assert until(lambda: thread.trouble).endswith("no room")
            until(lambda: len(looks) > 3)
            assert [text for text in caplog.messages if "no room" in text] == [thread.trouble]
            failing.clear()
            until(lambda: not thread.trouble)
            thread.close()
            with Store.open(snapshot_path(db), read_only=True) as copy, copy.cursor() as cursor:
                assert count_rows(cursor).rows["battles"] == 1


class TestTheCommand:
    def test_it_restores_and_tells(self, voted, call):
        voted.unlink()
        code, out, _ = call("restore", "--db", voted, "--json")
        done = json.loads(out)
        assert (code, done["votes"], done["set_aside"]) == (0, 3, [])
        code, _, err = call("restore", "--db", voted)
        assert (code, "whole and has all" in err) == (1, True)
        code, out, _ = call("leaderboard", "--source", "human", "--db", voted, "--json")
        assert code == 0
        assert sum(row["human_votes"] for row in json.loads(out)["models"]) == 6

    def test_without_any_snapshot_it_says_so(self, db, call):
        code, _, err = call("restore", "--db", db)
        assert (code, err) == (1, f"Error: There is no snapshot of {db}. Name one with --from.\n")

    @pytest.mark.parametrize(
        "command",
        [["import", "x.json"], ["judge", "--judge", "x", "--base-url", "http://127.0.0.1:9"]],
    )
    def test_no_command_begins_anew_beside_a_snapshot(self, voted, call, command):
        voted.unlink()
        code, _, err = call(*command, "--db", voted)
        assert (code, err.count("\n")) == (1, 1)
        assert "coupled-arena restore" in err
        assert not voted.exists()
