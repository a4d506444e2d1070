"""The cut-off in two steps and downwards, held against its definition written out."""

from __future__ import annotations

import numpy as np
import pytest

from coupled_arena.core.choices import Cutoff
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import Separation, rank_sets
from coupled_arena.stats.simulation.coverage import SimulationPlan, simulate
from coupled_arena.stats.simulation.truths import SimulatedTruth, evenly
from tests.families import first_of
from tests.stats.real_votes import design, golden, needs_real_votes


def written_out(theta, covariance, alpha, draws):
    """Formula by formula, over ordered pairs and with all draws in memory."""
    k = len(theta)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    sd = {
        p: np.sqrt(covariance[p[0], p[0]] + covariance[p[1], p[1]] - 2 * covariance[p])
        for p in pairs
    }
    t = {(i, j): (theta[i] - theta[j]) / sd[i, j] for i, j in pairs}
    normal = np.random.default_rng(7).multivariate_normal(np.zeros(k), covariance, draws)
    z = {(i, j): (normal[:, i] - normal[:, j]) / sd[i, j] for i, j in pairs}
    beta = alpha / 10
    first = np.quantile(np.max([np.abs(z[p]) for p in pairs], axis=0), 1 - beta)
    mu = {p: max(abs(t[p]) - first, 0) for p in pairs}
    left = set(pairs)
    while True:
        wrong = np.max([-np.sign(t[p]) * z[p] - mu[p] for p in pairs], axis=0)
        right = np.max([np.sign(t[p]) * z[p] for p in left], axis=0)
        c = np.quantile(np.maximum(wrong, right), 1 - alpha + beta)
        gone = {p for p in left if abs(t[p]) > c}
        if not gone or gone == left:
            return c
        left -= gone


@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_it_is_what_its_definition_says(spread, alpha):
    truth = SimulatedTruth(evenly(5, spread), 1000, 0)
    made = estimate_from_votes(truth.draw(np.random.default_rng(3)).votes)
    draws = 200_000
    found = Separation(made, draws).rank_sets(alpha, Cutoff.STEP_DOWN)
    expected = written_out(made.theta, made.covariance, alpha, draws)
    # both quantiles have a standard error of about sqrt(a (1 - a) / draws) / density, .005 here
    assert found.critical_value == pytest.approx(expected, abs=0.03)


def test_the_further_models_are_apart_the_lower_it_is():
    found = {}
    for spread in (0.0, 2.0, 6.0):
        truth = SimulatedTruth(evenly(6, spread), 3000, 0)
        made = Separation(estimate_from_votes(truth.draw(np.random.default_rng(5)).votes))
        once, down = (made.rank_sets(0.05, c) for c in (Cutoff.MAX_T, Cutoff.STEP_DOWN))
        found[spread] = down.critical_value / once.critical_value
    assert found[0.0] > 1  # what the first step costs
    assert found[0.0] > found[2.0] > found[6.0]


@pytest.mark.parametrize("spread", first_of(2.0, 0.0, 0.3))
def test_rank_sets_cover_and_are_smaller_where_models_differ(spread):
    cutoffs = (Cutoff.MAX_T, Cutoff.STEP_DOWN)
    truth = SimulatedTruth(evenly(4, spread), 600, 2000, ties=0.3)
    result = simulate(SimulationPlan(truth, 150, cutoffs=cutoffs, draws=5000))
    binomial = (0.05 * 0.95 / 150) ** 0.5
    for once, down in zip(result.rank_sets[::2], result.rank_sets[1::2], strict=True):
        assert down.coverage >= 0.95 - 3 * binomial
        if spread > 1:
            assert down.size < once.size


@needs_real_votes
def test_real_votes_leave_fewer_ranks_than_at_one_step():
    models, (human, alone) = golden()["models"], design("balanced")
    labelled, unlabelled = np.zeros((12, 12, 4, 4), int), np.zeros((12, 12, 4), int)
    np.add.at(labelled, (human.a, human.b, human.h, human.g), 1)
    np.add.at(unlabelled, (alone.a, alone.b, alone.g), 1)
    made = estimate(JudgedCounts(tuple(models), labelled, unlabelled))
    once, down = (rank_sets(made, 0.05, c) for c in (Cutoff.MAX_T, Cutoff.STEP_DOWN))
    assert (down.sizes <= once.sizes).all()
    assert down.sizes.mean() < once.sizes.mean()
