"""What the functions of the Python API return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from coupled_arena.core.errors import ArenaError

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.views.tables.table import Table

T = TypeVar("T")
_FORMER = {"coverage": "rank_sets"}  # names of tables until 0.3


@dataclass(frozen=True, eq=False, repr=False)
class Result(Generic[T]):
    """What an analysis found, and how.

    Printed it says what the command says; a notebook shows its main table.

    Attributes
    ----------
    title : str
        What it is, in a few words.
    analysis : object
        Everything that was found, as plain values.
    settings : mapping of str to object
        What it was made with, under the names of the function's parameters.
    tables : mapping of str to Table
        What `to_frame` can return; the first one is the main one.
    answer : mapping of str to object
        What the command prints with ``--json``.
    text : callable
        Returns what the command prints without it.
    """

    title: str
    analysis: T
    settings: Mapping[str, Any]
    tables: Mapping[str, Table[Any]]
    answer: Mapping[str, Any]
    text: Callable[[], str]

    def noted(self, notes: Sequence[str]) -> Result[T]:
        """Return the result with notes on its data before everything else that it says."""
        answer = {**self.answer, "warnings": [*notes, *self.warnings]}
        return replace(self, answer=answer, text=lambda: "\n".join((*notes, self.text())))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what the result cannot say."""
        return tuple(self.answer.get("warnings", ()))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values: what the command prints with ``--json``."""
        return dict(self.answer)

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return a table as a DataFrame, its columns named as in JSON and CSV.

        Parameters
        ----------
        table : str, optional
            Its name among `tables`; by default the first one.

        Raises
        ------
        ArenaError
            There is no such table.
        """
        return self._table(table).to_frame()

    def _table(self, name: str | None) -> Table[Any]:
        if not self.tables:
            raise ArenaError(f"{self.title} has no table.")
        if name is None:
            return next(iter(self.tables.values()))
        name = name if name in self.tables else _FORMER.get(name, name)
        if name not in self.tables:
            raise ArenaError(f"There is no table {name!r} here, only {', '.join(self.tables)}.")
        return self.tables[name]

    def __repr__(self) -> str:
        chosen = [f"{name}={value!r}" for name, value in self.settings.items() if value is not None]
        return f"<{self.title}: {', '.join(chosen)}>"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from coupled_arena.views.markup import joined, listed, paragraph

        if not self.tables:
            return str(joined([paragraph(self.title), paragraph(self.text())]))
        return str(joined([paragraph(self.title), self._table(None).html(), listed(self.warnings)]))
