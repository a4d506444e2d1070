"""Votes and scores from elsewhere as a store in memory, checked row by row.

Votes come as a table, or as files of any format that an import takes. Scores on the same prompts
become comparisons: the model with the higher score on a prompt wins it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.errors import ScoreError, StoreError, VoteError
from coupled_arena.core.records import Mode, Outcome
from coupled_arena.core.vote_columns import (
    IDENTICAL_WORDS,
    KNOWN_WINNERS,
    QUESTION_NAMES,
    TEXTS,
    TWO_MEANINGS,
    VERDICT,
    VOTER_NAMES,
    outcome_of,
    read_names,
)
from coupled_arena.store.database import Store
from coupled_arena.store.transfer import importing
from coupled_arena.store.transfer.comparison_rows import store_of_rows
from coupled_arena.store.transfer.flat import is_flat
from coupled_arena.store.transfer.foreign_rows import NEEDED, ColumnMap, form_of, in_other_case
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.store.transfer.vote_formats import FORMATS

if TYPE_CHECKING:
    import pandas as pd

_HEAD = 1000  # rows that tell a form
_MODES = [mode.value for mode in Mode]


def store_of_votes(votes: pd.DataFrame) -> tuple[Store, tuple[str, ...]]:
    """Return an in-memory store that holds nothing but these comparisons.

    Parameters
    ----------
    votes : DataFrame
        As `coupled_arena.rank` takes it.

    Returns
    -------
    store : Store
    notes : tuple of str
        What is to be said of rows that are left out.

    Raises
    ------
    VoteError
        A column is missing, or a row says nothing that can be counted.
    """
    if is_flat(votes.columns):  # its other rows say which pairs are no comparisons
        counted = votes["counted"]
        votes = votes.loc[counted.isna() | (counted.astype(str).str.lower() == "true")]
    given, pasted = _checked(votes)
    return store_of_rows(given[~pasted], VERDICT), tuple(
        importing.notes_of_repeated(int(pasted.sum()))
    )


def in_other_form(votes: pd.DataFrame, columns: ColumnMap) -> bool:
    """Return whether a table is in another form than ours, or somebody has named its columns."""
    names = set(votes.columns)
    if not columns and in_other_case(map(str, names)):
        return votes.columns.is_unique
    published = not names.issuperset(NEEDED) and any(
        names.issuperset(format.columns) for format in FORMATS
    )
    if not votes.columns.is_unique:
        return False  # whoever reads it will name them
    return (
        bool(columns) or published or form_of(json.loads(_json_of(votes.head(_HEAD)))) is not None
    )


def lacks_votes(votes: pd.DataFrame) -> bool:
    """Return whether a row of a table with our columns holds no vote and no verdict in them."""
    if not set(NEEDED) <= set(votes.columns):
        return False
    lacking = votes[NEEDED[0]].isna() | votes[NEEDED[1]].isna()
    decided = votes[[name for name in (NEEDED[2], VERDICT) if name in votes.columns]]
    return bool((lacking | decided.isna().all(axis=1)).any())


def _json_of(votes: pd.DataFrame) -> str:
    asked = {"orient": "records", "date_format": "iso", "default_handler": str}
    try:
        return votes.to_json(None, force_ascii=False, **asked) or "[]"
    except UnicodeDecodeError:  # pictures, which no vote is read from
        plain = votes.map(_without_bytes)
        return plain.to_json(None, force_ascii=False, **asked) or "[]"


def _without_bytes(value: Any) -> Any:
    if isinstance(value, bytes):
        return None
    if isinstance(value, dict):
        return {name: _without_bytes(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_without_bytes(each) for each in value]
    return value


def store_of_other_votes(
    votes: pd.DataFrame, columns: ColumnMap, judge: str | None = None
) -> tuple[Store, tuple[str, ...]]:
    """Return an in-memory store of a table as `store_of_files` does of files."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "votes.json"
        path.write_text(_json_of(votes), encoding="utf-8")
        try:
            return store_of_files([path], columns, judge)
        except (StoreError, VoteError) as error:
            raise VoteError(str(error).replace(str(path), "The table")) from error


def store_of_files(
    paths: Sequence[Path], columns: ColumnMap | None = None, judge: str | None = None
) -> tuple[Store, tuple[str, ...]]:
    """Return an in-memory store of the votes in files of any format that an import knows.

    Parameters
    ----------
    columns : ColumnMap, optional
        As `import_files` takes it.
    judge : str, optional
        The judge of files that hold verdicts alone and name none.

    Returns
    -------
    store : Store
    notes : tuple of str
        What the import says of them.

    Raises
    ------
    StoreError
        A file cannot be read or recognised.
    VoteError
        A row says nothing that can be counted.
    """
    with ExitStack() as opened:
        store = opened.enter_context(Store.in_memory())
        done = import_files(store, paths, columns=columns, unnamed_judge=judge, voters_apart=True)
        if done.rejected:
            first, more = done.rejected[0], len(done.rejected) - 1
            raise VoteError(f"{first.file}, line {first.line}: {first.reason}{_more(more)}.")
        opened.pop_all()  # whoever asked closes it
    return store, done.notes


def _checked(votes: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Return the rows as `store_of_rows` takes them, and which of them repeat another one."""
    import pandas as pd

    if missing := [name for name in NEEDED if name not in votes.columns]:
        there = ", ".join(map(repr, votes.columns)) or "none"
        raise VoteError(
            f"The votes have no column {' or '.join(missing)}; needed are {', '.join(NEEDED)}. "
            f"Columns here: {there}. `map` names columns: {{'winner': 'label'}}."
        )
    twice = set(votes.columns[votes.columns.duplicated()]) & set(read_names(ranked=True))
    if twice:
        raise VoteError(f"The table has two columns {min(twice)}: keep one of them.")
    if votes.empty:
        raise VoteError("The table has no rows, so that there is nothing to rank.")
    given = pd.DataFrame({"n": np.arange(len(votes))})
    for side in ("model_a", "model_b"):
        given[side] = names = _names(votes, side)
        several = votes[side].map(lambda value: isinstance(value, (list, dict, np.ndarray)))
        _refuse(votes, several, f"{side} {{value}} is no name", names)
        _refuse(votes, given[side].isna(), f"{side} is missing")
    _refuse(votes, given["model_a"] == given["model_b"], "a model meets itself")
    given["human"] = _outcomes(votes, "winner", given)
    given["verdict"] = _outcomes(votes, VERDICT, given) if VERDICT in votes.columns else None
    _refuse(votes, given["human"].isna() & given["verdict"].isna(), "winner is missing")
    # Rows that do not say otherwise are on prompts of their own, by voters of their own.
    own = pd.Series([f"row {n}" for n in range(len(votes))], dtype=object)
    voter = _first_of(votes, VOTER_NAMES)
    given["voter"] = ("= " + voter).where(voter.notna(), own)
    given["prompt"] = _prompts(votes, own)
    given["identical"] = (given["human"] == Outcome.TIE.value) & _is_identical(votes)
    given["voter"] = given["voter"].where(given["human"].notna(), None)
    given["mode"] = Mode.UNKNOWN.value
    if "mode" in votes.columns:
        mode = _names(votes, "mode").str.lower()
        given["mode"] = mode.where(mode.isin(_MODES), Mode.UNKNOWN.value)
    return given, _pasted(votes, given, voter)


def _is_identical(votes: pd.DataFrame) -> pd.Series:
    """Return which rows are marked as ties of identical answers, which nobody was asked about."""
    import pandas as pd

    found = pd.Series(None, index=range(len(votes)), dtype=object)
    for name, words in IDENTICAL_WORDS.items():
        if name in votes.columns:
            word = _names(votes, name).str.lower()
            found = found.where(found.notna(), word.isin(words).where(word.notna(), None))
    return found.isin([True])


def _prompts(votes: pd.DataFrame, own: pd.Series) -> pd.Series:
    """Return which rows are on one prompt: by its text, else by the question's id."""
    found = "= " + _first_of(votes, QUESTION_NAMES)
    text = "text " + _first_of(votes, ("prompt",))
    return text.where(text.notna(), found.where(found.notna(), own))


def _pasted(votes: pd.DataFrame, given: pd.DataFrame, voter: pd.Series) -> pd.Series:
    """Return which rows somebody has pasted again, as `import` has it: see `merge_staged`.

    They say who voted, and by an id or answers on what; voter, texts and choice are the same.
    """
    question = _first_of(votes, ("num", "battle", *QUESTION_NAMES))
    answered = _first_of(votes, TEXTS[1:]).notna()
    known = voter.notna() & given["human"].notna() & (question.notna() | answered)
    if not known.any():
        return known
    same = given[["model_a", "model_b", "human", "mode"]].assign(voter=voter, question=question)
    # A model that answers twice in a battle has two pairs of one voter.
    for name in (*TEXTS, "turn", "tstamp", "timestamp", "repeat", "place_a", "place_b"):
        if name in votes.columns:
            same[name] = _names(votes, name)
    return same[known].duplicated().reindex(known.index, fill_value=False)


def _first_of(votes: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Return the first of some columns that has a value, as text."""
    import pandas as pd

    found = pd.Series(None, index=range(len(votes)), dtype=object)
    for name in names:
        if name in votes.columns:
            value = _names(votes, name)
            found = found.where(found.notna(), value)
    return found


def _names(votes: pd.DataFrame, column: str) -> pd.Series:
    """Return a column as text, whatever its type; blank and missing values are missing."""
    values: Any = votes[column].reset_index(drop=True)
    said = values.astype(object).where(values.isna(), values.astype(str).str.strip())
    return said.where(said != "", None)  # a blank cell of a file is as good as none


def _outcomes(votes: pd.DataFrame, column: str, given: pd.DataFrame) -> pd.Series:
    """Return outcomes of words, or of the winner's own name; missing values stay missing."""
    import pandas as pd

    words = _names(votes, column)
    by_word = words.map(_meanings(words))
    by_name = pd.Series(None, index=words.index, dtype=object)
    names = [given["model_a"], given["model_b"]]
    # A name that is exactly a model's is that model's; in other case, where that leaves no doubt.
    lowered = [name.str.lower() for name in names]
    clear = lowered[0] != lowered[1]
    for name, low, outcome in zip(names, lowered, (Outcome.FIRST, Outcome.SECOND), strict=True):
        by_name[(words == name) | (clear & (words.str.lower() == low))] = outcome.value
    both = by_word.notna() & by_name.notna()
    _refuse(
        votes,
        both & (by_word != by_name),
        f"{column} {{value}} {TWO_MEANINGS}",
        words,
    )
    found = by_word.astype(object).where(by_word.notna(), by_name)
    _refuse(
        votes,
        words.notna() & found.isna(),
        f"{column} is {{value}}, which is unknown; known are {KNOWN_WINNERS}, and the names of "
        "the row's two models",
        words,
    )
    return found.where(found.notna(), None)


def _meanings(words: pd.Series) -> dict[str, str]:
    """Return what each word for a winner means, of those that mean something."""
    found = {word: outcome_of(word) for word in words.dropna().unique()}
    return {word: outcome.value for word, outcome in found.items() if outcome is not None}


def _refuse(votes: pd.DataFrame, wrong: Any, why: str, values: pd.Series | None = None) -> None:
    """Raise an error that names the first row that is wrong, and says how many are."""
    if not wrong.any():
        return
    place = int(np.argmax(wrong.to_numpy()))
    if values is not None:
        why = why.format(value=repr(values.iloc[place]))
    row = votes.index[place]
    where = row if votes.index.name == "where" else f"Row {row}"  # of files it is in words
    raise VoteError(f"{where}: {why}{_more(int(wrong.sum()) - 1)}.")


def _more(rows: int) -> str:
    return f" ({rows:,} more such {'row' if rows == 1 else 'rows'})" if rows else ""


# By the sign of the first model's score less the second's, and one.
_BY_SIGN = np.array([Outcome.SECOND.value, Outcome.TIE.value, Outcome.FIRST.value], dtype=object)


def store_of_scores(scores: RiskScores) -> Store:
    """Return an in-memory store in which a metric judges each pair of models on each prompt.

    Of several replies to a prompt a model's mean counts. The comparisons are verdicts of a judge
    of the metric's name.

    Parameters
    ----------
    scores : RiskScores
        One metric, of the same prompts for all models.

    Raises
    ------
    ScoreError
        There are several metrics, or the models were scored on other prompts.
    """
    metric, *others = scores.metrics
    if others:
        names = ", ".join(scores.metrics)
        raise ScoreError(f"One metric tells who wins: choose with --metric, of {names}.")
    if missing := scores.missing_prompt():
        raise ScoreError(
            f"{missing[0]} has no score on {missing[1]!r}: models are compared prompt by prompt."
        )
    return store_of_rows(_rows_of_scores(scores), metric)


def _rows_of_scores(scores: RiskScores) -> pd.DataFrame:
    """Return a row for each pair of models on each prompt, as `store_of_rows` takes them."""
    import pandas as pd

    replies = np.stack([s.reshape(-1, scores.repetitions) for s in scores.oriented()])
    means = replies.mean(axis=2)
    # Means that differ by no more are equal: they may by their rounding alone.
    rounding = np.abs(replies).max(axis=(0, 2)) * 2.0**-40
    found = []
    for first, second in combinations(range(len(scores.models)), 2):
        ahead = means[first] - means[second]
        sign = np.where(np.abs(ahead) > rounding, np.sign(ahead), 0).astype(np.int64)
        pair = {"model_a": scores.models[first], "model_b": scores.models[second]}
        found.append(
            pd.DataFrame({"prompt": scores.prompts[0], **pair, "verdict": _BY_SIGN[sign + 1]})
        )
    rows = pd.concat(found, ignore_index=True)
    nobody = pd.Series(None, index=rows.index, dtype=object)
    unknown = {"human": nobody, "voter": nobody, "mode": Mode.UNKNOWN.value, "identical": False}
    return rows.assign(n=np.arange(len(rows)), **unknown)
