"""Answers and judges that are made up in part: strictly better models, judges that err at random.

The semi-synthetic experiments of [1]_ on answers of real models, and answers drawn from accuracies
where there are none.

References
----------
.. [1] F. E. Dorner, V. Y. Nastl & M. Hardt, "Limits to scalable evaluation at the frontier: LLM as
   judge won't beat twice the data", ICLR 2025, arXiv:2410.13341.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.judges.graded import GradedAnswers

_SHARED = 0.5  # of what makes a made-up answer right: how easy its prompt is


def better_models(
    answers: GradedAnswers, model: int, steps: Sequence[float], rng: np.random.Generator
) -> GradedAnswers:
    """Return a model's answers, followed by those of models that are strictly better than it.

    Each has more of the wrong answers replaced by right ones than the one before; what the judge
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
