"""Cells of tables of scores that somebody else made: as text, as typed values, or missing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _
from coupled_arena.core.tables import place_in

if TYPE_CHECKING:
    import pandas as pd

SUBJECTS = ("subject", "category")
"""Names of a column, in lower case, that tells prompts apart and holds no scores."""

_WORDS = {"true": 1.0, "false": 0.0}


def place_of(frame: pd.DataFrame, row: int, name: str) -> str:
    """Return where a row of a table stands, for messages; `row` counts from 0."""
    return place_in(name, frame.index.name or "row", frame.index[row])


def is_missing(cell: object) -> bool:
    """Return whether a cell is blank, None, or one of the values that stand for none."""
    return not text_of(cell)


def text_of(cell: Any) -> str:
    """Return what a cell says, "" where it is missing."""
    if isinstance(cell, str):
        return cell.strip()
    import pandas as pd

    return "" if pd.isna(cell) is True else str(cell)


def score_of(cell: object, where: str, column: str, option: str) -> float:
    """Return a score: a finite number, True or False.

    Raises
    ------
    ScoreError
        It is none; `where` and `column` say where it stands, `option` which columns to read.
    """
    text = text_of(cell)
    try:
        score = _WORDS[text.lower()] if text.lower() in _WORDS else float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        shown = cell if isinstance(cell, str) else text
        text = _(
            "{where}: {shown!r} in column {column!r} is not a score; write a number, True or "
            "False, or leave the column out: {option} names those to read."
        )
        raise ScoreError(text.format(where=where, shown=shown, column=column, option=option))
    return score


def scores_of(frame: pd.DataFrame, column: str, name: str, option: str) -> NDArray[np.float64]:
    """Return a column of scores, NaN where a cell is empty; see `score_of` for what is refused."""
    if frame[column].dtype.kind in "biuf":
        values = frame[column].to_numpy(dtype=np.float64)
        if np.isfinite(values).all():
            return values
    return np.array(
        [
            math.nan
            if is_missing(cell)
            else score_of(cell, place_of(frame, row, name), column, option)
            for row, cell in enumerate(frame[column])
        ]
    )
