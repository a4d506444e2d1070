"""Random swaps of two models' scores against all swaps there are, by another route."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from coupled_arena.stats.risk.dominance_draws import swap_p_values

DRAWS = 4000


def statistics(x, y):
    """Both statistics, from shares of scores at each point of both."""
    points = np.sort(np.concatenate([x, y]))
    lead = np.array([(y <= t).mean() - (x <= t).mean() for t in points])
    area = np.concatenate([[0.0], np.cumsum(lead[:-1] * np.diff(points))])
    return lead.mean(), (area * np.abs(area)).mean()


def share_as_high(seen, others):
    """Of each statistic; where it is the same, the other one decides."""
    gaps = np.array(others) - np.array(seen)
    gaps[np.abs(gaps) < 1e-12] = 0
    return ((gaps > 0) | ((gaps == 0) & (gaps[:, ::-1] >= 0))).mean(axis=0)


def near(found, wanted):
    """Within four standard errors of a share of random swaps."""
    error = np.sqrt(np.maximum(wanted * (1 - wanted), 1 / DRAWS) / DRAWS)
    assert (np.abs(found - wanted) <= 4 * error + 1 / DRAWS).all(), (found, wanted)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("repetitions", [1, 2])
def test_paired_swaps_against_all_of_them(ties, repetitions):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 7, repetitions)) + np.array([0.5, 0])[:, None, None]
    if ties:
        x, y = np.round(x), np.round(y)
    seen = statistics(x.ravel(), y.ravel())
    others = []
    for signs in product([False, True], repeat=7):
        swap = np.array(signs)[:, None]
        others.append(statistics(np.where(swap, y, x).ravel(), np.where(swap, x, y).ravel()))
    found = swap_p_values(
        [x.ravel(), y.ravel()], [(0, 1)], DRAWS, paired=True, repetitions=repetitions
    )
    near(found[:, 0], share_as_high(seen, others))


@pytest.mark.parametrize("sizes", [(5, 5), (4, 6)])
def test_independent_prompts_against_all_ways_to_deal_them(sizes):
    rng = np.random.default_rng(4)
    pooled = rng.normal(size=sum(sizes)) + np.repeat([0.7, 0], sizes)
    others = []
    for ours in combinations(range(len(pooled)), sizes[0]):
        mine = np.isin(np.arange(len(pooled)), ours)
        others.append(statistics(pooled[mine], pooled[~mine]))
    samples = [pooled[: sizes[0]], pooled[sizes[0] :]]
    found = swap_p_values(samples, [(0, 1)], DRAWS, paired=False)
    near(found[:, 0], share_as_high(statistics(*samples), others))


def test_equal_scores_are_never_told_apart():
    x = np.random.default_rng(0).normal(size=30)
    for paired in (True, False):
        found = swap_p_values([x, x], [(0, 1), (1, 0)], 200, paired=paired)
        assert (found > 0.3).all()
    assert (swap_p_values([x, x], [(0, 1)], 200, paired=True) == 1).all()
    assert swap_p_values([x, x], [], 200, paired=True).shape == (2, 0)


def test_the_seed_decides_and_no_swap_is_better_than_a_clear_lead():
    x = np.random.default_rng(0).normal(size=(2, 40)) + np.array([[3.0], [0.0]])
    for paired in (True, False):
        one, again, other = (
            swap_p_values(list(x[:, ::1]), [(0, 1), (1, 0)], 999, paired=paired, seed=s)
            for s in (1, 1, 2)
        )
        assert (one == again).all()
        assert (one[:, 0] == 1 / 1000).all()
        assert (other[:, 1] == 1).all()
