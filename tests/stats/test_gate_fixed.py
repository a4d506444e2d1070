"""One look: Tango's score test against a plain loop, t against statsmodels, exact bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtri

from coupled_arena.stats.gate.fixed import (
    Method,
    Sample,
    bounds,
    holm,
    p_above,
    p_below,
)

ALPHA = 0.05


def of_counts(lost, gained, n):
    differences = np.concatenate([-np.ones(lost), np.ones(gained), np.zeros(n - lost - gained)])
    return Sample(differences, binary=True)


def test_tangos_interval_is_the_published_one():
    """Bentur et al.: 21 children, 7 and 1 changed; Fagerland, Lydersen & Laake (2014), table 5."""
    low, high = bounds(of_counts(7, 1, 21), 0.025)
    assert (round(low, 3), round(high, 3)) == (-0.517, -0.026)


def score(lost, gained, n, at):
    """Tango's z by a search for the likeliest chance of losing, at a given difference."""

    def unlikely(q):
        parts = [(lost, q), (gained, q + at), (n - lost - gained, 1 - 2 * q - at)]
        return -sum(count * math.log(max(p, 1e-300)) for count, p in parts if count)

    least, most = max(0.0, -at), (1 - at) / 2
    q = minimize_scalar(unlikely, bounds=(least, most), method="bounded", options={"xatol": 1e-12})
    return (gained - lost - n * at) / math.sqrt(n * (2 * q.x + at * (1 - at)))


@pytest.mark.parametrize(("lost", "gained", "n"), [(7, 1, 21), (30, 34, 1000), (3, 0, 40)])
def test_tangos_test_and_interval_are_those_of_the_likelihood(lost, gained, n):
    sample = of_counts(lost, gained, n)
    assert sample.method is Method.TANGO
    for at in (-0.05, 0.0, 0.02):
        z = score(lost, gained, n, at)
        assert -ndtri(p_above(sample, at)) == pytest.approx(z, abs=1e-4)
        assert p_below(sample, at) == pytest.approx(1 - p_above(sample, at), abs=1e-9)
    z = float(ndtri(1 - ALPHA))
    low = brentq(lambda at: score(lost, gained, n, at) - z, -0.99, (gained - lost) / n)
    assert bounds(sample, ALPHA)[0] == pytest.approx(low, abs=1e-5)
    assert p_above(sample, bounds(sample, ALPHA)[0]) == pytest.approx(ALPHA, abs=1e-8)


def test_t_is_that_of_one_sample():
    from scipy.stats import ttest_1samp

    differences = np.random.default_rng(1).normal(0.01, 0.2, 200)
    sample = Sample(differences)
    assert sample.method is Method.STUDENT
    theirs = ttest_1samp(differences, -0.02, alternative="greater")
    assert p_above(sample, -0.02) == pytest.approx(theirs.pvalue, rel=1e-9)
    assert bounds(sample, ALPHA)[0] == pytest.approx(
        ttest_1samp(differences, 0, alternative="greater").confidence_interval(1 - ALPHA).low
    )


def test_where_nothing_flips_the_bound_is_exact():
    """Of n prompts none is lost with probability alpha if 1 - alpha^(1/n) of them are."""
    sample = of_counts(0, 0, 150)
    low, high = bounds(sample, ALPHA)
    assert (low, high) == pytest.approx((ALPHA ** (1 / 150) - 1, 1 - ALPHA ** (1 / 150)))
    assert (1 + low) ** 150 == pytest.approx(ALPHA)
    assert p_above(sample, low) == pytest.approx(ALPHA)
    assert p_above(sample, -0.02) == pytest.approx(0.98**150)
    shifted = Sample(np.full(80, 0.25))
    assert shifted.method is Method.EXACT
    low, high = bounds(shifted, ALPHA)
    assert -1 < low < 0.25 < high < 1
    assert p_below(shifted, high) == pytest.approx(ALPHA)
    assert p_above(shifted, 0.3) == 1


def test_one_unit_says_nothing():
    sample = Sample(np.array([0.5]))
    assert bounds(sample, ALPHA) == (-1, 1)
    assert (p_above(sample, 0), p_below(sample, 0)) == (1, 1)


@pytest.mark.parametrize("binary", [True, False])
def test_at_the_margin_the_error_is_about_alpha(binary):
    """Three losses are expected of 150: plain t would be wrong in .15."""
    rng, wrong, repeats = np.random.default_rng(2), 0, 600
    for _ in range(repeats):
        differences = np.where(rng.random(150) < 0.02, -1.0, 0.0)
        wrong += p_above(Sample(differences, binary), -0.02) <= ALPHA
    assert wrong / repeats <= 0.06 + 3 * math.sqrt(ALPHA * (1 - ALPHA) / repeats)


def test_losses_that_grow_with_the_group_are_no_more_often_missed():
    """At the margin: a group counts once, so t is of means that depend on each group's size."""
    rng, wrong, repeats, most = np.random.default_rng(7), 0, 600, 20
    sizes = rng.geometric(0.2, (repeats, 150)).clip(max=most)
    chance = 0.01 * sizes / 4.9  # of each prompt, so that groups lose about the margin on average
    lost = rng.binomial(sizes, chance) / sizes
    margin = (0.01 * np.mean(rng.geometric(0.2, 10**6).clip(max=most)) / 4.9).item()
    for differences in -lost:
        wrong += p_above(Sample(differences), -margin) <= ALPHA
    assert wrong / repeats <= 0.06 + 3 * math.sqrt(ALPHA * (1 - ALPHA) / repeats)


def test_bounds_and_tests_agree():
    rng = np.random.default_rng(3)
    for n in (12, 60, 400):
        differences = rng.choice([-0.5, 0, 0, 0, 0.25], n)
        sample = Sample(differences)
        low, high = bounds(sample, ALPHA)
        assert p_above(sample, low) == pytest.approx(ALPHA, abs=1e-9)
        assert p_below(sample, high) == pytest.approx(ALPHA, abs=1e-9)


def test_holms_steps():
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]
