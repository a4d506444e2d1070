"""Files that are torn, odd or endless: each command says so in one line, and leaves nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from coupled_arena.core.errors import ScoreError, StoreError
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.connection import MIGRATIONS, migrate
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing_scores import import_scores
from coupled_arena.store.transfer.snapshots import row_counts_of
from tests.families import first_of
from tests.store import whole
from tests.store.conftest import make_battle, make_vote

pytestmark = pytest.mark.timeout(120)  # a file without an end would be read for ever
B = "0" * 31 + "b"
WHY = ("--reason", "odd", "--by", "keeper")
DB = ("--db", "arena.duckdb")
READING = {
    "leaderboard": (),
    "agreement": (),
    "audit": ("--judge", "one"),
    "coupling": (),
    "risk": (),
    "voters": (),
    "exclusions": (),
    "battles": (),
    "export": ("--out", "out"),
    "report": ("--out", "out"),
    "resample": ("--human", "2", "--total", "4", "--repeats", "1"),
    "replay": (B,),
    "plan": ("--judge", "one", "beta"),
    "exclude": ("--voter", "ann", *WHY),
    "include": ("x1", *WHY),
    "import": ("duels.csv",),
    "import-scores": ("scores.csv",),
}
TABLES = {
    "duels.csv": "model_a,model_b,winner,question_id\na,b,model_a,1\nb,a,tie,2\n",
    "scores.csv": f"battle,model,nice\n{B},alpha,1\n{B},beta,.5\n",
    "risk.csv": "model,prompt,nice\n" + "".join(f"{m},{p},{p}\n" for m in "ab" for p in range(9)),
    "noise.csv": "Noise,a,b\n" + "Coupled,1,0\n" * 4 + "Independent,0,1\n" * 4,
    "grades.csv": "model,prompt,judge,truth\n" + "a,1,1,0\n" * 3,
    "arena.toml": 'language = "en"\n',
    "log.jsonl": '{"doc_id": 1, "target": "x", "filtered_resps": ["x"]}\n' * 3,
    "arena.annotators.json": f"[{' ' * 40}]",
}
READERS = {
    "import": ("duels.csv", ("import", "duels.csv", *DB)),
    "import-scores": ("scores.csv", ("import-scores", "scores.csv", *DB)),
    "risk": ("risk.csv", ("risk", "risk.csv")),
    "risk of a log": ("log.jsonl", ("risk", "log.jsonl")),
    "coupling": ("noise.csv", ("coupling", "--scores", "noise.csv")),
    "audit": ("grades.csv", ("audit", "--table", "grades.csv")),
    "settings": ("arena.toml", ("voters", "--config", "arena.toml", *DB)),
    "annotators": ("arena.annotators.json", ("annotators", *DB)),
}
FOREIGN = {
    "text": b"hello, this is text\n" * 40,
    "parquet": b"PAR1" + bytes(99),
    "of another program": b"SQLite format 3\0" + bytes(9999),
    "random": random.Random(1).randbytes(9999),
    "zeros": bytes(9999),
}


@pytest.fixture(scope="module")
def whole_db(tmp_path_factory):
    db = tmp_path_factory.mktemp("whole") / "arena.duckdb"
    with Store.open(db) as store:
        whole.fill(store)
    return db


@pytest.fixture
def db(whole_db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text)
    return Path(shutil.copy(whole_db, tmp_path))


@pytest.fixture
def refused(call, db):
    """Run a command, which must fail in one line; return that."""

    def run(*arguments, db=db):
        code, out, err = call(*arguments, "--db", db)
        assert (code, out, err.count("\n")) == (1, "", 1), (arguments, code, out, err)
        assert err.startswith("Error: ")
        assert "Traceback" not in err
        return err

    return run


def blank(db):
    """Zero the blocks that hold rows; the catalog stays, so that the file can be opened."""
    with duckdb.connect(str(db), read_only=True) as connection:
        tables = connection.execute("select table_name from duckdb_tables()").fetchall()
        blocks = {
            block
            for (name,) in tables
            for (block,) in connection.execute(
                f"select block_id from pragma_storage_info('{name}') where block_id >= 0"
            ).fetchall()
        }
    with db.open("r+b") as file:
        for block in blocks:
            file.seek(3 * 4096 + block * 262_144)
            file.write(bytes(262_144))


@pytest.mark.parametrize("command", first_of(*READING))
def test_no_command_reads_what_is_torn(refused, db, tmp_path, command):
    blank(db)
    before = db.read_bytes()
    assert "coupled-arena doctor" in refused(command, *READING[command])
    assert db.read_bytes() == before
    assert not [path for path in tmp_path.rglob("*") if path.is_dir() and list(path.iterdir())]


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("command", ["leaderboard", "import", "doctor", "restore"])
def test_a_file_of_another_kind_is_no_database(refused, db, command, content):
    db.write_bytes(content)
    more = ("--from", db) if command == "restore" else READING.get(command, ())
    refused(command, *more, db=db if command != "restore" else db.with_name("other.duckdb"))
    assert db.read_bytes() == content


@pytest.mark.parametrize("share", [0, 100, 4096, 8192, 12_287, 12_288, 0.5, 0.999])
def test_a_torn_database_is_told(refused, db, share):
    content = db.read_bytes()
    torn = content[: share if isinstance(share, int) else int(share * len(content))]
    db.write_bytes(torn)
    for command in ("export", "doctor"):
        if command == "doctor" and share in (0.5, 0.999):
            continue  # it can be opened, and doctor finds what is wrong
        refused(command, *READING.get(command, ()))
        assert db.read_bytes() == torn


@pytest.fixture
def disk(tmp_path):
    """A small disk; what is done to it last: fill it, or make it read-only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "why"), [("full", "the disk is full"), ("read-only", "ead-only file system")]
)
def test_a_disk_that_takes_nothing(refused, db, disk, way, why):
    if way == "full":
        with suppress(OSError), (disk / "all").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for command in (("export", "--format", "flat"), ("export", "--format", "csv"), ("report",)):
        assert why in refused(*command, "--out", disk / "out").replace("Read", "read")
    for command in (("import", "duels.csv"), ("annotators", "add", "Ann")):
        told = refused(*command, db=disk / "new.duckdb").replace("Read", "read")
        assert why in told
    assert not [path for path in disk.rglob("*") if path.is_file() and path.name != "all"]


def test_a_read_only_folder_can_be_read(call, db, disk):
    there = Path(shutil.copy(db.with_name("duels.csv"), disk)).with_name("arena.duckdb")
    code, _, err = call("import", "duels.csv", "--db", there)
    assert code == 0, err
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for command in ("leaderboard", "doctor", "export"):
        code, out, err = call(command, "--db", there, *READING.get(command, ()))
        assert code == 0, out + err


OLD = range(1, len(MIGRATIONS))


@pytest.mark.parametrize(
    "step",
    [each if each in (1, OLD[-1]) else pytest.param(each, marks=pytest.mark.slow) for each in OLD],
)
def test_a_migration_that_was_killed_goes_on(tmp_path, step):
    """Each step is one commit, so that a kill leaves the schema of a step; see also the next."""
    db = tmp_path / "arena.duckdb"
    with duckdb.connect(str(db)) as connection:
        migrate(connection, MIGRATIONS[:step])
    with pytest.raises(StoreError, match="older schema"):
        Store.open(db, read_only=True)
    with Store.open(db) as store, store.cursor() as cursor:
        assert [found for found in examine(cursor) if found.wrong] == []


def test_a_kill_within_a_step_leaves_the_one_before(db, tmp_path):
    script = (
        "import os, sys, duckdb\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "connection.execute('begin')\n"
        "connection.execute('drop view counted_votes; drop table inclusions')\n"
        "connection.execute('update votes set ranks = [9]')\n"
        "os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", script, db], check=False).returncode == 9
    with Store.open(db) as store, store.cursor() as cursor:
        assert [found for found in examine(cursor) if found.wrong] == []


@pytest.mark.slow
def test_a_clock_that_goes_back_changes_no_order():
    """The last vote stands, whatever time it says; only the doctor minds."""
    with Store.in_memory() as store:
        whole.fill(store)
        battle = make_battle("alpha", "beta")
        store.add_battle(battle)
        for ranks, minutes in (((1, 2), 0), ((2, 1), -90)):
            moment = battle.created_at + timedelta(minutes=minutes)
            store.cast(make_vote(battle, *ranks, cast_at=moment), reveal=False)
        with store.cursor() as cursor:
            (stands,) = cursor.execute(
                "select ranks from current_votes where battle = ?", [battle.id]
            ).fetchall()
            found = [(each.check, each.wrong) for each in examine(cursor) if each.wrong]
    assert stands == ([2, 1],)
    assert found == [("order of time", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["long.csv", "rows.jsonl", "array.json"])
def test_scores_that_are_cut_anywhere(tmp_path, form):
    """Either some lines are left, or one line says why none is; never what a database would say."""
    rows = [f'{{"battle": "{B}", "model": "{m}", "nice": 1}}' for m in ("alpha", "beta")]
    content = {
        "long.csv": f"battle,place,metric,score\n{B},0,nice,1\n{B},1,nice,2\n",
        "rows.jsonl": "\n".join(rows),
        "array.json": f"[{','.join(rows)}]",
    }[form]
    path, told = tmp_path / form, []
    with Store.in_memory() as store:
        whole.fill(store)
        for length in range(len(content)):
            if content[:length].endswith("000"):
                continue  # within an id, all cuts are alike
            path.write_text(content[:length])
            try:
                import_scores(store, [path])
            except (ScoreError, StoreError) as error:
                told.append(str(error))
    assert told
    assert not [text for text in told if "onstraint" in text or "\n" in text]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("import",), "long.csv"),
        (("import",), "long.jsonl"),
        (("risk",), "long.csv"),
        (("coupling", "--scores"), "long.jsonl"),
        (("import",), "wide.csv"),
        (("risk",), "wide.csv"),
    ],
)
def test_lines_and_columns_have_a_bound(call, tmp_path, monkeypatch, command, name):
    """A line without an end is given up after 16 MB; a table has at most 10,000 columns."""
    monkeypatch.chdir(tmp_path)
    begin = '{"model_a": "' if name.endswith("l") else "model_a,model_b,winner\na,b,"
    with (tmp_path / name).open("w") as file:
        file.write(begin if name.startswith("long") else "")
        for n in range(20):
            file.write("x" * 2**20 if name.startswith("long") else f"{n}," * 2000)
    code, out, err = call(*command, name)
    assert (code, out, err.count("\n")) == (1, "", 1), err
    assert "line" in err


def odd_files(path):
    """Yield what each oddity is called, with the path in its place."""
    content = path.read_bytes()
    for name, torn in {
        "torn": content[: len(content) * 2 // 3 - 1],
        "zeroed": content[:9] + bytes(max(len(content) - 9, 0)),
        "empty": b"",
        "random": random.Random(2).randbytes(5000),
        "wrong": b"DUCK" * 900,
    }.items():
        path.write_bytes(torn)
        yield name
    path.unlink()
    yield "gone"
    os.mkfifo(path)
    yield "pipe"
    path.unlink()
    path.symlink_to("/dev/zero")
    yield "device"
    path.unlink()
    path.symlink_to(path)
    yield "circle"
    path.unlink()
    path.mkdir()
    yield "folder"


@pytest.mark.parametrize("reader", first_of(*READERS))
def test_files_that_are_read(call, db, tmp_path, reader):
    name, command = READERS[reader]
    path = tmp_path / name
    for oddity in odd_files(path):
        before = row_counts_of(db)
        code, out, err = call(*command)
        told = (reader, oddity, code, out, err)
        assert "Traceback" not in err, told
        assert "Error:" not in err.removeprefix("Error: "), told  # of a library, raw
        if oddity in ("pipe", "device"):
            assert code == 1, told
            assert "it is a pipe or a device: give a file" in err, told
        if code not in (0, 3):  # 3: some lines are rejected, the others taken
            assert (code, out, err.count("\n")) == (1, "", 1), told
            assert row_counts_of(db) == before
        else:
            assert oddity in HARMLESS.get(reader, ()), told


# What is left of a text may be a shorter one, of which lines are rejected or which says less.
HARMLESS = {
    "import": ("torn",),
    "import-scores": ("torn",),
    "settings": ("torn", "empty"),
    "annotators": ("gone",),
    "risk": ("torn",),
    "coupling": ("torn",),
}


@pytest.mark.parametrize("odd", ["pipe", "device", "folder", "circle", "gone"])
def test_a_database_is_a_file(refused, db, odd):
    there = set(db.parent.iterdir())
    for name in odd_files(db):
        if name == odd:
            for command in ("leaderboard", "doctor", "exclude"):
                refused(command, *READING.get(command, ()))
            assert set(db.parent.iterdir()) <= there
