"""Columns of a table of scores that hold no scores: how answers were drawn, and which is which."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from coupled_arena.analysis.score_cells import SUBJECTS, place_of, text_of
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _

if TYPE_CHECKING:
    import pandas as pd

PROMPTS = ("prompt", "question", "prompt_id", "question_id")
"""Names of a column, in lower case, that tells whose rows belong together."""

_SETTINGS = ("temperature", "top_k", "top_p", "max_tokens", "max_new_tokens", "system_prompt")
_REPETITIONS = ("seed", "repetition", "repeat", "run", "sample")


def is_score(column: str) -> bool:
    """Return whether a column of this name holds scores, unless somebody says so."""
    return column.lower() not in (*SUBJECTS, *_SETTINGS, *_REPETITIONS)


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
    told = [c for c in frame.columns if c.lower() in _REPETITIONS and c not in (wanted or ())]
    if not told:
        return
    columns = [*keys, *told]
    again = frame.duplicated(columns).to_numpy()
    if again.any():
        row = int(again.argmax())
        shown = ", ".join(f"{column} {text_of(frame[column].iloc[row])!r}" for column in columns)
        text = _("{where} repeats a row above it: {shown}. Each answer may be there once.")
        raise ScoreError(text.format(where=place_of(frame, row, name), shown=shown))
