"""Rank-biased overlap: against plain sums over lists, and over all orders of what is tied."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from coupled_arena.stats.simulation.rank_set_runs import rank_biased_overlap


def by_lists(first, second, p):
    """Return the sum to the depth of both lists, item by item."""
    total = 0.0
    for depth in range(1, len(first) + 1):
        shared = sum(item in second[:depth] for item in first[:depth])
        total += (1 - p) * p ** (depth - 1) * shared / depth
    return total


def orders(values):
    """Return all lists of items, best first, that tied values allow."""
    items = range(len(values))
    found = [
        each
        for each in permutations(items)
        if all(values[a] >= values[b] for a, b in pairwise(each))
    ]
    return [list(each) for each in found]


@pytest.mark.parametrize("p", [0.1, 0.6, 0.95])
def test_it_is_the_plain_sum(p):
    rng = np.random.default_rng(3)
    for k in (2, 5, 8):
        first, second = rng.permutation(k).astype(float), rng.permutation(k).astype(float)
        lists = [list(np.argsort(-values)) for values in (first, second)]
        assert rank_biased_overlap(first, second, p) == pytest.approx(by_lists(*lists, p))


def test_ties_are_the_mean_over_all_orders():
    first, second = np.array([3.0, 1, 1, 0, 1]), np.array([2.0, 2, 0, 0, 1])
    sums = [by_lists(one, other, 0.6) for one in orders(first) for other in orders(second)]
    assert len(sums) == 6 * 4
    assert rank_biased_overlap(first, second, 0.6) == pytest.approx(np.mean(sums))


def test_ends():
    same = np.arange(8.0)
    assert rank_biased_overlap(same, same, 0.6) == pytest.approx(1 - 0.6**8)
    assert rank_biased_overlap(same, -same, 0.6) < 0.4


@pytest.mark.parametrize(
    ("second", "p", "message"),
    [(np.arange(3.0), 0.6, "do not compare"), (np.arange(4.0), 1, "0 and")],
)
def test_what_does_not_compare(second, p, message):
    with pytest.raises(ValueError, match=message):
        rank_biased_overlap(np.arange(4.0), second, p)
