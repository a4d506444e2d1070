"""Differences of estimates on the scale of the normal law, against Student's by another route."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom, norm
from scipy.stats import t as student

from coupled_arena.core.choices import Cutoff
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.distances import FEW_DEGREES, Distances
from coupled_arena.stats.ranking.estimates import estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import Separation, rank_sets

MODELS = ("a", "b", "c", "d", "e")


def board(votes):
    """Return five models whose pairs have as many votes each; the former wins a little more."""
    won = votes * 3 // 5
    rows = [
        row
        for one, other in combinations(MODELS, 2)
        for row in ((one, other, "first", won), (one, other, "second", votes - won))
    ]
    return estimate_from_votes(PairCounts.from_rows(rows))


@pytest.mark.parametrize("votes", [9, 30, 100])
def test_many_votes_follow_students_law_too(votes):
    """A pair moves its own difference four times as much as each of six others."""
    made = board(votes)
    degrees = (4 + 6) ** 2 / (4**2 + 6) * (votes - 1)
    assert made.degrees[0, 1] == pytest.approx(degrees)
    sd = np.sqrt(made.covariance[0, 0] + made.covariance[1, 1] - 2 * made.covariance[0, 1])
    far = (made.theta[0] - made.theta[1]) / sd
    found = Distances.of(made)
    assert found.estimated[0, 1] == pytest.approx(norm.isf(student.sf(far, degrees)), rel=1e-9)
    known = found.estimated[0, 1] if votes == 9 else far  # with 36 degrees none is known
    assert found.known[0, 1] == pytest.approx(known, rel=1e-12)


def test_cut_offs_that_are_printed_take_variances_for_known_unless_few_votes_tell_them():
    made = board(30)
    found = Distances.of(made)
    between = (found.estimated[0, -1] + found.known[0, -1]) / 2
    alpha = 20 * norm.sf(between)  # five models have ten pairs, and these two sides
    assert rank_sets(made, alpha, Cutoff.BONFERRONI).ahead[0, -1]
    few = replace(made, degrees=np.minimum(made.degrees, FEW_DEGREES - 1))
    assert not rank_sets(few, alpha, Cutoff.BONFERRONI).ahead[0, -1]


def test_the_largest_difference_is_taken_by_students_law():
    made = board(30)
    known = replace(made, degrees=np.full_like(made.degrees, np.inf))
    critical = rank_sets(made).critical_value
    assert critical == rank_sets(known).critical_value
    found = Distances.of(made)
    between = (found.estimated[0, -1] + found.known[0, -1]) / 2
    farther = replace(made, theta=made.theta * critical / between)
    assert rank_sets(replace(farther, degrees=known.degrees)).ahead[0, -1]
    assert not rank_sets(farther).ahead[0, -1]


def test_three_equal_models_with_five_votes_a_pair():
    """Exactly: all 216 records without ties, by their probability. It was .925."""
    held = 0.0
    for wins in product(range(6), repeat=3):
        counts = np.zeros((3, 3, 4), dtype=np.int64)
        for (i, j), won in zip(combinations(range(3), 2), wins, strict=True):
            counts[i, j, 0], counts[j, i, 0] = won, 5 - won
        made = estimate_from_votes(PairCounts(("a", "b", "c"), counts))
        separated = Separation(made, 2_000).rank_sets(0.05).ahead.any()
        held += float(binom(5, 0.5).pmf(wins).prod()) * (not separated)
    assert held > 0.95
