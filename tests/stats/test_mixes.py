"""Win rates of mixes of strata, against plain arithmetic and against binomial theory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from coupled_arena.core.choices import TieScore
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.estimates import Tastes, estimate_from_votes
from coupled_arena.stats.ranking.mixes import Stratum, mixed
from coupled_arena.stats.ranking.rank_sets import intervals, rank_sets

NAMES = ("a", "b", "c")
PAIRS = [(0, 1), (0, 2), (1, 2)]


def drawn(rng, against, votes):
    counts = np.zeros((3, 3, 4), np.int64)
    for a, b in PAIRS:
        won = int(rng.binomial(votes, against[a][b]))
        counts[a, b, :2] = won, votes - won
    return estimate_from_votes(PairCounts(NAMES, counts), ties=TieScore.HALF)


def two(weights=(2, 1), seed=1):
    rng = np.random.default_rng(seed)
    even, uneven = np.full((3, 3), 0.5), np.full((3, 3), 0.7)
    parts = drawn(rng, even, 60), drawn(rng, uneven, 40)
    return [Stratum(n, w, p) for n, w, p in zip("xy", weights, parts, strict=True)]


def test_a_mix_is_the_weighted_sum_and_its_covariance_that_of_independent_parts():
    x, y = two()
    found = mixed([x, y])
    np.testing.assert_allclose(found.theta, (2 * x.estimate.theta + y.estimate.theta) / 3)
    np.testing.assert_allclose(
        found.covariance, (4 * x.estimate.covariance + y.estimate.covariance) / 9
    )
    assert found.human == x.estimate.human + y.estimate.human
    np.testing.assert_allclose(9 / found.size, 4 / x.estimate.size + 1 / y.estimate.size)


def test_weights_have_no_scale_and_one_stratum_is_itself():
    scaled = mixed(two((20, 10)))
    np.testing.assert_allclose(scaled.covariance, mixed(two()).covariance)
    (x, _) = two()
    alone = mixed([x])
    np.testing.assert_allclose(alone.theta, x.estimate.theta)
    np.testing.assert_allclose(alone.covariance, x.estimate.covariance)
    np.testing.assert_allclose(alone.degrees, x.estimate.degrees)
    np.testing.assert_allclose(alone.size, x.estimate.size)


def test_voters_who_like_one_model_everywhere_widen_a_mix():
    rng = np.random.default_rng(3)
    tastes = rng.normal(0, 0.05, (12, 3))
    strata = [
        replace(
            each,
            by_voter=tastes,
            votes=np.full(12, 10.0),
            estimate=replace(each.estimate, tastes=Tastes(12, 180, 100.0)),
        )
        for each in two((1, 1))
    ]
    plain, found = mixed(two((1, 1))), mixed(strata)
    np.testing.assert_allclose(
        found.covariance - plain.covariance, 2 * (tastes.T @ tastes) / 4, atol=1e-12
    )
    assert (found.tastes.voters, found.tastes.each) == (12, 20)
    assert found.tastes.worth < found.human
    most = np.maximum(*(each.estimate.degrees for each in strata))
    assert (found.degrees <= most).all()


def misses(runs, rng):
    """Return in how many runs an interval, and a rank-set, of a mix misses the truth."""
    x = np.array([[0.5, 0.7, 0.6], [0.3, 0.5, 0.5], [0.4, 0.5, 0.5]])
    y = 1 - x
    truth = np.array([(2 * x[m].sum() + y[m].sum() - 1.5) / 6 for m in range(3)])
    rank = 1 + (truth[None, :] > truth[:, None] + 1e-9).sum(axis=1)
    best = 1 + (truth[None, :] > truth[:, None] + 1e-9).sum(axis=1)
    worst = 3 - (truth[None, :] < truth[:, None] - 1e-9).sum(axis=1)
    outside = of_ranks = 0
    for _ in range(runs):
        found = mixed([Stratum("x", 2, drawn(rng, x, 40)), Stratum("y", 1, drawn(rng, y, 25))])
        low, high = intervals(found, 0.1)
        outside += not low[0] <= truth[0] <= high[0]
        ranks = rank_sets(found, 0.1, draws=4000)
        of_ranks += bool(((ranks.low > best) | (ranks.high < worst)).any())
    assert rank.min() == 1
    return outside, of_ranks


@pytest.mark.parametrize("runs", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_intervals_and_rank_sets_of_a_mix_miss_as_seldom_as_they_say(runs):
    """So many misses come once in 10,000 such runs, and .02 is for votes that are whole numbers."""
    outside, of_ranks = misses(runs, np.random.default_rng(runs))
    assert outside <= binom.ppf(0.9999, runs, 0.12)
    assert outside >= binom.ppf(0.0001, runs, 0.08)
    assert of_ranks <= binom.ppf(0.9999, runs, 0.12)
