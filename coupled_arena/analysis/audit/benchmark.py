"""A judge's grades of single answers, held against a benchmark that knows which are right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coupled_arena.analysis.audit.read import AuditEstimates, influences
from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import Mode
from coupled_arena.stats.counts import OUTCOMES
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.graded import GradedAnswers
from coupled_arena.stats.judges.model_counts import Ties
from coupled_arena.stats.judges.powered_means import PoweredMeans
from coupled_arena.store.database import Store
from coupled_arena.store.queries import grades
from coupled_arena.store.queries.comparisons import Selection, model_numbers
from coupled_arena.store.queries.judge_biases import Lengths, Orders
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
        orders = Orders(0, 0, 0, grades.unreadable(cursor, selection.judge or ""), 0, 0, 0, 0)
        cursor.execute("commit")
    answers, silent = _answers(rows)
    table = Agreement.of(answers.own, Ties.LOSS)
    means = PoweredMeans.of_sample(answers, Ties.LOSS)
    gram = answers.cluster_gram(means.human_influence, means.judge_influence)
    means = means.clustered(gram, answers.prompts)
    bias, rho = influences(table, Ties.LOSS)
    squares = np.diag(answers.cluster_gram(bias, rho)) * means.inflation
    outcomes = np.zeros((len(OUTCOMES), len(OUTCOMES)), dtype=np.int64)
    outcomes[:2, :2] = answers.own.labelled.sum(0)[:2, :2]
    return AuditEstimates(
        selection=selection,
        ties=Ties.LOSS,
        benchmark=benchmark,
        judged=None,
        votes=None,
        outcomes=outcomes,
        alone=0,
        tables={Ties.LOSS: table},
        means=means,
        bias_variance=np.split(squares, 2)[0],
        rho_variance=np.split(squares, 2)[1],
        silent=silent,
        orders=orders,
        lengths=Lengths(0, 0, 0, 0),
        mixed=(selection.mode or Mode.UNKNOWN,),
        version=version,
    )


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
    )
    return answers, tuple(silent)
