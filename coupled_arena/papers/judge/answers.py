"""Judges of a benchmark's answers: graders, models or files; and answers that are made up in part.

The semi-synthetic experiments of [1]_ take answers of real models. From these they make strictly
better models, and judges that err at random. Where there are no answers, these are drawn.

References
----------
.. [1] F. E. Dorner, V. Y. Nastl & M. Hardt, "Limits to scalable evaluation at the frontier: LLM as
   judge won't beat twice the data", ICLR 2025, arXiv:2410.13341.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtri
from scipy.stats import spearmanr

from coupled_arena.analysis.audit.grade_tables import read_grades, table_estimates, table_judges
from coupled_arena.analysis.audit.grades import (
    answering_models,
    read_benchmark_estimates,
    read_key_estimates,
)
from coupled_arena.analysis.audit.result import Audit, audit
from coupled_arena.analysis.audit.verdicts import AuditEstimates
from coupled_arena.core.choices import Ties
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.samples import GradedAnswers
from coupled_arena.store.queries import benchmark_scores
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores

_SHARED = 0.5  # of what makes a made-up answer right: how easy its prompt is


def better_models(
    answers: GradedAnswers, model: int, steps: Sequence[float], rng: np.random.Generator
) -> GradedAnswers:
    """Return a model's answers, followed by those of models that are strictly better than it.

    Each has more of the wrong answers replaced by right ones than the one before. What the judge
    says of a replaced answer is whether it knows the right one.

    Parameters
    ----------
    answers : GradedAnswers
        Of a judge that answers the prompts itself.
    model : int
        Its place among the models.
    steps : sequence of float
        How much larger each one's share of right answers is; those that it cannot be are left out.

    Raises
    ------
    ValueError
        Whether the judge knows the right answers is unknown.
    """
    if answers.judge_knows is None:
        raise ValueError("Nobody knows what the judge itself would answer.")
    mine = np.flatnonzero((answers.model == model) & answers.known)
    right, called, knows = (
        each[mine] for each in (answers.right, answers.called_right, answers.judge_knows)
    )
    wrong = rng.permutation(np.flatnonzero(right == 0))
    added = [(step, round(step * len(mine))) for step in (0.0, *steps)]
    added = [(step, n) for step, n in added if n <= len(wrong)]
    replaced = np.zeros((len(added), len(mine)), dtype=bool)
    for row, (_step, n) in zip(replaced, added, strict=True):
        row[wrong[:n]] = True
    k, name = len(added), answers.models[model]
    return GradedAnswers(
        models=(name, *(f"{name} + {100 * step:g} points" for step, _ in added[1:])),
        model=np.repeat(np.arange(k), len(mine)),
        battle=np.tile(answers.battle[mine], k),
        prompt=np.tile(answers.prompt[mine], k),
        right=np.where(replaced, 1, right).ravel(),
        called_right=np.where(replaced, knows, called).ravel(),
        judge_knows=np.tile(knows, k),
    )


def erring_judge(
    answers: GradedAnswers, accuracy: float, choices: int, rng: np.random.Generator
) -> GradedAnswers:
    """Return the answers as a judge sees them that errs at random, whichever model answers.

    It knows the right answer to a prompt with a probability, else takes any of the wrong ones for
    it. A wrong answer is that one with probability 1 / (choices - 1): which wrong answers of two
    models are the same is not asked.
    """
    prompts, place = np.unique(answers.prompt, return_inverse=True)
    knows = (rng.random(len(prompts)) < accuracy).astype(np.int64)[place]
    fooled = rng.random(len(place)) < 1 / (choices - 1)
    return replace(
        answers,
        called_right=np.where(answers.right == 1, knows, (1 - knows) * fooled),
        probability=None,
        judge_knows=knows,
    )


def drawn_answers(
    accuracies: Sequence[float], prompts: int, rng: np.random.Generator
) -> GradedAnswers:
    """Return an answer of each model to each prompt, drawn so that all find the same ones easy.

    The judge calls all of them wrong: it is for somebody else to say what it sees.
    """
    k = len(accuracies)
    easy = rng.standard_normal((prompts, 1)) * _SHARED**0.5
    own = rng.standard_normal((prompts, k)) * (1 - _SHARED) ** 0.5
    right = (easy + own < ndtri(np.array(accuracies))).astype(np.int64)
    return _by_prompt([f"model {place + 1}" for place in range(k)], right, 0 * right)


def strictly_better(
    accuracy: float, steps: Sequence[float], prompts: int, rng: np.random.Generator
) -> GradedAnswers:
    """Return what a judge says of models that are right wherever it is, and more often.

    Of two possible answers to each prompt, as in Proposition 1: where the judge is wrong, it calls
    right what is wrong as it is.

    Parameters
    ----------
    accuracy : float
        Of the judge.
    steps : sequence of float
        How much more often each model is right.
    """
    order = rng.permutation(prompts)
    knows = np.zeros(prompts, dtype=np.int64)
    knows[order[: round(accuracy * prompts)]] = 1
    right = np.zeros((prompts, len(steps)), dtype=np.int64)
    for column, step in enumerate(steps):
        right[order[: round((accuracy + step) * prompts)], column] = 1
    called = (right == knows[:, None]).astype(np.int64)
    made = _by_prompt([f"judge + {100 * step:g} points" for step in steps], right, called)
    return replace(made, judge_knows=np.repeat(knows, len(steps)))


def ranks(scores: FloatArray) -> IntArray:
    """Return ranks from 1 for the highest; equal scores share the best one."""
    return 1 + (scores[None, :] > scores[:, None]).sum(1)


def _by_prompt(names: Sequence[str], right: IntArray, called: IntArray) -> GradedAnswers:
    n, k = len(right), len(names)
    prompt = np.repeat(np.arange(n), k)
    return GradedAnswers(
        models=tuple(names),
        model=np.tile(np.arange(k), n),
        battle=prompt,
        prompt=prompt,
        right=right.ravel(),
        called_right=called.ravel(),
    )


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

    Of a store: those named, or models that have the key's answers. Without either, the models that
    have graded. Where nobody has, each model in turn.

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
            Ranked(judge, own.models[at], float(truth), float(estimate), int(true), int(judged))
            for at, truth, estimate, true, judged in rows
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
            graders = tuple(benchmark_scores.graders(cursor))
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
