"""The schema, as numbered steps (``schema/*.sql``), each applied whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import count

import duckdb

from coupled_arena.core.errors import StoreError

_FOLDER = resources.files("coupled_arena.store") / "schema"


def _steps() -> Iterator[str]:
    """Yield ``schema/1.sql``, ``schema/2.sql`` and so on."""
    for number in count(1):
        step = _FOLDER / f"{number}.sql"
        if not step.is_file():
            return
        yield step.read_text(encoding="utf-8")


MIGRATIONS: tuple[str, ...] = tuple(_steps())
SQUASHED = 8
"""How many of the first steps are one where there is nothing yet to bring along."""
_AT_ONCE = (_FOLDER / f"1-{SQUASHED}.sql").read_text(encoding="utf-8")


_OTHERS = """
select 1 from duckdb_tables() where not internal and not temporary
union all
select 1 from duckdb_views() where not internal and not temporary
"""


def schema_version(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the last migration applied, 0 for an empty database."""
    known = connection.execute(
        "select 1 from duckdb_tables() where table_name = 'schema_version' and not temporary"
    ).fetchone()
    if known is None:
        return 0
    row = connection.execute("select coalesce(max(version), 0) from schema_version").fetchone()
    return int(row[0]) if row else 0


def check(connection: duckdb.DuckDBPyConnection, newest: int = len(MIGRATIONS)) -> int:
    """Return the schema's version.

    Raises
    ------
    StoreError
        The schema is newer than this program knows, or it is another program's.
    """
    version = schema_version(connection)
    if not version and connection.execute(_OTHERS).fetchone():
        raise StoreError("This file is the database of another program. Choose another one.")
    if version > newest:
        raise StoreError(
            f"The database has schema {version}, this program knows schemas up to {newest}. "
            "Upgrade the program to open it."
        )
    return version


def migrate(
    connection: duckdb.DuckDBPyConnection,
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
    done = 0 if empty else check(connection, len(migrations))
    pending = list(enumerate(migrations, start=1))[done:]
    if not done and tuple(migrations[:SQUASHED]) == MIGRATIONS[:SQUASHED]:
        pending[:SQUASHED] = [(SQUASHED, _AT_ONCE)]
    at_once = 1 if done else len(pending)
    while pending:
        _apply(connection, pending[:at_once])
        pending = pending[at_once:]


def _apply(connection: duckdb.DuckDBPyConnection, steps: Sequence[tuple[int, str]]) -> None:
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


def rollback(connection: duckdb.DuckDBPyConnection) -> None:
    """Abandon the open transaction, if a failed commit has not done so already."""
    try:
        connection.execute("rollback")
    except duckdb.TransactionException as error:
        if "no transaction is active" not in str(error):
            raise
