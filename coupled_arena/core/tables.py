"""Rows of a file: CSV, JSON lines, a JSON array or Parquet, any text also gzipped.

The name's ending tells the form, else the content does. What brings millions of rows into the
database is `coupled_arena.store.transfer.file_rows`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from coupled_arena.core.bounds import IN_MEMORY, Bound, check_parquet, check_text, opened
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.files import LONGEST_LINE, UNREADABLE, reason
from coupled_arena.core.formulas import as_written
from coupled_arena.core.language import _

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".json", ".jsonl", ".parquet")
"""What the names of tables end with, besides ``.gz``."""

_LONGEST_ARRAY = 256 << 20  # characters: it is read whole
_MOST_COLUMNS = 10_000
_PAGE = 2048  # rows that DuckDB makes at a time
_Numbered = Iterator[tuple[int, Any]]


@dataclass(frozen=True)
class Row:
    """One row of a file.

    Attributes
    ----------
    file : str
        What messages call the file.
    unit : {"line", "row"}
        Parquet and JSON arrays have no lines.
    number : int
        Of the line where the row begins, from 1.
    values : dict
        By column; those of a CSV file are text.
    """

    file: str
    unit: str
    number: int
    values: dict[str, Any]

    @property
    def where(self) -> str:
        """Where it stands, for messages."""
        return place_in(self.file, self.unit, self.number)


def read_rows(
    path: Path,
    error: type[ArenaError],
    *,
    name: str | None = None,
    header: bool = True,
    bound: Bound = IN_MEMORY,
) -> Iterator[Row]:
    """Yield the rows of a file; blank lines are left out.

    Parameters
    ----------
    error : type of ArenaError
        What is raised.
    name : str, optional
        What errors call the file; by default its path.
    header : bool
        Whether the first line of a CSV file names the columns, each differently; else they are
        called by their numbers.
    bound : Bound
        What the file may hold.

    Raises
    ------
    ArenaError
        Of the given type: the file, or a line of it, cannot be read, or it holds too much.
    """
    called = name or str(path)
    try:
        ending = _ending(path)
        unit, read = _FORMS[ending]
        if ending == ".parquet":
            check_parquet(exact_path(path), bound)
        else:
            check_text(path, bound)
        rows = _csv(path, header=header) if ending == ".csv" else read(path)
        for number, values in rows:
            if not isinstance(values, dict):
                place = place_in(called, unit, number)
                raise error(_("{place} is not a JSON object.").format(place=place))
            yield Row(called, unit, number, values)
    except _LineError as fault:
        place = place_in(called, "line", fault.number)
        raise error(fault.text.format(place=place, **fault.values)) from fault
    except (*UNREADABLE, csv.Error, duckdb.Error) as fault:
        text = _("{file} cannot be read: {why}.")
        if path.suffix == ".csv":
            text = _("{file} cannot be read as a CSV file: {why}.")
        raise error(text.format(file=called, why=reason(fault))) from fault


def read_frame(
    path: Path, error: type[ArenaError], *, name: str | None = None, bound: Bound = IN_MEMORY
) -> pd.DataFrame:
    """Return the rows of a file; the index, called ``line`` or ``row``, has their numbers.

    Raises
    ------
    ArenaError
        Of the given type: the file cannot be read, or it holds more than the bound.
    """
    import pandas as pd

    rows = list(read_rows(path, error, name=name, bound=bound))
    if not rows:
        header = [row.values.values() for row in read_rows(path, error, name=name, header=False)]
        return pd.DataFrame(
            columns=[as_written(cell.strip()) for cells in header for cell in cells]
        )
    index = pd.Index([row.number for row in rows], name=rows[0].unit)
    return pd.DataFrame([row.values for row in rows], index=index)


def first_object(path: Path) -> dict[str, Any]:
    """Return the JSON object on the first line that is not blank; an empty one if there is none.

    What this does not understand, the reader of some format will, or name as its fault.
    """
    try:
        with _text(path) as stream:
            line = next((line for _, line in _lines(stream) if line.strip()), "")
            values = json.loads(line)
    except (*UNREADABLE, _LineError):
        return {}
    return values if isinstance(values, dict) else {}


def exact_path(path: Path) -> str:
    """Return a path with the characters escaped that DuckDB would expand."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def place_in(file: str, unit: object, number: object) -> str:
    """Return where a row of a table stands, for messages; tables may have units of their own."""
    if unit == "line":
        return _("{file}, line {n}").format(file=file, n=number)
    if unit == "row":
        return _("{file}, row {n}").format(file=file, n=number)
    return f"{file}, {unit} {number}"


class _LineError(Exception):
    """What is wrong with one line: a text with its `place`, and what else is put into that."""

    def __init__(self, number: int, text: str, **values: object) -> None:
        super().__init__(text)
        self.number, self.text, self.values = number, text, values


def _ending(path: Path) -> str:
    """Return what a file's name should end with: ``.json`` for an array, ``.jsonl`` for lines."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix in _FORMS and suffix != ".json":
        return suffix
    with opened(path) as stream:
        head = stream.read(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"["):
        return ".json"
    return ".jsonl" if suffix == ".json" or head.startswith(b"{") else ".csv"


def _text(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(opened(path), encoding="utf-8-sig", newline="")


def _lines(stream: io.TextIOWrapper) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, in bounded memory."""
    for number in count(1):
        line = stream.readline(LONGEST_LINE)
        if len(line) == LONGEST_LINE:
            text = _("{place} is longer than {n} million characters: write a row a line.")
            raise _LineError(number, text, n=LONGEST_LINE >> 20)
        if not line:
            return
        yield number, line


def _csv(path: Path, *, header: bool = True) -> _Numbered:
    columns: list[str] = []
    numbered = False
    with _text(path) as stream:
        table = csv.reader((line for _, line in _lines(stream)), strict=True)
        begin = 1  # a field may hold line breaks
        for cells in table:
            here, begin = begin, table.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                yield here, dict(enumerate(cells))
            elif not columns:
                columns = [as_written(cell.strip()) for cell in cells]
                if len(columns) > _MOST_COLUMNS:
                    text = _("{place} names {n} columns, more than {most}.")
                    raise _LineError(here, text, n=len(columns), most=_MOST_COLUMNS)
                # What pandas writes first: numbers of rows, without a name.
                numbered = not columns[0] and any(columns)
                named = columns[numbered:]
                if len(set(named)) < len(named) or not all(named):
                    raise _LineError(here, _("{place} must name each column, each differently."))
            elif len(cells) != len(columns):
                text = _("{place} has {n} columns, the first line {first}.")
                raise _LineError(here, text, n=len(cells), first=len(columns))
            else:
                pairs = zip(columns, map(as_written, cells), strict=True)
                yield here, dict(islice(pairs, numbered, None))


def _json_lines(path: Path) -> _Numbered:
    with _text(path) as stream:
        for number, line in _lines(stream):
            if line.strip():
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise _LineError(number, _("{place} is not JSON: {why}."), why=error) from error
                yield number, values


def _json_array(path: Path) -> _Numbered:
    with _text(path) as stream:
        text = stream.read(_LONGEST_ARRAY)
        if len(text) == _LONGEST_ARRAY:
            raise ValueError(_("it is a JSON array of more than 256 million characters"))
        yield from enumerate(json.loads(text), start=1)


def _parquet(path: Path) -> _Numbered:
    with duckdb.connect() as connection:
        table = connection.execute("select * from read_parquet(?)", [exact_path(path)])
        columns = [column[0] for column in table.description or ()]
        number = count(1)
        while page := table.fetchmany(_PAGE):
            yield from ((next(number), dict(zip(columns, row, strict=True))) for row in page)


_FORMS: dict[str, tuple[str, Callable[[Path], _Numbered]]] = {
    ".csv": ("line", _csv),
    ".jsonl": ("line", _json_lines),
    ".json": ("row", _json_array),
    ".parquet": ("row", _parquet),
}
