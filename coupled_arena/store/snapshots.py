"""Copies of a whole database that other processes can read."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb

from coupled_arena.errors import StoreBusyError, StoreError
from coupled_arena.store.database import Store
from coupled_arena.store.files import quoted, reason


def snapshot(store: Store, path: Path) -> None:
    """Copy the whole database, as of one moment, to a file that any process may open.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        with store.snapshotting, store.cursor() as cursor:
            _remove(partial)
            _copy_database(cursor, partial)
            partial.replace(path)
    except (OSError, duckdb.IOException) as error:
        raise StoreError(f"No snapshot can be written to {path}: {reason(error)}.") from error


def snapshot_path(db: Path) -> Path:
    """Return where the snapshots of a database lie: ``arena.snapshot.duckdb``."""
    return db.with_name(f"{db.stem}.snapshot{db.suffix}")


def open_for_reading(db: Path) -> tuple[Store, float | None]:
    """Open a database, or its newest snapshot while another process owns it.

    Returns
    -------
    store : Store
        Opened for reading only.
    age : float or None
        Age of the snapshot in seconds; None if the database itself was opened.

    Raises
    ------
    StoreBusyError
        Another process owns the database and there is no snapshot.
    StoreError
        The database cannot be opened.
    """
    try:
        return Store.open(db, read_only=True), None
    except StoreBusyError as busy:
        copy = snapshot_path(db)
        if not copy.exists():
            raise StoreBusyError(f"{busy} There is no snapshot {copy} to read instead.") from busy
        return Store.open(copy, read_only=True), time.time() - copy.stat().st_mtime


def _copy_database(cursor: duckdb.DuckDBPyConnection, path: Path) -> None:
    name = cursor.execute("select current_database()").fetchall()[0][0]
    source = '"' + name.replace('"', '""') + '"'
    cursor.execute(f"attach {quoted(str(path))} as snapshot_copy")
    try:
        cursor.execute(f"copy from database {source} to snapshot_copy")
    finally:
        # Detaching also folds the write-ahead log into the file.
        cursor.execute("detach snapshot_copy")


def _remove(partial: Path) -> None:
    """Remove what a killed snapshot left, with its write-ahead log."""
    partial.unlink(missing_ok=True)
    partial.with_name(f"{partial.name}.wal").unlink(missing_ok=True)
