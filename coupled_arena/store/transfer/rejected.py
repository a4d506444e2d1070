"""Lines of files that nothing was taken from, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Rejected:
    """A line that nothing was taken from.

    ``line`` counts from 1; in Parquet and JSON arrays it counts rows.
    """

    file: str
    line: int
    reason: str


def prepare_faults(cursor: Cursor) -> None:
    """Make the empty temporary table ``faults``; files are numbers in it."""
    cursor.execute("create or replace temp table faults (file integer, line bigint, reason text)")


def rejected_lines(cursor: Cursor, paths: Sequence[Path]) -> tuple[Rejected, ...]:
    """Return what ``faults`` holds, one reason a line."""
    rows: list[tuple[int, int, str]] = cursor.execute(
        "select file, line, min(reason) from faults group by all order by all"
    ).fetchall()
    return tuple(Rejected(str(paths[file]), line, reason) for file, line, reason in rows)
