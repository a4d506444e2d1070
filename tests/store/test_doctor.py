"""Whether a database is whole, by the command: text, JSON, exit codes, what lies beside it."""

from __future__ import annotations

import json
import shutil

import duckdb
import pytest

from coupled_arena.store.annotators import add_annotators, annotators_path
from coupled_arena.store.checks.examine import CHECKS
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
from coupled_arena.store.transfer.targets import BackupFolder
from tests.store import whole


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    db = folder / "arena.duckdb"
    (folder / "backup").mkdir()
    (folder / "arena.toml").write_text('[backup]\nfolder = "{}"\n')
    with Store.open(db) as store:
        whole.fill(store)
        snapshot(store, snapshot_path(db))
        Backup(store, BackupFolder(folder / "backup"), 5).close()
    add_annotators(annotators_path(db), ["Zoë"])
    return folder


@pytest.fixture
def db(kept, tmp_path):
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    config = tmp_path / "arena.toml"
    config.write_text(config.read_text().format(tmp_path / "backup"))
    return tmp_path / "arena.duckdb"


@pytest.fixture
def findings(call, db):
    """Return what is wrong, by check."""

    def ask():
        code, out, _ = call("doctor", db, "--config", db.with_name("arena.toml"), "--json")
        answer = json.loads(out)
        assert answer["whole"] is (code == 0)
        return {row["check"]: row for row in answer["checks"] if row["wrong"]}

    return ask


@pytest.mark.slow
def test_a_whole_database_and_all_beside_it(call, db, findings):
    files = {path: path.read_bytes() for path in db.parent.rglob("*") if path.is_file()}
    assert findings() == {}
    code, out, _ = call("doctor", "--db", db)
    lines = out.splitlines()
    assert (code, len(lines)) == (0, len(CHECKS) + 2 + 4)  # schema; what lies beside
    assert all(line.startswith("ok     ") for line in lines)
    assert files == {path: path.read_bytes() for path in db.parent.rglob("*") if path.is_file()}


def test_a_fault_is_a_line_with_what_to_do(call, db):
    with duckdb.connect(str(db)) as connection:
        connection.execute("update votes set ranks = [1] where vote in ('v2', 'v3')")
    code, out, err = call("doctor", db)
    (line,) = [line for line in out.splitlines() if line.startswith("WRONG  ranks")]
    assert (code, err) == (1, "")
    assert "not so 2 times, the first is v2. Bring a whole snapshot back" in line


def test_what_lies_beside_is_told(db, findings):
    with Store.open(db) as store, store.cursor() as cursor:
        cursor.execute("delete from grades")
    snapshot_path(db).with_name("arena.snapshot-hour.duckdb").write_bytes(b"torn")
    db.with_name("arena.snapshot.duckdb.partial").touch()
    annotators_path(db).write_text("[")
    chunk = db.parent / "backup" / "chunks" / "000001"
    (chunk / "votes.parquet").write_bytes(b"torn")
    found = findings()
    assert found.keys() == {"files", "snapshots", "rows of snapshots", "annotators", "backup"}
    assert "snapshot.duckdb.partial" in found["files"]["first"]
    assert "votes.parquet of chunk 1 is damaged" in found["backup"]["first"]


def test_what_a_database_lacks_of_its_backup_is_told(db, findings):
    with Store.open(db) as store, store.cursor() as cursor:
        cursor.execute("delete from verdicts where verdict = 'j7'")
        cursor.execute("delete from comparisons where judge_no = 2")
    found = findings()
    assert found.keys() == {"counts", "rows of snapshots", "rows of the backup"}
    assert found["rows of the backup"]["wrong"] == 1


@pytest.mark.slow
def test_a_snapshot_stands_for_a_database_in_use(call, db, python):
    script = (
        "import sys\nfrom pathlib import Path\nfrom coupled_arena.store.database import Store\n"
        "with Store.open(Path(sys.argv[1])):\n    print('open', flush=True)\n    sys.stdin.read()"
    )
    owner = python(script, db)
    assert owner.stdout.readline() == "open\n"
    code, out, err = call("doctor", db, "--json")
    assert (code, json.loads(out)["age"] >= 0) == (0, True)
    assert "is in use" in err


@pytest.mark.parametrize("content", [None, b"hello, world", b"a,b\n1,2\n"])
def test_a_file_that_is_no_database_is_refused(call, tmp_path, content):
    path = tmp_path / "odd.duckdb"
    if content:
        path.write_bytes(content)
    code, out, err = call("doctor", path)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert path.exists() == bool(content)


def test_one_name_is_enough(call, db):
    assert call("doctor", db, "--db", db)[0] == 2
