"""Small files that unpack to gigabytes are refused in one line, in little memory."""

from __future__ import annotations

import gzip
import subprocess
import sys

import duckdb
import pytest

from coupled_arena.core import bounds
from coupled_arena.core.bounds import Bound
from coupled_arena.core.errors import ScoreError, StoreError
from coupled_arena.core.files import LARGEST_NOTE, LONGEST_LINE
from coupled_arena.core.prompts import read_prompts
from coupled_arena.core.tables import read_frame
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.file_rows import load
from coupled_arena.store.transfer.importing import import_files

MEMORY = 1200  # MiB that a reader may add; each bomb needs more than 2,000
READ = """
import re, resource, sys
from pathlib import Path
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.tables import read_frame
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files
import pandas, duckdb

used = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
most = used + (int(sys.argv[2]) << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
path = Path(sys.argv[3])
try:
    if sys.argv[1] == "import":
        with Store.in_memory() as store:
            import_files(store, [path])
    else:
        read_frame(path, ArenaError)
except ArenaError as error:
    print(error)
"""
COLUMNS = {
    "one text": "i as model, repeat('x', 30000) as prompt from range(250000) r(i)",
    "long texts": "repeat('x', 50000000) as prompt from range(1000)",
    "lists": "i as a, [repeat('x', 9000), repeat('y', 9000)] as b from range(250000) r(i)",
    "lists of long texts": "[repeat('x', 3000000)] as a from range(3000)",
    "objects": "{'a': {'b': repeat('x', 9000)}, 'c': map {'k': repeat('y', 9000)}} as a "
    "from range(250000)",
    "numbers": "1 as a, 2 as b, 3 as c, 4 as d from range(70000000)",
    "lists of numbers": "range(6000) as a from range(50000)",
}
LINES = {
    "long.csv.gz": (b"a,b\n", b"x," + b"0" * 100_000 + b"\n", 24_000),
    "many.csv.gz": (b"a,b\n", b"x,0\n" * 25_000, 6000),
    "many.jsonl.gz": (b"", b'{"a":0}\n' * 10_000, 14_000),
    "wide.jsonl.gz": (b"", b'{"a":[' + b"[]," * 5_000_000 + b"0]}\n", 30),
    "array.json.gz": (b"[", b"{}," * 100_000, 1300),
}


def told(way, path):
    """Return what a reader says in bounded memory, with its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", READ, way, str(MEMORY), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr[-300:]


def check(way, path):
    code, said, _ = told(way, path)
    assert code == 0, said
    assert said.count("\n") == 1
    assert f"{path} cannot be read: it " in said
    assert "keep the rows and columns you need, or split it." in said


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    def made(columns):
        path = tmp_path_factory.mktemp("bombs") / "bomb.parquet"
        with duckdb.connect() as connection:
            connection.execute(f"copy (select {columns}) to '{path}' (compression zstd)")
        assert path.stat().st_size < 1 << 20
        return path

    return made


@pytest.mark.slow
@pytest.mark.parametrize("way", ["frame", "import"])
def test_a_text_that_is_stored_once(way, parquet):
    check(way, parquet(COLUMNS["one text"]))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["frame", "import"])
@pytest.mark.parametrize("kind", [*COLUMNS][1:])
def test_other_parquet(way, kind, parquet):
    check(way, parquet(COLUMNS[kind]))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["frame", "import"])
@pytest.mark.parametrize("name", LINES)
def test_compressed_text(way, name, tmp_path):
    begin, line, times = LINES[name]
    path = tmp_path / name
    with gzip.GzipFile(path, "wb", 1) as file:
        file.write(begin)
        for _ in range(times):
            file.write(line)
    check(way, path)


SMALL = Bound(cells=30, bytes=1000)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "json", "parquet"])
def test_what_is_within_is_read_and_what_is_beyond_is_not(ending, tmp_path):
    for rows, text in ((5, "x"), (16, "x"), (3, "x" * 400)):
        path = tmp_path / f"{rows}.{ending}"
        kind = {"json": "(format json, array true)", "jsonl": "(format json)"}.get(ending, "")
        with duckdb.connect() as connection:
            query = f"select '{text}' as a, i as b from range({rows}) r(i)"
            connection.execute(f"copy ({query}) to '{path}' {kind}")
        if rows == 5:
            assert len(read_frame(path, ScoreError, bound=SMALL)) == rows
            continue
        with pytest.raises(ScoreError, match="30 cells" if rows > 5 else "more than 0 MB"):
            read_frame(path, ScoreError, bound=SMALL)


def test_names_that_each_row_repeats_count_in_an_import(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "_RATIO", 1)
    path = tmp_path / "names.csv"
    path.write_text(",".join("n" * 300 + str(i) for i in range(100)) + "\n" + "," * 99 + "\n" * 2)
    with path.open("a") as file:
        file.writelines(["," * 99 + "\n"] * 40_000)
    with Store.in_memory() as store, pytest.raises(Exception, match="unpacks to more than 1,024"):
        import_files(store, [path])


MISFITS = {
    "too many cells": b"[]," * 60_000,
    "too many lines": b"1,2,3,4,5\n" * 600_000,
    "too many in quotes": b',"\n"' * 60_000,
    "no UTF-8": b"\xff,1\n" * 600_000,
}


@pytest.mark.parametrize("kind", MISFITS)
def test_cells_that_do_not_fit_are_counted_before_the_file_is_read(kind, tmp_path):
    """DuckDB keeps the text of a line for each of its cells that does not fit."""
    path = tmp_path / "misfits.csv"
    path.write_bytes(b"model,prompt,nice\n" + MISFITS[kind])
    with Store.in_memory() as store, store.cursor() as cursor:
        with pytest.raises(StoreError, match=r"line \d+: up to here [\d,]+ cells are missing"):
            load(cursor, path)
        tables = cursor.execute("select table_name from duckdb_tables()").fetchall()
    assert ("unread",) not in tables


def test_a_quotation_mark_that_stays_open_hides_no_rows(tmp_path):
    path = tmp_path / "open.csv"
    rows = b"1,a,b,model_a\n" * (LONGEST_LINE // 10)
    path.write_bytes(b'num,model_a,model_b,winner\n1,a,b,tie\n2,a,b,"tie\n' + rows)
    with Store.in_memory() as store, pytest.raises(StoreError, match="is a quotation mark open"):
        import_files(store, [path])


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_import_reads_what_is_compressed(ending, tmp_path):
    path = tmp_path / f"votes.{ending}.gz"
    with duckdb.connect() as connection:
        row = "'q' as question_id, 'a' as model_a, 'b' as model_b, 'tie' as winner"
        kind = "(format json, compression gzip)" if ending == "jsonl" else ""
        connection.execute(f"copy (select {row}) to '{path}' {kind}")
    with Store.in_memory() as store:
        assert import_files(store, [path]).votes == 1


def test_a_large_file_may_unpack_to_more(tmp_path):
    path = tmp_path / "large"
    for size, most in ((0, 1), (20 << 20, 2000 / 1024), (1 << 40, 16)):
        with path.open("wb") as file:
            file.truncate(size)
        assert bounds.STORED.of(path).bytes == most * (1 << 30)


def test_a_note_has_an_end(tmp_path):
    path = tmp_path / "prompts.txt"
    with path.open("wb") as file:
        file.truncate(LARGEST_NOTE + 1)  # takes no room on the disk
    with pytest.raises(Exception, match="larger than 64 MB"):
        read_prompts(path)
