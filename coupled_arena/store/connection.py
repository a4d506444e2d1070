"""Opening a database file: its schema is brought up to date, or it is said why it cannot be opened.

The schema is numbered steps (``schema/*.sql``), each applied whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import count
from pathlib import Path

import duckdb

from coupled_arena.core.errors import StoreBusyError, StoreError
from coupled_arena.core.files import ending, reason
from coupled_arena.core.sql import Cursor

_FOLDER = resources.files("coupled_arena.store") / "schema"


def _steps() -> Iterator[str]:
    """Yield ``schema/1.sql``, ``schema/2.sql`` and so on."""
    for number in count(1):
        step = _FOLDER / f"{number}.sql"
        if not step.is_file():
            return
        yield step.read_text(encoding="utf-8")


MIGRATIONS: tuple[str, ...] = tuple(_steps())
SQUASHED = 15
"""How many of the first steps are one where there is nothing yet to bring along."""
BEGINNINGS = (1, 8, SQUASHED)
"""First steps of databases: in the beginning there was no such one, then it was of eight."""
_AT_ONCE = (_FOLDER / f"1-{SQUASHED}.sql").read_text(encoding="utf-8")


_TABLES_AND_VIEWS = """
select 1 from duckdb_tables() where not internal and not temporary
union all
select 1 from duckdb_views() where not internal and not temporary
"""


def schema_version(connection: Cursor) -> int:
    """Return the number of the last migration applied, 0 for an empty database."""
    known = connection.execute(
        "select 1 from duckdb_tables() where table_name = 'schema_version' and not temporary"
    ).fetchone()
    if known is None:
        return 0
    row = connection.execute("select coalesce(max(version), 0) from schema_version").fetchone()
    return int(row[0]) if row else 0


def check_schema(connection: Cursor, newest: int = len(MIGRATIONS)) -> int:
    """Return the schema's version.

    Raises
    ------
    StoreError
        The schema is newer than this program knows, or it is another program's.
    """
    version = schema_version(connection)
    if not version and connection.execute(_TABLES_AND_VIEWS).fetchone():
        raise StoreError("This file is the database of another program. Choose another one.")
    if version > newest:
        raise StoreError(
            f"The database has schema {version}, this program knows schemas up to {newest}. "
            "Upgrade the program to open it."
        )
    return version


def migrate(
    connection: Cursor,
    migrations: Sequence[str] = MIGRATIONS,
    *,
    empty: bool = False,
) -> None:
    """Bring the schema to the newest version: one transaction a step, one in all where it is new.

    Parameters
    ----------
    empty : bool
        The database has nothing yet, and is not searched: that takes a sixth of the whole.

    Raises
    ------
    StoreError
        The schema is newer than this program knows, or a step failed; a failed transaction leaves
        nothing behind.
    """
    done = 0 if empty else check_schema(connection, len(migrations))
    pending = list(enumerate(migrations, start=1))[done:]
    if not done and tuple(migrations[:SQUASHED]) == MIGRATIONS[:SQUASHED]:
        pending[:SQUASHED] = [(SQUASHED, _AT_ONCE)]
    at_once = 1 if done else len(pending)
    while pending:
        _apply(connection, pending[:at_once])
        pending = pending[at_once:]


def _apply(connection: Cursor, steps: Sequence[tuple[int, str]]) -> None:
    version = 0
    connection.execute("begin")
    try:
        connection.execute(
            "create table if not exists schema_version (version integer, applied_at timestamptz)"
        )
        for version, statements in steps:
            connection.execute(statements)
            connection.execute("insert into schema_version values (?, now())", [version])
        connection.execute("commit")
    except duckdb.Error as error:
        rollback(connection)
        reason = str(error).splitlines()[0]
        raise StoreError(f"The database could not be brought to schema {version}: {reason}") from (
            error
        )


def rollback(connection: Cursor) -> None:
    """Abandon the open transaction, if a failed commit has not done so already."""
    try:
        connection.execute("rollback")
    except duckdb.TransactionException as error:
        if "no transaction is active" not in str(error):
            raise


# Extensions would be fetched from the network; the ones used here are built in.
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

IN_MEMORY = ":memory:"
_COPY = "Bring back a copy, or start with another file."
_ADVICE = {
    "not a valid DuckDB database": "it is not a DuckDB database. Choose another file.",
    "Is a directory": "it is a folder. Give a file in it.",
    "Could not read enough bytes": f"it is cut off. {_COPY}",
    "checksum": f"it is damaged. {_COPY}",
    "in read-only mode: database does not exist": "it does not exist yet. Check the path.",
    "No such file or directory": "its folder does not exist. Create the folder first.",
    "Not a directory": "a part of its path is a file, not a folder. Check the path.",
    "Permission denied": "permission is denied. Check who may read and write it and its folder.",
}


def connect(path: Path | None, *, read_only: bool = False) -> Cursor:
    """Open a database file, creating or upgrading it unless it is only to be read.

    Parameters
    ----------
    path : Path or None
        None is an empty database in memory.

    Raises
    ------
    StoreBusyError
        Another process owns the file.
    StoreError
        The file cannot be opened, or its schema is not the one this program needs.
    """
    if path is None:
        return connect_to(IN_MEMORY, read_only=False)
    there = _check_kind(path)
    try:
        return connect_to(str(path), read_only=read_only)
    except duckdb.Error as error:
        if not there and path.is_file() and not path.stat().st_size:
            path.unlink()  # begun on a disk that is full
        raise _explain(path, error) from error


def _check_kind(path: Path) -> bool:
    """Refuse a file of another kind: DuckDB takes some for tables, and writes into memory.

    Returns whether there is a file.
    """
    try:
        ending(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {reason(error)}.") from error
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # DuckDB says why
    if head and head[8:12] != b"DUCK":
        raise StoreError(f"{path} cannot be opened: {_ADVICE['not a valid DuckDB database']}")
    return True


def connect_to(name: str, *, read_only: bool) -> Cursor:
    """Open a database and bring its schema up to date; DuckDB's own errors are not explained."""
    connection = duckdb.connect(name, read_only=read_only, config=CONFIG)
    try:
        if not read_only:
            migrate(connection, empty=name == IN_MEMORY)
        elif check_schema(connection) < len(MIGRATIONS):
            raise StoreError(
                f"{name} has an older schema, or none. Open it once for writing, "
                "which brings it up to date."
            )
    except (duckdb.Error, StoreError):
        connection.close()
        raise
    return connection


def _explain(path: Path, error: duckdb.Error) -> StoreError:
    why = reason(error)
    if owner := re.search(r"\(PID (\d+)\)", why):
        return StoreBusyError(
            f"{path} is in use by process {owner[1]}. Stop that process, or choose another file."
        )
    for sign, advice in _ADVICE.items():
        if sign in why:
            return StoreError(f"{path} cannot be opened: {advice}")
    return StoreError(f"{path} cannot be opened: {why.removesuffix('.')}.")
