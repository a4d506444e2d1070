"""How much a database holds, to tell whether one goes on where another one stood.

Rows are never deleted, so whatever goes on from an earlier state has all of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

Cursor = duckdb.DuckDBPyConnection

_TABLES = (
    *("battles", "turns", "replies", "votes", "reveals", "rationales"),
    *("verdicts", "scores", "grades", "exclusions", "inclusions"),
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
    found = cursor.execute("select table_name from duckdb_tables() where not internal").fetchall()
    present = {name for (name,) in found}
    rows = {
        table: _one(cursor, f"select count(*) from {table}")
        for table in _TABLES
        if table in present
    }
    sample = {
        table: _one(cursor, f"select max({key}) from {table}")
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


def _one(cursor: Cursor, query: str) -> Any:
    return cursor.execute(query).fetchall()[0][0]
