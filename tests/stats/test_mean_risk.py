"""Risks and tails: exact values, the laws' own, and agreement with second order dominance."""

from __future__ import annotations

from fractions import Fraction as F
from math import pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm

from coupled_arena.stats.risk.dominance import Order, violation_ratios
from coupled_arena.stats.risk.mean_risk import Risk, mean_risk, quantiles, tail_values
from tests.stats.dominance_routes import integrated_quantiles

# (scores, p, semideviation, mean of the worst share p, Gini tail), by hand.
CASES = [
    ([0, 2], F(1, 2), F(1, 2), F(0), F(1, 2)),
    ([0, 2], F(3, 4), F(1, 2), F(2, 3), F(1, 2)),
    ([0, 2], F(1), F(1, 2), F(1), F(1, 2)),
    ([1, 1, 1], F(1, 5), F(0), F(1), F(0)),
    ([0, 0, 3], F(1, 3), F(2, 3), F(0), F(2, 3)),
    ([0, 0, 3], F(5, 6), F(2, 3), F(3, 5), F(2, 3)),
    ([-1, 0, 1, 4], F(1, 4), F(3, 4), F(-1), F(1)),
    ([-1, 0, 1, 4], F(3, 8), F(3, 4), F(-2, 3), F(1)),
]


@pytest.mark.parametrize(("scores", "p", "semideviation", "tail", "gini"), CASES)
def test_exact_values(scores, p, semideviation, tail, gini):
    found = mean_risk(np.array(scores, float), float(p))
    mean = F(sum(scores), len(scores))
    half_distance = F(sum(abs(a - b) for a in scores for b in scores), 2 * len(scores) ** 2)
    assert half_distance == gini
    variance = sum((x - mean) ** 2 for x in scores) / len(scores)
    wanted = {
        Risk.DEVIATION: float(variance) ** 0.5,
        Risk.SEMIDEVIATION: semideviation,
        Risk.TAIL: -tail,
        Risk.TAIL_GAP: mean - tail,
        Risk.GINI: gini,
    }
    for risk, value in wanted.items():
        assert found.risks[risk] == pytest.approx(float(value), abs=1e-12)
        assert found.score(risk) == pytest.approx(float(mean - value), abs=1e-12)


@pytest.mark.parametrize("law", [norm(0.5, 2), norm(-1, 0.1)])
def test_normal_laws(law):
    """A sample of cell means has the law's tails at every multiple of 1/n."""
    n, (mean, sigma) = 200_000, law.args
    sample = n * np.diff(integrated_quantiles(law, np.arange(n + 1) / n))
    found = mean_risk(sample, 0.05)
    assert found.mean == pytest.approx(mean, abs=1e-8)
    assert found.risks[Risk.SEMIDEVIATION] == pytest.approx(sigma / (2 * pi) ** 0.5, abs=1e-8)
    assert found.risks[Risk.GINI] == pytest.approx(sigma / pi**0.5, abs=1e-8)
    tail = mean - sigma * norm.pdf(ndtri(0.05)) / 0.05
    assert found.risks[Risk.TAIL] == pytest.approx(-tail, abs=1e-8)


def test_quantiles_are_left_continuous():
    sample = np.array([5.0, 1.0, 3.0])
    places = np.array([0.1, 1 / 3, 0.34, 2 / 3, 0.67, 1.0])
    assert quantiles(sample, places).tolist() == [1, 1, 3, 3, 5, 5]
    assert tail_values(sample, places[[1, 3, 5]]) == pytest.approx([1, 2, 3])


def test_places_that_are_multiples_but_for_rounding():
    """ceil(5 i / 199) and others in floating point, against integers."""
    for n in (5, 49, 100):
        sample = np.arange(1.0, n + 1)
        for grid in (100, 199):
            places = np.arange(1, grid + 1) / grid
            wanted = [-(-n * i // grid) for i in range(1, grid + 1)]
            assert quantiles(sample, places).tolist() == wanted


scores = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=6)


@given(scores, scores)
def test_consistency_with_second_order(x, y):
    """Where x dominates, mean less risk is not lower, except for the standard deviation."""
    x, y = np.array(x), np.array(y)
    if violation_ratios([x, y])[Order.SECOND - 1, 0, 1] > 0:
        return
    one, other = mean_risk(x, 0.3), mean_risk(y, 0.3)
    for risk in set(Risk) - {Risk.DEVIATION}:
        assert one.score(risk) >= other.score(risk) - 1e-12


def test_the_standard_deviation_contradicts_dominance():
    better, worse = np.array([0.0, 0, 0, 9]), np.array([0.0, 0, 0, 0])
    assert violation_ratios([better, worse])[Order.FIRST - 1, 0, 1] == 0
    assert mean_risk(better).score(Risk.DEVIATION) < mean_risk(worse).score(Risk.DEVIATION)


@pytest.mark.parametrize("p", [0, -0.1, 1.1, float("nan")])
def test_shares_that_make_no_sense(p):
    with pytest.raises(ValueError, match="share of the tail"):
        mean_risk(np.array([1.0, 2.0]), p)
