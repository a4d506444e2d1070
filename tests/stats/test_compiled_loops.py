"""Compiled loops and arrays are two routes to the same numbers; a base install has the arrays."""

from __future__ import annotations

import numpy as np
import pytest

from coupled_arena.stats.risk import dominance_draws, portfolio

SIZES = 37, 37, 29


@pytest.fixture
def both(monkeypatch):
    """Compute something by compiled loops, then by arrays."""

    def run(compute):
        by_loop = compute()
        for module in (dominance_draws, portfolio):
            monkeypatch.setattr(module, "compiled", lambda _: None)
        return by_loop, compute()

    return run


def samples(sizes, seed=0):
    """Scores with ties, so that the loops meet equal ones."""
    rng = np.random.default_rng(seed)
    return [np.round(rng.normal(0.1 * i, 1, n), 1) for i, n in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "paired", "repetitions"),
    [((36, 36, 36), True, 1), ((36, 36, 36), True, 3), ((41, 41), False, 1), (SIZES, False, 1)],
)
def test_ratios_of_bootstrap_samples(both, sizes, paired, repetitions):
    def ratios():
        return dominance_draws.bootstrap_ratios(
            samples(sizes), 50, paired=paired, repetitions=repetitions
        )

    by_loop, by_arrays = both(ratios)
    assert by_arrays == pytest.approx(by_loop, abs=1e-12)


def test_a_model_that_is_always_better_has_ratios_of_exactly_zero_and_one(both):
    scores = samples((30,))[0]
    for ratios in both(
        lambda: dominance_draws.bootstrap_ratios([scores + 9, scores], 20, paired=True)
    ):
        assert (ratios == 0).all()
    same = both(lambda: dominance_draws.bootstrap_ratios([scores, scores], 20, paired=True))
    assert all((ratios == 0.5).all() for ratios in same)


@pytest.mark.parametrize(
    ("sizes", "paired", "repetitions"),
    [((36, 36), True, 1), ((36, 36), True, 3), ((37, 29), False, 1), ((36, 24), False, 3)],
)
def test_p_values_by_swaps(both, monkeypatch, sizes, paired, repetitions):
    monkeypatch.setattr(dominance_draws, "_NUMBERS", 1000)  # several arrays, the last one shorter

    def p_values():
        return dominance_draws.swap_p_values(
            samples(sizes), [(0, 1), (1, 0)], 200, paired=paired, repetitions=repetitions
        )

    by_loop, by_arrays = both(p_values)
    assert (by_arrays == by_loop).all()


def test_the_empirical_copula_over_several_tiles(both):
    rng = np.random.default_rng(1)
    points = np.round(rng.normal(size=(2 * portfolio.TILE + 11, 3)), 1)
    by_loop, by_arrays = both(lambda: portfolio.empirical_copula(points))
    assert (by_arrays == by_loop).all()
