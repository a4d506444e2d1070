"""Bursts: the level on boards without any, a plain loop, and what a script does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coupled_arena.stats.unusual_voters import RATE_TOLERANCE, bursts


def by_hand(window, past, tolerance):
    """Return the p-value of each window that something came in, by a loop over binomial terms."""
    counts = {}
    for at in window:
        counts[at] = counts.get(at, 0) + 1
    first, last = min(counts), max(counts)
    found = {}
    for at, n in sorted(counts.items()):
        m = min(past, at - first)
        s = sum(counts.get(each, 0) for each in range(at - m, at))
        q = tolerance / (tolerance + m)
        tail = sum(math.comb(n + s, k) * q**k * (1 - q) ** (n + s - k) for k in range(n, n + s + 1))
        found[at] = min(1.0, tail * (last - first + 1)) if m else 1.0
    return found


@pytest.mark.parametrize("past", [1, 3, 24])
def test_p_values_are_those_of_a_plain_loop(past):
    rng = np.random.default_rng(past)
    window = np.sort(rng.integers(100, 140, 60))
    window = np.concatenate([window, [120] * 9])
    found = bursts(window, past, 2.0)
    hand = by_hand(window.tolist(), past, 2.0)
    assert found.window.tolist() == list(hand)
    assert found.p_value == pytest.approx(list(hand.values()), rel=1e-9)
    at = found.window.tolist().index(120)
    m = min(past, 120 - window.min())
    assert found.usual[at] == pytest.approx(np.sum((window >= 120 - m) & (window < 120)) / m)


@pytest.mark.parametrize("usual", [0.3, 5.0, 60.0])
def test_a_board_with_days_and_nights_is_named_with_at_most_alpha(usual):
    """Rates between a quarter and seven quarters of the mean, so never above four times it."""
    rng, boards, alpha = np.random.default_rng(int(usual * 10)), 400, 0.05
    hours = np.arange(24 * 14)
    rate = usual * (1 + 0.75 * np.sin(2 * np.pi * hours / 24))
    named = 0
    for _ in range(boards):
        window = np.repeat(hours, rng.poisson(rate))
        named += bool((bursts(window, 24).p_value <= alpha).any())
    assert named / boards <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / boards)


def test_the_level_holds_at_the_edge_of_the_null():
    """One window whose rate is exactly the tolerance times that of the past, which is the worst."""
    rng, runs, alpha = np.random.default_rng(5), 2000, 0.02
    past = rng.poisson(5.0, (runs, 24))
    now = rng.poisson(5.0 * RATE_TOLERANCE, runs)
    named = 0
    for before, n in zip(past, now, strict=True):
        window = np.concatenate([np.repeat(np.arange(24), before), [24] * n])
        found = bursts(window, 24)
        if (found.window[0], found.window[-1]) != (0, 24):
            continue  # an empty first hour: one board in 150, and no burst
        named += found.p_value[-1] <= 25 * alpha  # alone, without the factor for all windows
    rate = named / runs
    assert rate <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
    assert rate > alpha / 4  # it is no test that never says anything


def test_a_script_is_named_and_a_busy_evening_is_not():
    rng = np.random.default_rng(8)
    hours = np.repeat(np.arange(72), rng.poisson(20, 72))
    script = bursts(np.concatenate([hours, [60] * 430]), 24)  # ten minutes of 43
    assert script.window[script.p_value <= 0.05].tolist() == [60]
    evening = bursts(np.concatenate([hours, [60] * 40]), 24)
    assert not (evening.p_value <= 0.05).any()


def test_a_single_window_has_no_past():
    found = bursts(np.array([7, 7, 7]), 24)
    assert (found.p_value.tolist(), found.count.tolist()) == ([1.0], [3])
    assert math.isnan(found.usual[0])
