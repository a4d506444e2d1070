"""Violation ratios by distribution functions, against sums on a fine grid and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from coupled_arena.papers.risk.violation_ratios import cdf_ratios


def on_a_grid(x, y, power):
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    points = np.linspace(low, high, 400_001)[:-1]
    width = (high - low) / 400_000
    f, g = (np.searchsorted(np.sort(each), points, side="right") / len(each) for each in (x, y))
    gaps = f - g, np.cumsum(f - g) * width
    return [(np.maximum(gap, 0) ** power).sum() / (np.abs(gap) ** power).sum() for gap in gaps]


@pytest.mark.parametrize("power", [1, 2])
def test_as_on_a_fine_grid(power):
    rng = np.random.default_rng(power)
    x, y = rng.normal(size=30), rng.normal(0.3, 2.0, size=47)
    found = cdf_ratios([x, y], power)
    assert found[:, 0, 1] == pytest.approx(on_a_grid(x, y, power), abs=1e-3)
    assert found[:, 0, 1] + found[:, 1, 0] == pytest.approx([1, 1])


def test_by_hand():
    """{0, 3} over {1, 1}: F - G is 1/2 on (0, 1) and -1/2 on (1, 3)."""
    found = cdf_ratios([np.array([0.0, 3.0]), np.array([1.0, 1.0])], 2)
    # Its integral rises to 1/2 and falls through 0 at 2 to -1/2: 1/12 + 1/12 above, 1/12 below.
    assert found[:, 0, 1] == pytest.approx([1 / 3, 2 / 3])
    areas = cdf_ratios([np.array([0.0, 3.0]), np.array([1.0, 1.0])], 1)
    assert areas[:, 0, 1] == pytest.approx([1 / 3, 2 / 3])


def test_areas_of_the_first_order_are_the_wasserstein_distance():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=40), rng.normal(0.2, 1.4, size=40)
    violated = np.maximum(np.sort(y) - np.sort(x), 0).mean()
    ratio = violated / wasserstein_distance(x, y)
    assert cdf_ratios([x, y], 1)[0, 0, 1] == pytest.approx(ratio)


def test_dominance_and_equality():
    x = np.array([1.0, 2.0, 5.0])
    assert cdf_ratios([x + 1, x, x])[:, 0, 1:].tolist() == [[0, 0], [0, 0]]
    assert cdf_ratios([x, x]).tolist() == np.full((2, 2, 2), 0.5).tolist()
