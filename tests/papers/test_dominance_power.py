"""Laws of known violation ratios, the power of the tests, and risks that agree with dominance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import lognorm, norm

from coupled_arena.core.choices import PValues
from coupled_arena.papers.densities import densities
from coupled_arena.papers.risk.power import Law, consistencies, law_ratios, powers
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.dominance_tests import DominancePlan
from coupled_arena.stats.risk.mean_risk import Risk
from tests.stats.dominance_routes import first_order_of_laws, second_order_of_laws

ONE, OTHER = Law(0.5, 2.0), Law(0.0, 1.0)


def test_the_ratio_of_normal_laws_in_closed_form():
    """The quantiles differ by m + s z: E[(m + s Z)_-^2] / (m^2 + s^2)."""
    m, s = 0.5, 1.0
    violated = (m**2 + s**2) * norm.cdf(-m / s) - m * s * norm.pdf(m / s)
    first, second = law_ratios(ONE, OTHER)
    assert first == pytest.approx(violated / (m**2 + s**2), rel=1e-8)
    p = (np.arange(1_000_000) + 0.5) / 1_000_000
    gap = m * p - s * norm.pdf(norm.ppf(p))
    assert second == pytest.approx((np.minimum(gap, 0) ** 2).sum() / (gap**2).sum(), rel=1e-5)
    # The paper says 0.2 and 0.45 of them: thresholds that they are below.
    assert (first < 0.2, second < 0.45) == (True, True)


def test_the_ratios_by_another_route():
    laws = Law(0.1, 0.5, exponential=True), Law(0.0, 0.25, exponential=True)
    scipys = [lognorm(s=law.deviation, scale=np.exp(law.mean)) for law in laws]
    assert law_ratios(*laws)[0] == pytest.approx(first_order_of_laws(*scipys), rel=1e-5)
    assert law_ratios(*laws)[1] == pytest.approx(second_order_of_laws(*scipys), rel=1e-5)


def test_power_rises_with_the_number_of_scores():
    plan = DominancePlan(
        paired=False, bootstraps=400, threshold=0.45, p_values=PValues.PERCENTILE, seed=2
    )
    found = powers((ONE, OTHER), (50, 1000), 40, plan)
    by_key = {(row.size, row.order, row.relative): row for row in found}
    first = [by_key[size, Order.FIRST, False] for size in (50, 1000)]
    assert first[0].percentile < 0.5 < 0.9 < first[1].percentile
    # 40 repeats leave 11 % of a deviation open; three times that.
    assert first[1].bootstrap == pytest.approx(first[1].deviation, rel=0.34)
    assert first[1].limit == pytest.approx(first[1].bootstrap, rel=0.05)
    for size in (50, 1000):
        for order in Order:
            relative, absolute = (by_key[size, order, each] for each in (True, False))
            # Of two models the difference of means is twice the ratio less one.
            assert relative.statistic == pytest.approx(2 * absolute.statistic - 1)
            assert relative.limit == pytest.approx(2 * absolute.limit)


@pytest.mark.slow
def test_a_test_as_printed_decides_by_the_estimate():
    plan = DominancePlan(
        paired=False, bootstraps=200, threshold=0.45, p_values=PValues.PERCENTILE, seed=3
    )
    same = (Law(0.0, 1.0), Law(0.0, 1.0))
    found = {
        row.relative: row for row in powers(same, (100,), 200, plan) if row.order is Order.FIRST
    }
    # Equal laws: half of the estimates are below one half, and it says so of nearly all of them.
    assert found[True].published > 0.3
    assert found[True].percentile < 0.0125 + 3 * (0.0125 * 0.9875 / 200) ** 0.5


@pytest.mark.slow
def test_four_of_five_risks_agree_with_dominance():
    found = {each.risk: each for each in consistencies(3000, seed=1)}
    assert {risk for risk, each in found.items() if each.contradictions} == {Risk.DEVIATION}
    assert found[Risk.DEVIATION].pairs > 300


def test_densities_are_scipys():
    from scipy.stats import gaussian_kde

    rng = np.random.default_rng(4)
    samples = [np.round(rng.normal(size=80)), rng.normal(1.0, 2.0, size=120)]
    points, curves, width = densities(samples)
    for sample, curve in zip(samples, curves, strict=True):
        library = gaussian_kde(sample, bw_method=width / sample.std(ddof=1))
        assert curve == pytest.approx(library(points), rel=1e-9)
        assert np.trapezoid(curve, points) == pytest.approx(1, abs=2e-3)
    with pytest.raises(ValueError, match="same"):
        densities([np.ones(3), np.ones(4)])
