"""Score intervals against their definition: bounds are where the test just does not refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm, t

from coupled_arena.stats.intervals import critical_value, paired_difference, wilson


def test_critical_values_are_two_sided():
    assert critical_value(0.05) == pytest.approx(norm.ppf(0.975))
    found = critical_value(0.1, np.array([0.5, 1, 7]))
    assert found == pytest.approx([np.inf, t.ppf(0.95, 1), t.ppf(0.95, 7)])
    with pytest.raises(ValueError, match="between 0 and 1"):
        critical_value(1.0)


@pytest.mark.parametrize(("won", "n"), [(0, 5), (3, 10), (40, 50), (7, 7)])
def test_wilson_solves_the_score_equation(won, n):
    rate, z = np.array([won / n]), critical_value(0.05)
    low, high = wilson(rate, rate * (1 - rate) / n, np.array([float(n)]), z)
    for bound in (low[0], high[0]):
        if 0 < bound < 1:
            score = (won / n - bound) / np.sqrt(bound * (1 - bound) / n)
            assert abs(score) == pytest.approx(z)
    assert low[0] < high[0]


def test_wilson_knows_nothing_where_there_is_nothing():
    nothing = wilson(np.array([0.3]), np.array([0.1]), np.array([1.0]), np.array(np.inf))
    assert [bound[0] for bound in nothing] == [0, 1]
    assert np.isnan(
        wilson(np.array([np.nan]), np.zeros(1), np.zeros(1), critical_value(0.05))
    ).all()


def test_a_quantile_too_large_to_be_squared_tells_nothing():
    """Student's with hardly any degrees of freedom."""
    far = np.array([1e200])
    assert wilson(np.array([0.3]), np.array([0.1]), np.array([1.0]), far) == (0, 1)


@pytest.mark.parametrize(("more", "less", "n"), [(1, 0, 44), (12, 2, 50), (0, 9, 9), (5, 5, 20)])
def test_paired_difference_is_where_the_likelihood_ratio_of_scores_says(more, less, n):
    """At each bound: the score statistic, with its nuisance found by a search, is the cut-off."""
    z = float(critical_value(0.05))
    bounds = paired_difference(*(np.array([float(x)]) for x in (more, less, n)), np.array(z))
    for (bound,) in bounds:
        if abs(bound) > 1 - 1e-9:
            continue

        def loss(second, bound=bound):
            first = second + bound
            rest = max(1 - first - second, 1e-300)
            return -(
                more * np.log(max(first, 1e-300))
                + less * np.log(max(second, 1e-300))
                + (n - more - less) * np.log(rest)
            )

        edges = (max(0, -bound), (1 - bound) / 2)
        second = minimize_scalar(loss, bounds=edges, method="bounded", options={"xatol": 1e-12}).x
        score = (more - less - n * bound) / np.sqrt(n * (2 * second + bound - bound**2))
        assert abs(score) == pytest.approx(z, rel=1e-4)


def test_nothing_in_disagreement_is_no_proof():
    """Ten of ten agree: z²/(n + z²) either way, from the score equation by hand."""
    z = critical_value(0.05)
    low, high = paired_difference(np.zeros(1), np.zeros(1), np.full(1, 10.0), z)
    assert high[0] == pytest.approx(z**2 / (10 + z**2))
    assert low[0] == -high[0]


def test_a_single_cluster_says_nothing_of_a_difference():
    counts = (np.array([0.0, 2.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.array([2.0, 2.0, 0.0]))
    low, high = paired_difference(*counts, np.array(np.inf))
    assert (low[:2].tolist(), high[:2].tolist()) == ([-1, -1], [1, 1])
    assert np.isnan([low[2], high[2]]).all()
