"""Tables of scores from elsewhere: their columns, and the values of their cells."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _
from coupled_arena.core.tables import place_in
from coupled_arena.stats.counts import FloatArray

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
            "{where}: {shown!r} in column {column!r} is not a score. Write a number, True or "
            "False, or leave the column out: {option} names the columns to read."
        )
        raise ScoreError(text.format(where=where, shown=shown, column=column, option=option))
    return score


def scores_of(frame: pd.DataFrame, column: str, name: str, option: str) -> FloatArray:
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


PROMPTS = ("prompt", "question", "prompt_id", "question_id")
"""Names of a column, in lower case, that tells whose rows belong together."""

_SETTINGS = ("temperature", "top_k", "top_p", "max_tokens", "max_new_tokens", "system_prompt")
_REPETITIONS = ("seed", "repetition", "repeat", "run", "sample")
_INDEX = re.compile(r"unnamed: \d+(\.\d+)*")  # as pandas calls one that was saved as a column


def is_score(column: str) -> bool:
    """Return whether a column of this name holds scores, unless somebody says so."""
    named = column.lower()
    return named not in (*SUBJECTS, *_SETTINGS, *_REPETITIONS) and not _INDEX.fullmatch(named)


def check_settings(frame: pd.DataFrame, wanted: Collection[str] | None, name: str) -> None:
    """Refuse answers drawn in different ways, which are no repetitions of each other.

    Parameters
    ----------
    wanted : collection of str, optional
        Columns of scores, whatever their names.

    Raises
    ------
    ScoreError
        A column such as ``temperature`` has several values.
    """
    for place, column in enumerate(frame.columns):
        if column.lower() not in _SETTINGS or column in (wanted or ()):
            continue
        values = list(dict.fromkeys(text_of(cell) for cell in frame.iloc[:, place]))
        if len(values) > 1:
            some = ", ".join(repr(value) for value in values[:3])
            if len(values) > 3:
                some = _("{some} and others").format(some=some)
            text = _(
                "{name} has several settings: {column} is {some}. Keep the rows of one, or make it "
                "part of the model's name."
            )
            raise ScoreError(text.format(name=name, column=column, some=some))


def check_repeated(
    frame: pd.DataFrame, keys: Sequence[str], wanted: Collection[str] | None, name: str
) -> None:
    """Refuse a row that is there twice, where a column such as ``seed`` tells repetitions apart.

    Parameters
    ----------
    keys : sequence of str
        Columns that say what else a row is about.

    Raises
    ------
    ScoreError
        Two rows are the same in the keys and in every such column.
    """
    repeats = [c for c in frame.columns if c.lower() in _REPETITIONS and c not in (wanted or ())]
    if not repeats:
        return
    columns = [*keys, *repeats]
    repeated = frame.duplicated(columns).to_numpy()
    if repeated.any():
        row = int(repeated.argmax())
        shown = ", ".join(f"{column} {text_of(frame[column].iloc[row])!r}" for column in columns)
        text = _("{where} repeats a row above it: {shown}. Each answer may be there once.")
        raise ScoreError(text.format(where=place_of(frame, row, name), shown=shown))
