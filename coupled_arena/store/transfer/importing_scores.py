"""Bringing numbers on replies in from elsewhere, such as the toxicity that another program found.

As with votes, all of it is set operations of DuckDB in one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from coupled_arena.core.errors import ScoreError
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.transfer import staged_scores
from coupled_arena.store.transfer.rejected import Rejected, prepare_faults, rejected_lines

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class ImportedScores:
    """What an import of scores did.

    Attributes
    ----------
    rows : int
        Rows in the files, blank lines aside.
    scores : int
        How many were not in the store before.
    metrics : tuple of str
        Metrics that the files have scores by, new or not.
    rejected : tuple of Rejected
    """

    rows: int
    scores: int
    metrics: tuple[str, ...]
    rejected: tuple[Rejected, ...]

    @property
    def all_rejected(self) -> bool:
        """Whether there were rows, and none of them could be taken."""
        return bool(self.rejected) and len({(row.file, row.line) for row in self.rejected}) >= (
            self.rows
        )


def import_scores(
    store: Store,
    paths: Sequence[Path],
    metrics: Sequence[str] | None = None,
    lower_is_better: Collection[str] = (),
    *,
    reserved: Collection[str] = (),
) -> ImportedScores:
    """Write the scores in some files, all of them or, on an error, nothing.

    A row names a ``battle``, and in it a ``model`` or a ``place`` (from 0 on), and a ``turn`` if it
    is not the first (0). A wide table has a column for each metric; in a long one a row is a
    ``metric`` and its ``score``, as in an export of scores. A score is a number, True or False.
    Importing a file again adds nothing.

    Parameters
    ----------
    paths : sequence of Path
        CSV, JSON lines, a JSON array or Parquet.
    metrics : sequence of str, optional
        Metrics to take; by default all, in a wide table every column that neither names the reply
        nor is in an export of replies.
    lower_is_better : collection of str
        Metrics of which less is better, where the file does not tell (``higher_is_better``).
    reserved : collection of str
        Names that no metric may have.

    Raises
    ------
    ScoreError
        A file is no such table, a metric is missing, reserved, or known with another meaning.
    StoreError
        A file cannot be read, or the database cannot be written.
    """
    return store.write(
        lambda cursor: _import(cursor, paths, metrics or (), lower_is_better, reserved)
    )


def _import(
    cursor: Cursor,
    paths: Sequence[Path],
    metrics: Sequence[str],
    lower_is_better: Collection[str],
    reserved: Collection[str],
) -> ImportedScores:
    prepare_faults(cursor)
    staged_scores.prepare(cursor)
    rows = sum(staged_scores.read(cursor, path, file, metrics) for file, path in enumerate(paths))
    found = _metrics(cursor)
    _check_names(found, metrics, lower_is_better, reserved)
    staged_scores.sort_out(cursor)
    for metric, higher in _meanings(cursor, lower_is_better).items():
        scores.declare(cursor, metric, source="import", higher_is_better=higher)
    (added,) = cursor.execute(_ADD).fetchall()[0]
    return ImportedScores(rows, added, found, rejected_lines(cursor, paths))


def _metrics(cursor: Cursor) -> tuple[str, ...]:
    rows = cursor.execute(
        "select distinct metric from staged where metric is not null order by metric"
    ).fetchall()
    return tuple(metric for (metric,) in rows)


def _check_names(
    found: tuple[str, ...],
    wanted: Collection[str],
    lower_is_better: Collection[str],
    reserved: Collection[str],
) -> None:
    for name in (*wanted, *lower_is_better):
        if name not in found:
            raise ScoreError(f"There is no metric {name!r}; there is {', '.join(found) or 'none'}.")
    if taken := [name for name in found if name in reserved]:
        raise ScoreError(
            f"{taken[0]} is computed from the replies or verdicts here: give it another name."
        )


_ADD = """
insert into scores (battle, turn, place, metric, score, answer)
select battle, turn::integer, place::integer, metric, value, answer
from staged
order by battle, turn, place, metric
on conflict do nothing
"""


def _meanings(cursor: Cursor, lower_is_better: Collection[str]) -> dict[str, bool]:
    """Return, by metric, whether higher is better."""
    rows: list[tuple[str, bool | None, bool | None]] = cursor.execute(
        "select metric, min(higher), max(higher) from staged group by metric order by metric"
    ).fetchall()
    meanings: dict[str, bool] = {}
    for metric, low, high in rows:
        known = {low, high} - {None}
        if len(known) > 1 or (True in known and metric in lower_is_better):
            raise ScoreError(f"Higher {metric} is said to be better and to be worse: choose one.")
        meanings[metric] = metric not in lower_is_better and False not in known
    return meanings
