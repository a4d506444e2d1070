"""Judges and answers that are made up in part: closed forms and plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.core.choices import Ties
from coupled_arena.papers.judge.answers import (
    better_models,
    drawn_answers,
    erring_judge,
    ranks,
    strictly_better,
)
from coupled_arena.stats.judges.agreement import Agreement
from tests.stats.test_judge_probabilities import answers_of


def test_strictly_better_models_are_reversed():
    """Proposition 1: the judge's score is its accuracy plus one less the model's."""
    steps = [0.02, 0.05, 0.1]
    made = strictly_better(0.8, steps, 1000, np.random.default_rng(0))
    table = Agreement.of(made.own, Ties.LOSS)
    assert table.b == pytest.approx([0.82, 0.85, 0.9], abs=1e-12)
    assert table.judge_score == pytest.approx(0.8 + 1 - table.b, abs=1e-12)
    assert ranks(table.b).tolist() == [3, 2, 1]
    assert ranks(table.judge_score).tolist() == [1, 2, 3]
    # Proposition 11, at any accuracy above a half.
    x, delta = 0.8, np.array(steps)
    closed = (x / (x + delta) - 1) * (delta + x - 1) / (1 - delta)
    assert table.rho_squared == pytest.approx(closed, abs=1e-12)
    assert (table.tau_max <= 1.125).all()


def test_random_errors_keep_the_order():
    """The judge's score is .6 b + (1 - b) .4 / 3, within four binomial errors."""
    rng, prompts = np.random.default_rng(5), 20_000
    given = drawn_answers([0.5, 0.7, 0.9], prompts, rng)
    judged = erring_judge(given, 0.6, 4, rng)
    table = Agreement.of(judged.own, Ties.LOSS)
    error = 4 * np.sqrt(0.25 / prompts)
    assert table.b == pytest.approx([0.5, 0.7, 0.9], abs=error)
    assert table.judge_score == pytest.approx(0.6 * table.b + (1 - table.b) * 0.4 / 3, abs=error)
    assert (np.diff(ranks(table.judge_score)) < 0).all()
    # One judge has one answer to a prompt: all right answers to it are called the same.
    for prompt in range(50):
        on = (judged.prompt == prompt) & (judged.right == 1)
        assert len(set(judged.called_right[on].tolist())) <= 1


def test_better_models_by_a_plain_loop():
    rng = np.random.default_rng(7)
    given = replace(answers_of(known=80), judge_knows=rng.integers(2, size=240))
    made = better_models(given, 1, [0.1, 0.3, 0.9], rng)
    mine = np.flatnonzero(given.model == 1)
    assert made.models == ("b", "b + 10 points", "b + 30 points")  # 90 points more are too many
    before = given.right[mine]
    for place in range(3):
        own = made.model == place
        right, called = made.right[own], made.called_right[own]
        assert right.sum() == given.right[mine].sum() + round([0, 0.1, 0.3][place] * 80)
        assert (right >= before).all()
        for at, answer in enumerate(mine):
            changed = right[at] != given.right[answer]
            wanted = given.judge_knows[answer] if changed else given.called_right[answer]
            assert called[at] == wanted
        before = right


def test_ranks_share_the_best_place():
    assert ranks(np.array([0.5, 0.9, 0.5, 0.1])).tolist() == [2, 1, 2, 4]
