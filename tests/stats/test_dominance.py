"""Violation ratios: exact values, two other routes, and samples that make no sense."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import lognorm, norm

from coupled_arena.stats.risk.dominance import (
    one_against_all,
    violation_ratios,
)
from tests.stats.dominance_routes import (
    by_arrays,
    by_fractions,
    first_order_of_laws,
    integrated_quantiles,
    second_order_of_laws,
)

# (x, y, first order, second order), derived by hand.
CASES = [
    ([1, 3], [2, 2], F(1, 2), F(1)),
    ([0, 3], [1, 1], F(1, 5), F(3, 4)),
    ([0, 1, 4, 4, 7], [2, 3, 3], F(1, 4), F(25, 27)),
    ([1], [1], F(1, 2), F(1, 2)),
    ([2], [1], F(0), F(0)),
    ([1, 2], [1, 2], F(1, 2), F(1, 2)),
    ([2, 1], [1, 2], F(1, 2), F(1, 2)),
    ([1, 2], [1, 1, 2, 2], F(1, 2), F(1, 2)),  # the same law, another size
    ([0, 0, 0], [0], F(1, 2), F(1, 2)),
    ([1, 2], [0, 1], F(0), F(0)),
    ([0, 1], [1, 2], F(1), F(1)),
    ([0, 2], [1, 1], F(1, 2), F(1)),  # equal means: the gap never rises above 0
    ([1, 1], [0, 2], F(1, 2), F(0)),
    ([0, 1], [0, 0], F(0), F(0)),
    ([0, 4], [1, 2], F(1, 5), F(3, 4)),  # the gap falls to -1/2 and rises to 1/2
    ([0, 1, 1], [0, 0, 1], F(0), F(0)),
    ([0, 1], [0, 0, 1], F(0), F(0)),  # half against a third of ones
    ([0, 1, 1], [0, 1], F(0), F(0)),
    ([0, 3], [1], F(1, 5), F(3, 4)),
    ([0, 5], [1], F(1, 17), F(5, 32)),
    ([-1, 1], [0], F(1, 2), F(1)),
    ([0, 0, 3], [1, 1, 1], F(1, 3), F(1)),
    ([0, 0, 3], [1], F(1, 3), F(1)),
    ([0, 0, 6], [1], F(2, 27), F(16, 25)),
    ([0, 1, 2], [1], F(1, 2), F(1)),
    ([1, 2, 3, 4], [2, 3], F(1, 2), F(1)),
]


@pytest.mark.parametrize(("x", "y", "first", "second"), CASES)
def test_exact_values(x, y, first, second):
    fractions = by_fractions(x, y)
    assert fractions == (first, second)
    ratios = violation_ratios([np.array(x, float), np.array(y, float)])
    assert ratios[:, 0, 1] == pytest.approx([float(f) for f in fractions], abs=1e-12)
    assert ratios[:, 1, 0] == pytest.approx([1 - float(f) for f in fractions], abs=1e-12)
    assert ratios[:, [0, 1], [0, 1]].tolist() == [[0.5, 0.5], [0.5, 0.5]]


def both(x, y):
    return violation_ratios([x, y])[:, 0, 1]


numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 6)),
)
samples = st.lists(numbers, min_size=1, max_size=9)


@pytest.mark.slow
@settings(max_examples=500)
@given(samples, samples)
def test_two_routes_agree(x, y):
    x, y = np.array(x), np.array(y)
    assert both(x, y) == pytest.approx(by_arrays(x, y), abs=1e-9)


@settings(max_examples=100)
@given(samples, samples)
def test_fractions_agree(x, y):
    exact = [float(ratio) for ratio in by_fractions(x, y)]
    assert both(np.array(x), np.array(y)) == pytest.approx(exact, abs=1e-9)


@settings(max_examples=100)
@given(samples, samples, st.floats(0.01, 100), st.floats(-100, 100), st.integers(2, 4))
def test_scale_place_and_repetition_change_nothing(x, y, scale, shift, times):
    x, y = np.array(x), np.array(y)
    moved = both(scale * np.tile(x, times) + shift, scale * y + shift)
    assert moved == pytest.approx(both(x, y), abs=1e-6)  # the shift rounds the scores


def test_numbers_near_the_ends_of_what_a_float_can_hold():
    x, y = np.array([0.0, 3.0]), np.array([1.0, 1.0])
    for scale in (2.0**1020, 2.0**-1060):
        assert both(x * scale, y * scale).tolist() == [0.2, 0.75]
    assert both(x + 2.0**40, y + 2.0**40).tolist() == [0.2, 0.75]


def test_grid_points_are_where_integers_put_them():
    """ceil(5 p) in floating point is off by one at 32 of the points i/199."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, 5).tolist(), rng.integers(0, 9, 199).tolist()
    exact = [float(ratio) for ratio in by_fractions(x, y)]
    assert both(np.array(x), np.array(y)) == pytest.approx(exact, abs=1e-12)


LAWS = {
    "normal": (norm(0, 1), norm(0.5, 2)),
    "normal, equal means": (norm(0, 1), norm(0, 2)),
    "lognormal": (lognorm(s=0.5), lognorm(s=0.8, scale=0.9)),
}


@pytest.mark.parametrize("name", LAWS)
def test_first_order_of_laws_by_quadrature(name):
    """Between the quantiles .02 and .98, where the midpoint rule errs by less than 1e-8."""
    n, (x, y) = 200_000, LAWS[name]
    places = 0.02 + 0.96 * (np.arange(n) + 0.5) / n
    assert both(x.ppf(places), y.ppf(places))[0] == pytest.approx(
        first_order_of_laws(x, y, 0.02, 0.98), abs=1e-8
    )


@pytest.mark.parametrize("name", LAWS)
def test_second_order_of_laws_by_quadrature(name):
    """A sample of cell means has the law's integrated quantiles at every multiple of 1/n."""
    n, (x, y) = 200_000, LAWS[name]
    edges = np.arange(n + 1) / n
    means = [n * np.diff(integrated_quantiles(law, edges)) for law in (x, y)]
    assert both(*means)[1] == pytest.approx(second_order_of_laws(x, y), abs=1e-8)


def test_the_paper_s_normal_laws():
    """N(0.5, 2) is .2-FSD and .45-SSD over N(0, 1), in its appendix L.1."""
    x, y = LAWS["normal"]
    first = 1 - first_order_of_laws(x, y)
    # The gap of the quantiles is 1/2 + z, a normal variable itself.
    by_hand = (1.25 * norm.cdf(-0.5) - 0.5 * norm.pdf(0.5)) / 1.25
    assert first == pytest.approx(by_hand, abs=1e-10)
    assert round(first, 1) == 0.2
    assert 1 - second_order_of_laws(x, y) == pytest.approx(0.45, abs=0.01)


def test_one_against_all():
    ratios = violation_ratios([np.array(x, float) for x in ([2, 3], [1, 2], [0, 1])])
    assert one_against_all(ratios).tolist() == [[0, 0.5, 1], [0, 0.5, 1]]
    same = violation_ratios([np.array([1.0, 4.0])] * 3)
    assert one_against_all(same).tolist() == [[0.5] * 3] * 2


@pytest.mark.parametrize(
    ("sample", "complaint"),
    [
        ([], "one score or more"),
        ([[1.0, 2.0]], "one score or more"),
        ([1.0, np.nan], "finite"),
        ([1.0, np.inf], "finite"),
    ],
)
def test_samples_that_make_no_sense(sample, complaint):
    for pair in ((sample, [1.0]), ([1.0], sample)):
        with pytest.raises(ValueError, match=complaint):
            violation_ratios([*map(np.array, pair)])
