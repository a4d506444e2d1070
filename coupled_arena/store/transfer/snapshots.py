"""Copies of a whole database: for other processes to read, and to restore a lost one from.

There are three generations: the newest, one of about an hour ago, one of about a day ago. None is
ever replaced by a database that lacks something of it.
"""

from __future__ import annotations

import logging
import math
import os
import shutil
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from coupled_arena.core.errors import ArenaError, StoreBusyError, StoreError, StoreLostError
from coupled_arena.core.files import reason
from coupled_arena.core.sql import Cursor, column_of, quoted, value_of
from coupled_arena.store.connection import CONFIG
from coupled_arena.store.database import Store
from coupled_arena.store.tables import repeats, votes
from coupled_arena.store.tables.derived_rows import update_named

_TABLES = (
    *("battles", "turns", "replies", "votes", "reveals", "rationales"),
    *("verdicts", "scores", "grades", "exclusions", "inclusions", "repeats"),
    "gates",
)
_KEYED = {"battles": "battle", "votes": "vote", "verdicts": "verdict"}


@dataclass(frozen=True)
class RowCounts:
    """What a database held at one moment.

    Attributes
    ----------
    rows : mapping of str to int
        Number of rows by table.
    sample : mapping of str to str
        One id of each table that has ids and rows.
    """

    rows: Mapping[str, int]
    sample: Mapping[str, str]

    def __bool__(self) -> bool:
        """Whether there is anything to lose."""
        return any(self.rows.values())

    def __str__(self) -> str:
        """Return the counts that people look for, as "3 battles, 27 votes and 0 verdicts"."""
        battles, votes, verdicts = (self.rows.get(table, 0) for table in _KEYED)
        return f"{battles:,} battles, {votes:,} votes and {verdicts:,} verdicts"


def count_rows(cursor: Cursor) -> RowCounts:
    """Count what a database holds; its schema may be an older one."""
    present = set(column_of(cursor, "select table_name from duckdb_tables() where not internal"))
    rows = {
        table: value_of(cursor, f"select count(*) from {table}")
        for table in _TABLES
        if table in present
    }
    sample = {
        table: value_of(cursor, f"select max({key}) from {table}")
        for table, key in _KEYED.items()
        if rows.get(table)
    }
    return RowCounts(rows, sample)


def goes_on_from(cursor: Cursor, earlier: RowCounts) -> bool:
    """Tell whether a database of the newest schema has all that an earlier one held."""
    now = count_rows(cursor)
    return all(now.rows.get(table, 0) >= count for table, count in earlier.rows.items()) and all(
        cursor.execute(f"select 1 from {table} where {_KEYED[table]} = ?", [name]).fetchall()
        for table, name in earlier.sample.items()
    )


_OLDER = (("hour", 3600.0), ("day", 24 * 3600.0))  # generation, seconds between two of it
_LOG = 16 << 20  # bytes that DuckDB's write-ahead log may have before it is folded into the file


def snapshot(store: Store, path: Path, copying: Callable[[Cursor], None] | None = None) -> None:
    """Copy the whole database, as of one moment, to a file that any process may open.

    What the file held becomes an older generation where that is due.

    Parameters
    ----------
    copying : callable, optional
        Told the cursor that copies, so that somebody else can interrupt it.

    Raises
    ------
    StoreError
        The file cannot be written, or holds what the database does not: then it is kept.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        with store.snapshotting, store.cursor() as cursor:
            if copying:
                copying(cursor)
            _check_nothing_is_lost(cursor, path)
            remove(partial)
            try:
                _copy_database(cursor, partial)
                _keep_older(path)
                partial.replace(path)
            finally:
                remove(partial)  # of a copy that was interrupted
    except (OSError, duckdb.IOException) as error:
        raise StoreError(f"No snapshot can be written to {path}: {reason(error)}.") from error


def snapshot_path(db: Path) -> Path:
    """Return where the newest snapshot of a database lies: ``arena.snapshot.duckdb``."""
    return db.with_name(f"{db.stem}.snapshot{db.suffix}")


def generations(db: Path) -> tuple[Path, ...]:
    """Return the snapshots of a database that there are, the last written first."""
    newest = snapshot_path(db)
    paths = [newest, *(_generation(newest, name) for name, _ in _OLDER)]
    return tuple(sorted(filter(Path.exists, paths), key=_written, reverse=True))


def fullest_first(db: Path) -> tuple[Path, ...]:
    """Return the snapshots of a database, first those that cannot be read, then by their rows.

    No snapshot takes the place of one that holds more. So the fullest is the last, also where
    somebody has copied the files, and times tell nothing.
    """

    def rows(path: Path) -> float:
        try:
            return sum(row_counts_of(path).rows.values())
        except StoreError:
            return math.inf

    return tuple(sorted(generations(db), key=rows, reverse=True))


def row_counts_of(path: Path) -> RowCounts:
    """Return what a database file of any schema holds.

    Raises
    ------
    StoreError
        It is no whole database, or another process owns it.
    """
    try:
        with duckdb.connect(str(path), read_only=True, config=CONFIG) as connection:
            return count_rows(connection)
    except duckdb.Error as error:
        raise StoreError(f"{path} cannot be read: {reason(error)}") from error


def open_for_writing(db: Path, *, create: bool = True) -> Store:
    """Open a database to own it; a new one only where none has been lost.

    Parameters
    ----------
    create : bool
        Make the database where there is neither it nor a snapshot.

    Raises
    ------
    StoreBusyError
        Another process owns it.
    StoreError
        It is missing, damaged or another one, and its snapshots hold what it lacks.
    """
    if not db.exists() and (way_back := _way_back(db)):
        raise StoreError(f"{db} is missing. {way_back}")
    if not create and not db.exists():
        raise StoreError(f"{db} does not exist: make battles with `generate` first.")
    store = _open(db, read_only=False)
    with store.cursor() as cursor:
        lacking = next((path for path in generations(db) if lacks(cursor, path)), None)
    if lacking:
        store.close()
        raise StoreError(f"{db} lacks what its snapshot {lacking} holds. {_way_back(db)}")
    try:
        store.write(update_named)
    except BaseException:
        store.close()
        raise
    return store


@contextmanager
def open_to_fill(db: Path) -> Generator[Store]:
    """Open a database to bring rows into it; a new one that gets none is not left behind.

    Raises what `open_for_writing` raises.
    """
    is_new = not db.exists()
    with open_for_writing(db) as store:
        try:
            yield store
        finally:
            with store.cursor() as cursor:
                if is_new and not count_rows(cursor):
                    # While it is open nobody else has it. What a link leads to, not the link.
                    remove(db.resolve())


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
        return _open(db, read_only=True), None
    except StoreBusyError as busy:
        copy = snapshot_path(db)
        if not copy.exists():
            raise StoreBusyError(f"{busy} There is no snapshot {copy} to read instead.") from busy
        return Store.open(copy, read_only=True), max(0.0, time.time() - copy.stat().st_mtime)


def remove(db: Path) -> None:
    """Remove a database with its write-ahead log."""
    db.unlink(missing_ok=True)
    write_ahead_log(db).unlink(missing_ok=True)


def write_ahead_log(db: Path) -> Path:
    """Return where DuckDB keeps what a database's file does not hold yet."""
    return db.with_name(f"{db.name}.wal")


def snapshot_needs(db: Path) -> int:
    """Return how many bytes of the disk the next snapshot of a database may take."""
    files = (path for path in (db, write_ahead_log(db)) if path.exists())
    return sum(path.stat().st_size for path in files) + _LOG


def _open(db: Path, *, read_only: bool) -> Store:
    try:
        return Store.open(db, read_only=read_only)
    except StoreBusyError:
        raise
    except StoreError as error:
        if not (way_back := _way_back(db)):
            raise
        raise StoreError(f"{error} {way_back}") from error


def _way_back(db: Path) -> str:
    """Return how to restore a database from its fullest snapshot; empty if none holds anything."""
    for path in fullest_first(db):
        try:
            held = row_counts_of(path)
        except StoreError:
            continue  # an older generation may be whole; `restore` says what is wrong with this one
        if held:
            return (
                f"Its snapshot {path} holds {held}: `coupled-arena restore --db {db}` brings them "
                "back. To begin anew, move the snapshots elsewhere."
            )
    return ""


def lacks(cursor: Cursor, path: Path) -> bool:
    """Tell whether a snapshot, if it can be read, holds what a database does not."""
    try:
        return not goes_on_from(cursor, row_counts_of(path))
    except StoreError:
        return False


def _check_nothing_is_lost(cursor: Cursor, path: Path) -> None:
    if not path.is_file():
        return
    try:
        held = row_counts_of(path)
    except StoreError:
        # Nothing can be restored from it as it is, but somebody might want to try.
        path.replace(_generation(path, "unreadable"))
        return
    if not goes_on_from(cursor, held):
        raise StoreError(
            f"The snapshot {path} holds {held}, which the database lacks in part: it is kept. "
            "Move it elsewhere to get new snapshots."
        )


def _keep_older(newest: Path) -> None:
    """Hand snapshots down to the older generations that are due, before the newest is replaced."""
    names = [newest, *(_generation(newest, name) for name, _ in _OLDER)]
    steps = [(names[n], names[n + 1], apart) for n, (_, apart) in enumerate(_OLDER)]
    for younger, older, apart in reversed(steps):
        if younger.is_file() and (
            not older.exists() or _written(younger) - _written(older) >= apart
        ):
            kept = older.with_name(f"{older.name}.partial")
            kept.unlink(missing_ok=True)
            _link(younger, kept)
            kept.replace(older)


def _link(path: Path, other: Path) -> None:
    """Give a file a second name, so that it is never without its first; else copy it."""
    try:
        os.link(path, other)
    except OSError:  # a file system without hard links
        shutil.copy2(path, other)


def _copy_database(cursor: Cursor, path: Path) -> None:
    name = value_of(cursor, "select current_database()")
    source = '"' + name.replace('"', '""') + '"'
    cursor.execute(f"attach {quoted(str(path))} as snapshot_copy")
    try:
        cursor.execute(f"copy from database {source} to snapshot_copy")
        # By the time that somebody restores it these have been counted or undone: nobody knows.
        cursor.execute("delete from snapshot_copy.pending_votes")
        cursor.execute("delete from snapshot_copy.pending_rationales")
        cursor.execute("delete from snapshot_copy.origins")  # nobody else is to have them
    finally:
        # Detaching also folds the write-ahead log into the file.
        cursor.execute("detach snapshot_copy")


def _generation(newest: Path, name: str) -> Path:
    return newest.with_name(f"{newest.stem}-{name}{newest.suffix}")


def _written(path: Path) -> float:
    return path.stat().st_mtime


_log = logging.getLogger(__name__)
_SHARE = 20  # at most one part in so many of the time goes into snapshots


class SnapshotThread:
    """Keeps a copy of the database that other processes can read, renewed when it has changed.

    Parameters
    ----------
    path : Path
        The newest snapshot.
    seconds : float
        Least time between two.

    Attributes
    ----------
    trouble : str
        Why the last attempt failed; empty while all is well.
    copied : tuple of int or None
        `Store.version` as of the newest snapshot of this thread.
    """

    def __init__(self, store: Store, path: Path, seconds: float) -> None:
        self.trouble = ""
        self._store = store
        self._path = path
        self._seconds = seconds
        self.copied: tuple[int, ...] | None = None
        self._copied_beside = (0, 0)
        self._copying: Cursor | None = None
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, name="snapshots", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; a copy that is being written is abandoned, which leaves the one before."""
        self._leaving.set()
        if cursor := self._copying:
            with suppress(duckdb.Error):  # it has just been closed
                cursor.interrupt()
        self._thread.join()
        try:
            self._store.check_file()
        except StoreLostError:
            self._look()  # what was stored last, no file has that anybody will find

    def _work(self) -> None:
        pause = 0.0
        while not self._leaving.wait(pause):
            started = time.perf_counter()
            self._look()
            # A large store takes seconds to copy: that must stay a small part of the time.
            pause = max(self._seconds, _SHARE * (time.perf_counter() - started))

    def _look(self) -> None:
        """Renew the snapshot if the store has changed, and the trouble."""
        try:
            version, beside = self._store.version(), self._beside()
            if (version, beside) != (self.copied, self._copied_beside):
                snapshot(self._store, self._path, self._hold)
                self.copied, self._copied_beside = version, beside
            self._store.check_file()
        except ArenaError as error:
            self._report(str(error))
        except Exception as error:  # noqa: BLE001 (whatever it is, the next one may succeed)
            if not self._leaving.is_set():
                self._report(f"No snapshot of the database was made: {reason(error)}")
        else:
            self.trouble = ""
        finally:
            self._copying = None

    def _beside(self) -> tuple[int, int]:
        """Return what rises with rows that no board counts."""
        with self._store.cursor() as cursor:
            return votes.newest_rationale(cursor), repeats.count(cursor)

    def _hold(self, cursor: Cursor) -> None:
        self._copying = cursor

    def _report(self, trouble: str) -> None:
        if trouble != self.trouble:
            _log.error("%s", trouble, exc_info=_log.isEnabledFor(logging.DEBUG))
        self.trouble = trouble
