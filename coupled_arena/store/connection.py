"""Opening a database file, and why one cannot be opened."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from coupled_arena.core.errors import StoreBusyError, StoreError
from coupled_arena.core.files import ending, reason
from coupled_arena.store import migrations

# Extensions would be fetched from the network; the ones used here are built in.
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

_IN_MEMORY = ":memory:"
_ADVICE = {
    "not a valid DuckDB database": "it is not a DuckDB database. Choose another file.",
    "Is a directory": "it is a folder. Give a file in it.",
    "in read-only mode: database does not exist": "it does not exist yet. Check the path.",
    "No such file or directory": "its folder does not exist. Create the folder first.",
    "Not a directory": "a part of its path is a file, not a folder. Check the path.",
    "Permission denied": "permission is denied. Check who may read and write it and its folder.",
}


def connect(path: Path | None, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
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
        return _connect(_IN_MEMORY, read_only=False)
    there = _check_kind(path)
    try:
        return _connect(str(path), read_only=read_only)
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


def _connect(name: str, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(name, read_only=read_only, config=CONFIG)
    try:
        if not read_only:
            migrations.migrate(connection, empty=name == _IN_MEMORY)
        elif migrations.check(connection) < len(migrations.MIGRATIONS):
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
    return StoreError(f"{path} cannot be opened: {why}")
