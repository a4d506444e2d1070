"""A database as DataFrames."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coupled_arena.core.choices import Uncounted
from coupled_arena.core.errors import ArenaError

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.store.database import Store

_log = logging.getLogger(__name__)


class ArenaStore:
    """A database that is only read, and only while a call runs: the app may start at any time.

    Every call reads what is there then. While an app or a run owns the database, that is its
    newest snapshot, a few seconds old.

    Attributes
    ----------
    path : Path
    excluded : {"leave-out", "include"}
        Whether votes that somebody has excluded count all the same.
    named : {"leave-out", "include"}
        Likewise votes on answers that name a model.
    """

    def __init__(
        self,
        path: Path,
        excluded: Uncounted | str = Uncounted.LEAVE_OUT,
        named: Uncounted | str = Uncounted.LEAVE_OUT,
    ) -> None:
        self.path = path
        self.excluded = excluded
        self.named = named

    def battles(self) -> pd.DataFrame:
        """Return the battles: models, mode, seed, settings and prompts."""
        return self._table("battles")

    def replies(self) -> pd.DataFrame:
        """Return the replies, one row for each model and turn of a battle."""
        return self._table("replies")

    def votes(self) -> pd.DataFrame:
        """Return people's votes; `current` is false where a later vote supersedes one.

        `excluded` is true where one does not count, because somebody has excluded it, and `named`
        where an answer names a model.
        """
        return self._table("votes")

    def exclusions(self) -> pd.DataFrame:
        """Return which votes do not count, who decided that and why; also what was taken back."""
        return self._table("exclusions")

    def rationales(self) -> pd.DataFrame:
        """Return why people voted as they did; `current` is false where a later one replaced it."""
        return self._table("rationales")

    def repeats(self) -> pd.DataFrame:
        """Return what people said of a battle that came a second time; no board counts it."""
        return self._table("repeats")

    def gates(self) -> pd.DataFrame:
        """Return the gates that let models answer: what they plan, not what they found."""
        return self._table("gates")

    def comparisons(self, judge: str | None = None) -> pd.DataFrame:
        """Return what has been compared, pair by pair, as `coupled_arena.rank` takes it.

        Votes on identical replies are there too, as ties. Two kinds are not, as no statistics count
        them: a model against itself, and votes that prefer one of two equal answers.

        Parameters
        ----------
        judge : str, optional
            Add this judge's verdicts, and the comparisons that only it decided.

        Raises
        ------
        StoreError
            The store does not know the judge.
        """
        from coupled_arena.store.queries.comparisons import relation

        with self.reading() as store, store.cursor() as cursor:
            return _frame(relation(cursor, judge))

    def flat(self) -> pd.DataFrame:
        """Return the flat table of votes, as ``export --format flat`` writes it.

        One row for each pair of models that a vote compares, with prompt, settings and what judges
        said of it in each order. `ca.rank` takes the rows that are `counted`.
        """
        import pyarrow as pa

        from coupled_arena.store.transfer import flat

        with self.reading() as store, store.cursor() as cursor:
            schema, pages = flat.tables(cursor)
            return pa.concat_tables([schema.empty_table(), *pages]).to_pandas()

    def verdicts(self) -> pd.DataFrame:
        """Return judges' verdicts, one row for each question that was asked."""
        return self._table("verdicts")

    def scores(self) -> pd.DataFrame:
        """Return numbers on replies: a benchmark's, or imported ones."""
        return self._table("scores")

    def grades(self) -> pd.DataFrame:
        """Return judges' grades of single answers."""
        return self._table("grades")

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """Open the database, or its newest snapshot, for as long as the block runs."""
        from coupled_arena.store.transfer.snapshots import open_for_reading

        store, age = open_for_reading(self.path)
        if age is not None:
            _log.info("%s is in use: reading its snapshot, %.0f s old.", self.path, age)
        with store:
            too = {"excluded": self.excluded == "include", "named": self.named == "include"}
            yield store.counting(**too) if any(too.values()) else store

    def _table(self, name: str) -> pd.DataFrame:
        from coupled_arena.store.transfer.export import relation

        with self.reading() as store, store.cursor() as cursor:
            return _frame(relation(cursor, name))

    def __repr__(self) -> str:
        return f"ArenaStore({str(self.path)!r})"


def open(
    path: str | Path,
    *,
    excluded: Uncounted | str = Uncounted.LEAVE_OUT,
    named: Uncounted | str = Uncounted.LEAVE_OUT,
) -> ArenaStore:
    """Open a database to analyse it; nothing in it is ever changed.

    Parameters
    ----------
    path : str or Path
        A database that the app, a batch run or an import has made.
    excluded : {"leave-out", "include"}
        Votes that `coupled-arena exclude` has excluded: left out, or counted all the same.
    named : {"leave-out", "include"}
        Likewise votes on answers that name a model or its maker.

    Raises
    ------
    StoreError
        It cannot be read.
    ArenaError
        `excluded` or `named` is neither of these.
    """
    for name, given in {"excluded": excluded, "named": named}.items():
        if given not in ("leave-out", "include"):
            raise ArenaError(f"{name} is leave-out or include, not {given!r}.")
    store = ArenaStore(Path(path), excluded, named)
    with store.reading():
        return store


def _frame(relation: Any) -> pd.DataFrame:
    return relation.to_arrow_table().to_pandas()  # as `read_parquet` returns an export
