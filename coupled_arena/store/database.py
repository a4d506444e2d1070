"""The database file: who owns it, how it is opened, and every way to read or change it."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import duckdb

from coupled_arena.core.errors import StoreBusyError, StoreError, StoreLostError
from coupled_arena.core.records import Battle, Score, Vote
from coupled_arena.store import migrations
from coupled_arena.store.files import reason
from coupled_arena.store.tables import battles, scores, upkeep, votes

T = TypeVar("T")
_log = logging.getLogger(__name__)

# Extensions would be fetched from the network; the ones used here are built in.
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

_RETRY_AFTER = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
_WRITE_ERRORS = (duckdb.OperationalError, duckdb.ConstraintException, duckdb.FatalException)

_ADVICE = {
    "not a valid DuckDB database": "it is not a DuckDB database. Choose another file.",
    "Is a directory": "it is a folder. Give a file in it.",
    "in read-only mode: database does not exist": "it does not exist yet. Check the path.",
    "No such file or directory": "its folder does not exist. Create the folder first.",
    "Not a directory": "a part of its path is a file, not a folder. Check the path.",
    "Permission denied": "permission is denied. Check who may read and write it and its folder.",
}


class Store:
    """One process's hold on the database; any thread may use it.

    Reads run side by side. Writes take turns, so that the sequence numbers of votes appear in
    the order of their commits and `version` never skips one.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, path: Path | None, *, read_only: bool
    ) -> None:
        self.path = path
        self.read_only = read_only
        self._connection = connection
        self._file = None if path is None or read_only else _identity(path)
        self._writing = threading.Lock()
        self.snapshotting = threading.Lock()  # two at once would write the same file

    @classmethod
    def open(cls, path: Path, read_only: bool = False) -> Self:
        """Open a database file, creating or upgrading it unless it is only to be read.

        Raises
        ------
        StoreBusyError
            Another process owns the file.
        StoreError
            The file cannot be opened, or its schema is not the one this program needs.
        """
        _check_kind(path)
        try:
            return cls(_connect(str(path), read_only=read_only), path, read_only=read_only)
        except duckdb.Error as error:
            raise _explain(path, error) from error

    @classmethod
    def in_memory(cls) -> Self:
        """Return an empty store that vanishes when closed."""
        return cls(_connect(":memory:", read_only=False), None, read_only=False)

    def close(self) -> None:
        """Give the file back; closing twice is harmless."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor of its own for one thread and one piece of work; close it after."""
        return self._connection.cursor()

    def check_file(self) -> None:
        """Make sure that what is written lands where it will be looked for.

        Raises
        ------
        StoreLostError
            The file was moved, deleted or exchanged since it was opened.
        """
        if self._file and self.path and _identity(self.path) != self._file:
            raise StoreLostError(
                f"{self.path} was moved, deleted or exchanged while the arena runs: nothing more "
                "is stored. Put it back, or stop the arena and run "
                f"`coupled-arena restore --db {self.path}`."
            )

    def is_well(self) -> bool:
        """Tell whether the database answers, and is where it was."""
        try:
            self.check_file()
            self.version()
        except (StoreError, duckdb.Error) as error:
            _log.warning("The database is not well: %s", reason(error))
            return False
        return True

    def add_battle(self, battle: Battle, marks: Sequence[Score] = ()) -> bool:
        """Write a battle, or those of its turns, replies and scores that are not stored yet.

        Returns
        -------
        bool
            False if all of it was already there.

        Raises
        ------
        BattleError
            Another battle (other models or another seed) has this id.
        StoreError
            The database cannot be written.
        """

        def add(cursor: duckdb.DuckDBPyConnection) -> bool:
            added = battles.add(cursor, battle)
            scores.add(cursor, battle.id, marks)
            if added:
                upkeep.enrol(cursor, "battle = $battle", {"battle": battle.id})
                upkeep.refresh(cursor, "battle = $battle", {"battle": battle.id})
            return added

        return self.write(add)

    def cast(self, vote: Vote, *, reveal: bool = True) -> None:
        """Write a vote and return once it is safe on disk.

        Casting the same vote again changes nothing, so a client may retry. An earlier vote of
        the same voter on the same battle is superseded.

        Parameters
        ----------
        vote : Vote
            Its ranks are as many as the battle has models.
        reveal : bool
            The voter is shown who is who in reply; later votes on this battle are refused.

        Raises
        ------
        VoteError
            The battle is unknown or already revealed to this voter, the ranks do not fit it, or
            another vote has this id.
        StoreError
            The database cannot be written.
        """

        def cast(cursor: duckdb.DuckDBPyConnection) -> None:
            votes.cast(cursor, vote, reveal=reveal)
            upkeep.refresh(cursor, "battle = $battle", {"battle": vote.battle})

        self.write(cast)

    def battle(self, battle_id: str) -> Battle:
        """Return a battle by its id, or by the first 8 or more characters of it.

        Raises
        ------
        BattleError
            There is no such battle, or more than one.
        """
        with self.cursor() as cursor:
            return battles.load(cursor, battle_id)

    def battles_of(self, experiment: str) -> set[str]:
        """Return the ids of the battles that a batch run has already written."""
        with self.cursor() as cursor:
            return battles.of_experiment(cursor, experiment)

    def version(self) -> tuple[int, int, int]:
        """Return the last vote's number, the number of battles, the last verdict's number.

        Whatever a leaderboard shows is unchanged as long as this is; it costs about 1 ms.
        """
        last_vote, count, last_verdict = self._row(
            """
            select
                (select coalesce(max(seq), 0) from votes),
                (select count(*) from battles),
                (select coalesce(max(seq), 0) from verdicts)
            """
        )
        return last_vote, count, last_verdict

    def write(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Do a piece of work in one transaction, in turn with all other writes.

        The work may be done again from the start if another writer came between; whatever it
        raises, it leaves nothing in the database. Work that changes battles, votes or verdicts
        calls on `coupled_arena.store.tables.upkeep`.

        Raises
        ------
        StoreError
            The database cannot be written, or is no longer where it was.
        """
        if self.read_only:
            raise StoreError(f"{self.path} was opened for reading only.")

        def checked(cursor: duckdb.DuckDBPyConnection) -> T:
            result = work(cursor)
            self.check_file()  # as late as can be: what follows is only the commit
            return result

        with self._writing, self.cursor() as cursor:
            try:
                return _retry(cursor, checked)
            except _WRITE_ERRORS as error:
                raise StoreError(f"{self.path} cannot be written: {reason(error)}") from error

    def _row(self, query: str) -> tuple[int, ...]:
        with self.cursor() as cursor:
            return cursor.execute(query).fetchall()[0]


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_kind(path: Path) -> None:
    """Refuse a file of another kind: DuckDB takes some for tables, and writes into memory."""
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except OSError:
        return  # DuckDB says why, or makes the file
    if head and head[8:12] != b"DUCK":
        raise StoreError(f"{path} cannot be opened: {_ADVICE['not a valid DuckDB database']}")


def _connect(name: str, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(name, read_only=read_only, config=CONFIG)
    try:
        if not read_only:
            migrations.migrate(connection)
        elif migrations.check(connection) < len(migrations.MIGRATIONS):
            raise StoreError(
                f"{name} has an older schema, or none. Open it once for writing, "
                "which brings it up to date."
            )
    except (duckdb.Error, StoreError):
        connection.close()
        raise
    return connection


def _retry(cursor: duckdb.DuckDBPyConnection, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    for seconds in _RETRY_AFTER:
        try:
            return _transact(cursor, work)
        except (duckdb.TransactionException, duckdb.ConstraintException):
            # A second Store on this file in this process wrote the same key first. Once its
            # commit is finished its rows are visible, and the work can answer properly.
            time.sleep(seconds)
    return _transact(cursor, work)


def _transact(
    cursor: duckdb.DuckDBPyConnection, work: Callable[[duckdb.DuckDBPyConnection], T]
) -> T:
    cursor.execute("begin")
    try:
        result = work(cursor)
        cursor.execute("commit")
    except BaseException:
        migrations.rollback(cursor)
        raise
    return result


def _explain(path: Path, error: duckdb.Error) -> StoreError:
    why = reason(error)
    if owner := re.search(r"\(PID (\d+)\)", why):
        return StoreBusyError(
            f"{path} is in use by process {owner[1]}. Stop that process, or choose another file."
        )
    for sign, advice in _ADVICE.items():
        if sign in why:
            return StoreError(f"{path} cannot be opened: {advice}")
    return StoreError(f"{path} cannot be opened: {why}")
