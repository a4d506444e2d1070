"""A table of votes, checked row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coupled_arena.core.errors import VoteError
from coupled_arena.core.records import Mode, Outcome
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.comparison_rows import store_of_rows

if TYPE_CHECKING:
    import pandas as pd

JUDGE = "verdict"
"""Name of the judge whose verdicts a table has; also of their column."""

_WORDS = {
    "model_a": Outcome.FIRST,
    "a": Outcome.FIRST,
    "model_b": Outcome.SECOND,
    "b": Outcome.SECOND,
    "tie": Outcome.TIE,
    "tie (bothbad)": Outcome.BOTH_BAD,
    "both_bad": Outcome.BOTH_BAD,
    "bothbad": Outcome.BOTH_BAD,
}
_NEEDED = ("model_a", "model_b", "winner")
_MODES = [mode.value for mode in Mode]


def store_of_votes(votes: pd.DataFrame) -> Store:
    """Return an in-memory store that holds nothing but these comparisons.

    Parameters
    ----------
    votes : DataFrame
        As `coupled_arena.rank` takes it.

    Raises
    ------
    VoteError
        A column is missing, or a row says nothing that can be counted.
    """
    return store_of_rows(_checked(votes), JUDGE)


def _checked(votes: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    if missing := [name for name in _NEEDED if name not in votes.columns]:
        there = ", ".join(map(repr, votes.columns)) or "none"
        raise VoteError(
            f"The votes have no column {' or '.join(missing)}; needed are {', '.join(_NEEDED)}. "
            f"Columns here: {there}."
        )
    if votes.empty:
        raise VoteError("The table has no rows, so that there is nothing to rank.")
    given = pd.DataFrame({"n": np.arange(len(votes))})
    for side in ("model_a", "model_b"):
        given[side] = _names(votes, side)
        _refuse(votes, given[side].isna() | (given[side] == ""), f"{side} is missing")
    _refuse(votes, given["model_a"] == given["model_b"], "a model meets itself")
    given["human"] = _outcomes(votes, "winner", given)
    given["verdict"] = _outcomes(votes, JUDGE, given) if JUDGE in votes.columns else None
    _refuse(votes, given["human"].isna() & given["verdict"].isna(), "winner is missing")
    # Rows that do not say otherwise are on prompts of their own, by voters of their own.
    own = pd.Series([f"row {n}" for n in range(len(votes))], dtype=object)
    for column in ("prompt", "voter"):
        given[column] = own
        if column in votes.columns:
            named = "= " + _names(votes, column)
            given[column] = named.where(named.notna(), own)
    given["voter"] = given["voter"].where(given["human"].notna(), None)
    given["mode"] = Mode.UNKNOWN.value
    if "mode" in votes.columns:
        given["mode"] = _names(votes, "mode")
        _refuse(votes, ~given["mode"].isin(_MODES), f"mode is none of {', '.join(_MODES)}")
    return given


def _names(votes: pd.DataFrame, column: str) -> pd.Series:
    """Return a column as text, whatever its type; missing values stay missing."""
    values: Any = votes[column].reset_index(drop=True)
    return values.astype(object).where(values.isna(), values.astype(str).str.strip())


def _outcomes(votes: pd.DataFrame, column: str, given: pd.DataFrame) -> pd.Series:
    """Return outcomes of words, or of the winner's own name; missing values stay missing."""
    import pandas as pd

    words = _names(votes, column)
    by_word = words.str.lower().map({word: outcome.value for word, outcome in _WORDS.items()})
    by_name = pd.Series(None, index=words.index, dtype=object)
    by_name[words == given["model_a"]] = Outcome.FIRST.value
    by_name[words == given["model_b"]] = Outcome.SECOND.value
    both = by_word.notna() & by_name.notna()
    _refuse(
        votes,
        both & (by_word != by_name),
        f"{column} {{value}} names one model, and the side of the other",
        words,
    )
    found = by_word.astype(object).where(by_word.notna(), by_name)
    _refuse(
        votes,
        words.notna() & found.isna(),
        f"{column} is {{value}}, not model_a, model_b, tie, both_bad or one of the row's models",
        words,
    )
    return found.where(found.notna(), None)


def _refuse(votes: pd.DataFrame, wrong: Any, why: str, values: pd.Series | None = None) -> None:
    """Raise an error that names the first row that is wrong, and says how many are."""
    if not wrong.any():
        return
    place = int(np.argmax(wrong.to_numpy()))
    if values is not None:
        why = why.format(value=repr(values.iloc[place]))
    more = int(wrong.sum()) - 1
    rows = f" ({more:,} more such {'row' if more == 1 else 'rows'})" if more else ""
    raise VoteError(f"Row {votes.index[place]}: {why}{rows}.")
