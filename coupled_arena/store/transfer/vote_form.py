"""Votes as other tools write them, turned into rows with the columns of this program.

A form is one declaration: which columns tell it, and which of them become ours. The page on data is
made of it. What a tool says about sides is kept. Where it does not say who stood first, the names
stand in alphabetical order, so no effect of the first place appears. Nothing here knows databases.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from coupled_arena.store.transfer.python_literals import read_literal

Row = dict[str, Any]
Numbered = tuple[int, Row]
Reader = Callable[[Iterable[Numbered]], Iterator[tuple[int, Row | str]]]

PROMPTS = ("prompt", "instruction", "question", "input")
"""Fields that usually hold the question."""

WORDS = {
    "left": "model_a",
    "leftvote": "model_a",
    "right": "model_b",
    "rightvote": "model_b",
    "tievote": "tie",
    "bothbad_vote": "both_bad",
    "bothbadvote": "both_bad",
}
"""Words for a side, where a form says which model stood there."""
NO_VOTE = ("", "ignore", "skip", "skipped", "none", "null", "nan")
"""Words in the place of a winner where nobody voted."""
_INSIDE = (list, dict)


@dataclass
class Tally:
    """How a question of a file was answered.

    Attributes
    ----------
    answers, known : int
        People's answers, and those that say who won.
    sides : bool
        An answer names one of the two.
    pairwise : bool
        It can have no other answers than the two sides.
    certain : bool
        It is a question, where other columns may be data.
    named : int
        Answers that say it by the name of a model, as data may, too.
    lengths : set of int
        Of answers that are lists of words. Those of a ranking have one length, while of several
        labels people pick as many as they like, in no order.
    """

    answers: int = 0
    known: int = 0
    sides: bool = False
    pairwise: bool = False
    certain: bool = True
    named: int = 0
    lengths: set[int] = field(default_factory=set[int])

    @property
    def likely(self) -> bool:
        """Whether most answers say who won: a comment that does so now and then is no vote."""
        return 2 * self.known > self.answers

    @property
    def ranks(self) -> bool:
        """Whether a list of words is an order."""
        return len(self.lengths) < 2


@dataclass(frozen=True)
class Said:
    """What somebody says of a file in which people answer questions.

    Attributes
    ----------
    words : mapping
        What words for the winner mean.
    sides : tuple of str
        The fields of a row with the names of the two models, as a form finds them if "".
    """

    words: Mapping[str, str]
    sides: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Ballot:
    """How a form is read in which people answer questions with names of their own.

    Attributes
    ----------
    tally : callable
        Takes numbered rows and what somebody says of them, and returns the questions by name.
    read : callable
        Takes the questions that are the vote, and the same; returns what reads rows.
    """

    tally: Callable[[Iterable[Numbered], Said], dict[str, Tally]]
    read: Callable[[Mapping[str, Tally], Said], Reader]


def voted_on(tallies: Mapping[str, Tally], wanted: str = "") -> tuple[list[str], list[str]]:
    """Return the questions that are the vote, and those of which somebody must choose one.

    Parameters
    ----------
    wanted : str
        The question that somebody has chosen.
    """
    pairs = [name for name, each in tallies.items() if each.pairwise]
    asked = {name: each for name, each in tallies.items() if each.certain or each.likely}
    # A pairwise control has no tie: a choice beside it says so, where it has no sides.
    ties = [name for name, each in asked.items() if len(pairs) == 1 and _is_tie(each)]
    asked = {name: each for name, each in asked.items() if name not in ties}
    likely = [name for name, each in asked.items() if each.likely]
    if wanted:
        return [wanted, *(ties if wanted in pairs else [])], []
    if likely[1:] or not asked:
        return [], likely
    most = max(each.answers for each in asked.values())
    name = (likely or list(asked))[0]
    others = [other for other, each in tallies.items() if other != name and not each.certain]
    if not tallies[name].certain and tallies[name].named == tallies[name].known and others:
        return [], [name, *others]  # the name of a model in each row may be data
    # A word for a side in one comment is no vote, where all answers to the question are unknown.
    if not asked.keys() - {name} or name in pairs or 2 * asked[name].known > most:
        return [name, *ties], []
    return [], list(asked)


def _is_tie(tally: Tally) -> bool:
    return bool(tally.known) and not tally.sides


@dataclass(frozen=True)
class VoteForm:
    """What one tool writes.

    Attributes
    ----------
    title : str
        The tool, and its file.
    needed : tuple of str
        Columns that tell it; ``a.b`` is the field ``b`` within ``a``, ``*.b`` one within any.
    columns : dict
        Ours by name, each with the column that it is taken from.
    read : callable or Ballot
        Takes numbered rows of the file, and yields numbered rows with our columns. In their place
        it yields the reason why a row cannot be read, or "" where another row has its vote. Of a
        row without a vote it yields nothing. `each` makes it of what reads one row.
    vote : str
        What a row with a vote has, in a sentence for files in which no row has it.
    bare : tuple of str
        Columns that tell a file in which nobody voted, where it then lacks some of `needed`.
    also : tuple of str
        Further columns that are read.
    caution : str
        What is to be said of votes by a control for a side; "" for nothing.
    """

    title: str
    needed: tuple[str, ...]
    columns: Mapping[str, str]
    read: Reader | Ballot
    vote: str
    bare: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    caution: str = ""

    def tells(self, rows: Iterable[Row], *, voted: bool = True) -> bool:
        """Return whether one of some rows has all that tells this form, also if nobody voted."""
        paths = self.needed if voted else self.bare
        return bool(paths) and any(all(_has(row, path) for path in paths) for row in rows)

    def words(self, rows: Iterable[Row]) -> Counter[str]:
        """Return how often rows have each word in the column that tells the winner, if it is one.

        Several columns, lists and objects have no word.
        """
        path = self.columns["winner"]
        if re.search(" or | and |, ", path):
            return Counter()
        found = (nested(at(row, path)) for row in rows)
        return Counter(
            text_of(value) for value in found if text_of(value) and not isinstance(value, _INSIDE)
        )

    @property
    def names(self) -> set[str]:
        """Its columns that are read, by the names that the file has for them."""
        paths = (*self.needed, *self.columns.values(), *self.also)
        return {word.split(".")[0] for path in paths for word in re.split(", | or | and ", path)}

    def unread(self, there: Iterable[str], questions: Iterable[str] = ()) -> set[str]:
        """Return the columns of a file that are not read, if these questions are."""
        read = tuple(f"{name}." for name in {*self.names, *questions})
        return {name for name in there if not f"{name}.".startswith(read)}


def each(read: Callable[[Row], Iterable[Row]]) -> Reader:
    """Return what reads numbered rows of what reads one, and raises ValueError where it cannot."""

    def rows(given: Iterable[Numbered]) -> Iterator[tuple[int, Row | str]]:
        for line, row in given:
            try:
                yield from [(line, found) for found in read(row)]
            except ValueError as error:
                yield line, str(error)

    return rows


def nested(value: Any) -> Any:
    """Return a value, or what is in it where it is a text of JSON or of Python, as in a CSV."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        for read in (json.loads, read_literal):
            with suppress(ValueError):
                return read(value)
    return value


def unflattened(row: Row, names: Collection[str]) -> Row:
    """Return a row with an object in the place of the columns ``a.b`` and ``a.c``.

    Parameters
    ----------
    names : collection of str
        Objects that may be made, such as ``a``, where no column of that name has a value.
    """
    paths = [name.split(".") for name in row if "." in name and name.partition(".")[0] in names]
    inner = {".".join(path[:n]) for path in paths for n in range(1, len(path))}
    empty = {name for name in inner if not _is_there(row.get(name))}
    taken = {name.partition(".")[0] for name in inner - empty}
    found = {name: value for name, value in row.items() if name not in empty}
    for first, *middle, last in paths:
        name = ".".join((first, *middle, last))
        if name in found and first not in taken:
            here = found.setdefault(first, {})
            for key in middle:
                here = here.setdefault(key, {})
            here[last] = found.pop(name)
    return found


def record(value: Any) -> Row:
    """Return an object, also one in a text; an empty one where there is none."""
    found = nested(value)
    return cast("Row", found) if isinstance(found, dict) else {}


def items(value: Any) -> list[Any]:
    """Return a list, also one in a text; an empty one where there is none."""
    found = nested(value)
    return cast("list[Any]", found) if isinstance(found, list) else []


def at(row: Any, path: str) -> Any:
    """Return a field of a row, None where it is not there; ``a.b`` is ``b`` within ``a``."""
    here = cast("Row", row) if isinstance(row, dict) else record(row)
    if path in here:
        return here[path]
    first, dot, rest = path.partition(".")
    return at(here[first], rest) if dot and first in here else None


def _has(value: Any, path: str) -> bool:
    if several := items(value):
        return any(_has(one, path) for one in several)
    row = record(value)
    first, dot, rest = path.partition(".")
    if first == "*":
        return any(name.endswith(path[1:]) or _has(row[name], rest) for name in row)
    if first.startswith("*"):
        return any(name.endswith(first[1:]) for name in row)
    return path in row or (bool(dot) and first in row and _has(row[first], rest))


def text_of(value: Any) -> str:
    """Return a value as text without blanks around it; "" where there is none."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip()


def number(value: Any) -> float | None:
    """Return a value as a number, also True and False; None where it is none."""
    try:
        found = float(text_of(value))
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(text_of(value).lower())
    return found if found == found else None


def flag(value: Any) -> bool:
    """Return whether a value says yes, as 1, True or a text of these."""
    return number(value) == 1


def first_of(row: Row, *paths: str) -> Any:
    """Return the first of some fields that has a value."""
    for path in paths:
        value = at(row, path)
        if _is_there(value):
            return value
    return None


def _is_there(value: Any) -> bool:
    return isinstance(value, _INSIDE) or bool(text_of(value))  # conversations are not written out


def hidden(address: Any) -> str | None:
    """Return what stands for an address of the network, which is nobody's business."""
    word = text_of(address)
    return hashlib.sha256(word.encode()).hexdigest()[:16] if word else None


def ordered(row: Row, winner: str, loser: str, texts: Mapping[str, Any]) -> Row:
    """Return a row in which one model beats another; nobody knows which stood first."""
    first, second = sorted((winner, loser))
    return {
        **row,
        "model_a": first,
        "model_b": second,
        "winner": "model_a" if first == winner else "model_b",
        "response_a": texts.get(first),
        "response_b": texts.get(second),
    }


def renamed(
    columns: Mapping[str, str], words: Mapping[str, str] = WORDS
) -> Callable[[Row], Iterator[Row]]:
    """Return what reads rows that have a column for each of ours."""
    paths = {ours: theirs.split(" or ") for ours, theirs in columns.items()}

    def read(row: Row) -> Iterator[Row]:
        found = {ours: first_of(row, *theirs) for ours, theirs in paths.items()}
        word = text_of(found["winner"])
        if word.lower() in NO_VOTE:
            return
        # A model may be called `left`; then the name counts.
        if word not in (text_of(found["model_a"]), text_of(found["model_b"])):
            found["winner"] = words.get(word.lower(), word)
        yield found

    return read
