"""Probabilities in place of verdicts: closed forms and plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from coupled_arena.analysis.audit.grades import graded_estimates
from coupled_arena.analysis.audit.result import audit
from coupled_arena.stats.judges.judge_probabilities import probability_means
from coupled_arena.stats.judges.samples import UNKNOWN, GradedAnswers
from coupled_arena.store.queries.comparisons import Selection

SHARED = (
    *(
        "n",
        "judge_only",
        "b",
        "judge_score",
        "rho",
        "rho_squared",
        "power_tuning",
        "tau",
        "tau_max",
    ),
    *("tau_max_low", "tau_max_high", "powered", "powered_low", "powered_high"),
)


def answers_of(battles=1, prompts=80, known=50, seed=1):
    """Return answers of three models, some of which nobody but the judge knows anything of."""
    rng, k = np.random.default_rng(seed), 3
    prompt = np.repeat(np.arange(prompts), k * battles)
    right = (rng.random(len(prompt)) < 0.6).astype(int)
    called = np.where(rng.random(len(prompt)) < 0.75, right, 1 - right)
    return GradedAnswers(
        models=("a", "b", "c"),
        model=np.tile(np.arange(k), prompts * battles),
        battle=np.repeat(np.arange(prompts * battles), k),
        prompt=prompt,
        right=np.where(prompt < known, right, UNKNOWN),
        called_right=called,
        probability=np.clip(called * 0.5 + 0.5 * rng.random(len(prompt)), 0, 1),
    )


@pytest.mark.parametrize("battles", [1, 3])
@pytest.mark.parametrize("known", [20, 50, 80])
def test_verdicts_are_probabilities_of_nought_and_one(battles, known):
    given = answers_of(battles, known=known)
    given = replace(given, probability=given.called_right.astype(float))
    made = audit(graded_estimates(given, Selection(judge="j"), "quiz"), 0.1)
    for hard, soft in zip(made.models, made.by_probability, strict=True):
        assert soft.model == hard.model
        assert {name: getattr(soft, name) for name in SHARED} == pytest.approx(
            {name: getattr(hard, name) for name in SHARED}, rel=1e-12
        )


def test_probabilities_by_numpy():
    given = answers_of()
    for place, found in enumerate(probability_means(given, 0.1)):
        mine, known = given.model == place, given.right != UNKNOWN
        s, f = given.right[mine & known].astype(float), given.probability[mine & known]
        alone = given.probability[mine & ~known]
        n, more = len(s), len(alone)
        rho = np.corrcoef(s, f)[0, 1]
        weight = np.cov(s, f, ddof=0)[0, 1] / ((1 + n / more) * f.var())
        assert found.rho == pytest.approx(rho, rel=1e-12)
        assert found.tau_max == pytest.approx(1 / (1 - rho**2), rel=1e-12)
        assert found.tau == pytest.approx(1 / (1 - rho**2 / (1 + n / more)), rel=1e-12)
        assert found.power_tuning == pytest.approx(weight, rel=1e-12)
        assert found.powered == pytest.approx(
            s.mean() + weight * (alone.mean() - f.mean()), rel=1e-12
        )


def test_the_interval_holds_the_truth():
    """In as many of 600 repeats as promised, within three binomial errors."""
    rng, inside, repeats = np.random.default_rng(3), 0, 600
    for _ in range(repeats):
        f = rng.beta(1, 1, 300)
        s = (rng.random(300) < 0.1 + 0.8 * f).astype(int)
        one = np.zeros(300, dtype=int)
        s[200:] = UNKNOWN
        given = GradedAnswers(("m",), one, np.arange(300), np.arange(300), s, one, f)
        (found,) = probability_means(given, 0.1)
        inside += found.powered_low <= 0.5 <= found.powered_high
    assert abs(inside / repeats - 0.9) < 3 * np.sqrt(0.09 / repeats)


def test_a_judge_that_never_varies_is_worth_nothing():
    given = answers_of()
    (first, *_) = probability_means(replace(given, probability=np.full(len(given.model), 0.3)), 0.1)
    assert (first.tau_max, first.tau, first.power_tuning) == (1, 1, 0)
    assert first.powered == first.b


@pytest.mark.parametrize("battles", [1, 3])
def test_the_worth_of_a_judge_that_never_varies_has_the_interval_of_its_verdicts(battles):
    """Nothing tells how answers on one prompt depend on each other: as if they were alike."""
    given = answers_of(battles)
    always = np.ones_like(given.called_right)
    given = replace(given, called_right=always, probability=always.astype(float))
    made = audit(graded_estimates(given, Selection(judge="j"), "quiz"), 0.1)
    for hard, soft in zip(made.models, made.by_probability, strict=True):
        assert 1 == soft.tau_max_low < soft.tau_max_high < 1.1
        assert soft.tau_max_high == pytest.approx(hard.tau_max_high, rel=1e-12)


@pytest.mark.parametrize("known", [2, 4, 20])
def test_the_weight_costs_two_degrees_of_freedom(known):
    """Wilson's interval by hand; two answers, which leave none, say nothing."""
    rng, n, more = np.random.default_rng(6), known, 500
    f = rng.uniform(size=n + more)
    s = np.arange(n + more) % 2
    s[n:] = UNKNOWN
    one, prompt = np.zeros(n + more, dtype=int), np.arange(n + more)
    given = GradedAnswers(("m",), one, prompt, prompt, s, one, f)
    (found,) = probability_means(given, 0.5)
    assert found.power_tuning != 0
    moves = s[:n] - s[:n].mean() - found.power_tuning * (f[:n] - f[:n].mean())
    spread = (moves**2).mean() / n + found.power_tuning**2 * f[n:].var() / more
    rate, low, high = found.powered, 0.0, 1.0
    if n > 2:
        size = rate * (1 - rate) / (spread * n / (n - 2))
        z2 = student.ppf(0.75, n - 2) ** 2
        half = np.sqrt(z2 * (rate * (1 - rate) / size + z2 / (4 * size**2)))
        low, high = ((rate + z2 / (2 * size) + x) / (1 + z2 / size) for x in (-half, half))
    assert (found.powered_low, found.powered_high) == pytest.approx((low, high), rel=1e-10)


def test_no_probabilities():
    with pytest.raises(ValueError, match="no probabilities"):
        probability_means(replace(answers_of(), probability=None), 0.1)
