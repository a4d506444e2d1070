"""Bringing comparisons in from elsewhere: people's votes, or a judge's verdicts.

Rows meet on their dataset and key, so that people and judges on the same battle are compared.
All of it is set operations of DuckDB, in one transaction. Notes say how rows were read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from coupled_arena.core.errors import StoreError
from coupled_arena.core.sql import Cursor, column_of, quoted, value_of
from coupled_arena.core.vote_columns import KNOWN_WINNERS, VERDICT
from coupled_arena.store.database import Store
from coupled_arena.store.tables import derived_rows
from coupled_arena.store.transfer import (
    export_tables,
    flat,
    foreign_rows,
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
from coupled_arena.store.transfer.foreign_rows import ColumnMap
from coupled_arena.store.transfer.staged_rows import ImportOptions
from coupled_arena.store.transfer.vote_formats import UNKNOWN_WORD

_SHOWN = 10  # words of a note


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Attributes
    ----------
    rows : int
        Rows in the files, blank lines aside.
    battles, votes, rationales, verdicts, scores, grades, exclusions, repeats, gates : int
        How many of each were not in the store before.
    filtered : int
        Rows left out on request.
    completed : int
        Battles of earlier imports that lacked texts, and have them now.
    unread_texts : int
        Rows with texts that could not be read; their votes and verdicts count.
    repeated : int
        Rows that repeat another row: same voter, same texts, same choice.
    notes : tuple of str
        Sentences on what was left out or not understood.
    unvoted : int
        Rows that hold no vote, left out: logs of conversations, or comparisons nobody decided.
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
    repeats: int = 0
    gates: int = 0
    unvoted: int = 0

    @property
    def all_rejected(self) -> bool:
        """Whether there were rows, and all of them were rejected."""
        lines = {(row.file, row.line) for row in self.rejected}
        return bool(lines) and len(lines) >= self.rows - self.filtered - self.unvoted


def _silent(step: str) -> None: ...


def import_files(
    store: Store,
    paths: Sequence[Path],
    *,
    judge: str | None = None,
    dataset: str = "import",
    single_turn: bool = False,
    no_toxic: bool = False,
    columns: ColumnMap | None = None,
    unnamed_judge: str | None = None,
    voters_apart: bool = False,
    progress: Callable[[str], None] = _silent,
) -> Imported:
    """Write the comparisons in some files, all of them or, on an error, nothing.

    Importing a file again adds nothing. A row's key is its ``num``, else its question and models
    (and turn, from the second on); without either, its texts. Rows of one file with the same key
    and voter are battles of their own. Exceptions are repeated rows, and a judge's verdicts on the
    same two answers in the other order.

    Parameters
    ----------
    paths : sequence of Path
        JSON lines, a JSON array, CSV or Parquet, in one of `vote_formats.FORMATS` or of
        `foreign_rows.FORMS`.
    judge : str, optional
        The outcomes are verdicts of this judge; without it they are votes, of whoever a row
        names or else of the dataset. AlpacaEval's annotators are judges.
    dataset : str
        Keys of different datasets never meet.
    single_turn, no_toxic : bool
        Leave out conversations of several turns, or flagged as toxic.
    columns : ColumnMap, optional
        Which columns of the files are which of ours, where nothing else tells.
    unnamed_judge : str, optional
        The judge of files that hold verdicts alone and name none. Other files keep their voters.
    voters_apart : bool
        Each vote without a voter is of a person of its own, not all of one. That is for a store
        into which nothing is imported twice.
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
    wanted = ImportOptions(
        judge, dataset, single_turn, no_toxic, columns or ColumnMap(), unnamed_judge, voters_apart
    )
    return store.write(lambda cursor: import_within(cursor, paths, wanted, progress))


def import_within(
    cursor: Cursor,
    paths: Sequence[Path],
    wanted: ImportOptions,
    progress: Callable[[str], None] = _silent,
) -> Imported:
    """Import files as `import_files` does, within the caller's transaction."""
    _check_judge(cursor, wanted.judge)
    rows, read = _read_all(cursor, paths, wanted, progress)
    if len(read.silent) == len(paths) > 0:
        raise StoreError(_of_silent(read.silent))
    progress("storing")
    exported = merge_export.add_missing(cursor)
    repeated, notes = _separate(cursor)
    notes += _notes_of_files(read)
    filtered = _sort_out(cursor)
    lines = "select count(distinct (file, line)) from staged where {}"
    unread_texts = value_of(cursor, lines.format("unread"))
    judges = column_of(cursor, "select distinct voter from staged where judged order by 1")
    notes += [] if wanted.judge else _notes_of_judges(cursor)
    notes += _notes_of_nobody(cursor, wanted.dataset)
    for judge in judges:
        _check_judge(cursor, judge)
    battles = merge_staged.add_battles(cursor)
    completed = merge_staged.complete(cursor)
    notes += _notes_of_verdicts(cursor) if wanted.judge else []
    verdicts = merge_staged.add_verdicts(cursor) if judges else 0
    votes = 0 if wanted.judge else merge_staged.add_votes(cursor)
    if battles or verdicts or votes or completed:
        derived_rows.derive(cursor, "battle in (select battle from touched)", {})
        derived_rows.refresh(cursor, "battle in (select battle from touched)", {})
    return Imported(
        rows,
        battles + exported.battles,
        **_all_added(exported, votes=votes, verdicts=verdicts),
        filtered=filtered,
        completed=completed,
        unread_texts=unread_texts,
        rejected=rejected_lines(cursor, paths),
        repeated=repeated,
        notes=tuple(notes),
        unvoted=read.unvoted,
    )


@dataclass
class _Read:
    """What the files are, as they are read one after the other."""

    unread: set[str] = field(default_factory=set[str])
    titles: list[str] = field(default_factory=list[str])
    unvoted: int = 0
    silent: list[str] = field(default_factory=list[str])


def _read_all(
    cursor: Cursor, paths: Sequence[Path], wanted: ImportOptions, progress: Callable[[str], None]
) -> tuple[int, _Read]:
    """Fill the temporary tables; return the number of rows, and what the files are."""
    prepare_faults(cursor)
    staged_rows.prepare(cursor)
    export_tables.prepare(cursor)
    rows = 0
    read = _Read()
    for file, path in enumerate(paths):
        progress(f"reading {path.name}")
        rows += _read(cursor, path, file, wanted, read)
    return rows, read


def _all_added(exported: merge_export.AddedRows, **others: int) -> dict[str, int]:
    """Return how many rows of each kind, but for battles, came in exports and otherwise."""
    added = asdict(exported)
    del added["battles"]
    return {name: rows + others.get(name, 0) for name, rows in added.items()}


def _separate(cursor: Cursor) -> tuple[int, list[str]]:
    """Drop rows that repeat another, separate those with one key; return how many, and notes."""
    notes = _notes_of_staged(cursor) + _notes_of_names(cursor)
    repeated = merge_staged.drop_pasted(cursor)
    same_key = _note(
        merge_staged.separate(cursor),
        "with the question, the models and the voter of an earlier row: each is a battle of its "
        "own.",
    )
    return repeated, [*notes, *notes_of_repeated(repeated), *same_key]


def _read(cursor: Cursor, path: Path, file: int, wanted: ImportOptions, read: _Read) -> int:
    """Add a file to its temporary tables, and what it is to `read`; return its rows."""
    load(cursor, path, exact=export_tables.recognise)
    rows = count(cursor)
    if not rows and path.stem in export_tables.TABLES:
        return 0  # a table without rows, exported
    table = export_tables.recognise(columns(cursor))
    if table is None:
        there = columns(cursor)
        flat.refuse(path, there)
        _read_votes(cursor, path, file, wanted, read, there)
    elif wanted.judge is not None or wanted.single_turn or wanted.no_toxic:
        raise StoreError(
            f"{path} is part of an export, which names its judges: import it without --judge, "
            "--single-turn and --no-toxic."
        )
    else:
        export_tables.read(cursor, table, file)
    return rows


def _read_votes(
    cursor: Cursor, path: Path, file: int, wanted: ImportOptions, read: _Read, there: set[str]
) -> None:
    """Add a file of votes or verdicts; `there` are its columns."""
    found = foreign_rows.rewrite(cursor, path, wanted.columns)
    read.unvoted += found.unvoted
    if found.silent:
        read.silent.append(found.silent)
        cursor.execute("insert into faults select ?, line, reason from file_rows", [file])
        return
    staged = staged_rows.read(cursor, path, file, wanted)
    unread = found.form.unread(there, found.asked) if found.form else staged.unread
    read.unread |= unread - found.named
    read.titles += found.notes
    read.unvoted += staged.unvoted
    if staged.unvoted and staged.unvoted == count(cursor):
        said = (staged.format.title, staged.unvoted, staged.format.vote)
        read.silent.append(foreign_rows.without_votes(path, *said, {}))


def _of_silent(silent: list[str]) -> str:
    """Return what is said of files that hold no votes, of the first one in full."""
    if not silent[1:]:
        return silent[0]
    more = f"{len(silent) - 1:,} more file{'s' if silent[2:] else ''}"
    return f"{silent[0]} No vote in {more}, either."


def _check_judge(cursor: Cursor, judge: str | None) -> None:
    row = cursor.execute(
        "select model, prompt_hash, sampling from judges where judge = ?", [judge]
    ).fetchone()
    if row not in (None, merge_staged.BINDING):
        raise StoreError(
            f"The judge {judge!r} is {row[0]} here, which this program asks. Give the imported "
            "verdicts another name."
        )


def _sort_out(cursor: Cursor) -> int:
    """Leave in ``staged`` only what is to be stored; return how many rows were filtered."""
    staged_rows.reject(cursor, "select n, problem as reason from staged where problem is not null")
    filtered = value_of(cursor, "select count(distinct (file, line)) from staged where dropped")
    cursor.execute("delete from staged where dropped")
    return filtered


def _notes_of_staged(cursor: Cursor) -> list[str]:
    """Return notes on rows while all of them are in ``staged``."""
    found: list[str] = []
    words = "select {0} as word from staged where {0} is not null"
    if modes := _words(cursor, words.format("other_mode")):
        found.append(
            f"Mode is unknown for the words {modes}: only coupled and independent are known."
        )
    if seeds := _words(cursor, words.format("other_seed")):
        found.append(f"Seeds that are not numbers of 64 bits are left out: {seeds}.")
    alone = value_of(cursor, "select count(*) from staged where alone and problem is null")
    found += _note(
        alone,
        "without an id and without texts: each is a battle of its own, and meets no row of "
        "another file.",
    )
    unknown = f"regexp_full_match(problem, {quoted(UNKNOWN_WORD)}, 's')"
    if _words(cursor, f"select problem as word from staged where {unknown}"):
        found.append(f"Known winners are {KNOWN_WINNERS}, and the names of the row's two models.")
    return found


def _notes_of_names(cursor: Cursor) -> list[str]:
    """Return notes on models with names that differ in case, spaces and hyphens alone."""
    found = column_of(
        cursor,
        """
        select string_agg(model, ' and ' order by model)
        from (
            from (select unnest([first, second]) as model from staged where problem is null)
            union
            select model from models
        )
        where model is not null
        group by regexp_replace(lower(model), '[\\s_-]+', '-', 'g')
        having count(*) > 1
            and bool_or(model in (select unnest([first, second]) from staged))
        order by 1
        """,
    )
    names = "; ".join(found[:_SHOWN])
    return [f"These names count as different models: {names}."] if found else []


_ALL_VERDICTS_ALONE = """
select count(*) > 0 and bool_and(fresh) and exists (
    from votes join battles using (battle)
    where origin = 'import' and list_sort(models) in (select list_sort(models) from shown)
)
from shown
"""


def _notes_of_verdicts(cursor: Cursor) -> list[str]:
    """Return notes where a judge's verdicts meet none of the votes on its models."""
    if not value_of(cursor, _ALL_VERDICTS_ALONE):
        return []
    return [
        "No verdict is on a battle that was here before, so none stands beside a vote. Rows "
        "meet by the same num, or the same question and models, in one --dataset."
    ]


def notes_of_repeated(rows: int) -> list[str]:
    """Return notes on rows that repeat another row."""
    again = "repeats another row" if rows == 1 else "repeat other rows"
    return _note(rows, f"{again} (same voter, same texts, same choice): counted once.")


def _notes_of_files(read: _Read) -> list[str]:
    """Return notes on forms, on rows without a vote, and on columns that are not read."""
    notes = list(dict.fromkeys(read.titles))
    notes += _note(read.unvoted, "without a vote: left out.")
    notes += [_of_silent(read.silent)] if read.silent else []
    names = sorted(read.unread)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    unread = [f"Columns that are not read: {', '.join(names[:_SHOWN])}{more}."] if names else []
    return notes + unread


def _notes_of_judges(cursor: Cursor) -> list[str]:
    """Return notes on verdicts whose judge the rows themselves tell."""
    found: list[tuple[str, int]] = cursor.execute(
        "select voter, count(*) from staged where judged group by voter order by voter"
    ).fetchall()
    notes: list[str] = []
    for judge, rows in found:
        if judge == VERDICT:
            notes += _note(rows, f"with a verdict: it is kept as that of a judge called {VERDICT}.")
        else:
            notes += _note(rows, f"with a verdict of {judge}.")
    return notes


def _notes_of_nobody(cursor: Cursor, dataset: str) -> list[str]:
    """Return notes on votes that name no voter, which have the name of their dataset."""
    rows = "select count(distinct (file, line)) from staged where not judged and voter = ?"
    without = value_of(cursor, rows, [dataset])
    said = f"without a voter: all count as votes of one person, {dataset}. A column voter tells "
    return _note(without, f"{said}people apart.") if without > 1 else []


def _words(cursor: Cursor, query: str) -> str:
    rows = cursor.execute(
        f"select word, count(*) from ({query}) group by word order by count(*) desc, word"
    ).fetchall()
    more = [f"and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
    return ", ".join([*(f"{word!r} ({n:,})" for word, n in rows[:_SHOWN]), *more])


def _note(rows: int, note: str) -> list[str]:
    return [f"{rows:,} row{'s' if rows != 1 else ''} {note}"] if rows else []
