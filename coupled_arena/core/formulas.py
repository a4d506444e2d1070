"""Texts of CSV files that a spreadsheet would take for formulas, and back.

A text that begins like a formula gets an apostrophe before it. So does a text with apostrophes
before such a beginning: taking one away is then exact.
"""

from __future__ import annotations

import csv
import re
from typing import Any, TextIO

# Programs leave out blanks before a cell, and what no one sees: controls, formats and fillers.
_UNSEEN = (
    r"\x00-\x20\x7f-\xa0\xad"
    "\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u180b-\u180f"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
# Also in other widths and heights: East Asian versions take full-width signs for signs.
_SIGNS = (
    r"=+\-@"
    "\u207a\u207c\u208a\u208c\ufb29\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20"
)
_BEGIN = rf"'*(?:[\t\r\n]|[{_UNSEEN}]*[{_SIGNS}])"

FORMULA = f"^{_BEGIN}"
"""What texts begin with that get an apostrophe: a regular expression of Python and RE2."""

ESCAPED = f"^'({_BEGIN})"
"""What they then begin with; its group is what was there."""

_FORMULA = re.compile(FORMULA)
_ESCAPED = re.compile(ESCAPED)


def as_text(cell: object) -> object:
    """Return a cell as what no spreadsheet runs; a number is none."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def as_written(cell: str) -> str:
    """Return what `as_text` was given."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def csv_writer(stream: TextIO) -> Any:
    """Return a writer of rows that end with a line feed.

    Python's own writes a carriage return bare there: what follows it would begin a row.
    """
    return csv.writer(_LineFeeds(stream), lineterminator="\r\n")


class _LineFeeds:
    """A stream of lines, each written at once, in which they end with a line feed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> int:
        return self._stream.write(line.removesuffix("\r\n") + "\n")
