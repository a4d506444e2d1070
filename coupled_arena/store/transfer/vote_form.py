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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

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
_INSIDE = (list, dict)
_NO_VOTE = ("", "ignore", "skip", "skipped", "none", "null", "nan")


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
    read : callable
        Takes numbered rows of the file, and yields numbered rows with our columns. In their place
        it yields the reason why a row cannot be read, or "" where another row has its vote. Of a
        row without a vote it yields nothing. `each` makes it of what reads one row.
    vote : str
        What a row with a vote has, in a sentence for files in which no row has it.
    bare : tuple of str
        Columns that tell a file in which nobody voted, where it then lacks some of `needed`.
    """

    title: str
    needed: tuple[str, ...]
    columns: Mapping[str, str]
    read: Reader
    vote: str
    bare: tuple[str, ...] = ()

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
        paths = (*self.needed, *self.columns.values())
        return {word.split(".")[0] for path in paths for word in re.split(", | or | and ", path)}


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
    """Return a value, or what is in it where it is a text of JSON, as in a CSV."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


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
        if word.lower() in _NO_VOTE:
            return
        # A model may be called `left`; then the name counts.
        if word not in (text_of(found["model_a"]), text_of(found["model_b"])):
            found["winner"] = words.get(word.lower(), word)
        yield found

    return read
