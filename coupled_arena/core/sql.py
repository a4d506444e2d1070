"""SQL with DuckDB: cursors, single values and columns; texts, names and paths of files as SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

Cursor = duckdb.DuckDBPyConnection


def value_of(cursor: Cursor, query: str, values: object = None) -> Any:
    """Return the one value that a query finds."""
    return cursor.execute(query, values).fetchall()[0][0]


def column_of(cursor: Cursor, query: str, values: object = None) -> list[Any]:
    """Return the first values of the rows that a query finds."""
    return [row[0] for row in cursor.execute(query, values).fetchall()]


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Return a name as SQL."""
    return '"{}"'.format(name.replace('"', '""'))


def exact_path(path: Path) -> str:
    """Return a path with the characters escaped that DuckDB would expand."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
