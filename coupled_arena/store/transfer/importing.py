"""Bringing comparisons in from elsewhere: people's votes, or a judge's verdicts.

Rows meet on their dataset and key, so that people and judges on the same battle are compared.
All of it is set operations of DuckDB, in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from coupled_arena.core.errors import StoreError
from coupled_arena.store.database import Store
from coupled_arena.store.tables import upkeep
from coupled_arena.store.transfer import exported, merging, returning, staged_rows
from coupled_arena.store.transfer.reading import columns, count, stage
from coupled_arena.store.transfer.staged_rows import ImportOptions

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Rejected:
    """A line that nothing was taken from.

    ``line`` counts from 1; in Parquet and JSON arrays it counts rows.
    """

    file: str
    line: int
    reason: str


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Attributes
    ----------
    rows : int
        Rows in the files, blank lines aside.
    battles, votes, verdicts, scores, grades : int
        How many of each were not in the store before.
    filtered : int
        Rows left out on request.
    rejected : tuple of Rejected
    """

    rows: int
    battles: int
    votes: int
    verdicts: int
    scores: int
    grades: int
    filtered: int
    rejected: tuple[Rejected, ...]


def _silent(step: str) -> None: ...


def import_files(
    store: Store,
    paths: Sequence[Path],
    *,
    judge: str | None = None,
    dataset: str = "import",
    single_turn: bool = False,
    no_toxic: bool = False,
    progress: Callable[[str], None] = _silent,
) -> Imported:
    """Write the comparisons in some files, all of them or, on an error, nothing.

    Importing a file again adds nothing. A row's key is its ``num``, else its question and models
    (and turn, from the second on); of rows of one file with the same key and voter, each is a
    battle of its own.

    Parameters
    ----------
    store : Store
    paths : sequence of Path
        JSON lines, a JSON array, CSV or Parquet, in one of `formats.FORMATS`.
    judge : str, optional
        The outcomes are verdicts of this judge; without it they are votes, of whoever a row
        names or else of the dataset.
    dataset : str
        Keys of different datasets never meet.
    single_turn, no_toxic : bool
        Leave out conversations of several turns, or flagged as toxic.
    progress : callable
        Called with the name of each of the ``len(paths) + 1`` steps when it begins.

    Raises
    ------
    StoreError
        A file cannot be read or recognised, the judge's name is another's, or the database
        cannot be written.
    """
    wanted = ImportOptions(judge, dataset, single_turn, no_toxic)

    def work(cursor: Cursor) -> Imported:
        _check_judge(cursor, judge)
        staged_rows.prepare(cursor)
        exported.prepare(cursor)
        rows = 0
        for file, path in enumerate(paths):
            progress(f"reading {path.name}")
            rows += _read(cursor, path, file, wanted)
        progress("storing")
        returned = returning.bring_back(cursor)
        merging.separate(cursor, judge)
        filtered = _sort_out(cursor)
        battles = merging.add_battles(cursor)
        said = merging.add_verdicts(cursor, judge) if judge else merging.add_votes(cursor)
        if battles or said:
            upkeep.enrol(cursor, "battle in (select battle from touched)", {})
            upkeep.refresh(cursor, "battle in (select battle from touched)", {})
        return Imported(
            rows,
            battles + returned.battles,
            votes=returned.votes + (0 if judge else said),
            verdicts=returned.verdicts + (said if judge else 0),
            scores=returned.scores,
            grades=returned.grades,
            filtered=filtered,
            rejected=_rejected(cursor, paths),
        )

    return store.write(work)


def _read(cursor: Cursor, path: Path, file: int, wanted: ImportOptions) -> int:
    """Add a file to the temporary tables of its kind; return the number of its rows."""
    stage(cursor, path, exact=exported.recognise)
    rows = count(cursor)
    if not rows and path.stem in exported.COLUMNS:
        return 0  # a table without rows, exported
    table = exported.recognise(columns(cursor))
    if table is None:
        staged_rows.read(cursor, path, file, wanted)
    elif wanted.judge is not None or wanted.single_turn or wanted.no_toxic:
        raise StoreError(
            f"{path} is part of an export, which says by itself who judged what: import it without "
            "--judge, --single-turn and --no-toxic."
        )
    else:
        exported.read(cursor, table, file)
    return rows


def _check_judge(cursor: Cursor, judge: str | None) -> None:
    row = cursor.execute(
        "select model, prompt_hash, sampling from judges where judge = ?", [judge]
    ).fetchone()
    if row not in (None, merging.BINDING):
        raise StoreError(
            f"The judge {judge!r} is {row[0]} here, asked by this program. Give the imported "
            "verdicts another name."
        )


def _sort_out(cursor: Cursor) -> int:
    """Leave in ``claims`` only what is to be stored; return how many rows were filtered."""
    staged_rows.reject(cursor, "select n, problem as reason from claims where problem is not null")
    rows = cursor.execute("select count(distinct (file, line)) from claims where dropped")
    ((filtered,),) = rows.fetchall()
    cursor.execute("delete from claims where dropped")
    return filtered


def _rejected(cursor: Cursor, paths: Sequence[Path]) -> tuple[Rejected, ...]:
    rows: list[tuple[int, int, str]] = cursor.execute(
        "select file, line, any_value(reason) from faults group by all order by all"
    ).fetchall()
    return tuple(Rejected(str(paths[file]), line, reason) for file, line, reason in rows)
