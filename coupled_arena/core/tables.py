"""Tables in files: CSV, TSV, JSON lines, a JSON array or Parquet, any text also gzipped.

The content tells the form, here and in `coupled_arena.store.transfer.file_rows`, which brings
millions of rows into the database by the same rules.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from coupled_arena.core.bounds import IN_MEMORY, Bound, check_parquet, check_text, opened
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.files import LONGEST_LINE, UNREADABLE, reason
from coupled_arena.core.formulas import as_written
from coupled_arena.core.language import _
from coupled_arena.core.sql import exact_path

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
"""What the names of tables end with, besides ``.gz``."""

_HEAD = 1 << 16
_ZSTD = b"\x28\xb5\x2f\xfd"
# The beginning of a JSON object; one within a CSV has single quotes (Python's) or doubled ones.
_OBJECT = re.compile(r"""\s*\{\s*(?:"(?!"[^:\s])|\}|$)""")
# What spreadsheets write besides CSV of UTF-8, by its first bytes.
_NO_TABLE = (
    (b"PK\x03\x04", "it is a workbook or a ZIP file: save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "it is a workbook of old Excel: save the sheet as CSV"),
    (b"SQLite format 3", "it is a database of SQLite: save its table as CSV"),
    (b"\x1f\x8b", "it is gzipped: give it a name with .gz at its end"),
    (b"\xff\xfe", "it is in UTF-16: save it in UTF-8"),
    (b"\xfe\xff", "it is in UTF-16: save it in UTF-8"),
    (b"sep=", "its first line, sep=, is for Excel alone: delete this line"),
    (b"\xef\xbb\xbfsep=", "its first line, sep=, is for Excel alone: delete this line"),
)
_LONGEST_ARRAY = 256 << 20  # characters: it is read whole
_MOST_COLUMNS = 10_000
_PAGE = 2048  # rows that DuckDB makes at a time
_Numbered = Iterator[tuple[int, Any]]


class Form(StrEnum):
    """How a table is written."""

    CSV = "csv"
    LINES = "lines"
    ARRAY = "array"
    PARQUET = "parquet"

    @property
    def unit(self) -> str:
        """What a row of it is called: Parquet and JSON arrays have no lines."""
        return "line" if self in (Form.CSV, Form.LINES) else "row"


def form_of(path: Path, exact: Callable[[Collection[str]], object] = lambda _: None) -> Form:
    """Return how a file is written, by what it begins with.

    Parameters
    ----------
    exact : callable
        Says of the columns of a CSV file whether this program has written it: its texts may hold
        anything.

    Raises
    ------
    OSError, EOFError, ValueError, zlib.error
        The file cannot be read.
    """
    with opened(path) as stream:
        head = stream.read(_HEAD)
    if head.startswith(b"PAR1") or path.suffix == ".parquet":
        return Form.PARQUET
    if foreign := next((why for begun, why in _NO_TABLE if head.startswith(begun)), None):
        raise ValueError(foreign)
    if head.startswith(_ZSTD):
        return Form.LINES  # only DuckDB unpacks it
    lines = _whole_lines(head)
    if lines and lines[0].lstrip().startswith("["):
        return Form.ARRAY
    if lines and exact(header_of(lines[0])):
        return Form.CSV
    # Any line may be broken, the first one too. Bytes that are no text are no CSV at any rate.
    objects = sum(bool(_OBJECT.match(line)) for line in lines)
    if lines and lines[0].strip() == "{" and objects * 2 < len(lines):
        raise ValueError("it is one JSON object over many lines: write a row a line, or an array")
    return Form.LINES if b"\0" in head or objects * 2 >= len(lines) else Form.CSV


def first_line(path: Path) -> str:
    """Return the first line of a file that is not blank, "" if there is none."""
    with opened(path) as stream:
        return next(iter(_whole_lines(stream.read(_HEAD))), "")


def _whole_lines(head: bytes) -> list[str]:
    # Not `splitlines`: a text in JSON may hold any of Unicode's other line breaks.
    lines = re.split("[\r\n]+", head.decode("utf-8-sig", errors="replace"))
    return [line for line in lines if line.strip()]


def header_of(line: str) -> list[str]:
    """Return the names in the first line of a CSV file as they are."""
    return next(csv.reader([line], delimiter=delimiter_of(line)))


def delimiter_of(line: str) -> str:
    """Return what stands between the cells of a file with this first line.

    Excel writes semicolons where the comma is the decimal sign. A comma between cells comes first.
    """
    found = (mark for mark in ",\t;" if len(next(csv.reader([line], delimiter=mark), [])) > 1)
    return next(found, ",")


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
        form = form_of(path) if header else Form.CSV
        for number, values in _rows(path, form, bound, header=header):
            if not isinstance(values, dict):
                place = place_in(called, form.unit, number)
                raise error(_("{place} is not a JSON object.").format(place=place))
            yield Row(called, form.unit, number, values)
    except _LineError as fault:
        place = place_in(called, "line", fault.number)
        raise error(fault.text.format(place=place, **fault.values)) from fault
    except UnicodeDecodeError as fault:
        place = place_in(called, "line", _line_with_byte(path))
        text = _("{place} is not valid UTF-8: save the file as UTF-8.")
        raise error(text.format(place=place)) from fault
    except (*UNREADABLE, csv.Error, duckdb.Error) as fault:
        text = _("{file} cannot be read: {why}.")
        if path.suffix in (".csv", ".tsv"):
            text = _("{file} cannot be read as a CSV file: {why}.")
        raise error(text.format(file=called, why=reason(fault))) from fault


def _rows(path: Path, form: Form, bound: Bound, *, header: bool) -> _Numbered:
    if form is Form.PARQUET:
        check_parquet(exact_path(path), bound)
        return _parquet(path)
    delimiter = delimiter_of(first_line(path)) if form is Form.CSV else ","
    check_text(path, bound, delimiter=delimiter.encode())
    if form is Form.CSV:
        return _csv(path, delimiter, header=header)
    return _json_array(path) if form is Form.ARRAY else _json_lines(path)


def read_frame(
    path: Path | Sequence[Path],
    error: type[ArenaError],
    *,
    name: str | None = None,
    bound: Bound = IN_MEMORY,
) -> pd.DataFrame:
    """Return the rows of a file, or of several, one after the other.

    The index, called ``line`` or ``row``, has their numbers; of several files it says in words
    where each row stands, and is called ``where``.

    Raises
    ------
    ArenaError
        Of the given type: a file cannot be read, or it holds more than the bound.
    """
    import pandas as pd

    if not isinstance(path, Path):
        if not path:
            raise error(_("There is no file."))
        frames = [read_frame(each, error, bound=bound) for each in path]
        if len(frames) == 1:
            return frames[0]
        _check_once(path, frames, error)
        return pd.concat(
            [placed(frame, str(each)) for each, frame in zip(path, frames, strict=True)]
        )
    rows = list(read_rows(path, error, name=name, bound=bound))
    if not rows:
        header = [row.values.values() for row in read_rows(path, error, name=name, header=False)]
        return pd.DataFrame(
            columns=[as_written(cell.strip()) for cells in header for cell in cells]
        )
    index = pd.Index([row.number for row in rows], name=rows[0].unit)
    return pd.DataFrame([row.values for row in rows], index=index)


def _check_once(
    paths: Sequence[Path], frames: Sequence[pd.DataFrame], error: type[ArenaError]
) -> None:
    """Refuse a table that is there twice: its rows would count as twice as many answers."""
    plain = [frame.reset_index(drop=True) for frame in frames]
    for one, other in combinations(range(len(frames)), 2):
        if paths[one].resolve() == paths[other].resolve():
            text = _("{file} is there twice: give each table once.")
        elif len(plain[one]) and plain[one].equals(plain[other]):
            text = _(
                "{file} and {other} hold the same rows: give each table once, or tell runs apart "
                "by a column run."
            )
        else:
            continue
        raise error(text.format(file=paths[one], other=paths[other]))


def placed(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a table with an index, called ``where``, that says in words where each row stands."""
    import pandas as pd

    unit = frame.index.name or "row"
    where = [place_in(name, unit, number) for number in frame.index]
    return frame.set_axis(pd.Index(where, name="where", dtype=object))


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


def called(path: Path | Sequence[Path]) -> str:
    """Return what messages call a file, or several."""
    return str(path) if isinstance(path, Path) else ", ".join(map(str, path))


def place_in(file: str, unit: object, number: object) -> str:
    """Return where a row of a table stands, for messages; tables may have units of their own."""
    if unit == "where":
        return str(number)
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


def _text(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(opened(path), encoding="utf-8-sig", newline="")


def _line_with_byte(path: Path) -> int:
    """Return the first line with a byte that is no UTF-8; the decoder, a page ahead, cannot."""
    with opened(path) as stream:
        for number in count(1):
            try:
                if not stream.readline(LONGEST_LINE).decode():
                    return number
            except UnicodeDecodeError:
                return number
    raise AssertionError


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


def _csv(path: Path, delimiter: str, *, header: bool = True) -> _Numbered:
    columns: list[str] = []
    numbered = False
    with _text(path) as stream:
        table = csv.reader((line for _, line in _lines(stream)), strict=True, delimiter=delimiter)
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
                    raise _LineError(here, _("{place} must give each column its own name."))
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
                    values = _parsed(line)
                except (ValueError, RecursionError) as error:
                    raise _LineError(number, _("{place} is not JSON: {why}."), why=error) from error
                yield number, values


def _parsed(text: str) -> Any:
    """Return what JSON holds; half of a pair of surrogates, as of a text cut short, is U+FFFD."""
    values = json.loads(text)
    if "\\ud" not in text.lower():
        return values
    whole = json.dumps(values, ensure_ascii=False).encode("utf-16", "surrogatepass")
    return json.loads(whole.decode("utf-16", "replace"))


def _json_array(path: Path) -> _Numbered:
    with _text(path) as stream:
        text = stream.read(_LONGEST_ARRAY)
        if len(text) == _LONGEST_ARRAY:
            raise ValueError(_("it is a JSON array of more than 256 million characters"))
        yield from enumerate(_parsed(text), start=1)


def _parquet(path: Path) -> _Numbered:
    with duckdb.connect() as connection:
        table = connection.execute("select * from read_parquet(?)", [exact_path(path)])
        columns = [column[0] for column in table.description or ()]
        number = count(1)
        while page := table.fetchmany(_PAGE):
            yield from ((next(number), dict(zip(columns, row, strict=True))) for row in page)
