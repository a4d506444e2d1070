"""A result as a table: one list of columns, from which every face of it comes."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from markupsafe import Markup, escape

from coupled_arena.core.formulas import as_text, csv_writer
from coupled_arena.core.language import N_, _, number
from coupled_arena.views.levels import level
from coupled_arena.views.markup import UNKNOWN, Cell, bold, broken, link, table, typeset

if TYPE_CHECKING:
    import pandas as pd


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: None for NaN and infinity, Python's for numpy's."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {plain(key): plain(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


Row = TypeVar("Row")
Address = Callable[[Row, str], str | None]
BETWEEN = " | "  # names that stand together
LEVEL = N_("{level} interval")  # heading of an interval
_WIDEST = 100_000  # characters of a line: what is too wide for a terminal, the terminal breaks
_DTYPES = {int: "Int64", float: "float64", bool: "boolean", str: "str"}


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a table.

    Attributes
    ----------
    name : str
        Its key in JSON, CSV and DataFrames.
    kind : type
        int, float, bool, str or datetime, any of which may be missing; list for what CSV cannot
        hold.
    meaning : str
        One line for the data dictionary, with the unit.
    value : callable or None
        What a row has there; by default its entry or attribute of that name.
    heading : str
        What people read above it; without one it is left out of what they read, because another
        column's text says it. Line breaks are kept; in braces stands a label of the table. Marked
        for translation: a page has it in the language in force.
    text : str or callable
        How people read it: a format of the value, or a function of the row.
    strong : bool
        Whether it stands out in a page.
    names : tuple of str
        Attributes of a row whose texts `text` has joined by `BETWEEN`: each leads in a page where
        the column of its name does.
    by : str
        The column whose values a page sorts it by: an interval, say, by its estimate.
    drawn : callable or None
        Returns the markup that a page has in the place of the text.
    """

    name: str
    kind: type
    meaning: str
    value: Callable[[Row], Any] | None = None
    heading: str = ""
    text: str | Callable[[Row], str] = ""
    strong: bool = False
    names: tuple[str, ...] = ()
    by: str = ""
    drawn: Callable[[Row], Markup] | None = None

    def of(self, row: Row) -> Any:
        """Return what a row has, as JSON can hold it: None where it is unknown."""
        if self.value is not None:
            return plain(self.value(row))
        return plain(row[self.name] if isinstance(row, Mapping) else getattr(row, self.name))

    def read(self, row: Row) -> str:
        """Return what a row has, as people read it: numbers in the language in force."""
        if callable(self.text):
            return self.text(row)
        value = self.of(row)
        if value is None:
            return UNKNOWN
        if self.kind in (int, float):
            return number(value, self.text or ("," if self.kind is int else ""))
        return format(value, self.text)


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Columns, and the rows that they are read from.

    Attributes
    ----------
    rows : tuple
    shown : tuple of str
        Names of the columns that people read, in the order in which they do; by default all that
        have a heading.
    labels : mapping of str to str
        What headings say in braces, such as the level of the intervals.
    """

    columns: tuple[Column[Row], ...]
    rows: tuple[Row, ...]
    shown: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"<Table of {len(self.rows)} rows: {names}>"

    def only(self, *names: str) -> Table[Row]:
        """Return the table with some of its columns, in the order given.

        Raises
        ------
        KeyError
            There is no such column.
        """
        return replace(self, columns=self._named(names), shown=())

    def showing(self, *names: str) -> Table[Row]:
        """Return the table with other columns for people to read.

        Raises
        ------
        KeyError
            There is no such column.
        """
        self._named(names)
        return replace(self, shown=names)

    def leading(self, *names: str) -> Table[Row]:
        """Return the table with these columns first for people to read, and then all others.

        Raises
        ------
        KeyError
            There is no such column.
        """
        others = (column.name for column in self.columns if column.name not in names)
        return self.showing(*names, *others)

    def without(self, *names: str) -> Table[Row]:
        """Return the table without some of the columns that people read; data have them."""
        shown = self.shown or tuple(column.name for column in self.columns)
        return self.showing(*(name for name in shown if name not in names))

    def joined(self, columns: Iterable[Column[Row]]) -> Table[Row]:
        """Return the table with more columns at its end."""
        more = tuple(columns)
        shown = (*self.shown, *(column.name for column in more)) if self.shown else ()
        return replace(self, columns=(*self.columns, *more), shown=shown)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as JSON values, None for what is unknown."""
        return [{column.name: column.of(row) for column in self.columns} for row in self.rows]

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame; what is unknown is NaN, or NA in whole numbers."""
        import pandas as pd

        return pd.DataFrame(
            {
                column.name: pd.Series(
                    [column.of(row) for row in self.rows], dtype=_DTYPES.get(column.kind, "object")
                )
                for column in self.columns
            }
        )

    def csv(self) -> str:
        """Return the rows as CSV; what is unknown is empty, and no text a formula."""
        text = io.StringIO()
        writer = csv_writer(text)
        writer.writerow([as_text(column.name) for column in self.columns])
        writer.writerows(
            [[as_text(column.of(row)) for column in self.columns] for row in self.rows]
        )
        return text.getvalue()

    def to_csv(self, path: Path | str) -> None:
        """Write the rows to a CSV file."""
        Path(path).write_text(self.csv(), encoding="utf-8", newline="")

    def text(self) -> str:
        """Return what people read of the rows as plain text; nothing is cut, however wide."""
        from rich.console import Console
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for column in self._read:
            justify = "left" if column.kind is str else "right"
            grid.add_column(Text(self._heading(column)), justify=justify, no_wrap=True)
        for row in self.rows:
            grid.add_row(*(Text(column.read(row)) for column in self._read))
        out = io.StringIO()
        # Asked for text, it would otherwise draw into a notebook, or colour what goes to a file.
        console = Console(
            file=out, width=_WIDEST, force_terminal=False, force_jupyter=False, color_system=None
        )
        console.print(grid)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    def html(
        self,
        kind: str = "",
        address: Address[Row] | None = None,
        name: str = "",
        action: Callable[[Row], Markup] | None = None,
    ) -> Markup:
        """Return what people read of the rows as markup; nothing without rows.

        Parameters
        ----------
        kind : str
            Class of the markup's table.
        address : callable, optional
            Returns where a row's cell in the column of a name leads, if anywhere.
        name : str
            The column that names the rows; by default the first.
        action : callable, optional
            Returns what can be done with a row: a last cell.
        """
        named = [column.name for column in self._read].index(name) if name else 0
        heads = [broken(_(column.heading).format_map(self.labels)) for column in self._read]
        values = [self._sorted_by(column) for column in self._read]
        rows = (
            [
                *(_cell(*each, row, address) for each in zip(self._read, values, strict=True)),
                *([action(row)] if action else []),
            ]
            for row in self.rows
        )
        heads += [Markup(escape(_("Action")))] if action else []
        return table(heads, rows, kind, named)

    _repr_html_ = html

    @property
    def _read(self) -> tuple[Column[Row], ...]:
        named = self._named(self.shown) if self.shown else self.columns
        return tuple(column for column in named if column.heading)

    def _sorted_by(self, column: Column[Row]) -> Column[Row]:
        named = (each for each in self.columns if each.name == column.by)
        return next(named, column)

    def _heading(self, column: Column[Row]) -> str:
        return column.heading.format_map(self.labels)

    def _named(self, names: Iterable[str]) -> tuple[Column[Row], ...]:
        known = {column.name: column for column in self.columns}
        return tuple(known[name] for name in names)


def table_of(
    columns: Iterable[Column[Row]],
    rows: Iterable[Row],
    *,
    alpha: float | None = None,
    **labels: str,
) -> Table[Row]:
    """Return a table of what can be gone through once.

    Parameters
    ----------
    alpha : float, optional
        Error level of the intervals: headings may say ``{level}``.
    **labels : str
        What else headings say.
    """
    if alpha is not None:
        labels["level"] = level(alpha)
    return Table(tuple(columns), tuple(rows), labels=labels)


def span(low: Any, high: Any, form: str) -> str:
    """Return an interval as people read it."""
    ends = [UNKNOWN if end is None else number(end, form) for end in map(plain, (low, high))]
    return _("{low} to {high}").format(low=ends[0], high=ends[1])


def bounds(prefix: str, of: str, form: str = "", by: str = "") -> tuple[Column[Any], Column[Any]]:
    """Return the columns of an interval, `low` and `high`; with a form people read both in one.

    Parameters
    ----------
    prefix : str
        What their names begin with.
    of : str
        What is bounded, for the data dictionary.
    by : str
        The column that a page sorts them by.
    """
    names = f"{prefix}low", f"{prefix}high"
    ends = attrgetter(*names)
    shown = (LEVEL, lambda row: span(*ends(row), form)) if form else ("", "")
    return (
        Column(names[0], float, f"Lower bound of {of}", None, *shown, by=by),
        Column(names[1], float, f"Upper bound of {of}"),
    )


def _cell(
    column: Column[Row], by: Column[Row], row: Row, address: Address[Row] | None
) -> Markup | Cell:
    if column.names:
        names = ((getattr(row, name), name) for name in column.names)
        return Markup(BETWEEN).join(
            _linked(broken(text), row, name, address) for text, name in names
        )
    if column.drawn:
        return Cell(column.drawn(row), by.of(row))
    text = column.read(row)
    text = typeset(text) if column.kind in (int, float) else text
    shown = bold(text) if column.strong else broken(text)
    shown = _linked(shown, row, column.name, address)
    return Cell(shown, by.of(row)) if by.kind in (int, float, bool) else shown


def _linked(shown: Markup, row: Row, name: str, address: Address[Row] | None) -> Markup:
    to = address(row, name) if address else None
    return shown if to is None else link(to, shown)
