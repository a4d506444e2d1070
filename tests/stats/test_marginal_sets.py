"""Marginal rank-sets: each holds by itself, and is no wider than the joint one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm

from coupled_arena.core.choices import Cutoff, Scope
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking import any_time
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation, rank_sets
from coupled_arena.stats.simulation.truths import SimulatedTruth, evenly
from tests.stats.real_votes import design, golden, needs_real_votes


def made(k=5, spread=1.0, seed=3):
    truth = SimulatedTruth(evenly(k, spread), 60 * k * (k - 1), 0)
    return estimate_from_votes(truth.draw(np.random.default_rng(seed)).votes)


def test_max_t_compares_a_model_with_the_others_alone():
    """Each with a cut-off of its own: that of a model known badly is low, for its lot is one."""
    k, rng = 5, np.random.default_rng(1)
    of = np.diag([1, 1, 2, 1, 25]) * 1e-4
    theta = np.array([0.40, 0.38, 0.42, 0.36, 0.28])
    separation = Separation(replace(made(), theta=theta, covariance=of))
    z = rng.multivariate_normal(np.zeros(k), of, 200_000)
    others = [[o for o in range(k) if o != m] for m in range(k)]
    sd = [(of[m, m] + np.diag(of)[others[m]]) ** 0.5 for m in range(k)]
    furthest = [
        np.sort(np.abs((z[:, [m]] - z[:, others[m]]) / sd[m]).max(axis=1)) for m in range(k)
    ]
    compared = 0
    for alpha in np.geomspace(0.02, 0.9, 80):
        sets = separation.rank_sets(alpha, scope=Scope.MARGINAL)
        cutoffs = [each[int((1 - alpha) * len(each))] for each in furthest]
        # Both quantiles have an error of .002 to .006 here.
        assert sets.critical_value == pytest.approx(max(cutoffs), abs=0.025)
        for m in range(k):
            t = (theta[m] - theta[others[m]]) / sd[m]
            if np.abs(np.abs(t) - cutoffs[m]).min() > 0.025:
                compared += 1
                assert sets.low[m] == 1 + (-t > cutoffs[m]).sum()
                assert sets.high[m] == k - (t > cutoffs[m]).sum()
    assert compared > 200


def test_cutoffs_are_those_of_so_many_comparisons():
    found, k, alpha = made(), 5, 0.05

    def critical(cutoff):
        return rank_sets(found, alpha, cutoff, scope=Scope.MARGINAL).critical_value

    assert critical(Cutoff.BONFERRONI) == pytest.approx(norm.isf(alpha / 2 / (k - 1)))
    assert critical(Cutoff.CHI2) == pytest.approx(chi2.isf(alpha, k - 1) ** 0.5)
    votes, level = any_time.information(found), 2 * np.log((k - 1) / alpha)
    at = level
    for _ in range(100):
        at = level + np.log1p(at)
    m = 1000 / at
    expected = ((1 + m / votes) * (np.log1p(votes / m) + level)) ** 0.5
    assert critical(Cutoff.ANY_TIME) == pytest.approx(expected)


# The paper's chi2 has a degree too many, which marginal sets do not take.
@pytest.mark.parametrize("cutoff", [each for each in Cutoff if each is not Cutoff.CHI2])
def test_of_two_models_both_are_the_same(cutoff):
    found = made(k=2, spread=0.4)
    joint, marginal = (rank_sets(found, 0.05, cutoff, scope=scope) for scope in Scope)
    assert joint.critical_value == marginal.critical_value
    np.testing.assert_array_equal(joint.low, marginal.low)
    np.testing.assert_array_equal(joint.high, marginal.high)


@needs_real_votes
@pytest.mark.parametrize("cutoff", Cutoff)
def test_real_votes_leave_fewer_ranks_to_each_model_alone(cutoff):
    models, (human, alone) = golden()["models"], design("balanced")
    labelled, unlabelled = np.zeros((12, 12, 4, 4), int), np.zeros((12, 12, 4), int)
    np.add.at(labelled, (human.a, human.b, human.h, human.g), 1)
    np.add.at(unlabelled, (alone.a, alone.b, alone.g), 1)
    found = Separation(estimate(JudgedCounts(tuple(models), labelled, unlabelled)), LIVE_DRAWS)
    joint, marginal = (found.rank_sets(0.05, cutoff, scope) for scope in Scope)
    assert (marginal.sizes <= joint.sizes).all()
    assert marginal.sizes.mean() < joint.sizes.mean()


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0])
def test_each_covers(spread):
    truth, repeats = SimulatedTruth(evenly(4, spread), 200, 600, ties=0.3), 150
    best, worst = truth.ranks
    held = {cutoff: [] for cutoff in (Cutoff.MAX_T, Cutoff.STEP_DOWN, Cutoff.BONFERRONI)}
    for repeat in range(repeats):
        drawn = Separation(estimate(truth.draw(np.random.default_rng([8, repeat]))), 4000)
        for cutoff, each in held.items():
            found = drawn.rank_sets(0.05, cutoff, Scope.MARGINAL)
            each.append((found.low <= best) & (worst <= found.high))
    error = (0.05 * 0.95 / repeats) ** 0.5
    for each in held.values():
        assert np.mean(each, axis=0).min() >= 0.95 - 3 * error
