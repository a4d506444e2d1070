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
from coupled_arena.core.vote_columns import VERDICT
from coupled_arena.store.database import Store
from coupled_arena.store.tables import upkeep
from coupled_arena.store.transfer import (
    export_tables,
    flat,
    import_notes,
    merge_export,
    merge_staged,
    staged_rows,
)
from coupled_arena.store.transfer.file_rows import (
    Rejected,
    columns,
    count,
    load,
    prepare_faults,
    rejected_lines,
)
from coupled_arena.store.transfer.staged_rows import ImportOptions

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Attributes
    ----------
    rows : int
        Rows in the files, blank lines aside.
    battles, votes, rationales, verdicts, scores, grades, exclusions : int
        How many of each were not in the store before.
    filtered : int
        Rows left out on request.
    completed : int
        Battles of earlier imports that lacked texts, and have them now.
    unread_texts : int
        Rows with texts that could not be read; their votes and verdicts count.
    rejected : tuple of Rejected
    repeated : int
        Rows that say again what another row says: same voter, same texts, same choice.
    notes : tuple of str
        Sentences about how the rows were read: what was left out or not understood.
    """

    rows: int
    battles: int
    votes: int
    rationales: int
    verdicts: int
    scores: int
    grades: int
    exclusions: int
    filtered: int
    completed: int
    unread_texts: int
    rejected: tuple[Rejected, ...]
    repeated: int = 0
    notes: tuple[str, ...] = ()

    @property
    def all_rejected(self) -> bool:
        """Whether there were rows, and none of them could be taken."""
        lines = {(row.file, row.line) for row in self.rejected}
        return bool(lines) and len(lines) >= self.rows - self.filtered


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
    (and turn, from the second on); without either, its texts. Of rows of one file with the same key
    and voter, each is a battle of its own, but for rows that say the same again, and for a judge's
    verdicts on the same two answers in the other order.

    Parameters
    ----------
    store : Store
    paths : sequence of Path
        JSON lines, a JSON array, CSV or Parquet, in one of `vote_formats.FORMATS`.
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
        A file cannot be read or recognised, the judge has no name or another's, or the database
        cannot be written.
    """
    if judge is not None and not judge.strip():
        raise StoreError("The judge has no name: give one, or leave --judge out for votes.")
    wanted = ImportOptions(judge, dataset, single_turn, no_toxic)
    return store.write(lambda cursor: import_within(cursor, paths, wanted, progress))


def import_within(
    cursor: Cursor,
    paths: Sequence[Path],
    wanted: ImportOptions,
    progress: Callable[[str], None] = _silent,
) -> Imported:
    """Do what `import_files` does as part of a transaction that somebody else commits, or not."""
    _check_judge(cursor, wanted.judge)
    _prepare(cursor)
    rows = 0
    unread: set[str] = set()
    for file, path in enumerate(paths):
        progress(f"reading {path.name}")
        rows += _read(cursor, path, file, wanted, unread)
    progress("storing")
    exported = merge_export.add_missing(cursor)
    repeated, notes = _told_apart(cursor)
    notes += import_notes.of_unread(unread)
    filtered, unread_texts = _sort_out(cursor), _count_unread(cursor)
    beside = 0 if wanted.judge else _one(cursor, "select count(*) from staged where judged")
    notes += import_notes.of_beside(beside)
    judge = VERDICT if beside else wanted.judge
    _check_judge(cursor, judge)
    battles = merge_staged.add_battles(cursor)
    completed = merge_staged.complete(cursor)
    notes += import_notes.of_verdicts(cursor) if wanted.judge else []
    verdicts = merge_staged.add_verdicts(cursor, judge) if judge else 0
    votes = 0 if wanted.judge else merge_staged.add_votes(cursor)
    if battles or verdicts or votes or completed:
        _keep_up(cursor)
    return Imported(
        rows,
        battles + exported.battles,
        votes=votes + exported.votes,
        rationales=exported.rationales,
        verdicts=verdicts + exported.verdicts,
        scores=exported.scores,
        grades=exported.grades,
        exclusions=exported.exclusions,
        filtered=filtered,
        completed=completed,
        unread_texts=unread_texts,
        rejected=rejected_lines(cursor, paths),
        repeated=repeated,
        notes=tuple(notes),
    )


def _prepare(cursor: Cursor) -> None:
    prepare_faults(cursor)
    staged_rows.prepare(cursor)
    export_tables.prepare(cursor)


def _keep_up(cursor: Cursor) -> None:
    upkeep.enrol(cursor, "battle in (select battle from touched)", {})
    upkeep.refresh(cursor, "battle in (select battle from touched)", {})


def _told_apart(cursor: Cursor) -> tuple[int, list[str]]:
    """Drop rows that say the same again, and part those with one key.

    Returns
    -------
    repeated : int
        Rows that were dropped.
    notes : list of str
    """
    notes = import_notes.of_staged(cursor) + import_notes.of_names(cursor)
    repeated = merge_staged.drop_pasted(cursor)
    notes += import_notes.of_pasted(repeated)
    return repeated, notes + import_notes.of_repeated(merge_staged.separate(cursor))


def _count_unread(cursor: Cursor) -> int:
    return _one(cursor, "select count(distinct (file, line)) from staged where unread")


def _one(cursor: Cursor, query: str) -> int:
    ((found,),) = cursor.execute(query).fetchall()
    return found


def _read(cursor: Cursor, path: Path, file: int, wanted: ImportOptions, unread: set[str]) -> int:
    """Add a file to the temporary tables of its kind; return the number of its rows.

    What of its columns is not read is added to a set.
    """
    load(cursor, path, exact=export_tables.recognise)
    rows = count(cursor)
    if not rows and path.stem in export_tables.TABLES:
        return 0  # a table without rows, exported
    table = export_tables.recognise(columns(cursor))
    if table is None:
        flat.refuse(path, columns(cursor))
        unread |= staged_rows.read(cursor, path, file, wanted)
    elif wanted.judge is not None or wanted.single_turn or wanted.no_toxic:
        raise StoreError(
            f"{path} is part of an export, which says by itself who judged what: import it without "
            "--judge, --single-turn and --no-toxic."
        )
    else:
        export_tables.read(cursor, table, file)
    return rows


def _check_judge(cursor: Cursor, judge: str | None) -> None:
    row = cursor.execute(
        "select model, prompt_hash, sampling from judges where judge = ?", [judge]
    ).fetchone()
    if row not in (None, merge_staged.BINDING):
        raise StoreError(
            f"The judge {judge!r} is {row[0]} here, asked by this program. Give the imported "
            "verdicts another name."
        )


def _sort_out(cursor: Cursor) -> int:
    """Leave in ``staged`` only what is to be stored; return how many rows were filtered."""
    staged_rows.reject(cursor, "select n, problem as reason from staged where problem is not null")
    filtered = _one(cursor, "select count(distinct (file, line)) from staged where dropped")
    cursor.execute("delete from staged where dropped")
    return filtered
