"""Files of an export as tables of rows: what `export` has written, checked value by value."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import duckdb

from coupled_arena.core.errors import StoreError
from coupled_arena.core.sql import quoted
from coupled_arena.store.tables.described import ARENA, FILES, StoredColumn

Cursor = duckdb.DuckDBPyConnection

TABLES = {**FILES, ARENA.name: ARENA}
"""The tables that come back, in their order."""


def recognise(columns: Collection[str]) -> str | None:
    """Return the table of an export that has these columns; None for any other file."""
    for name, table in TABLES.items():
        if {each.name for each in table.columns if each.tells} <= set(columns):
            return name
    return None


def files_of(folder: Path) -> list[Path]:
    """Return the files of an export in a folder, those of ``arena`` rows too.

    Raises
    ------
    StoreError
        There are none.
    """
    named = [f"{table}.{ending}" for table in TABLES for ending in ("parquet", "jsonl", "csv")]
    if files := [folder / name for name in named if (folder / name).is_file()]:
        return files
    raise StoreError(f"{folder} holds no export, such as battles.parquet and votes.parquet.")


def prepare(cursor: Cursor) -> None:
    """Make an empty temporary table for each table of an export, such as ``in_votes``."""
    for name, table in TABLES.items():
        typed = ", ".join(f"{each.name} {each.kind.type}" for each in table.read if each.kind)
        cursor.execute(
            f"create or replace temp table in_{name} (file integer, line bigint, {typed})"
        )


def read(cursor: Cursor, table: str, file: int) -> None:
    """Add the rows of a file to its temporary table, those that are none to ``faults``."""
    columns = TABLES[table].read
    spec = quoted(json.dumps(dict.fromkeys([each.name for each in columns], "VARCHAR")))
    values = ", ".join(f"{_value(each)} as {each.name}" for each in columns)
    problems = " ".join(map(_problems, columns))
    cursor.execute(
        f"""
        create or replace temp table typed as
        with fields as (
            select line, reason, if(reason is null, from_json(row, {spec}), null) as f
            from file_rows
        )
        select line, coalesce(reason, case {problems} end) as problem, {values}
        from fields
        """
    )
    cursor.execute(
        "insert into faults select ?, line, problem from typed where problem is not null", [file]
    )
    cursor.execute(
        f"insert into in_{table} select ?, * exclude (problem) from typed where problem is null",
        [file],
    )


def _value(column: StoredColumn) -> str:
    return column.kind.value.format(f=f"f.{column.name}") if column.kind else "null"


def _problems(column: StoredColumn) -> str:
    name, what = column.name, column.kind.name if column.kind else ""
    wrong = (
        f"when f.{name} is not null and ({_value(column)}) is null "
        f"then '{name} ' || short(f.{name}) || ' is not {what}'"
    )
    return f"when f.{name} is null then '{name} is missing' {wrong}" if column.needed else wrong
