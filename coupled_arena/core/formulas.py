"""Texts of CSV files that a spreadsheet would take for formulas, and back.

A text that begins like a formula has an apostrophe before it, and so has one that begins with
apostrophes and then so: taking one away is then exact.
"""

from __future__ import annotations

import re

FORMULA = "^'*[=+\\-@\t\r\n]"
"""What texts begin with that get an apostrophe: a regular expression of Python and RE2."""

ESCAPED = "^'('*[=+\\-@\t\r\n])"
"""What they then begin with; its group is what was there."""

_FORMULA = re.compile(FORMULA)
_ESCAPED = re.compile(ESCAPED)


def as_text(cell: object) -> object:
    """Return a cell as what no spreadsheet runs; a number is none."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def as_written(cell: str) -> str:
    """Return what `as_text` was given."""
    return cell[1:] if _ESCAPED.match(cell) else cell
