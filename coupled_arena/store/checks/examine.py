"""All checks of a database, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from coupled_arena.core.files import reason
from coupled_arena.core.sql import Cursor, column_of, quoted, value_of
from coupled_arena.store.checks.check import RESTORE, Check, Finding
from coupled_arena.store.checks.contents import CONTENTS, NAMED, ORPHANS, OTHERS
from coupled_arena.store.checks.counted import COMPARISONS, COUNTED
from coupled_arena.store.connection import BEGINNINGS, MIGRATIONS, connect

_NEWEST = len(MIGRATIONS)
_FIRST = ", ".join(map(str, BEGINNINGS))

STEPS = Check(
    "schema steps",
    f"every step up to schema {_NEWEST} was applied, once and in order",
    f"""
    select 'schema ' || version from schema_version group by version having count(*) > 1
    union all
    select 'schema ' || n
    from range((select min(version) from schema_version), {_NEWEST + 1}) as steps(n)
    where n not in (select version from schema_version)
    union all
    select 'begins with ' || coalesce(min(version)::text, 'nothing')
    from schema_version
    having coalesce(min(version) not in ({_FIRST}), true)
    """,
    RESTORE,
)
_PARTS = """
select 'column ' || table_name || '.' || column_name || ' ' || data_type || ' '
    || coalesce(column_default, '')
from duckdb_columns() where not internal and database_name = {database}
union all
select 'view ' || view_name || ' ' || sql
from duckdb_views() where not internal and not temporary and database_name = {database}
union all
select 'index ' || table_name || ' ' || coalesce(sql, index_name)
from duckdb_indexes() where database_name = {database}
union all
select 'constraint ' || table_name || ' ' || constraint_text
from duckdb_constraints() where database_name = {database}
"""


def blocks(cursor: Cursor) -> Finding:
    """Read every block of every table: DuckDB checks a block's sum when it reads it."""
    holds = "every block of every table can be read"
    query = "select table_name from duckdb_tables() where not internal and not temporary"
    table = ""
    try:
        for (table,) in cursor.execute(query).fetchall():
            cursor.execute(f'select bit_xor(hash(t)) from "{table}" as t').fetchall()
    except duckdb.Error as error:
        return Finding("blocks", holds, 1, f"{table}: {reason(error)}", RESTORE)
    return Finding("blocks", holds, 0, None, RESTORE)


def parts(cursor: Cursor) -> Finding:
    """Compare tables, views, keys and indexes with those of a new database; others may be there."""
    with connect(None) as new:
        missing = sorted(_parts(new) - _parts(cursor))
    return Finding(
        "schema parts",
        "tables, views, keys and indexes are those that this program makes",
        len(missing),
        " ".join(missing[0].split()[:2]) if missing else None,
        "Another program changed them. " + RESTORE,
    )


def _parts(cursor: Cursor) -> set[str]:
    name = value_of(cursor, "select current_database()")
    return set(column_of(cursor, _PARTS.format(database=quoted(name))))


CHECKS = (STEPS, *ORPHANS, *OTHERS, *CONTENTS, *COUNTED, NAMED)


def examine(cursor: Cursor) -> Iterator[Finding]:
    """Yield what each check of a database of the newest schema finds, in order.

    All of it is read several times, which takes seconds with a million votes. Where a block cannot
    be read, or a table is not there, the checks after that one have nothing to go by.
    """
    for look in (blocks, parts):
        found = look(cursor)
        yield found
        if found.wrong:
            return
    for check in CHECKS:
        yield check.run(cursor)


def faults(cursor: Cursor) -> list[str]:
    """Return what a snapshot that is to be restored must not have; nothing if it is whole."""
    found = blocks(cursor)
    if found.wrong:
        return [f"{found.first}"]
    each = (check.run(cursor) for check in (*ORPHANS, COMPARISONS))
    return [
        f"not so: {finding.holds} ({finding.wrong:,}; the first is {finding.first})"
        for finding in each
        if finding.wrong
    ]
