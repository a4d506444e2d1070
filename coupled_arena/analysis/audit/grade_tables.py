"""A judge's grades in a table from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupled_arena.analysis.audit.grades import graded_estimates
from coupled_arena.analysis.audit.verdicts import AuditEstimates
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.analysis.score_columns import place_of, text_of
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.tables import called, read_frame
from coupled_arena.stats.judges.samples import UNKNOWN, GradedAnswers
from coupled_arena.store.queries.comparisons import Selection

if TYPE_CHECKING:
    import pandas as pd


NEEDED = ("model", "prompt", "truth", "judge")
"""Columns of a table of grades."""
UNNAMED = "judge"
"""What a judge is called where no column ``judge_name`` tells."""

_WORDS = {
    **dict.fromkeys(("1", "1.0", "true", "right", "correct", "yes"), 1),
    **dict.fromkeys(("0", "0.0", "false", "wrong", "incorrect", "no"), 0),
}


def read_grades(path: Path | Sequence[Path]) -> pd.DataFrame:
    """Return the rows of files of grades, in any form of `coupled_arena.core.tables`.

    Raises
    ------
    ScoreError
        The file cannot be read, or has no row.
    """
    frame = read_frame(path, ScoreError)
    if frame.empty:
        raise ScoreError(f"{called(path)} has no row.")
    return frame


def grades_of_logs(found: RiskScores) -> pd.DataFrame:
    """Return two metrics of logs as a table of grades: one is the truth, one the judge's.

    Values other than 0 and 1 are refused by `table_estimates`.
    """
    import pandas as pd

    _, judge = found.metrics
    rows = [
        pd.DataFrame(
            {
                "model": model,
                "prompt": np.repeat(np.array(prompts, dtype=object), found.repetitions),
                "truth": scores[:, 0],
                "judge": scores[:, 1],
                "judge_name": judge,
            }
        )
        for model, prompts, scores in zip(found.models, found.prompts, found.values, strict=True)
    ]
    return pd.concat(rows, ignore_index=True)


def table_judges(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the judges of a table, sorted."""
    if "judge_name" not in frame.columns:
        return (UNNAMED,)
    return tuple(sorted({text_of(cell) for cell in frame["judge_name"]}))


def table_estimates(
    frame: pd.DataFrame,
    name: str,
    judge: str | None = None,
    models: Sequence[str] | None = None,
    category: str | None = None,
) -> AuditEstimates:
    """Hold a judge's grades against the truth, both from a table with a row for each grade.

    Columns: ``model``, ``prompt``, ``truth`` and ``judge``. The last two are 1 or 0, true or false,
    right or wrong. An empty ``truth`` is known to nobody. An empty ``judge`` is a grade that could
    not be read. With a column ``answer`` all three are answers instead. A model or the judge is
    right where it says the same. ``judge_name`` tells judges apart, ``probability`` is how likely
    the judge holds the model's answer to be right, ``category`` what the prompt is about.

    Parameters
    ----------
    name : str
        What errors call the table, and sentences the truth.
    judge : str, optional
        Needed where the table has several.
    models, category
        Only rows of these.

    Raises
    ------
    ScoreError
        It is not such a table, or has nothing of what was chosen.
    """
    frame = frame.set_axis([str(column).strip().lower() for column in frame.columns], axis=1)
    if missing := [column for column in NEEDED if column not in frame.columns]:
        there = ", ".join(map(repr, frame.columns)) or "none"
        raise ScoreError(
            f"{name} has no column {' or '.join(missing)}; needed are {', '.join(NEEDED)}. "
            f"Columns here: {there}."
        )
    judge = _one_judge(frame, name, judge)
    rows = _of(frame, name, judge, models, category)
    graded = np.array([text_of(cell) != "" for cell in rows["judge"]], dtype=bool)
    answers = _answers(rows.loc[graded], name)
    silent = {text_of(cell) for cell in rows["model"]} - set(answers.models)
    if not answers.known.any():
        raise ScoreError(f"{name} has no row with both a truth and a grade of {judge}.")
    return graded_estimates(
        answers,
        Selection(judge=judge, models=tuple(models) if models else None, category=category),
        name,
        tuple(sorted(silent)),
        int((~graded).sum()),
    )


def _one_judge(frame: pd.DataFrame, name: str, judge: str | None) -> str:
    known = table_judges(frame)
    if not known:
        raise ScoreError(f"{name} has no row.")
    if judge is None and len(known) == 1:
        return known[0]
    if judge is None:
        raise ScoreError(f"Choose a judge of {name} with --judge: {', '.join(known)}.")
    if judge not in known and "judge_name" in frame.columns:
        raise ScoreError(f"{name} has no judge {judge!r}. Judges there: {', '.join(known)}.")
    return judge


def _of(
    frame: pd.DataFrame,
    name: str,
    judge: str,
    models: Sequence[str] | None,
    category: str | None,
) -> pd.DataFrame:
    """Return the rows of a judge on some models and prompts."""
    wanted: dict[str, Sequence[str]] = {}
    if "judge_name" in frame.columns:
        wanted["judge_name"] = [judge]
    if models is not None:
        wanted["model"] = models
    if category is not None:
        wanted["category"] = [category]
    for column, values in wanted.items():
        if column not in frame.columns:
            raise ScoreError(f"{name} has no column {column!r}.")
        cells = [text_of(cell) for cell in frame[column]]
        if unknown := [value for value in values if value not in cells]:
            known = ", ".join(sorted(set(cells)))
            raise ScoreError(f"{name} has no {column} {unknown[0]!r}; there are: {known}.")
        frame = frame.loc[[cell in values for cell in cells]]
    return frame


def _answers(rows: pd.DataFrame, name: str) -> GradedAnswers:
    models, prompts = (_named(rows, column, name) for column in ("model", "prompt"))
    names, model = np.unique(models, return_inverse=True)
    _, prompt = np.unique(prompts, return_inverse=True)
    knows = None
    if "answer" in rows.columns:
        answered, truth, judge = (_texts(rows, column) for column in ("answer", "truth", "judge"))
        right = np.where(truth == "", UNKNOWN, (answered == truth).astype(np.int64))
        called = (answered == judge).astype(np.int64)
        knows = (judge == truth).astype(np.int64)
    else:
        right, called = (_marks(rows, column, name) for column in ("truth", "judge"))
    return GradedAnswers(
        models=tuple(str(each) for each in names),
        model=model.astype(np.int64),
        # Whether two answers to one prompt share noise, a table does not tell.
        battle=prompt.astype(np.int64),
        prompt=prompt.astype(np.int64),
        right=right,
        called_right=called,
        probability=_probabilities(rows, name),
        judge_knows=knows,
    )


def _texts(rows: pd.DataFrame, column: str) -> np.ndarray:
    return np.array([text_of(cell) for cell in rows[column]], dtype=str)


def _named(rows: pd.DataFrame, column: str, name: str) -> np.ndarray:
    texts = _texts(rows, column)
    if (empty := np.flatnonzero(texts == "")).size:
        raise ScoreError(f"{place_of(rows, int(empty[0]), name)}: {column} is missing.")
    return texts


def _marks(rows: pd.DataFrame, column: str, name: str) -> np.ndarray:
    """Return a column of rights and wrongs, `UNKNOWN` where a cell is empty."""
    found: list[int] = []
    for row, cell in enumerate(rows[column]):
        text = text_of(cell)
        if text and text.lower() not in _WORDS:
            raise ScoreError(
                f"{place_of(rows, row, name)}: {column} is {text!r}, not 1 or 0. Where cells hold "
                "answers, add a column answer with the model's."
            )
        found.append(_WORDS[text.lower()] if text else UNKNOWN)
    return np.array(found, dtype=np.int64)


def _probabilities(rows: pd.DataFrame, name: str) -> np.ndarray | None:
    """Return the probabilities, None where the table has none."""
    if "probability" not in rows.columns:
        return None
    cells: list[Any] = rows["probability"].tolist()
    found = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        try:
            found[row] = float(text_of(cell))
        except ValueError:
            found[row] = np.nan
        if not 0 <= found[row] <= 1:
            place, shown = place_of(rows, row, name), text_of(cell)
            raise ScoreError(f"{place}: probability is {shown!r}, not a number from 0 to 1.")
    return found
