"""Rows of a file in the form of another tool, rewritten in the columns of this program.

The rows of `file_rows` are read in pages and replaced, so that everything that follows sees one
form. What becomes of a column is told by a declaration of the form, or by whoever imports the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

from coupled_arena.core.errors import StoreError
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.core.vote_columns import outcome_of, read_names
from coupled_arena.store.transfer import annotation_forms, arena_forms, data_set_forms
from coupled_arena.store.transfer.vote_form import (
    Ballot,
    Numbered,
    Reader,
    Row,
    Said,
    Tally,
    VoteForm,
    at,
    nested,
    text_of,
    unflattened,
    voted_on,
)

FORMS = (*arena_forms.FORMS, *annotation_forms.FORMS, *data_set_forms.FORMS)
"""The first one that a file's rows tell is its form."""
TOOLS = tuple(
    dict.fromkeys(re.sub(r" \d$", "", form.title.partition(",")[0]) for form in FORMS[:-1])
)
"""Their names, but for preferences of no tool."""
_OBJECTS = frozenset[str]().union(*(form.names for form in FORMS))
PARTS = 1024
"""Votes that one row of a file may hold, at most."""
_HEAD, _PAGE = 1000, 2000  # rows that tell a form; rows rewritten at a time
_WORDS = 5  # words that are told where none is a vote
NEEDED = ("model_a", "model_b", "winner")


@dataclass(frozen=True)
class ColumnMap:
    """What somebody says of a file's columns.

    Attributes
    ----------
    columns : dict
        Columns of the file by the name of ours.
    words : dict
        What words for the winner mean.
    """

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    words: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, given: Mapping[str, str] | Sequence[str] | None) -> Self:
        """Return what texts ``OURS=THEIRS`` and ``WORD=OUTCOME`` say, or a mapping of these.

        Raises
        ------
        StoreError
            A text is none of these.
        """
        pairs = dict(given) if isinstance(given, Mapping) else {}
        for each in () if isinstance(given, Mapping) else given or ():
            ours, sign, theirs = (part.strip() for part in each.partition("="))
            if ours not in read_names():  # a word may hold the sign, as A=B does
                ours, sign, theirs = (part.strip() for part in each.rpartition("="))
            if not sign or not ours or not theirs:
                raise StoreError(f"map {each!r} is not OURS=THEIRS, as in winner=label.")
            if pairs.setdefault(ours, theirs) != theirs:
                raise StoreError(f"map names {ours!r} twice: {pairs[ours]} and {theirs}.")
        columns = {ours: theirs for ours, theirs in pairs.items() if ours in read_names()}
        words = {word: theirs for word, theirs in pairs.items() if word not in columns}
        for word, meaning in words.items():
            if outcome_of(meaning) is None:
                raise StoreError(
                    f"map {word}={meaning} names no column of ours, such as winner or prompt, "
                    "and no outcome (model_a, model_b, tie, both_bad)."
                )
        return cls(columns, {_bare(word): meaning for word, meaning in words.items()})

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return bool(self.columns or self.words)

    def within(self, rows: Sequence[Row]) -> Self:
        """Return the same of a file's own names, which may differ in case and in blanks around."""
        named = {name.strip().lower(): name for row in rows for name in row}

        def own(theirs: str) -> str:
            there = any(at(row, theirs) is not None for row in rows)
            return theirs if there else named.get(theirs.strip().lower(), theirs)

        columns = {ours: own(name) for ours, name in self.columns.items()}
        words = {
            ours: theirs
            for ours, theirs in columns.items()
            if ours not in NEEDED
            and outcome_of(theirs)
            and all(at(row, theirs) is None for row in rows)
        }
        left = {ours: theirs for ours, theirs in columns.items() if ours not in words}
        return replace(self, columns=left, words={**self.words, **words})

    @property
    def tells_winner(self) -> bool:
        """Whether somebody says where the winner is: then no other form's winner counts."""
        return "winner" in self.columns

    @property
    def without_winner(self) -> Self:
        """The same without the column of the winner."""
        left = {ours: theirs for ours, theirs in self.columns.items() if ours != "winner"}
        return replace(self, columns=left)

    def beside(self, other: ColumnMap) -> Self:
        """Return the same with the columns of another one, where it names none."""
        return replace(self, columns={**other.columns, **self.columns})

    @property
    def said(self) -> Said:
        """What it says of a file in which people answer questions."""
        first, second = (self.columns.get(side, "") for side in NEEDED[:2])
        return Said(self.words, (first, second))

    @property
    def theirs(self) -> frozenset[str]:
        """The columns of the file that are named."""
        names = self.columns.values()
        return frozenset(names) | {name.partition(".")[0] for name in names}

    def taken(self, row: Row) -> Row:
        """Return our columns, of a row of the file."""
        return {ours: at(row, theirs) for ours, theirs in self.columns.items()}

    def applied(self, row: Row) -> Row:
        """Return a row with our columns beside its own."""
        return self.worded({**row, **self.taken(row)})

    def worded(self, found: Row) -> Row:
        """Return a row of ours with a word for the winner as what it means.

        A word that is the name of the column of a side means that side.
        """
        word = _bare(text_of(found.get("winner")))
        sides = {self.columns.get(side, "").lower(): side for side in NEEDED[:2]}
        if meant := self.words.get(word) or (word and sides.get(word)):
            found["winner"] = meant
        return found


def _bare(word: str) -> str:
    """Return a word in lower case, and a whole number as such: a gap in a column makes 1 a 1.0."""
    return re.sub(r"[.,]0+$", "", word).lower()


def in_other_case(names: Iterable[str], named: Collection[str] = ()) -> ColumnMap:
    """Return which columns are ours but for case, blanks and hyphens; none unless votes need it.

    Parameters
    ----------
    named : collection of str
        Columns of ours for which somebody has named one.
    """
    there, needed = list(names), set(NEEDED) - set(named)
    alike = {re.sub(r"[\s_-]+", "_", name.strip().lower()): name for name in reversed(there)}
    if needed <= set(there) or not needed <= alike.keys():
        return ColumnMap()
    ours = [each for each in read_names() if each in alike and each not in {*there, *named}]
    return ColumnMap({each: alike[each] for each in ours})


_UNREADABLE = "update file_rows set reason = 'not valid JSON' where rowid = ?"


def form_of(rows: Sequence[Mapping[Any, Any]]) -> VoteForm | None:
    """Return the form that some rows of a file tell, None where it is none of these.

    Rows with our own columns are in no form but those that have these columns, too.
    """
    given: list[Row] = [{str(name): value for name, value in row.items()} for row in rows]
    ours = any(row.keys() >= set(NEEDED) for row in given)
    forms = [form for form in FORMS if not ours or NEEDED[0] in form.needed]
    if not ours:  # Python's values are slow to read: once, and not once a form
        given = [unflattened(row, _OBJECTS) for row in given]
        given = [{name: nested(value) for name, value in row.items()} for row in given]
    found = (form for voted in (True, False) for form in forms if form.tells(given, voted=voted))
    return next(found, None)


@dataclass(frozen=True)
class Rewritten:
    """What became of a file's rows.

    Attributes
    ----------
    form : VoteForm or None
        The form, None where the rows stay as they are but for names.
    unvoted : int
        Rows that hold no vote.
    silent : str
        What the rows hold in place of votes, where none holds any.
    named : frozenset of str
        Columns of the file that somebody has named.
    asked : tuple of str
        Questions of the file that are the vote, where these have names of their own.
    notes : tuple of str
        How the file was read.
    """

    form: VoteForm | None = None
    unvoted: int = 0
    silent: str = ""
    named: frozenset[str] = frozenset()
    asked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def without_votes(path: Path, title: str, rows: int, vote: str, words: Mapping[str, int]) -> str:
    """Return what is said of a file in a known form in which no row holds a vote."""
    count = "1 row is" if rows == 1 else f"{rows:,} rows are"
    there = ", ".join(f"{word[:40]} {n:,}" for word, n in list(words.items())[:_WORDS])
    return f"{path} holds no vote: its {count} of {title}{there and f' ({there})'}. {vote}"


def rewrite(cursor: Cursor, path: Path, columns: ColumnMap) -> Rewritten:
    """Rewrite `file_rows` where a file is in the form of another tool, or columns are named.

    Raises
    ------
    StoreError
        The file has none of the columns that are named.
    """
    head = [row for _, row in islice(_rows(cursor, _HEAD), _HEAD)]
    columns = columns.within(head)
    form = form_of(head)
    tallies = _tallies(cursor, form, columns)
    question = columns.columns.get("winner", "")
    beside = columns.without_winner if question in tallies else columns
    _check_named(path, head, beside, tallies)
    if beside.tells_winner or form is None:
        columns = columns.beside(in_other_case((n for row in head for n in row), columns.columns))
        if columns:
            _prepare(cursor, ((line, columns.applied(row)) for line, row in _rows(cursor)))
            _replace(cursor)
        return Rewritten(named=columns.theirs)
    read, asked = _reader(path, form, columns, tallies)
    _prepare(cursor, _with_columns(read, _rows_of(cursor, form), beside))
    unvoted, rows = value_of(cursor, _UNVOTED), value_of(cursor, _READABLE)
    silent = ""
    if rows and not value_of(cursor, f"select count(*) from rewritten where {_SAYS_SOMETHING}"):
        words = form.words(row for _, row in _rows(cursor))
        unvoted = rows
        silent = without_votes(path, form.title, rows, form.vote, dict(words.most_common()))
    _replace(cursor)
    told = ""
    if asked and (tallies.keys() > asked.keys() or len(asked) > 1):
        told = f"Votes are the answers to {' and '.join(asked)}."
    caution = form.caution if any(each.pairwise for each in asked.values()) else ""
    notes = tuple(filter(None, (f"Read as {form.title}.", told, caution)))
    return Rewritten(form, unvoted, silent, beside.theirs, tuple(asked), notes)


def _rows_of(cursor: Cursor, form: VoteForm) -> Iterator[Numbered]:
    names = form.names
    for line, row in _rows(cursor):
        yield line, unflattened(row, names)


def _tallies(cursor: Cursor, form: VoteForm | None, columns: ColumnMap) -> Mapping[str, Tally]:
    """Return how the questions of a file were answered that may be the vote, if it is such."""
    if form is None or not isinstance(form.read, Ballot):
        return {}
    return form.read.tally(_rows_of(cursor, form), columns.said)


def _reader(
    path: Path, form: VoteForm, columns: ColumnMap, tallies: Mapping[str, Tally]
) -> tuple[Reader, Mapping[str, Tally]]:
    """Return what reads the rows of a form, and the questions that are the vote."""
    if not isinstance(form.read, Ballot):
        return form.read, {}
    asked, several = voted_on(tallies, columns.columns.get("winner", ""))
    if several:
        raise StoreError(
            f"{path} has several questions that could be the vote: {', '.join(several)}. "
            f"Choose one, as in --map winner={several[0]}."
        )
    questions = {name: tallies[name] for name in asked}
    return form.read.read(questions, columns.said), questions


def _with_columns(
    read: Reader, rows: Iterator[Numbered], columns: ColumnMap
) -> Iterator[tuple[int, Row | str]]:
    """Yield what a form reads, with the columns and words that somebody has named on top."""
    if not columns:
        yield from read(rows)
        return
    taken: dict[int, Row] = {}

    def passing() -> Iterator[Numbered]:
        for line, row in rows:
            taken[line] = columns.taken(row)
            yield line, row

    for line, made in read(passing()):
        yield line, made if isinstance(made, str) else columns.worded({**made, **taken[line]})


LANGFUSE_ITEMS = "GET /api/public/experiment-items?fields=core,io,scores&experimentName=A,B"
"""What Langfuse's API is asked for, where two experiments are to be compared."""
_NO_PAIRS = (
    (
        ("experimentItemId", "experimentName"),
        "holds items of Langfuse's experiments, with scores and no votes: give it to "
        "`leaderboard --scores`, `gate --scores` or `risk`.",
    ),
    (
        ("traceId", "dataType", "stringValue"),
        "holds scores of Langfuse by trace, and names no model and no item. Ask its API for both: "
        f"{LANGFUSE_ITEMS}.",
    ),
    (
        ("datasetItemId", "traceId"),
        f"holds items of Langfuse's runs without scores. Ask its API for both: {LANGFUSE_ITEMS}.",
    ),
)


def unknown(path: Path, columns: Iterable[str]) -> str:
    """Return the sentence on a file in no form that is known."""
    there = sorted(columns)
    for names, said in _NO_PAIRS:
        if set(names) <= set(there):
            return f"{path} {said}"
    missing = [name for name in NEEDED if name not in there]
    options = " ".join(f"--map {name}=COLUMN" for name in missing)
    shown = ", ".join(there[:20]) + (f" and {len(there) - 20} more" if len(there) > 20 else "")
    return (
        f"{path} is in no form that is known. Its columns: {shown}. "
        f"Votes need {', '.join(missing)}: {options}."
    )


def _check_named(
    path: Path, rows: Sequence[Row], columns: ColumnMap, questions: Iterable[str]
) -> None:
    for theirs in columns.columns.values():
        if rows and all(at(row, theirs) is None for row in rows):
            there = ", ".join(dict.fromkeys(name.strip() for row in rows for name in row))
            asked = ", ".join(questions)
            more = f" Its questions: {asked}." if asked else ""
            raise StoreError(f"{path} has no column {theirs!r}. Its columns: {there}.{more}")


def _rows(cursor: Cursor, most: int | None = None) -> Iterator[Numbered]:
    """Yield the readable rows with the numbers of their lines, in pages."""
    last = -1
    while True:
        page = cursor.execute(
            "select rowid, line, row from file_rows where reason is null and rowid > $last "
            "order by rowid limit $page",
            {"last": last, "page": min(_PAGE, most or _PAGE)},
        ).fetchall()
        if not page:
            return
        last = page[-1][0]
        for place, line, row in page:
            try:
                yield line, json.loads(row)
            except ValueError:  # DuckDB takes more for JSON; whoever only looks leaves it
                if most is None:
                    cursor.execute(_UNREADABLE, [place])


_READABLE = "select count(*) from file_rows where reason is null"
_UNVOTED = f"{_READABLE} and line not in (select line from rewritten)"
_SAYS_SOMETHING = "(row is not null or reason is not null)"


def _prepare(cursor: Cursor, rows: Iterator[tuple[int, Row | str]]) -> None:
    """Fill the table of what comes in the place of the rows that can be read."""
    cursor.execute(
        "create or replace temp table rewritten (line bigint, part integer, row text, reason text)"
    )
    parts: dict[int, int] = {}
    while page := list(islice(rows, _PAGE)):
        made: list[tuple[int, int, str | None, str | None]] = []
        for line, row in page:
            part = parts.get(line, 0)
            parts[line] = part + 1
            if part >= PARTS:
                continue
            refused = row or None if isinstance(row, str) else None
            made.append((line, part, None if isinstance(row, str) else _json(row), refused))
        values: dict[str, Any] = {
            name: [each[n] for each in made]
            for n, name in enumerate(("lines", "parts", "rows", "reasons"))
        }
        cursor.execute(
            "insert into rewritten select unnest($lines::bigint[]), unnest($parts::integer[]), "
            "unnest($rows::text[]), unnest($reasons::text[])",
            values,
        )


def _replace(cursor: Cursor) -> None:
    """Put the prepared rows in the place of those that can be read."""
    cursor.execute("delete from file_rows where reason is null")
    cursor.execute(
        "insert into file_rows (line, row, breaks, reason, part) "
        f"select line, row, 0, reason, part from rewritten where {_SAYS_SOMETHING}"
    )


def _json(row: Row) -> str:
    # What is not a number is no JSON, and no value either.
    told = {name: None if value != value else value for name, value in row.items()}
    return json.dumps(told, ensure_ascii=False)
