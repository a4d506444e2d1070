"""Judges of a benchmark's answers, for the figures of a paper: graders, models, or files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import spearmanr

from coupled_arena.analysis.audit.benchmark import read_benchmark_estimates
from coupled_arena.analysis.audit.keys import answering_models, read_key_estimates
from coupled_arena.analysis.audit.read import AuditEstimates
from coupled_arena.analysis.audit.result import Audit, audit
from coupled_arena.analysis.audit.tables import read_grades, table_estimates, table_judges
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.judge.made_up import ranks
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.graded import GradedAnswers
from coupled_arena.stats.judges.model_counts import Ties
from coupled_arena.store.queries import grades
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores

ALPHA = 0.10
"""Error level of the paper's intervals."""


@dataclass(frozen=True)
class Ranked:
    """A model's place by the truth and by a judge, 1 for the best."""

    judge: str
    model: str
    b: float
    judge_score: float
    true_rank: int
    judge_rank: int


@dataclass(frozen=True)
class JudgeRanking:
    """Models as one judge ranks them, beside the truth.

    Attributes
    ----------
    judge : str
    models : tuple of Ranked
        Truly best first.
    correlation : float
        Of the two ranks, by Spearman; NaN where all models share one.
    accuracy : float or None
        How often the judge's own answer is right; None where it gives none.
    """

    judge: str
    models: tuple[Ranked, ...]
    correlation: float
    accuracy: float | None


def answer_audits(source: PaperSource) -> tuple[Audit, ...]:
    """Audit each judge of the benchmark's answers that was chosen, or that there is.

    Of a store: those named, or models whose answers are to be the key; without either, whoever
    has graded, and where nobody has, each model in turn.

    Raises
    ------
    ArenaError
        Nobody has graded anything, or what was chosen is not there.
    """
    readers = _readers(source)
    alpha = source.settings.alpha[0] if source.settings.alpha else ALPHA
    return tuple(audit(readers[place](), alpha) for place in source.track(range(len(readers))))


def has_answers(source: PaperSource) -> bool:
    """Return whether there are answers to a benchmark at all."""
    if source.scores:
        return True
    if not source.has_store:
        return False
    with source.store.cursor() as cursor:
        return bool(scores.benchmarks(cursor))


def ranking(judge: str, answers: GradedAnswers, most: int | None = None) -> JudgeRanking:
    """Rank models by the truth and by a judge, all or the truly best."""
    own = answers.own
    table = Agreement.of(own, Ties.LOSS)
    order = np.argsort(-table.b, kind="stable")[:most]
    b, score = table.b[order], table.judge_score[order]
    rows = zip(order, b, score, ranks(b), ranks(score), strict=True)
    varied = min(len(set(b.tolist())), len(set(score.tolist()))) > 1
    return JudgeRanking(
        judge,
        tuple(
            Ranked(judge, own.models[at], float(truth), float(said), int(true), int(judged))
            for at, truth, said, true, judged in rows
        ),
        float(spearmanr(b, score).statistic) if varied else float("nan"),
        _accuracy(answers),
    )


def _accuracy(answers: GradedAnswers) -> float | None:
    if answers.judge_knows is None:
        return None
    known = answers.known
    _, first = np.unique(answers.prompt[known], return_index=True)
    return float(answers.judge_knows[known][first].mean())


def _readers(source: PaperSource) -> list[Callable[[], AuditEstimates]]:
    chosen, path = source.settings, source.one_scores_file()
    if path is not None:
        if chosen.key_from:
            raise ArenaError("--key-from is about a store: a table names its judges itself.")
        frame = read_grades(path)
        read = partial(table_estimates, models=chosen.models, category=chosen.category)
        judges = chosen.judges or table_judges(frame)
        return [partial(read, frame, path.name, judge) for judge in judges]
    metric = _metric(source)

    def of(judge: str) -> Selection:
        return Selection(judge=judge, models=chosen.models, category=chosen.category)

    graders = chosen.judges
    keys: Sequence[str] = chosen.key_from
    if not (graders or keys):
        with source.store.cursor() as cursor:
            graders = tuple(grades.graders(cursor))
        keys = () if graders else _answering(source, metric)
    read = [partial(read_benchmark_estimates, source.store, of(each), metric) for each in graders]
    return read + [partial(read_key_estimates, source.store, of(each), metric) for each in keys]


def _answering(source: PaperSource, metric: str | None) -> tuple[str, ...]:
    there = answering_models(source.store, metric)
    wanted = source.settings.models
    found = there if wanted is None else tuple(model for model in wanted if model in there)
    if len(found) < 2:
        raise ArenaError("A model that judges others needs another one that has answered, too.")
    return found


def _metric(source: PaperSource) -> str | None:
    if len(source.settings.metrics) > 1:
        raise ArenaError("This is made of one benchmark: name one with --metrics.")
    return source.settings.metrics[0] if source.settings.metrics else None
