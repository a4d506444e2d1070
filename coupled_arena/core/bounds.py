"""How much a file may hold once it is unpacked: a few kilobytes can stand for gigabytes.

What a file says of itself is looked at first, then what it holds is summed up before any of it is
kept. Readers raise what goes beyond as an error of their own.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from coupled_arena.core.files import LONGEST_LINE, ending
from coupled_arena.core.language import _
from coupled_arena.core.sql import quoted_name

_CHUNK = 1 << 20
# Of rows that are legitimate a thread holds 2,048 at a time, which are a few megabytes.
_LITTLE: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "1GB", "threads": 2}


@dataclass(frozen=True)
class Bound:
    """What one file may hold.

    Attributes
    ----------
    cells : int
        Values in all rows, those inside lists and objects included.
    bytes : int
        Of text, unpacked.
    """

    cells: int
    bytes: int

    def check(self, cells: int, size: int) -> None:
        """Refuse what is beyond the bound.

        Raises
        ------
        ValueError
            It says the bound, and what to do.
        """
        if cells > self.cells:
            text = _(
                "it has more than {n:,} cells: keep the rows and columns you need, or split it"
            )
            raise ValueError(text.format(n=self.cells))
        if size > self.bytes:
            text = _(
                "it unpacks to more than {n:,} MB: keep the rows and columns you need, or split it"
            )
            raise ValueError(text.format(n=self.bytes >> 20))

    def of(self, path: Path) -> Bound:
        """Return the bound of a file: what is large on disk may be larger when it is unpacked."""
        most = min(_LARGEST * self.bytes, _RATIO * path.stat().st_size)
        return replace(self, bytes=max(self.bytes, most))


UPLOADED = Bound(cells=5_000_000, bytes=256 << 20)
"""Of a file that a visitor gives a tab. A cell takes 200 bytes of memory: several fit at once."""

IN_MEMORY = Bound(cells=50_000_000, bytes=2 << 30)
"""Of a file that is held in memory: ten million rows of five columns take 10 GB there."""

STORED = Bound(cells=250_000_000, bytes=1 << 30)
"""Of a file that goes into the database, which may use the disk; see `Bound.of`."""

_RATIO = 100  # tables of scores shrink to a thirtieth, conversations to a tenth
_LARGEST = 16  # times: the largest sets of votes, of 140,000 conversations, unpack to 5 GB


def opened(path: Path) -> Any:
    """Open a text file that ends for its bytes, unpacked where its name ends with ``.gz``."""
    path = ending(path)
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def check_text(path: Path, bound: Bound, header: int = 0, *, delimiter: bytes = b",") -> None:
    """Refuse a text file that is beyond the bound, before any of it is parsed.

    Commas and opening brackets stand for cells: there is one before each cell, and more in prose.

    Parameters
    ----------
    header : int
        Bytes that each line of it is longer by in the database.
    delimiter : bytes
        What stands between cells.

    Raises
    ------
    ValueError
    """
    lines = marks = size = 0
    with opened(path) as stream:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            lines += chunk.count(b"\n")
            marks += sum(map(chunk.count, (delimiter, b"[", b"{")))
            bound.check(lines + marks, size + lines * header)


def check_parquet(path: str, bound: Bound, *, named: bool = False) -> None:
    """Refuse a Parquet file that is beyond the bound.

    Its metadata tells cells, but not what texts take: one that is there a million times is stored
    once. So lengths are summed up, for which DuckDB does not copy the texts but those in lists.

    Parameters
    ----------
    path : str
        With the characters escaped that DuckDB would expand.
    named : bool
        Whether each row will be an object that names its columns.

    Raises
    ------
    ValueError
    """
    with duckdb.connect(config=_LITTLE) as connection:
        try:
            _check_parquet(connection, path, bound, named)
        except duckdb.OutOfMemoryException:
            bound.check(0, bound.bytes + 1)


def _check_parquet(
    connection: duckdb.DuckDBPyConnection, path: str, bound: Bound, named: bool
) -> None:
    counted = "select sum(num_values), sum(total_uncompressed_size) from parquet_metadata(?)"
    cells, unpacked = connection.execute(counted, [path]).fetchall()[0]
    bound.check(cells or 0, unpacked or 0)
    rows = connection.read_parquet(path)
    columns = list(zip(rows.columns, rows.types, strict=True))
    names = sum(len(name.encode()) for name, _ in columns)
    if names > 1 << 16:
        raise ValueError(_("the names of its columns take more than 64 KB"))
    each = " + ".join(_size(quoted_name(name), type) for name, type in columns)
    summed = f"select count(*), sum(size), max(size) from (select {each} as size from rows)"
    count, size, longest = connection.sql(summed, alias="sizes").fetchall()[0]
    bound.check(count * len(columns), (size or 0) + named * count * names)
    if (longest or 0) > LONGEST_LINE:
        raise ValueError(_("one of its rows is longer than {n} MB").format(n=LONGEST_LINE >> 20))


def _size(value: str, type: Any, depth: int = 0) -> str:
    """Return SQL for the bytes of a value: its texts, and a word for each of its other cells."""
    if type.id == "varchar":
        return f"coalesce(strlen({value}), 0)"
    if type.id == "blob":
        return f"coalesce(octet_length({value}), 0)"
    if type.id in ("list", "array"):
        item, (_, inner) = f"x{depth}", type.children[0]
        sizes = f"list_transform({value}, lambda {item}: {_size(item, inner, depth + 1)})"
        return f"coalesce(list_sum({sizes}), 0)"
    if type.id == "map":
        (_, key), (_, held) = type.children
        parts = ((f"map_keys({value})", key), (f"map_values({value})", held))
        lists = (_size(part, duckdb.list_type(inner), depth) for part, inner in parts)
        return f"({' + '.join(lists)})"
    if type.id == "struct":
        fields = (_size(f"{value}.{quoted_name(n)}", t, depth) for n, t in type.children)
        return f"({' + '.join(fields)})"
    return "8"
