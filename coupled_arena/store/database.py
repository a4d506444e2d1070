"""The database file: who owns it, how it is opened, and every way to read or change it."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import duckdb

from coupled_arena.core.errors import StoreError, StoreFileError, StoreLostError
from coupled_arena.core.files import reason
from coupled_arena.core.records import Battle, Score, Vote
from coupled_arena.core.sql import Cursor
from coupled_arena.store import connection
from coupled_arena.store.connection import connect
from coupled_arena.store.shared_writes import Piece, WriteQueue
from coupled_arena.store.tables import battles, exclusions, scores, votes
from coupled_arena.store.tables.derived_rows import Due
from coupled_arena.store.tables.exclusions import BY_DEFAULT, Counting

T = TypeVar("T")
Item = TypeVar("Item")
_log = logging.getLogger(__name__)

_RETRY_AFTER = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
_FILE_ERRORS = (duckdb.OperationalError, duckdb.InternalError, duckdb.FatalException)


class Store:
    """One process's hold on the database; any thread may use it.

    Reads run side by side. Writes take turns: the sequence numbers of votes are in the order of
    their commits, and `version` never skips one. Battles and votes that wait for the same turn
    share its transaction.
    """

    def __init__(
        self,
        connection: Cursor,
        path: Path | None,
        *,
        read_only: bool,
        counting: Counting = BY_DEFAULT,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self._connection = connection
        self.counted = counting
        self._file = None if path is None or read_only else _identity(path)
        self._queue = WriteQueue(self._carry_out)
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
        return cls(connect(path, read_only=read_only), path, read_only=read_only)

    @classmethod
    def in_memory(cls) -> Self:
        """Return an empty store that vanishes when closed."""
        return cls(connect(None), None, read_only=False)

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
        if self.path and isinstance(error, duckdb.Error) and _is_of_the_file(error):
            raise StoreFileError(_damage(self.path, "read", error)) from error

    def cursor(self) -> Cursor:
        """Return a cursor of its own for one thread and one piece of work; close it after."""
        cursor = self._connection.cursor()
        if self.counted != BY_DEFAULT:
            exclusions.count_too(cursor, self.counted)
        return cursor

    def counting(self, *, excluded: bool = False, named: bool = False) -> Store:
        """Return the same database, to be read as if votes counted as `Counting` has them."""
        counted = Counting(excluded, named)
        return Store(self._connection, self.path, read_only=True, counting=counted)

    def check_file(self) -> None:
        """Make sure that the file is still at its path.

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

    def trouble(self) -> str:
        """Return the reason why nothing can be stored, or an empty string.

        It has no path; the log has.
        """
        try:
            self.check_file()
            self.version()
        except (StoreError, duckdb.Error) as error:
            _log.warning("The database is not well: %(why)s", {"why": reason(error)})
            lost = isinstance(error, StoreLostError)
            return "its file was moved, deleted or exchanged" if lost else "it does not answer"
        return ""

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
        return self.write_along(_add, (battle, marks))

    def add_battles(self, marked: Sequence[Marked]) -> None:
        """Write battles with their scores, all or none.

        Many cost little more than one, as what follows from them is computed once. Battles that
        are there get what they lack, as by `add_battle`.

        Raises
        ------
        BattleError
            Another battle (other models or another seed) has one of these ids.
        StoreError
            The database cannot be written.
        """

        def add(cursor: Cursor) -> None:
            due = Due()
            _add(cursor, due, marked)
            due.write(cursor)

        self.write(add)

    def cast(
        self,
        vote: Vote,
        *,
        reveal: bool = True,
        origin: str | None = None,
        battle: Battle | None = None,
    ) -> None:
        """Write a vote and return once it is safe on disk.

        Casting the same vote again changes nothing, so a client may retry. An earlier vote of
        the same voter on the same battle is superseded.

        Parameters
        ----------
        vote : Vote
            Its ranks are as many as the battle has models.
        reveal : bool
            The voter is shown who is who in reply; later votes on this battle are refused.
        origin : str, optional
            Where the vote came from, see `coupled_arena.battles.limits`.
        battle : Battle, optional
            The battle of the vote, where it is not stored yet: both are stored, or neither.

        Raises
        ------
        VoteError
            The battle is unknown or already revealed to this voter, the ranks do not fit it, or
            another vote has this id.
        StoreError
            The database cannot be written.
        """
        casting = votes.Casting(vote, reveal, origin)
        if battle:
            self.write_along(_add_and_cast, (battle, casting))
        else:
            self.write_along(votes.cast, casting)

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

    def version(self) -> tuple[int, int, int, int]:
        """Return the last vote's number, how many battles, the last verdict's, how many decisions.

        These are exclusions, that they were taken back, and later lists of names to look for.

        Whatever a leaderboard shows is unchanged as long as this is; it costs about 1 ms.
        """
        last_vote, count, last_verdict, decided = self._row(
            """
            select
                (select coalesce(max(seq), 0) from votes),
                (select count(*) from battles),
                (select coalesce(max(seq), 0) from verdicts),
                (select count(*) from exclusions) + (select count(*) from inclusions)
                    + (select greatest(count(*) - 1, 0) from name_lists)
            """
        )
        return last_vote, count, last_verdict, decided

    def write(self, work: Callable[[Cursor], T]) -> T:
        """Do a piece of work in one transaction, in turn with all other writes.

        The work may be done again from the start if another writer came between; whatever it
        raises, it leaves nothing in the database. Work that changes battles, votes or verdicts
        calls on `coupled_arena.store.tables.derived_rows`.

        Raises
        ------
        StoreError
            The database cannot be written, or is no longer where it was.
        """

        def alone(cursor: Cursor, _due: Due, _items: Sequence[None]) -> list[T]:
            return [work(cursor)]

        return self._in_turn(Piece(alone, shares=False))

    def write_along(
        self, work: Callable[[Cursor, Due, Sequence[Item]], Sequence[T]], item: Item
    ) -> T:
        """Do as `write`, in a transaction that is shared with others of the kind that wait.

        A statement costs much the same for one row as for many. So the work is called once with all
        items that wait for it. It returns a result for each. Rows that follow from battles and
        votes are written once for all, from what the work notes. Where anything is raised, all is
        done again, each item by itself: one is refused alone.
        """
        return self._in_turn(Piece(work, item, shares=True))

    def _in_turn(self, piece: Piece[T]) -> T:
        if self.read_only:
            raise StoreError(f"{self.path} was opened for reading only.")
        return self._queue.take(piece)

    def _carry_out(self, pieces: Sequence[Piece[Any]]) -> None:
        """Do pieces of work in one transaction; if they cannot all be done, each in its own."""
        if len(pieces) > 1:
            try:
                results = self._together(pieces)
            except Exception as error:  # noqa: BLE001 (each raises its own below)
                _log.debug("Writes that shared a transaction are done one by one.", exc_info=error)
            else:
                for piece, result in zip(pieces, results, strict=True):
                    piece.outcome.set_result(result)
                return
        for piece in pieces:
            try:
                (result,) = self._together([piece])
            except Exception as error:  # noqa: BLE001 (raised where it is waited for)
                piece.outcome.set_exception(error)
            else:
                piece.outcome.set_result(result)

    def _together(self, pieces: Sequence[Piece[Any]]) -> list[Any]:
        """Return what pieces of work return, once all of them are safe on disk."""

        def checked(cursor: Cursor) -> list[Any]:
            due = Due()
            same: defaultdict[Callable[..., Any], list[Piece[Any]]] = defaultdict(list)
            for piece in pieces:
                same[piece.work].append(piece)
            results: dict[Piece[Any], Any] = {}
            for work, of_work in same.items():
                items = [piece.item for piece in of_work]
                results |= zip(of_work, work(cursor, due, items), strict=True)
            due.write(cursor)
            self.check_file()  # as late as can be: what follows is only the commit
            return [results[piece] for piece in pieces]

        with self.cursor() as cursor:
            try:
                return _retry(cursor, checked)
            except duckdb.Error as error:
                if not isinstance(error, duckdb.ConstraintException) and not _is_of_the_file(error):
                    raise
                raise StoreFileError(_damage(self.path, "written", error)) from error

    def _row(self, query: str) -> tuple[int, ...]:
        with self.cursor() as cursor:
            return cursor.execute(query).fetchall()[0]


Marked = tuple[Battle, Sequence[Score]]
"""A battle, and the scores of its replies."""


def _add(cursor: Cursor, due: Due, marked: Sequence[Marked]) -> list[bool]:
    """Write battles; return for each whether anything of it was not there yet."""
    names = [battle.id for battle, _ in marked]
    if len(set(names)) < len(names) or battles.any_of(cursor, names):
        added = [battles.add(cursor, battle) for battle, _ in marked]
    else:
        battles.insert(cursor, [battle for battle, _ in marked])
        added = [True] * len(marked)
    for battle, marks in marked:
        scores.add(cursor, battle.id, marks)
    due.answered += [name for name, new in zip(names, added, strict=True) if new]
    return added


def _add_and_cast(
    cursor: Cursor, due: Due, given: Sequence[tuple[Battle, votes.Casting]]
) -> list[None]:
    _add(cursor, due, [(battle, ()) for battle, _ in given])
    return votes.cast(cursor, due, [casting for _, casting in given])


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_of_the_file(error: duckdb.Error) -> bool:
    """Return whether an error is one of the disk, not of a query."""
    # That a block's sum is wrong has no type of its own.
    return isinstance(error, _FILE_ERRORS) or type(error) is duckdb.Error


def _damage(path: Path | None, done: str, error: duckdb.Error) -> str:
    """Return that a database cannot be read or written, and what to do."""
    why = reason(error)
    if "orrupt" in why or "Could not read" in why:
        why += (
            f". `coupled-arena doctor --db {path}` says what is whole, `coupled-arena restore` "
            "brings a snapshot back"
        )
    return f"{path} cannot be {done}: {why.removesuffix('.')}."


def _retry(cursor: Cursor, work: Callable[[Cursor], T]) -> T:
    for seconds in _RETRY_AFTER:
        try:
            return _transact(cursor, work)
        except (duckdb.TransactionException, duckdb.ConstraintException):
            # A second Store on this file in this process wrote the same key first. Once its
            # commit is finished its rows are visible, and the work can answer properly.
            time.sleep(seconds)
    return _transact(cursor, work)


def _transact(cursor: Cursor, work: Callable[[Cursor], T]) -> T:
    cursor.execute("begin")
    try:
        result = work(cursor)
        cursor.execute("commit")
    except BaseException:
        connection.rollback(cursor)
        raise
    return result
