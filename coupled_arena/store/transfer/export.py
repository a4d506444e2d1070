"""Taking data out: exports for analysis, and the one number that stands for all of them."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import duckdb

from coupled_arena.core.choices import ExportFormat
from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason
from coupled_arena.core.formulas import FORMULA
from coupled_arena.core.sql import Cursor, quoted
from coupled_arena.store.database import Store
from coupled_arena.store.queries.battle_conditions import VISIBLE, Hidden
from coupled_arena.store.tables.described import ARENA, BATTLES, FILES, TURNS, StoredTable
from coupled_arena.store.tables.times import shown
from coupled_arena.store.transfer import conversations, flat

_OPTIONS = {
    ExportFormat.PARQUET: "format parquet",
    ExportFormat.JSONL: "format json",
    ExportFormat.CSV: "format csv, header",
    ExportFormat.ARENA: "format json",
}


_BY_TURN = BATTLES.parts("turns")
"""What is kept of turns, with the name of its list."""


def export(
    store: Store, out: Path, format: ExportFormat | str, *, hidden: Hidden = "nothing"
) -> list[Path]:
    """Write the store's tables as files of one moment, or votes as one file.

    Parameters
    ----------
    out : Path
        Folder; created if missing. Files of the same names are replaced, each at once.
    format : ExportFormat, or its value
        Times are UTC: ISO 8601 text in jsonl and csv. Lists are JSON in csv. There a text that
        begins like a formula has an apostrophe before it, which an import takes away. ``arena`` are
        rows as of Chatbot Arena, one for each pair that a current vote compares. All of these can
        be imported, see `importing.import_files`; ``arena`` alone does not hold everything.
        ``flat`` and ``flat-csv`` are such pairs as one table for other programs, in Parquet or CSV.
    hidden : {"nothing", "rounds", "stored"}
        What to leave out. ``rounds``: battles of the battle tab that nobody has been shown the
        names of. ``stored``: also all other battles, which anybody may be asked to vote on, and of
        which one seed can tell another.

    Returns
    -------
    list of Path
        ``battles``, ``replies``, ``votes``, ``rationales``, ``verdicts``, ``scores``, ``grades``,
        ``exclusions``, ``repeats``, ``gates``;
        or ``arena``, or ``flat``.

    Raises
    ------
    StoreError
        The folder cannot be made or written.
    """
    format = ExportFormat(format)
    targets = [out / name for name in _names(format)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=out) as partial:
            _copy_tables(store, Path(partial), format, hidden=hidden)
            for target in targets:
                (Path(partial) / target.name).replace(target)
    except (OSError, duckdb.IOException) as error:
        raise StoreError(
            f"Nothing can be written to {out}: {reason(error)}. Choose another folder."
        ) from error
    return targets


def relation(cursor: Cursor, table: str) -> duckdb.DuckDBPyRelation:
    """Return one of the exported tables, to be read on this cursor.

    It is as in ``parquet``, but for times that Python cannot hold: those are the nearest it can.
    """
    times = ", ".join(f"{shown(column)} as {column}" for column in _times(FILES[table]))
    rows = _select(FILES[table], ExportFormat.PARQUET, hidden="nothing")
    return cursor.sql(f"select * replace ({times}) from ({rows})" if times else rows)


def rows_of(table: str, battles: str = "true") -> str:
    """Return the query for rows of one of the exported tables, as in ``parquet``, in any order.

    Parameters
    ----------
    battles : str
        SQL: of which battles.
    """
    return _rows(FILES[table], ExportFormat.PARQUET, battles)


def _tables(format: ExportFormat) -> list[StoredTable]:
    if format in flat.FILES:
        return []  # its own file, see `flat`
    return [ARENA] if format is ExportFormat.ARENA else list(FILES.values())


def _file_name(table: StoredTable, format: ExportFormat) -> str:
    return f"{table.name}.{'jsonl' if format is ExportFormat.ARENA else format}"


def _names(format: ExportFormat) -> list[str]:
    if format in flat.FILES:
        return [flat.FILES[format]]
    return [_file_name(table, format) for table in _tables(format)]


def _copy_tables(store: Store, folder: Path, format: ExportFormat, *, hidden: Hidden) -> None:
    with store.cursor() as cursor:
        cursor.execute(conversations.ARENA_MACRO)
        cursor.execute("begin")  # one transaction, so that the files agree
        if format in flat.FILES:
            flat.write(cursor, folder, format, hidden=hidden)
        for table in _tables(format):
            target = quoted(str(folder / _file_name(table, format)))
            query = _select(table, format, hidden=hidden)
            if format is ExportFormat.CSV:
                query = f"{_without_formulas(cursor, query)} order by {table.order}"
            cursor.execute(f"copy ({query}) to {target} ({_OPTIONS[format]})")
        cursor.execute("commit")


def _without_formulas(cursor: Cursor, query: str) -> str:
    """Return the query with an apostrophe before texts that are formulas to a spreadsheet."""
    columns = cursor.execute(f"describe {query}").fetchall()
    formula, apostrophe = quoted(FORMULA), quoted("'")
    replaced = ", ".join(
        f"if(regexp_matches({name}, {formula}), {apostrophe} || {name}, {name}) as {name}"
        for name, kind, *_ in columns
        if kind == "VARCHAR"
    )
    return f"select * replace ({replaced}) from ({query})"


def _select(table: StoredTable, format: ExportFormat, *, hidden: Hidden) -> str:
    return f"{_rows(table, format, VISIBLE[hidden])} order by {table.order}"


def _times(table: StoredTable) -> list[str]:
    return [name for name, kind in table.in_file.items() if kind.shown == "time"]


def _rows(table: StoredTable, format: ExportFormat, battles: str) -> str:
    """Return the query for rows of a table; every one reads only battles that may be seen."""
    replaced = [] if format is ExportFormat.PARQUET else [_iso(name) for name in _times(table)]
    if format is ExportFormat.CSV:
        nested = [name for name, kind in table.in_file.items() if kind.nested]
        replaced += [f"to_json({name}) as {name}" for name in nested]
    lists = [f"list({each} order by turn) as {name}" for each, name in _BY_TURN.items()]
    firsts = [
        f"any_value({each}) filter (where turn = 0) as {each}"
        for each in TURNS.content
        if each in BATTLES.in_file
    ]
    return f"""
        with visible as (
            select *
            from battles
            where {battles}
        ),
        asked as (
            select battle, {", ".join([*lists, *firsts])}
            from turns
            where battle in (select battle from visible)
            group by battle
        )
        select * {f"replace ({', '.join(replaced)})" if replaced else ""}
        from ({table.query if table.rows else conversations.ARENA_ROWS})
    """


def _iso(column: str) -> str:
    return f"strftime({column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') as {column}"


COVERED = tuple(FILES)
"""The tables whose rows are hashed, in this order."""


def fingerprint(store: Store) -> str:
    """Return the SHA-256 of the files of ``export --format jsonl``, one after the other.

    Returns
    -------
    str
        64 hexadecimal digits: those of ``cat battles.jsonl replies.jsonl votes.jsonl
        rationales.jsonl verdicts.jsonl scores.jsonl grades.jsonl exclusions.jsonl repeats.jsonl
        gates.jsonl | sha256sum``.
    """
    hashed = hashlib.sha256()
    with tempfile.TemporaryDirectory(prefix="coupled-arena-") as folder:
        written = {path.stem: path for path in export(store, Path(folder), "jsonl")}
        for table in COVERED:
            with written[table].open("rb") as rows:
                while piece := rows.read(1 << 20):
                    hashed.update(piece)
    return hashed.hexdigest()
