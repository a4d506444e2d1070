"""Lists and objects as Python prints them: what pandas writes into a CSV for nested values.

Nothing is evaluated. NumPy's arrays are understood too, which print their elements without commas.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

from coupled_arena.core.sql import Cursor, quoted, value_of

_LONGEST = 4 << 20  # characters of one value
_DEEPEST = 32  # lists within lists; conversations have three to five
_PAGE = 2000  # rows read at a time

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<number>[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<name>[A-Za-z_][\w.]*)
    |(?P<mark>[\[\](){},:=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_NAMES = {"None": None, "nan": None, "NaT": None, "True": True, "False": False}
_CLOSING = {"[": "]", "(": ")", "{": "}"}
# A text in JSON that begins with a bracket: a row is searched for one sooner than it is parsed.
_PERHAPS = r'"(?:\p{Zs}|\\u[0-9a-fA-F]{4})*(?:\[|\\u005[bB])'


def read_literal(text: str) -> Any:
    """Return the value of a Python literal, of lists, dictionaries and plain values.

    Raises
    ------
    ValueError
        It is none, or is longer or deeper than any conversation.
    """
    if len(text) > _LONGEST:
        raise ValueError("too long")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of a backslash that escapes nothing
        reader = _Reader(text.strip())
        value = reader.value(0)
        reader.end()
    return value


class _Reader:
    """Reads one value after the other from a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._kind, self._token = "", ""
        self._calls = 0
        self._advance()

    def value(self, depth: int) -> Any:
        kind, token = self._kind, self._token
        if depth > _DEEPEST:
            raise ValueError("too deep")
        self._advance()
        if kind == "text":
            return _text(token)
        if kind == "number":
            return float(token) if re.search("[.eE]", token) else int(token)
        if kind == "name":
            return self._named(token, depth)
        if token in _CLOSING:
            return self._items(_CLOSING[token], depth, pairs=token == "{")
        raise ValueError(f"unexpected {token!r}")

    def end(self) -> None:
        if self._kind:
            raise ValueError(f"unexpected {self._token!r}")

    def _named(self, name: str, depth: int) -> Any:
        """Return a constant; of an array what is in it, of other objects nothing."""
        if self._token != "(":
            if name not in _NAMES and not self._calls:
                raise ValueError(f"unknown {name}")
            return _NAMES.get(name)
        self._advance()
        self._calls += 1  # arguments have names, and `dtype=object` has one for its value
        inside = self._items(")", depth, pairs=False)
        self._calls -= 1
        return inside[0] if name.endswith("array") and inside else None

    def _items(self, closing: str, depth: int, *, pairs: bool) -> Any:
        items: list[Any] = []
        found: dict[str, Any] = {}
        while self._token != closing:
            item = self.value(depth + 1)
            if self._token in (":", "="):
                self._advance()  # a key of a dictionary, or the name of an argument
                found[str(item)] = self.value(depth + 1)
            else:
                items.append(item)
            if self._token == ",":
                self._advance()
        self._advance()
        if pairs and items:
            raise ValueError("a set")
        return found if pairs else items

    def _advance(self) -> None:
        if self._at >= len(self._text):
            self._kind, self._token = "", ""
            return
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise ValueError(f"unexpected {self._text[self._at : self._at + 10]!r}")
        self._at = found.end()
        self._kind = str(found.lastgroup)
        self._token = found[self._kind]


def _text(token: str) -> str:
    try:
        value: str = ast.literal_eval(token)
    except (SyntaxError, MemoryError) as error:
        raise ValueError(str(error)) from error
    return value.encode("utf-8", "replace").decode("utf-8")  # half a character is none


def reread(cursor: Cursor, fields: tuple[str, ...]) -> None:
    """Put JSON in the place of Python's lists in ``file_rows``; what is neither stays as it is.

    Parameters
    ----------
    fields : tuple of str
        Fields of a row that may hold them.
    """
    python = [f"(starts_with(trim(f.{name}), '[') and not json_valid(f.{name}))" for name in fields]
    names = quoted(json.dumps(dict.fromkeys(fields, "VARCHAR")))
    cursor.execute(
        f"""
        create or replace temp table printed as
        with perhaps as materialized (
            select rowid as line, row
            from file_rows
            where reason is null and regexp_matches(row, {quoted(_PERHAPS)})
        )
        select line, f.*, row_number() over () - 1 as nth
        from (select line, from_json(row, {names}) as f from perhaps)
        where {" or ".join(python)}
        """
    )
    cursor.execute("create or replace temp table read_again (line bigint, patch text)")
    count = value_of(cursor, "select count(*) from printed")
    for first in range(0, count, _PAGE):
        _read_page(cursor, fields, first)
    if count:
        cursor.execute(
            """
            update file_rows set row = json_merge_patch(row::json, patch::json)::text
            from read_again
            where file_rows.rowid = read_again.line
            """
        )


def _read_page(cursor: Cursor, fields: tuple[str, ...], first: int) -> None:
    rows: list[tuple[Any, ...]] = cursor.execute(
        f"select line, {', '.join(fields)} from printed where nth between ? and ?",
        [first, first + _PAGE - 1],
    ).fetchall()
    patches = {line: _patch(dict(zip(fields, values, strict=True))) for line, *values in rows}
    cursor.execute(
        "insert into read_again select unnest($lines), unnest($patches)",
        {"lines": list(patches), "patches": list(patches.values())},
    )


def _patch(values: dict[str, str | None]) -> str:
    """Return the values that are Python's lists, as a JSON object."""
    found: dict[str, Any] = {}
    for name, text in values.items():
        if text is not None and text.lstrip().startswith("["):
            try:
                found[name] = read_literal(text)
            except ValueError:
                continue  # a text that begins with a bracket, or a conversation nobody can read
    return json.dumps(found, allow_nan=False)
