"""Portfolios, win rates, aggregated ranks and verdicts as scores."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, rankdata

from coupled_arena.core.choices import Copula, Distance
from coupled_arena.core.records import Outcome
from coupled_arena.stats.counts import OUTCOMES
from coupled_arena.stats.risk.portfolio import (
    distribution,
    empirical_copula,
    mean_win_rates,
    portfolio,
    sample_win_rates,
    verdict_scores,
)
from coupled_arena.stats.risk.rank_aggregation import (
    _by_integers,
    _by_sets,
    _disagreement,
    aggregate,
    distance,
)

A = np.array([[1.0, 5.0], [2.0, 5.0]])
B = np.array([[3.0, 7.0], [2.0, 1.0]])


def test_independent_copula_by_hand():
    """Shares not above, pooled over both models: 1/4 3/4 1 3/4 and 3/4 3/4 1 1/4."""
    assert distribution(np.concatenate([A, B])).tolist() == [
        [0.25, 0.75],
        [0.75, 0.75],
        [1, 1],
        [0.75, 0.25],
    ]
    a, b = portfolio([A, B], Copula.INDEPENDENT)
    assert a == pytest.approx([(1 / 4 * 3 / 4) ** 0.5, 3 / 4])
    assert b == pytest.approx([1, (3 / 4 * 1 / 4) ** 0.5])
    a, b = portfolio([A, B], Copula.INDEPENDENT, [3, 1])
    assert a == pytest.approx([(1 / 4) ** 0.75 * (3 / 4) ** 0.25, 3 / 4])
    a, b = portfolio([A, B], Copula.INDEPENDENT, [0, 2])
    assert b == pytest.approx([1, 1 / 4])


def test_empirical_copula_by_hand():
    """Strictly lower in both: nothing than a1, a2, as 2 < 2 is false, or b2; all but b1 than b1."""
    a, b = portfolio([A, B], Copula.EMPIRICAL)
    assert a.tolist() == [0, 0]
    assert b.tolist() == [0.75, 0]


def test_a_copula_of_one_s_own_scores_would_not_see_levels():
    low = np.random.default_rng(0).normal(size=(50, 2))
    for copula in Copula:
        worse, better = portfolio([low, low + 10], copula)
        assert better.min() > worse.max()


@pytest.mark.parametrize(("n", "metrics"), [(1, 1), (63, 1), (64, 3), (511, 2), (1300, 4)])
@pytest.mark.parametrize("values", [3, 10**9])
def test_empirical_copula_by_all_pairs(n, metrics, values):
    pooled = np.random.default_rng(n).integers(0, values, (n, metrics)).astype(float)
    below = (pooled[None] < pooled[:, None]).all(axis=2).mean(axis=1)
    assert empirical_copula(pooled).tolist() == below.tolist()


@pytest.mark.parametrize(
    ("scores", "weights", "complaint"),
    [
        ([A, B], [1, -1], "negative"),
        ([A, B], [0, 0], "above zero"),
        ([A, B], [1, float("nan")], "negative"),
        ([A, B], [1], "2 weights"),
        ([A, B[:, :1]], None, "same metrics"),
        ([A, B[:0]], None, "scores"),
        ([], None, "scores"),
        ([A, B * np.nan], None, "finite"),
        ([A, B * np.inf], None, "finite"),
    ],
)
def test_portfolios_that_make_no_sense(scores, weights, complaint):
    for copula in Copula:
        with pytest.raises(ValueError, match=complaint):
            portfolio(scores, copula, weights)


def test_win_rates_by_hand():
    scores = np.array([[3.0, 3.0, 0.0], [2.0, 3.0, 1.0], [1.0, 0.0, 1.0]])
    assert mean_win_rates(list(scores)).tolist() == [0.5, 0.5, 0]  # means 2, 2, 2/3
    assert sample_win_rates(scores).tolist() == pytest.approx([1 / 3, 0, 0])


rank_tables = st.integers(1, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(1, k), min_size=k, max_size=k), min_size=1, max_size=4)
)


@pytest.mark.slow
@settings(max_examples=150)
@given(rank_tables, st.sampled_from(Distance))
def test_no_ranking_is_nearer(table, kind):
    rankings = np.array(table)
    found = aggregate(rankings, kind)

    def far(ranks):
        return np.mean([distance(np.array(ranks), one, kind) for one in rankings])

    best = min(far(ranks) for ranks in permutations(range(1, rankings.shape[1] + 1)))
    assert found.distance == pytest.approx(best, abs=1e-9)
    if kind is not Distance.PEARSON:
        assert far(found.ranks) == pytest.approx(best, abs=1e-9)


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_distances_are_scipy_s(a, b):
    a, b = np.array(a), np.array(b)
    pairs = 15
    tau = kendalltau(a, b).statistic
    assert distance(a, b, Distance.KENDALL) == pytest.approx(pairs * (1 - tau) / 2)
    assert distance(a, b, Distance.PEARSON) == pytest.approx(1 - pearsonr(a, b).statistic)
    assert distance(a, b, Distance.SPEARMAN) == np.abs(a - b).sum()


def test_weights_and_ties_by_hand():
    for kind in Distance:
        one = aggregate(np.array([[1, 2, 3], [3, 2, 1]]), kind, np.array([2.0, 1.0]))
        assert one.ranks.tolist() == [1, 2, 3]
    tied = aggregate(np.array([[1, 2, 3], [2, 1, 3]]))
    assert tied.ranks.tolist() == [1, 1, 3]
    assert aggregate(np.array([[1, 1, 1]])).ranks.tolist() == [1, 1, 1]


def test_a_majority_that_sorting_mean_ranks_does_not_see():
    """Three of five put a before b before c; mean ranks put b first."""
    rankings = np.array([[1, 2, 3]] * 3 + [[3, 1, 2]] * 2)
    assert aggregate(rankings, Distance.KENDALL).ranks.tolist() == [1, 2, 3]
    assert aggregate(rankings, Distance.PEARSON).ranks.tolist() == [2, 1, 3]


def test_integer_programming_finds_what_sets_find():
    rng = np.random.default_rng(2)
    for k in (3, 7, 9):
        rankings = np.array([rankdata(rng.integers(0, k, k), "min") for _ in range(4)])
        cost = _disagreement(rankdata(rankings, axis=1), np.full(4, 0.25))
        totals = [
            sum(cost[order[i], order[j]] for i in range(k) for j in range(i + 1, k))
            for order in (_by_sets(cost), _by_integers(cost))
        ]
        assert totals[0] == pytest.approx(totals[1], abs=1e-9)


def test_many_models():
    rng = np.random.default_rng(2)
    rankings = np.array([rng.permutation(20) + 1 for _ in range(5)])
    for kind in (Distance.KENDALL, Distance.SPEARMAN):
        assert sorted(aggregate(rankings, kind).ranks.tolist()) == list(range(1, 21))


@pytest.mark.parametrize(
    ("rankings", "weights", "complaint"),
    [
        (np.zeros((0, 2)), None, "one ranking"),
        (np.zeros((2, 0)), None, "one ranking"),
        (np.array([1, 2]), None, "one ranking"),
        (np.array([[1, np.nan]]), None, "one ranking"),
        (np.array([[1, 2]]), np.array([-1.0]), "negative"),
        (np.array([[1, 2]]), np.array([1.0, 1.0]), "1 weights"),
    ],
)
def test_rankings_that_make_no_sense(rankings, weights, complaint):
    with pytest.raises(ValueError, match=complaint):
        aggregate(rankings, Distance.KENDALL, weights)


FIRST, SECOND, TIE, BAD = (OUTCOMES.index(o) for o in Outcome)


def test_verdicts_by_hand():
    """Prompt 0: a beats b, c beats a, b and c tie. Prompt 1: both bad, and no verdict on c."""
    prompts, first, second = np.array([[0, 0, 0, 1], [0, 0, 1, 1], [1, 2, 2, 0]])
    outcomes = np.array([FIRST, SECOND, TIE, BAD])
    scores = verdict_scores(prompts, first, second, outcomes, 3)
    assert scores[0].tolist() == [0, -2, 2]
    assert np.isnan(scores[1]).all()
    assert verdict_scores(prompts[3:] - 1, first[3:], second[3:], outcomes[3:], 2).tolist() == [
        [0, 0]
    ]


def test_both_orders_count_once():
    prompts = np.zeros(2, int)
    for outcomes, wanted in (((FIRST, SECOND), [2, -2]), ((FIRST, FIRST), [0, 0])):
        scores = verdict_scores(prompts, np.array([0, 1]), np.array([1, 0]), np.array(outcomes), 2)
        assert scores.tolist() == [wanted]


@pytest.mark.parametrize("bad", [(0, 0, 0, 0), (0, 0, 2, 0), (0, 0, 1, 4), (-1, 0, 1, 0)])
def test_verdicts_that_make_no_sense(bad):
    with pytest.raises(ValueError, match="two of the models"):
        verdict_scores(*(np.array([x]) for x in bad), 2)
    assert verdict_scores(*(np.array([], int),) * 4, 2).shape == (0, 2)
