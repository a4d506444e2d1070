"""Any file of rows as numbered JSON objects in a table, whatever way it is written.

The content tells the form, see `coupled_arena.core.tables`. All parsing is DuckDB's, in bounded
memory; a line that cannot be read keeps its number and gets a reason.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import duckdb

from coupled_arena.core.bounds import STORED, check_parquet, check_text, opened
from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import LONGEST_LINE, UNREADABLE, ending, is_text, reason
from coupled_arena.core.formulas import ESCAPED
from coupled_arena.core.sql import Cursor, column_of, exact_path, quoted, value_of
from coupled_arena.core.tables import Form, delimiter_of, first_line, form_of, header_of

_HEAD = 1 << 16
# DuckDB keeps a record's text once for each cell that is too many or no UTF-8: a line of 90,000
# cells took 50 s and 3 GB. A table that a person has mistaken for another has far fewer.
_MOST_MISFITS = 1_000_000
_MOST_KEPT = 1 << 30  # characters

# A raw control character cannot be part of valid JSON, so no line is split at it.
_LINES = """
    select row_number() over () as line, row, 0 as breaks
    from read_csv(
        {path}, columns = {{'row': 'varchar'}}, delim = '\x1f', quote = '', escape = '',
        header = false, {options}
    )
"""

# Fields may hold line breaks, so records are not lines. Blank lines are not counted.
_TABLE = """
    select
        1 + row_number() over () as line,
        to_json(t)::varchar as row,
        len(concat_ws('', *columns(*))) - len(replace(concat_ws('', *columns(*)), chr(10), ''))
            as breaks
    from (
        select {cells} from read_csv(
        {path}, columns = {{{columns}}}, delim = {delimiter}, quote = '"', escape = '"',
        header = true, {options}
        )
    ) as t
"""
# The program's own files have an apostrophe before what a spreadsheet would take for a formula.
_CELLS = f"regexp_replace(columns(*), {quoted(ESCAPED)}, '\\1')"
_OPTIONS = (
    "auto_detect = false, strict_mode = {strict}, allow_quoted_nulls = {quoted}, "
    "ignore_errors = true, "
    f"rejects_table = 'unread', rejects_scan = 'unread_scan', max_line_size = {LONGEST_LINE}"
)

_ARRAY = """
    select row_number() over () as line, json::varchar as row, 0 as breaks
    from read_json_objects({path}, format = 'array')
"""

_PARQUET = """
    select row_number() over () as line, to_json(t)::varchar as row, 0 as breaks
    from read_parquet({path}) as t
"""

_LOAD = """
create or replace temp table file_rows as
select
    line,
    row,
    breaks,
    0 as part,
    case
        when not json_valid(row) then 'not valid JSON'
        when json_type(row) <> 'OBJECT' then 'not a JSON object'
    end as reason
from ({rows})
where regexp_matches(row, '[^ \t\r]')  -- to trim a row takes longer than to parse it
"""

# DuckDB numbers the records it could read; each unread one before a record moves it on by one.
# An unread record has an error for each cell that is wrong, missing or too many. The number of its
# cells stands in the last error where they are too many, and in the first where some are missing.
_NUMBER = (
    """
    create or replace temp table gaps as
    select line, breaks, reason, row_number() over (order by line) as nth
    from (
        select
            any_value(line) as line,
            any_value(len(csv_line) - len(replace(csv_line, chr(10), ''))) as breaks,
            max_by(
                if(
                    error_type = 'INVALID ENCODING', 'not valid UTF-8: save the file as UTF-8',
                    regexp_replace(
                        lower(error_message), '^expected number of columns: (\\d+) found: (\\d+)',
                        'it has \\2 columns, the first line \\1'
                    )
                ),
                coalesce(if(error_type = 'TOO MANY COLUMNS', 1, -1) * column_idx, 0)
            ) as reason
        from unread
        group by line_byte_position
    )
    """,
    """
    update file_rows set line = file_rows.line + moved.by
    from (
        select s.rowid as id, g.by
        from file_rows as s
        asof join (select line - nth + 1 as line, max(nth) as by from gaps group by all) as g
        on s.line >= g.line
    ) as moved
    where file_rows.rowid = moved.id
    """,
    "insert into file_rows (line, breaks, part, reason) select line, breaks, 0, reason from gaps",
)
_COUNT_BREAKS = """
update file_rows set line = file_rows.line + before
from (
    select
        line,
        sum(breaks) over (order by line rows between unbounded preceding and 1 preceding) as before
    from file_rows
) as counted
where file_rows.line = counted.line and before > 0
"""


def load(
    cursor: Cursor, path: Path, exact: Callable[[Collection[str]], object] = lambda _: None
) -> None:
    """Fill the temporary table ``file_rows`` with a file's rows.

    Parameters
    ----------
    exact : callable
        Says of the columns of a CSV file whether this program has written it. What is in quotes is
        then a text, if an empty one, and may hold anything.

    Its columns: ``line`` counts from 1 (elements of a JSON array or rows of Parquet, which have
    no lines); ``part`` counts from 0 what is made of one of them; ``row`` is a JSON object, or
    ``reason`` says why it is none. Blank lines are left out.

    Raises
    ------
    StoreError
        The file as a whole cannot be read.
    """
    cursor.execute("drop table if exists unread; drop table if exists unread_scan")
    try:
        form = form_of(path, exact)
        cursor.execute(_LOAD.format(rows=_source(cursor, path, form, exact)))
        if form.unit == "line":
            _number(cursor)
        _check_rows(cursor)
    except (*UNREADABLE, csv.Error, duckdb.Error) as error:
        raise StoreError(f"{path} cannot be read: {reason(error).removesuffix('.')}.") from error


def _check_rows(cursor: Cursor) -> None:
    """Refuse a table that pandas has written by columns, or by its index.

    It is one object of objects with the same keys.
    """
    rows = cursor.execute("select row from file_rows where reason is null limit 2").fetchall()
    try:
        parts = list(json.loads(rows[0][0]).values()) if len(rows) == 1 else []
    except ValueError:  # DuckDB takes more for JSON
        return
    if len(parts) > 1 and all(_keys(part) == _keys(parts[0]) is not None for part in parts):
        raise ValueError("it is a table by columns: write its rows, in pandas orient='records'")


def _keys(part: object) -> Collection[str] | None:
    return cast("dict[str, object]", part).keys() if isinstance(part, dict) else None


def columns(cursor: Cursor) -> set[str]:
    """Return the fields of the first thousand rows."""
    return set(
        column_of(
            cursor,
            """
        select distinct unnest(json_keys(row))
        from (select row from file_rows where reason is null limit 1000)
        """,
        )
    )


def count(cursor: Cursor) -> int:
    """Return the number of rows."""
    return value_of(cursor, "select count(*) from file_rows")


def _source(
    cursor: Cursor, path: Path, form: Form, exact: Callable[[Collection[str]], object]
) -> str:
    """Return the query that reads a file, in lines some of which it may leave unread."""
    bound = STORED.of(ending(path))
    file_name = quoted(exact_path(path))
    if form is Form.PARQUET:
        check_parquet(exact_path(path), bound, named=True)
        return _PARQUET.format(path=file_name)
    if form is Form.ARRAY:
        check_text(path, bound)
        return _ARRAY.format(path=file_name)
    with opened(path) as file:
        first = len(file.readline(LONGEST_LINE))
    if first == LONGEST_LINE:
        raise StoreError(f"{path}, line 1 is longer than 16 MB: write a row a line.")
    if form is Form.LINES:
        options = _OPTIONS.format(strict="false", quoted="true")
        rows = _LINES.format(path=file_name, options=options)
        if path.suffix == ".zst":  # only DuckDB unpacks it
            sized = f"select count(*), coalesce(sum(strlen(row)), 0) from ({rows})"
            bound.check(*cursor.execute(sized).fetchall()[0])
        else:
            check_text(path, bound)
        return rows
    if first >= _HEAD:
        raise StoreError(f"{path}, line 1: the names of its columns take more than 64 KB.")
    line = first_line(path)
    ours, delimiter = exact(header_of(line)), delimiter_of(line)
    check_text(path, bound, header=first, delimiter=delimiter.encode())
    names = _unlike(header_of(line))
    _check_records(path, len(names), delimiter)
    return _TABLE.format(
        path=file_name,
        cells=_CELLS if ours else "*",
        columns=", ".join(f"{quoted(name)}: 'varchar'" for name in names),
        delimiter=quoted(delimiter),
        options=_OPTIONS.format(strict="true", quoted=str(not ours).lower()),
    )


def _unlike(header: list[str]) -> list[str]:
    """Return the column names of a CSV file, made unique."""
    names: dict[str, str] = {}
    for place, name in enumerate(header):
        taken = not name or name.lower() in names
        names[f"column{place}" if taken else name.lower()] = f"column{place}" if taken else name
    return list(names.values())


def _check_records(path: Path, columns: int, delimiter: str) -> None:
    """Refuse a CSV file with more cells that do not fit than DuckDB can tell of.

    Raises
    ------
    StoreError
    """
    misfits = kept = 0
    for line, cells, size in _records(path, delimiter):
        wrong = max(len(cells) - columns, len(cells) < columns)
        if size and not _is_utf_8("".join(cells)):
            wrong += sum(not _is_utf_8(cell) for cell in cells)
        misfits += wrong
        kept += wrong * size
        if misfits > _MOST_MISFITS or kept > _MOST_KEPT:
            raise StoreError(
                f"{path}, line {line}: up to here {misfits:,} cells are missing, too many for the "
                f"{columns} columns of the first line, or not UTF-8: correct the file."
            )


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str], int]]:
    """Yield the records of a CSV file: the line each begins with, its cells, its characters."""
    size = 0

    def lines(stream: io.TextIOWrapper) -> Iterator[str]:
        nonlocal size
        while line := stream.readline(LONGEST_LINE):
            size += len(line)
            if size > LONGEST_LINE:
                raise ValueError(
                    f"a row of it is longer than {LONGEST_LINE >> 20} MB: is a quotation mark open?"
                )
            yield line

    csv.field_size_limit(LONGEST_LINE)
    text = io.TextIOWrapper(opened(path), "utf-8-sig", errors="surrogateescape", newline="")
    with text as stream:
        records, line = csv.reader(lines(stream), delimiter=delimiter), 1
        for cells in records:
            yield line, cells, size
            line, size = records.line_num + 1, 0


def _is_utf_8(text: str) -> bool:
    return text.isascii() or is_text(text)


def _number(cursor: Cursor) -> None:
    """Turn numbers of readable records into numbers of lines."""
    if value_of(cursor, "select count(*) from unread"):
        for statement in _NUMBER:
            cursor.execute(statement)
    if value_of(cursor, "select coalesce(max(breaks), 0) from file_rows"):
        cursor.execute(_COUNT_BREAKS)


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
