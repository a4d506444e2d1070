"""A judge's grades of single answers, held against a benchmark that knows which are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from coupled_arena.analysis.audit.graded import graded_estimates
from coupled_arena.analysis.audit.read import AuditEstimates
from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _
from coupled_arena.stats.judges.graded import GradedAnswers
from coupled_arena.store.database import Store
from coupled_arena.store.queries import grades
from coupled_arena.store.queries.comparisons import Selection, model_numbers
from coupled_arena.store.queries.rewordings import reworded
from coupled_arena.store.tables import scores


def read_benchmark_estimates(
    store: Store, selection: Selection, metric: str | None = None
) -> AuditEstimates:
    """Count right answers and those that the judge calls right, as they are now.

    Intervals are clustered by prompt, for answers to one prompt depend on each other.

    Parameters
    ----------
    selection : Selection
        With a judge.
    metric : str, optional
        Needed where the store holds several benchmarks.

    Raises
    ------
    StoreError
        The judge has graded nothing, or there is no such model.
    ScoreError
        There is no such benchmark, or one must be chosen.
    """
    version = store.version()
    with store.cursor() as cursor:
        cursor.execute("begin")
        benchmark = scores.one_metric(scores.benchmarks(cursor), metric)
        model_numbers(cursor, selection)  # raises if there is no such model
        if selection.judge not in grades.graders(cursor):
            known = ", ".join(grades.graders(cursor)) or _("none yet: use judge --grade")
            text = _("{judge} has graded no answers. Who has: {known}.")
            raise StoreError(text.format(judge=selection.judge, known=known))
        rows = grades.answers(cursor, selection, benchmark)
        unreadable = grades.unreadable(cursor, selection.judge or "")
        several = reworded(cursor, selection, benchmark)
        cursor.execute("commit")
    answers, silent = _answers(rows)
    found = graded_estimates(answers, selection, benchmark, silent, unreadable, version)
    return replace(found, reworded=several)


def only_grader(store: Store) -> str:
    """Return the judge that has graded answers; where there are several, one must be named.

    Raises
    ------
    StoreError
        There is none, or more than one.
    """
    with store.cursor() as cursor:
        known = grades.graders(cursor)
    if not known:
        raise StoreError("No judge has graded answers here: use the judge command with --grade.")
    if len(known) > 1:
        raise StoreError(f"Choose a judge with --judge: {', '.join(known)}.")
    return known[0]


def _answers(rows: Mapping[str, Any]) -> tuple[GradedAnswers, tuple[str, ...]]:
    """Return the answers with a readable grade, and the models that have none."""
    graded = ~np.ma.getmaskarray(rows["called_right"])
    names, model = np.unique(np.asarray(rows["model"])[graded].astype(str), return_inverse=True)
    silent = sorted(set(np.asarray(rows["model"]).astype(str)) - set(names))

    def column(name: str) -> np.ndarray:
        return np.asarray(rows[name])[graded].astype(np.int64)

    answers = GradedAnswers(
        models=tuple(str(name) for name in names),
        model=model,
        battle=column("battle_no"),
        prompt=column("prompt_no"),
        right=column("right"),
        called_right=column("called_right"),
        probability=_told(rows["probability"], graded),
    )
    return answers, tuple(silent)


def _told(probability: np.ma.MaskedArray[Any, Any], graded: np.ndarray) -> np.ndarray | None:
    """Return the probabilities of the graded answers; None unless the judge told all of them."""
    if np.ma.getmaskarray(probability)[graded].any() or not graded.any():
        return None
    return np.asarray(probability)[graded].astype(np.float64)
