"""Snapshots and their restoring on a large store, against bare copies.

    python -m benchmarks.snapshots [--votes N] [--folder DIR]

Times a snapshot, which first makes sure that it loses nothing of the one before, against DuckDB's
copy alone; and `restore`, which verifies every block and every table, against a copy of the file.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from benchmarks.leaderboard import fill, seconds
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.restoring import restore
from coupled_arena.store.transfer.snapshots import remove, snapshot, snapshot_path

ROUNDS = 5


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--votes", type=int, default=1_000_000)
    arguments.add_argument("--folder", type=Path, default=None)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        against_bare_copies(Path(folder) / "arena.duckdb", given.votes)


def against_bare_copies(db: Path, votes: int) -> None:
    bare = db.with_name("bare.duckdb")
    with Store.open(db) as store:
        fill(store, votes, 1)
        snapshot(store, snapshot_path(db))
        ours = [seconds(lambda: snapshot(store, snapshot_path(db))) for _ in range(ROUNDS)]
        theirs = [seconds(lambda: copy_database(store, bare)) for _ in range(ROUNDS)]
    report("snapshot", ours, "COPY FROM DATABASE", theirs)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        db.unlink()
        ours.append(seconds(lambda: restore(db)))
        theirs.append(seconds(lambda: shutil.copyfile(db, bare)))
    report("restore", ours, "a copy of the file", theirs)


def copy_database(store: Store, path: Path) -> None:
    remove(path)
    with store.cursor() as cursor:
        cursor.execute(f"attach '{path}' as bare; copy from database arena to bare; detach bare")


def report(name: str, ours: list[float], other: str, theirs: list[float]) -> None:
    mine, bare = statistics.median(ours), statistics.median(theirs)
    print(f"{name}: {mine:.2f} s; {other}: {bare:.2f} s; ratio {mine / bare:.2f}")


if __name__ == "__main__":
    main()
