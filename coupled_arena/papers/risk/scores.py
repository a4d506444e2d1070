"""Scores of models for the figures on risk: metrics to be joined, and a judge's beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coupled_arena.analysis.logs.score_logs import format_of, read_logs
from coupled_arena.analysis.risk.replies import VERDICTS, read_stored_scores
from coupled_arena.analysis.risk.scores import RiskScores, risk_scores_from_frame
from coupled_arena.analysis.score_columns import SUBJECTS, text_of
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.tables import read_frame
from coupled_arena.papers.source import PaperSource
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection

if TYPE_CHECKING:
    import pandas as pd

ALL = "all prompts"


@dataclass(frozen=True, eq=False)
class JudgedScores:
    """Scores of replies by metrics, one of which may be a judge's.

    Attributes
    ----------
    every : RiskScores
        By all of them.
    judge_name : str or None
        The metric that is a judge's score.

    Raises
    ------
    ScoreError
        There is no such metric, or no other one.
    """

    every: RiskScores
    judge_name: str | None = None

    def __post_init__(self) -> None:
        if self.judge_name is not None:
            self.every.with_metrics([self.judge_name])
        if not self._metrics:
            text = f"There is no metric beside {self.judge_name!r}: name some by --metrics."
            raise ScoreError(text)

    @property
    def _metrics(self) -> list[str]:
        return [name for name in self.every.metrics if name != self.judge_name]

    @property
    def scores(self) -> RiskScores:
        """Scores by all metrics but the judge's."""
        return self.every.with_metrics(self._metrics)

    @property
    def judge(self) -> RiskScores | None:
        """The judge's scores alone."""
        return None if self.judge_name is None else self.every.with_metrics([self.judge_name])

    def drawn(self, size: int, rng: np.random.Generator) -> JudgedScores:
        """Return the scores on some prompts, as `RiskScores.drawn`."""
        return replace(self, every=self.every.drawn(size, rng))


def read_judged_scores(source: PaperSource, category: str | None = None) -> JudgedScores:
    """Return the scores of a table, of logs or of a store.

    With --judge a column of the table is a judge's scores, or the store's verdicts of that judge.

    Parameters
    ----------
    category : str, optional
        Only prompts of this one; by default of the one in the settings, or all.

    Raises
    ------
    ScoreError
        These are no scores of two models or more, or there are several judges.
    """
    chosen = source.settings
    if len(chosen.judges) > 1:
        raise ScoreError("The figures on risk have one judge: name one by --judge.")
    wanted = category or chosen.category
    judge = chosen.judges[0] if chosen.judges else None
    column = judge and (judge if source.scores else VERDICTS)
    metrics = chosen.metrics  # all, if none is named
    if metrics and column:
        metrics = tuple(dict.fromkeys((*metrics, column)))
    if not source.scores:
        selection = Selection(judge=judge, models=chosen.models, category=wanted)
        found = read_stored_scores(source.store, selection, metrics or None)
    else:
        found = _read_files(source, metrics, wanted)
    return JudgedScores(found.turned(chosen.lower_is_better, ()), column)


def read_scenarios(source: PaperSource) -> dict[str, JudgedScores]:
    """Return the scores on the prompts of each category, and on all.

    Those of one category where the settings name it.

    Raises
    ------
    ScoreError
        As `read_judged_scores`.
    """
    if source.settings.category:
        return {source.settings.category: read_judged_scores(source)}
    if source.scores:
        names = _categories(_frame(source)) if _is_table(source) else []
    else:
        with source.store.cursor() as cursor:
            names = comparisons.categories(cursor)
    every = {name: read_judged_scores(source, name) for name in names} if len(names) > 1 else {}
    return {**every, ALL: read_judged_scores(source)}


def _is_table(source: PaperSource) -> bool:
    first, *more = source.scores
    return not (more or any(source.names) or first.is_dir() or format_of(first))


def _read_files(source: PaperSource, metrics: tuple[str, ...], category: str | None) -> RiskScores:
    if _is_table(source):
        frame, path = _frame(source), source.scores[0]
        if category is not None:
            frame = _of_category(frame, category, str(path))
        found = risk_scores_from_frame(frame, metrics or None, name=str(path))
    elif category is not None:
        raise ScoreError("Logs have no categories: leave --category out.")
    else:
        found = read_logs(source.scores, metrics or None, source.names or None)
    return _only(found, source.settings.models)


def _frame(source: PaperSource) -> pd.DataFrame:
    frame = read_frame(source.scores[0], ScoreError)
    return frame.set_axis([str(column).strip() for column in frame.columns], axis="columns")


def _subject(frame: pd.DataFrame) -> str | None:
    return next((column for column in frame.columns if column.lower() in SUBJECTS), None)


def _categories(frame: pd.DataFrame) -> list[str]:
    column = _subject(frame)
    return [] if column is None else sorted(set(map(text_of, frame[column].tolist())) - {""})


def _of_category(frame: pd.DataFrame, category: str, name: str) -> pd.DataFrame:
    known = _categories(frame)
    if category not in known:
        there = f"it has {', '.join(known)}" if known else "it has none"
        raise ScoreError(f"{name} has no category {category!r}; {there}.")
    column = str(_subject(frame))
    return frame.loc[[text_of(cell) == category for cell in frame[column].tolist()], :]


def _only(found: RiskScores, models: tuple[str, ...] | None) -> RiskScores:
    if models is None:
        return found
    if unknown := [name for name in models if name not in found.models]:
        known = ", ".join(found.models)
        raise ScoreError(f"There is no model {unknown[0]!r} in these scores; there is {known}.")
    places = [found.models.index(name) for name in models]
    return replace(
        found,
        models=models,
        prompts=tuple(found.prompts[at] for at in places),
        values=tuple(found.values[at] for at in places),
    )
