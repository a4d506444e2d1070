"""A database as DataFrames: the same columns and rows as its exports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError, StoreError
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
from tests.store.conftest import make_battle, make_vote
from tests.views import rubbish


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "arena.duckdb"
    with Store.open(path) as store:
        rubbish.fill(store)
        battle = make_battle()
        store.add_battle(battle)
        store.cast(make_vote(battle))
    return path


def test_frames_are_the_exported_files(database, call, tmp_path):
    code, _, _ = call("export", "--db", database, "--out", tmp_path)
    assert code == 0
    for table in ("battles", "replies", "votes", "verdicts", "scores", "grades"):
        exported = pd.read_parquet(tmp_path / f"{table}.parquet")
        found = getattr(ca.open(database), table)()
        assert len(found) > 0
        pd.testing.assert_frame_equal(found, exported, check_dtype=False)


def test_an_open_store_keeps_nobody_from_writing(database):
    store = ca.open(database)
    before = len(store.votes())
    battle = make_battle()
    with Store.open(database) as writer:
        writer.add_battle(battle)
        writer.cast(make_vote(battle))
    assert len(store.votes()) == before + 1


OWNER = """
import sys
from pathlib import Path
from coupled_arena.store.database import Store
with Store.open(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_the_snapshot_is_read_while_another_process_writes(database):
    with Store.open(database) as writer:
        snapshot(writer, snapshot_path(database))
    before = ca.open(database).battles()
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, database],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(ca.__file__).parents[1],
    ) as owner:
        assert owner.stdout.readline() == "open\n"
        pd.testing.assert_frame_equal(ca.open(database).battles(), before)
        owner.stdin.close()


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(StoreError, match="does not exist"):
        ca.open(tmp_path / "nothing.duckdb")
    (tmp_path / "text.duckdb").write_text("not a database, by any means")
    with pytest.raises(ArenaError, match="not a DuckDB database"):
        ca.open(str(tmp_path / "text.duckdb"))
    assert not list(tmp_path.glob("nothing*"))
