from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, multinomial, norm, studentized_range
from scipy.stats import t as student

from coupled_arena.core.choices import Cutoff, Scope, TieScore, Weighting
from coupled_arena.stats.counts import JudgedCounts, PairCounts
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import (
    DRAWS,
    LIVE_DRAWS,
    Separation,
    intervals,
    rank_sets,
    shrunk,
)


def with_covariance(theta, covariance):
    """Return an estimate with these numbers, whatever the votes."""
    k = len(theta)
    models = [f"m{i:02}" for i in range(k)]
    votes = PairCounts.from_rows((a, b, "first", 5) for a, b in combinations(models, 2))
    made = estimate_from_votes(votes)
    theta, covariance = np.array(theta, float), np.array(covariance, float)
    size, degrees = np.full(k, 1e12), np.full((k, k), np.inf)
    return replace(made, theta=theta, covariance=covariance, size=size, degrees=degrees)


def test_worked_example():
    """Standard deviations of differences .1 * sqrt 2 = .1414; at c = 2, .283 separates."""
    found = rank_sets(with_covariance([0.9, 0.5, 0.3, 0.25], 0.01 * np.eye(4)), 0.05, Cutoff.CHI2)
    assert found.critical_value == pytest.approx(3.0802, abs=1e-4)  # sqrt(9.4877)
    assert found.low.tolist() == [1, 1, 2, 2]
    assert found.high.tolist() == [2, 4, 4, 4]
    assert found.rank.tolist() == [1, 2, 3, 4]
    assert found.sizes.tolist() == [2, 4, 3, 3]


def test_bonferroni_counts_pairs_and_sides():
    found = rank_sets(with_covariance([0.5, 0.5, 0.5], np.eye(3)), 0.06, Cutoff.BONFERRONI)
    assert found.critical_value == pytest.approx(norm.ppf(1 - 0.06 / 6))


@pytest.mark.parametrize("k", [2, 5, 12])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_max_t_of_equal_models_is_tukeys_range(k, alpha):
    """With independent equal variances the largest |difference|/sd is a range over sqrt 2."""
    found = rank_sets(with_covariance(np.zeros(k), np.eye(k)), alpha)
    exact = studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
    # standard error of a quantile: sqrt(a (1 - a) / draws) / density there
    density = studentized_range.pdf(exact * np.sqrt(2), k, np.inf) * np.sqrt(2)
    error = np.sqrt(alpha * (1 - alpha) / DRAWS) / density
    assert found.critical_value == pytest.approx(exact, abs=4 * error)


def test_one_object_serves_every_alpha_and_repeats_itself():
    made = with_covariance([0.5, 0.4, 0.1], [[2, 1, 0], [1, 2, 0], [0, 0, 1]])
    separation = Separation(made)
    values = [separation.rank_sets(alpha).critical_value for alpha in (0.01, 0.05, 0.3)]
    assert values == sorted(values, reverse=True)
    assert values == [rank_sets(made, alpha).critical_value for alpha in (0.01, 0.05, 0.3)]


@pytest.mark.parametrize("n", [1, 2, 5, 6, 8, 9, 20, 40, 1000])
@pytest.mark.parametrize("alpha", [0.001, 0.05])
@pytest.mark.parametrize("cutoff", [Cutoff.MAX_T, Cutoff.STEP_DOWN, Cutoff.BONFERRONI])
@pytest.mark.parametrize("ties", TieScore)
def test_a_wholly_won_pair_is_separated_where_the_exact_test_says_so(n, alpha, cutoff, ties):
    made = estimate_from_votes(PairCounts.from_rows([("A", "B", "first", n)]), ties=ties)
    found = rank_sets(made, alpha, cutoff)
    surprising = binomtest(n, n).pvalue < alpha
    assert (found.low.tolist(), found.high.tolist()) == (
        ([1, 2], [1, 2]) if surprising else ([1, 1], [2, 2])
    )
    low, high = intervals(made)
    assert (low < high).all()


@pytest.mark.parametrize("cutoff", Cutoff)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_thousand_of_a_thousand_separate_as_all_but_one_do(k, cutoff):
    models = "ABCDE"[:k]
    pairs = list(combinations(models, 2))
    perfect = PairCounts.from_rows([(a, b, "first", 1000) for a, b in pairs])
    nearly = PairCounts.from_rows(
        [(a, b, o, n) for a, b in pairs for o, n in (("first", 999), ("second", 1))]
    )
    for counts in (perfect, nearly):
        found = rank_sets(estimate_from_votes(counts), 0.05, cutoff, LIVE_DRAWS)
        assert found.low.tolist() == found.high.tolist() == list(range(1, k + 1))


@pytest.mark.parametrize("cutoff", [Cutoff.MAX_T, Cutoff.BONFERRONI])
@pytest.mark.parametrize("tie", [0.0, 0.3, 0.6])
@pytest.mark.parametrize(
    "n", [5, 6, 7, 8, *(pytest.param(n, marks=pytest.mark.slow) for n in (10, 15, 20, 30))]
)
def test_two_equal_models_are_seldom_separated(n, tie, cutoff):
    """Exactly, over all outcomes: the score test holds its level up to what is discrete in it."""
    counts = outcomes(n)
    covered = [sets.low.tolist() == [1, 1] for sets in of_two(n, cutoff)]
    law = [(1 - tie) / 2, (1 - tie) / 2, tie]
    assert multinomial.pmf(counts, n, law) @ covered > 0.935


def outcomes(n):
    """Return all (won, lost, tied) of n votes, shape (outcomes, 3)."""
    return np.array([(w, v, n - w - v) for w in range(n + 1) for v in range(n + 1 - w)])


@cache
def of_two(n, cutoff):
    return [
        rank_sets(
            estimate_from_votes(
                PairCounts.from_rows(
                    [("A", "B", "first", won), ("B", "A", "first", lost), ("A", "B", "tie", tied)]
                )
            ),
            *(0.05, cutoff, LIVE_DRAWS),
        )
        for won, lost, tied in outcomes(n).tolist()
    ]


@pytest.mark.parametrize("cutoff", [Cutoff.MAX_T, Cutoff.BONFERRONI])
@pytest.mark.parametrize("tie", [0.0, 0.3, 0.6])
@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 8, 15, 29))]
)
def test_a_new_model_is_seldom_separated_from_its_equals(n, tie, cutoff):
    """Exactly, over all outcomes of its votes; the other three models have 2,000 each."""
    all_sets = [rank_sets(made, 0.05, cutoff, LIVE_DRAWS) for made in with_a_fourth(n, tie)]
    covered = [(sets.low[-1], sets.high[-1]) == (1, 4) for sets in all_sets]
    law = [(1 - tie) / 2, (1 - tie) / 2, tie]
    assert multinomial.pmf(outcomes(n), n, law) @ covered > 0.95


@cache
def with_a_fourth(n, tie):
    won, tied = round(500 * (1 - tie)), round(1000 * tie)
    known = [
        (a, b, outcome, times)
        for a, b in combinations("ABC", 2)
        for outcome, times in (("first", won), ("second", won), ("tie", tied))
    ]
    return [
        estimate_from_votes(
            PairCounts.from_rows(
                [*known, *zip("DDD", "AAA", ("first", "second", "tie"), votes, strict=True)]
            )
        )
        for votes in outcomes(n).tolist()
    ]


def test_equal_models_share_a_rank():
    made = estimate_from_votes(
        PairCounts.from_rows((a, b, "tie", 9) for a, b in combinations("ABC", 2))
    )
    found = rank_sets(made)
    assert found.rank.tolist() == [1, 1, 1]
    assert found.high.tolist() == [3, 3, 3]


def test_one_model_alone():
    made = with_covariance([0.0, 0.0], np.zeros((2, 2)))
    assert rank_sets(made).low.tolist() == [1, 1]


@pytest.mark.parametrize("alpha", [0, 1, 95, -0.1, float("nan")])
def test_alpha_is_an_error_level(alpha):
    made = with_covariance([0.5, 0.4], np.eye(2))
    with pytest.raises(ValueError, match="alpha"):
        rank_sets(made, alpha)
    with pytest.raises(ValueError, match="alpha"):
        intervals(made, alpha)


# Intervals


def test_intervals_are_wilsons():
    """5 of 5 at 95 %: 5/(5 + 1.95996²) = .56552; 5 of 5 and 100 of 100 prove 10 of 10."""
    low, high = intervals(estimate_from_votes(PairCounts.from_rows([("A", "B", "first", 5)])))
    assert low == pytest.approx([0.56552, 0], abs=1e-5)
    assert high == pytest.approx([1, 0.43448], abs=1e-5)
    rows = [("A", "B", "first", 5), ("A", "C", "first", 100), ("B", "C", "tie", 9)]
    low, _ = intervals(estimate_from_votes(PairCounts.from_rows(rows)))
    assert low[0] == pytest.approx(0.72246, abs=1e-5)


def test_a_certain_opponent_does_not_shrink_the_interval():
    """Wilson at n = .55 x .45 / variance, with (w + 1/2)/(n + 1) where an opponent always lost."""
    rows = [("A", "B", "first", 5), ("A", "C", "first", 30), ("A", "C", "tie", 70)]
    made = estimate_from_votes(PairCounts.from_rows([*rows, ("B", "C", "tie", 9)]))
    guarded = 5.5 * 0.5 / 36 / 5 / 4
    assert made.floor[0] == pytest.approx(guarded)
    low, high = intervals(made)
    n = 0.65 * 0.35 / (made.covariance[0, 0] + guarded)
    roots = np.sort(np.roots([1 + 3.8415 / n, -(1.3 + 3.8415 / n), 0.65**2]).real)
    assert (low[0], high[0]) == pytest.approx(roots, abs=1e-5)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(2, 8),
    st.integers(0, 2**32),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from(Weighting),
)
def test_whatever_the_votes_nothing_is_undefined(k, seed, spread, weighting):
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(16, spread), (k, k))
    labelled = rng.multinomial(rng.integers(0, 12, (k, k)), law).reshape(k, k, 4, 4)
    unlabelled = rng.multinomial(rng.integers(0, 30, (k, k)), law.reshape(k, k, 4, 4).sum(2))
    if not (labelled.sum((2, 3)) * ~np.eye(k, dtype=bool)).any():
        return
    models = tuple(f"m{i}" for i in range(k))
    found = estimate(JudgedCounts(models, labelled, unlabelled), weighting)
    low, high = intervals(found)
    assert np.isfinite(found.theta).all()
    assert np.isfinite(found.covariance).all()
    assert ((low >= 0) & (high <= 1) & (low < high)).all()
    for cutoff in Cutoff:
        sets = Separation(found, 1000).rank_sets(0.05, cutoff)
        assert ((sets.low >= 1) & (sets.low <= sets.rank) & (sets.rank <= sets.high)).all()


def test_standard_errors_match_the_spread_of_estimates():
    """Unbiased with the divisor n - 1, exactly: at five votes a pair, n would give 20 % less."""
    chances, estimates, variances = [], [], []
    for wins in np.ndindex(6, 6):
        counts = np.zeros((3, 3, 4), dtype=np.int64)
        counts[0, 1:, 0], counts[0, 1:, 2] = wins, 5 - np.array(wins)
        counts[1, 2, 2] = 5
        made = estimate_from_votes(PairCounts(("x", "y", "z"), counts))
        chances.append(binom.pmf(wins, 5, (0.5, 0.3)).prod())
        estimates.append(made.theta[0])
        variances.append(made.covariance[0, 0])
    mean, truth = (0.5 + 0.3) / 2, (0.25 + 0.21) / 5 / 4
    assert np.average(estimates, weights=chances) == pytest.approx(mean, abs=1e-12)
    assert chances @ (np.array(estimates) - mean) ** 2 == pytest.approx(truth, abs=1e-12)
    assert np.average(variances, weights=chances) == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("tie", [0.0, 0.3, 0.6])
@pytest.mark.parametrize(
    "n", [3, 4, 6, 10, *(pytest.param(n, marks=pytest.mark.slow) for n in (20, 30))]
)
def test_intervals_of_two_models_hold_where_a_tie_is_half_a_win(n, tie):
    """Exactly, over all outcomes of equal models; by the normal law .87 of four votes."""
    law = multinomial.pmf(outcomes(n), n, [(1 - tie) / 2, (1 - tie) / 2, tie])
    held = []
    for wins, losses, ties in outcomes(n):
        rows = [("A", "B", "first", wins), ("A", "B", "second", losses), ("A", "B", "tie", ties)]
        made = estimate_from_votes(PairCounts.from_rows(rows), ties=TieScore.HALF)
        low, high = intervals(made)
        held.append(low[0] <= 0.5 <= high[0])
    assert law @ held > 0.935


def in_clusters(covariance, clusters):
    """Return an estimate of equal models with this covariance, from so many clusters."""
    k = len(covariance)
    made, free = with_covariance(np.zeros(k), covariance), np.full((k, k), clusters - 1.0)
    return replace(made, degrees=free, clusters=clusters)


@pytest.mark.parametrize(("k", "clusters"), [(3, 6), (4, 10), (8, 5)])
@pytest.mark.parametrize(
    ("scope", "least"), [*((scope, 1) for scope in Scope), (Scope.JOINT, 0.01)]
)
def test_of_few_prompts_the_cut_off_is_that_of_means_and_their_own_covariance(
    k, clusters, scope, least
):
    """Prompts are drawn, their means compared, and their covariance is taken from them."""
    draws, covariance = 40_000, np.diag(np.geomspace(least, 1, k))
    values, vectors = np.linalg.eigh(shrunk(covariance, clusters - 1))
    drawn = np.random.default_rng(3).standard_normal((draws, clusters, k))
    drawn = drawn * np.sqrt(np.maximum(values, 0)) @ vectors.T
    mean = drawn.mean(axis=1)
    apart = drawn - mean[:, None]
    found = np.einsum("ngi,ngj->nij", apart, apart) / (clusters * (clusters - 1))
    pairs = [(i, j) for i, j in combinations(range(k), 2) if scope is Scope.JOINT or i == 0]
    variance = [found[:, i, i] + found[:, j, j] - 2 * found[:, i, j] for i, j in pairs]
    t = [np.abs(mean[:, i] - mean[:, j]) for i, j in pairs] / np.sqrt(variance)
    sets = rank_sets(in_clusters(covariance, clusters), 0.05, scope=scope)
    cutoff = student.isf(norm.sf(sets.critical_value), clusters - 1)
    # The cut-off is the largest of k quantiles of the same law where each model has its own.
    over = 3 * np.sqrt(0.05 * 0.95 * (1 / draws + 1 / DRAWS)) * (1 if scope is Scope.JOINT else 2)
    assert (np.max(t, axis=0) > cutoff).mean() == pytest.approx(0.05, abs=over)


def test_a_covariance_of_few_clusters_is_shrunk_as_far_as_chance_could_have_made_it():
    """Written out for p = 3: variances of 6, 2 and 1 in three directions that add up to 0."""
    basis = np.array([[1, -1, 0, 0], [1, 1, -2, 0], [1, 1, 1, -3]]) / np.sqrt([[2], [6], [12]])
    covariance = basis.T @ np.diag([6, 2, 1]) @ basis
    squares, total = 36 + 4 + 1, 9
    share = (squares / 3 + 81) / ((20 + 1 - 2 / 3) * (squares - 81 / 3))
    expected = [6 * (1 - share) + 3 * share, 2 * (1 - share) + 3 * share, 1 + 2 * share]
    found = shrunk(covariance + 5, 20)  # 5 moves all models alike
    np.testing.assert_allclose(np.linalg.eigvalsh(found), [0, *sorted(expected)], atol=1e-12)
    assert total == pytest.approx(np.trace(found))
    np.testing.assert_allclose(shrunk(np.eye(4), 9), np.eye(4) - 1 / 4, atol=1e-12)
    np.testing.assert_allclose(shrunk(covariance, 1e12), covariance, atol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cutoff", Cutoff)
def test_nothing_is_concluded_where_votes_in_clusters_never_varied(cutoff):
    found = rank_sets(in_clusters(np.zeros((3, 3)), 5), cutoff=cutoff)
    assert found.low.tolist() == [1, 1, 1]
    assert found.high.tolist() == [3, 3, 3]
    assert np.isfinite(found.critical_value)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "clusters"), [(4, 10), (8, 5), (12, 5)])
@pytest.mark.parametrize("like", ["apart", "in a row", "two alike"])
def test_joint_sets_of_few_clusters_hold_takes_a_minute(k, clusters, like):
    """With correlations as they seem, twelve models of five clusters held .91."""
    repeats, rng = 1500, np.random.default_rng(k)
    root = np.eye(k)
    if like == "in a row":
        root = np.linalg.cholesky(0.3 * np.eye(k) + 3 * np.outer(*2 * [np.linspace(-1, 1, k)]))
    elif like == "two alike":
        root[1, :2] = 0.95, np.sqrt(1 - 0.95**2)
    held = 0
    for _ in range(repeats):
        drawn = rng.standard_normal((clusters, k)) @ root.T
        one = in_clusters(np.cov(drawn.T) / clusters, clusters)
        sets = rank_sets(replace(one, theta=drawn.mean(axis=0)), draws=2000)
        held += not sets.ahead.any()
    assert held / repeats >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
