from __future__ import annotations

import os
import signal
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import duckdb
import pytest

from coupled_arena.core.errors import BattleError, StoreBusyError, StoreError
from coupled_arena.core.records import Mode, Origin, Prompt, Reply, Sampling
from coupled_arena.store.database import Store
from tests.families import first_of

HOLD = """
import sys
from pathlib import Path
from coupled_arena.store.database import Store
with Store.open(Path(sys.argv[1])):
    print("holding", flush=True)
    sys.stdin.read()
"""

VOTE = """
import os, sys, threading
from pathlib import Path
from coupled_arena.core.records import Vote, new_id
from coupled_arena.store.database import Store

store = Store.open(Path(sys.argv[1]))

def write():
    while True:
        vote = Vote(new_id(), sys.argv[2], new_id(), (1, 2))
        store.cast(vote)
        os.write(1, (vote.id + "\\n").encode())

for _ in range(4):
    threading.Thread(target=write).start()
"""


def test_a_battle_comes_back_as_it_went_in(store, new_battle):
    tokyo = timezone(timedelta(hours=9))
    battle = new_battle(
        *("a", "a", "b"), turns=2, created_at=datetime(2026, 3, 1, 2, 3, 4, 567891, tokyo)
    )
    assert store.add_battle(battle) is True
    assert store.battle(battle.id) == battle
    assert store.battle(battle.id).identical is False


def test_a_battle_may_lack_all_that_is_optional(store, new_battle):
    battle = new_battle(
        seed=0,
        mode=Mode.UNKNOWN,
        origin=Origin.IMPORT,
        sampling=Sampling(),
        prompts=(Prompt(""),),
        replies=(),
        arithmetic={},
        experiment=None,
        repetition=None,
    )
    store.add_battle(battle)
    assert store.battle(battle.id) == battle


def test_a_battle_is_written_once(store, new_battle):
    battle = new_battle(turns=2)
    store.add_battle(battle)
    assert store.add_battle(battle) is False
    assert store.add_battle(replace(battle, prompts=battle.prompts[:1])) is False
    assert store.battle(battle.id) == battle
    assert store.version() == (0, 1, 0, 0)


def test_a_follow_up_adds_its_turn_only(store, new_battle):
    both = new_battle(turns=2)
    first = replace(both, prompts=both.prompts[:1], replies=both.replies[:2])
    store.add_battle(first)
    changed = replace(both.replies[0], text="rewritten")
    assert store.add_battle(replace(both, replies=(changed, *both.replies[1:]))) is True
    assert store.battle(both.id) == both


def test_late_replies_join_their_turn(store, new_battle):
    battle = new_battle()
    store.add_battle(replace(battle, replies=battle.replies[1:]))
    assert store.add_battle(battle) is True
    assert store.battle(battle.id) == battle


@pytest.mark.parametrize("change", [{"seed": 1}, {"models": ("alpha", "gamma")}], ids=str)
def test_an_id_is_never_given_to_another_battle(store, new_battle, change):
    battle = new_battle(turns=1)
    store.add_battle(battle)
    other = replace(new_battle(turns=2), id=battle.id, **change)
    with pytest.raises(BattleError, match="Another battle is already stored"):
        store.add_battle(other)
    assert store.battle(battle.id) == battle


def test_a_battle_that_fails_midway_leaves_nothing(store, new_battle):
    battle = new_battle()
    astray = Reply(0, 5, "no such place", (), battle.replies[0].finish)
    with pytest.raises(IndexError):
        store.add_battle(replace(battle, replies=(*battle.replies, astray)))
    assert store.version() == (0, 0, 0, 0)
    with pytest.raises(BattleError):
        store.battle(battle.id)
    assert store.add_battle(battle) is True


def test_a_battle_is_found_by_the_beginning_of_its_id(store, new_battle):
    one, two = (new_battle(id=f"12345678{rest}") for rest in ("", "9_%"))
    store.add_battle(one)
    store.add_battle(two)
    assert store.battle("123456789") == two
    assert store.battle("12345678") == one  # a whole id comes before a beginning


@pytest.fixture(scope="module")
def two_alike(new_battle):
    with Store.in_memory() as store:
        store.add_battle(new_battle(id="12345678a"))
        store.add_battle(new_battle(id="12345678b"))
        yield store


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("12345678", "Several battles begin with '12345678'"),
        ("1234567", "at least the first 8 characters"),
        ("", "at least the first 8 characters"),
        ("________", "no battle '________'"),
        ("1234567890", "no battle '1234567890'"),
    ],
)
def test_a_battle_that_is_not_found_says_why(two_alike, wanted, reason):
    with pytest.raises(BattleError, match=reason):
        two_alike.battle(wanted)


def test_a_batch_run_knows_what_it_has_written(store, new_battle):
    mine = [new_battle(experiment="7", repetition=n) for n in range(3)]
    for battle in [*mine, new_battle(experiment="8"), new_battle(experiment=None)]:
        store.add_battle(battle)
    assert store.battles_of("7") == {battle.id for battle in mine}
    assert store.battles_of("9") == set()


def test_the_version_moves_with_battles_votes_and_verdicts(store, new_battle, new_vote):
    seen = [store.version()]
    battle = new_battle()
    store.add_battle(battle)
    seen.append(store.version())
    store.cast(new_vote(battle))
    seen.append(store.version())
    with store.cursor() as cursor:
        cursor.execute(
            """
            insert into verdicts
                (verdict, battle, judge, first_place, second_place, raw, judged_at)
            values ('v', ?, 'j', 0, 1, '[[?]]', now())
            """,
            [battle.id],
        )
    seen.append(store.version())
    assert seen == [(0, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0), (1, 1, 1, 0)]


def test_a_closed_store_gives_its_file_back(tmp_path, new_battle):
    path = tmp_path / "arena.duckdb"
    battle = new_battle()
    with Store.open(path) as store:
        store.add_battle(battle)
    store.close()
    with Store.open(path, read_only=True) as store:
        assert store.battle(battle.id) == battle
        with pytest.raises(StoreError, match="opened for reading only"):
            store.add_battle(new_battle())
        assert store.version() == (0, 1, 0, 0)


def test_what_cannot_be_opened_says_what_to_do(tmp_path):
    (tmp_path / "text.duckdb").write_text("not a database\n" * 1000)
    (tmp_path / "empty.duckdb").touch()
    cases = [
        ("text.duckdb", False, "is not a DuckDB database. Choose another file"),
        ("empty.duckdb", True, "is not a DuckDB database. Choose another file"),
        ("", False, "is a folder. Give a file in it"),
        ("none/arena.duckdb", False, "folder does not exist. Create the folder first"),
        ("none.duckdb", True, "does not exist yet. Check the path"),
        ("text.duckdb/arena.duckdb", False, "is a file, not a folder. Check the path"),
    ]
    for name, read_only, advice in cases:
        with pytest.raises(StoreError, match=advice) as caught:
            Store.open(tmp_path / name, read_only)
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "none.duckdb").exists()


@pytest.mark.parametrize("name", ["votes", "zebra"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_foreign_database_is_refused_untouched(tmp_path, name, read_only):
    path = tmp_path / "foreign.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"create table {name} (a integer)")
    with pytest.raises(StoreError, match="the database of another program"):
        Store.open(path, read_only)
    with duckdb.connect(path) as connection:
        assert connection.execute("select table_name from duckdb_tables()").fetchall() == [(name,)]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_table_that_duckdb_would_open_in_memory_is_refused(tmp_path, read_only):
    path = tmp_path / "scores.csv"
    path.write_text("battle,model,toxicity\nb,m,1\n")
    with pytest.raises(StoreError, match="it is not a DuckDB database"):
        Store.open(path, read_only)
    assert path.read_text().startswith("battle,model")


@pytest.fixture
def without_permission(tmp_path):
    """Take the right to use `tmp_path` from this process, which may be root's."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        tmp_path.chmod(0)
        yield
        tmp_path.chmod(0o700)


@pytest.mark.usefixtures("without_permission")
def test_a_forbidden_file_says_so(tmp_path):
    with pytest.raises(StoreError, match=r"permission is denied\. Check who may read"):
        Store.open(tmp_path / "arena.duckdb")


def test_a_file_in_use_names_its_owner(tmp_path, python):
    path = tmp_path / "it's mine.duckdb"
    owner = python(HOLD, path)
    assert owner.stdout.readline() == "holding\n"
    busy = rf"mine.duckdb is in use by process {owner.pid}\."
    for read_only in (False, True):
        with pytest.raises(StoreBusyError, match=busy):
            Store.open(path, read_only)
    owner.communicate()
    for read_only in (False, True):
        with Store.open(path, read_only) as store:
            assert store.version() == (0, 0, 0, 0)


@pytest.mark.parametrize("read_only", first_of(True, False))
def test_no_acknowledged_vote_dies_with_its_process(tmp_path, python, new_battle, read_only):
    path = tmp_path / "arena.duckdb"
    battle = new_battle()
    with Store.open(path) as store:
        store.add_battle(battle)
    acknowledged = []
    for _ in range(1 if read_only else 2):
        writer = python(VOTE, path, battle.id)
        acknowledged += [writer.stdout.readline().strip() for _ in range(30)]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += writer.stdout.read().split()
        writer.wait()
        with Store.open(path, read_only) as store, store.cursor() as cursor:
            kept = {vote for (vote,) in cursor.execute("select vote from votes").fetchall()}
        assert set(acknowledged) <= kept
        assert len(kept) - len(acknowledged) <= 4 * 2  # at most one in flight a thread and run
