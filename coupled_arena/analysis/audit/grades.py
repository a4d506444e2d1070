"""The worth of a judge's grades of single answers, compared with a key.

The key is a benchmark's, or a model's own answers. `grade_tables` reads grades from elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coupled_arena.analysis.audit.verdicts import AuditEstimates, influences
from coupled_arena.core.choices import Ties
from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import Mode
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.counts import OUTCOMES
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.powered_means import PoweredMeans
from coupled_arena.stats.judges.samples import GradedAnswers
from coupled_arena.store.database import Store
from coupled_arena.store.queries import benchmark_scores
from coupled_arena.store.queries.benchmark_scores import reworded
from coupled_arena.store.queries.comparisons import Selection, model_numbers
from coupled_arena.store.queries.judge_quality import Lengths, Orders
from coupled_arena.store.tables import scores
from coupled_arena.tasks.registry import TASKS


def graded_estimates(
    answers: GradedAnswers,
    selection: Selection,
    benchmark: str,
    silent: tuple[str, ...] = (),
    unreadable: int = 0,
    version: tuple[int, ...] = (),
) -> AuditEstimates:
    """Estimate from answers whose truth is known, clustered by prompt.

    Parameters
    ----------
    selection : Selection
        With a judge.
    benchmark : str
        What knows the truth.
    silent : tuple of str
        Models of which the judge has graded nothing.
    unreadable : int
        What the judge was asked about and never graded readably.
    version : tuple of int
        Of the store, where there is one.
    """
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
        alone=int(answers.own.unlabelled.sum()),
        tables={Ties.LOSS: table},
        means=means,
        bias_variance=np.split(squares, 2)[0],
        rho_variance=np.split(squares, 2)[1],
        silent=silent,
        orders=Orders(0, 0, 0, unreadable, 0, 0, 0, 0),
        lengths=Lengths(0, 0, 0, 0),
        mixed=(selection.mode or Mode.UNKNOWN,),
        version=version,
        answers=answers,
    )


# A judge's grades of single answers, held against a benchmark that knows which are right.


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
        if selection.judge not in benchmark_scores.graders(cursor):
            known = ", ".join(benchmark_scores.graders(cursor)) or _("none yet: use judge --grade")
            text = _("{judge} has graded no answers. Judges with grades: {known}.")
            raise StoreError(text.format(judge=selection.judge, known=known))
        rows = benchmark_scores.graded_answers(cursor, selection, benchmark)
        unreadable = benchmark_scores.unreadable_grades(cursor, selection.judge or "")
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
        known = benchmark_scores.graders(cursor)
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
        probability=_probabilities(rows["probability"], graded),
    )
    return answers, tuple(silent)


def _probabilities(
    probability: np.ma.MaskedArray[Any, Any], graded: np.ndarray
) -> np.ndarray | None:
    """Return the probabilities of the graded answers; None unless the judge told all of them."""
    if np.ma.getmaskarray(probability)[graded].any() or not graded.any():
        return None
    return np.asarray(probability)[graded].astype(np.float64)


# A model that answers a benchmark as the judge of the others: its answers are the key.


Rows = Mapping[str, Any]


def read_key_estimates(
    store: Store, selection: Selection, metric: str | None = None
) -> AuditEstimates:
    """Hold the answers of models against those of another one, as if these were the key.

    Where the judge has several answers to a prompt, its most frequent answer is the key, of equals
    the oldest. The share of its answers that equal a model's is how likely it holds that to be
    right. Answers to prompts that the judge has no readable answer to are left out; its own are
    never audited. Answers of coupled and of independent battles are never taken together: those of
    a coupled battle share their luck, and equal each other more often.

    Parameters
    ----------
    selection : Selection
        Its judge is the model that answers. Without a mode, independent battles count where the
        judge has answered in such; else coupled ones; the selection of the result says which.
    metric : str, optional
        Needed where the store holds several benchmarks.

    Raises
    ------
    StoreError
        The judge, or no other model, has answered the benchmark, or there is no such model.
    ScoreError
        There is no such benchmark, or one must be chosen.
    TaskError
        Answers to this benchmark cannot be told equal.
    """
    version = store.version()
    with store.cursor() as cursor:
        cursor.execute("begin")
        benchmark = scores.one_metric(scores.benchmarks(cursor), metric)
        model_numbers(cursor, selection)  # raises if there is no such model
        rows, only = _of_one_mode(cursor, selection, benchmark)
        selection = selection if only is None else replace(selection, mode=only)
        several = reworded(cursor, replace(selection, models=None), benchmark)
        cursor.execute("commit")
    judge, names = selection.judge or "", np.asarray(rows["model"]).astype(str)
    theirs, own = _part(rows, _chosen(names, selection)), _part(rows, names == judge)
    if not len(own["right"]):
        known = ", ".join(sorted(set(names.tolist()))) or "none in this selection"
        raise StoreError(f"{judge} has answered no {benchmark} here. Models that have: {known}.")
    own_answers = _own_answers(own, benchmark)
    answers = _key_answers(theirs, _read(theirs, benchmark), own_answers)
    if not len(answers.right):
        raise StoreError(f"No other model has answered what {judge} has a readable answer to.")
    silent = set(np.asarray(theirs["model"]).astype(str).tolist()) - set(answers.models)
    unread = len(set(own["prompt_no"].tolist()) - set(own_answers))
    silent_models = tuple(sorted(silent))
    found = graded_estimates(answers, selection, benchmark, silent_models, unread, version)
    return replace(found, reworded=several, only=only)


def _of_one_mode(cursor: Cursor, selection: Selection, benchmark: str) -> tuple[Rows, Mode | None]:
    """Return the answers of battles of one mode; and which, where there are others as well."""
    everyone = replace(selection, models=None)
    rows = benchmark_scores.read_answers(cursor, everyone, benchmark)
    for mode in (Mode.INDEPENDENT, Mode.COUPLED) if selection.mode is None else ():
        own = benchmark_scores.read_answers(cursor, replace(everyone, mode=mode), benchmark)
        if selection.judge in own["model"]:
            return own, mode if len(own["model"]) < len(rows["model"]) else None
    return rows, None


def answering_models(store: Store, metric: str | None = None) -> tuple[str, ...]:
    """Return the models that have answered a benchmark, sorted.

    Raises
    ------
    ScoreError
        There is no such benchmark, or one must be chosen.
    """
    with store.cursor() as cursor:
        benchmark = scores.one_metric(scores.benchmarks(cursor), metric)
        rows = benchmark_scores.read_answers(cursor, Selection(), benchmark)
    return tuple(sorted(set(np.asarray(rows["model"]).astype(str).tolist())))


def _chosen(names: np.ndarray, selection: Selection) -> np.ndarray:
    others = names != selection.judge
    return others if selection.models is None else others & np.isin(names, selection.models)


def _part(rows: Rows, where: np.ndarray) -> Rows:
    return {name: column[where] for name, column in rows.items()}


def _read(rows: Rows, benchmark: str) -> list[str | None]:
    """Return the answers in the form that all equal ones have; None where none was found."""
    key = TASKS[benchmark].key if benchmark in TASKS else str
    unread = np.ma.getmaskarray(rows["read"])
    return [
        None if missing else key(str(text))
        for text, missing in zip(np.ma.getdata(rows["read"]), unread, strict=True)
    ]


class _Key:
    """What the judge answers to one prompt, as often as it was asked."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self.right: set[str] = set()

    @property
    def key(self) -> str:
        """The answer that is given most often; a counter has the oldest of equals first."""
        return self.times.most_common(1)[0][0]

    @property
    def knows(self) -> bool:
        """Whether that is right."""
        return self.key in self.right

    def share(self, answer: str | None) -> float:
        """Return how often the judge gives an answer, of all its readable ones."""
        return 0.0 if answer is None else self.times[answer] / self.times.total()


def _own_answers(own: Rows, benchmark: str) -> dict[int, _Key]:
    """Return what the judge answers, by prompt; prompts without a readable answer are not there."""
    found: dict[int, _Key] = {}
    for prompt, right, read in zip(
        own["prompt_no"].tolist(), own["right"].tolist(), _read(own, benchmark), strict=True
    ):
        if read is not None:
            key = found.setdefault(prompt, _Key())
            key.times[read] += 1
            if right:
                key.right.add(read)
    return found


def _key_answers(
    rows: Rows, read: Sequence[str | None], own_answers: Mapping[int, _Key]
) -> GradedAnswers:
    prompts = np.asarray(rows["prompt_no"]).astype(np.int64)
    there = np.array([prompt in own_answers for prompt in prompts.tolist()], dtype=bool)
    keys = [own_answers[prompt] for prompt in prompts[there].tolist()]
    kept = [text for text, known in zip(read, there.tolist(), strict=True) if known]
    named = np.asarray(rows["model"]).astype(str)[there]
    names, model = np.unique(named, return_inverse=True)
    pairs = list(zip(keys, kept, strict=True))
    several = any(key.times.total() > 1 for key in own_answers.values())
    return GradedAnswers(
        models=tuple(str(name) for name in names),
        model=model.astype(np.int64),
        battle=np.asarray(rows["battle_no"])[there].astype(np.int64),
        prompt=prompts[there],
        right=np.asarray(rows["right"])[there].astype(np.int64),
        called_right=np.array([text == key.key for key, text in pairs], dtype=np.int64),
        probability=np.array([key.share(text) for key, text in pairs]) if several else None,
        judge_knows=np.array([key.knows for key in keys], dtype=np.int64),
    )
