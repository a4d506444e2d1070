"""A model that answers a benchmark as the judge of the others: its answers are the key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coupled_arena.analysis.audit.graded import graded_estimates
from coupled_arena.analysis.audit.read import AuditEstimates
from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Mode
from coupled_arena.stats.judges.graded import GradedAnswers
from coupled_arena.store.database import Store
from coupled_arena.store.queries import grades
from coupled_arena.store.queries.comparisons import Selection, model_numbers
from coupled_arena.store.queries.rewordings import reworded
from coupled_arena.store.tables import scores
from coupled_arena.tasks.registry import TASKS

Rows = Mapping[str, Any]


def read_key_estimates(
    store: Store, selection: Selection, metric: str | None = None
) -> AuditEstimates:
    """Hold the answers of models against those of another one, as if these were the key.

    Where the judge has several answers to a prompt, the one that it gives most often is the key,
    of equals the oldest; the share of its answers that equal a model's is how likely it holds that
    to be right. Answers to prompts that the judge has no readable answer to are left out; its own
    are never audited. Answers of coupled and of independent battles are never taken together: those
    of a coupled battle share their luck, and equal each other more often.

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
    said = _said(own, benchmark)
    answers = _answers(theirs, _read(theirs, benchmark), said)
    if not len(answers.right):
        raise StoreError(f"No other model has answered what {judge} has a readable answer to.")
    silent = set(np.asarray(theirs["model"]).astype(str).tolist()) - set(answers.models)
    unread = len(set(own["prompt_no"].tolist()) - set(said))
    unheard = tuple(sorted(silent))
    found = graded_estimates(answers, selection, benchmark, unheard, unread, version)
    return replace(found, reworded=several, only=only)


def _of_one_mode(
    cursor: grades.Cursor, selection: Selection, benchmark: str
) -> tuple[Rows, Mode | None]:
    """Return the answers of battles of one mode; and which, where there are others as well."""
    everyone = replace(selection, models=None)
    rows = grades.read_answers(cursor, everyone, benchmark)
    for mode in (Mode.INDEPENDENT, Mode.COUPLED) if selection.mode is None else ():
        own = grades.read_answers(cursor, replace(everyone, mode=mode), benchmark)
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
        rows = grades.read_answers(cursor, Selection(), benchmark)
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


def _said(own: Rows, benchmark: str) -> dict[int, _Key]:
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


def _answers(rows: Rows, read: Sequence[str | None], said: Mapping[int, _Key]) -> GradedAnswers:
    prompts = np.asarray(rows["prompt_no"]).astype(np.int64)
    there = np.array([prompt in said for prompt in prompts.tolist()], dtype=bool)
    keys = [said[prompt] for prompt in prompts[there].tolist()]
    kept = [text for text, known in zip(read, there.tolist(), strict=True) if known]
    named = np.asarray(rows["model"]).astype(str)[there]
    names, model = np.unique(named, return_inverse=True)
    pairs = list(zip(keys, kept, strict=True))
    several = any(key.times.total() > 1 for key in said.values())
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
