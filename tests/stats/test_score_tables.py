"""Savings of coupled generation: the golden file, loops over answers, known covariances."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from coupled_arena.stats.coupling import score_tables
from coupled_arena.stats.coupling.error_curves import error_curves
from coupled_arena.stats.coupling.score_tables import ScoreTable, compare_scores

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "coupling"
needs_real_scores = pytest.mark.skipif(
    not FOLDER.exists(), reason=f"the real scores are not there: {FOLDER}"
)
DIGITS = 1e-11  # the golden file has twelve


@cache
def golden():
    return json.loads((FOLDER / "golden_gsm8k_llama.json").read_text())


@cache
def real():
    with (FOLDER / "gsm8k_llama.csv").open() as stream:
        _, *rows = csv.reader(stream)
    shape = (golden()["questions"], golden()["seeds"], len(golden()["models"]))
    scores = [
        np.array([[x == "True" for x in row[1:]] for row in rows if row[0] == noise], dtype=float)
        for noise in ("Coupled", "Independent")
    ]
    return ScoreTable(tuple(golden()["models"]), *(one.reshape(shape) for one in scores))


@needs_real_scores
def test_golden_values():
    found = compare_scores(real())
    assert len(found) == 15
    for pair in found:
        wanted = golden()["pairs"][f"{pair.model_a} | {pair.model_b}"]
        values = {
            "diff_coupled": pair.difference_coupled,
            "diff_indep": pair.difference_independent,
            "mean_cov_coupled": pair.mean_covariance,
            "se_cov": pair.mean_covariance_error,
            "mean_cov_indep": pair.mean_covariance_independent,
            "mean_var_coupled": pair.variances_coupled.mean(),
            "mean_var_indep": pair.variances_independent.mean(),
            "median_var_coupled": np.median(pair.variances_coupled),
            "median_var_indep": np.median(pair.variances_independent),
            "pooled_var_coupled": pair.pooled_variance_coupled,
            "pooled_var_indep": pair.pooled_variance_independent,
            "prop1_within_gap": pair.identity_gap,
            "prop1_within_gap_se": pair.identity_gap_error,
            "total_cov_coupled": pair.total_covariance,
            "savings_pooled": pair.savings,
            "savings_within": pair.savings_within,
            "se_diff_cluster_coupled": pair.difference_error_coupled,
            "se_diff_cluster_indep": pair.difference_error_independent,
        }
        assert values == pytest.approx({name: wanted[name] for name in values}, abs=DIGITS)
        # These come from a bootstrap: a quantile at .025 of 2,000 draws has a standard error of .06
        # sd, of which four, and twice, as ours would come from one, too.
        low, high = wanted["savings_pooled_ci95"]
        slack = 4 * 2**0.5 * 0.06 * (high - low) / (2 * 1.96)
        assert pair.savings_low == pytest.approx(low, abs=slack)
        assert pair.savings_high == pytest.approx(high, abs=slack)


@needs_real_scores
def test_the_printed_proposition_fails_where_the_right_one_holds():
    pairs = compare_scores(real())
    assert all(abs(pair.identity_gap) < 3 * pair.identity_gap_error for pair in pairs)
    printed = [
        pair.pooled_variance_independent - pair.pooled_variance_coupled - 2 * pair.total_covariance
        for pair in pairs
    ]
    assert max(printed) < -0.04


def drawn(rng, prompts, seeds, shared, spread=0.5):
    """Return normal scores of two models; `shared` is the covariance within prompts."""
    ease = rng.normal(0, spread, (prompts, 1, 1))
    own = rng.normal(0, (1 - shared) ** 0.5, (prompts, seeds, 2))
    luck = rng.normal(0, shared**0.5, (prompts, seeds, 1))
    alone = rng.normal(0, 1, (prompts, seeds, 2))
    return ScoreTable(("a", "b"), ease + own + luck, ease + alone)


@pytest.mark.parametrize("shared", [0.0, 0.4])
def test_savings_and_their_interval_for_known_covariance(shared):
    """Unit variances: savings are 1 - 2(1 - c)/2 = c."""
    repeats, rng = 300, np.random.default_rng(1)
    found = [compare_scores(drawn(rng, 80, 4, shared), 0.1)[0] for _ in range(repeats)]
    savings = np.array([pair.savings for pair in found])
    # The ratio of two variance estimates of 320 samples is biased by 2/n of itself.
    error = savings.std() / repeats**0.5
    assert savings.mean() == pytest.approx(shared, abs=4 * error + 2 / 320)
    covered = np.mean([pair.savings_low <= shared <= pair.savings_high for pair in found])
    assert covered == pytest.approx(0.9, abs=3 * (0.9 * 0.1 / repeats) ** 0.5)
    assert np.mean([pair.mean_covariance for pair in found]) == pytest.approx(shared, abs=0.02)


def test_error_curves_are_the_theory_of_sampling_without_replacement():
    """E|error| = sd sqrt(2/π (1/n - 1/N)) for sums that are nearly normal."""
    rng = np.random.default_rng(3)
    table = drawn(rng, 100, 10, 0.5)
    sizes = np.array([50, 200, 800, 1000])
    curves = error_curves(table, sizes, repeats=2_000)
    for scores, mean, error in zip(
        (table.coupled, table.independent), curves.mean[:, 0], curves.mean_error[:, 0], strict=True
    ):
        sd = (scores[..., 0] - scores[..., 1]).std(ddof=1)
        expected = sd * np.sqrt(2 / np.pi * (1 / sizes - 1 / 1000))
        assert (np.abs(mean - expected) <= 4 * error + 1e-12).all()
    assert (curves.low <= curves.mean).all()
    assert (curves.mean <= curves.high).all()


@pytest.mark.parametrize(("prompts", "answers", "tails"), [(10, 5, 0), (30, 3, 0), (30, 3, 1)])
def test_savings_of_continuous_scores_hold_on_few_prompts(prompts, answers, tails):
    """Also with long tails, where an interval by the delta method held in .80."""
    repeats, rng = 400, np.random.default_rng(4)
    truth = 0.5 if not tails else 1 - (np.e - np.exp(0.5)) / (np.e - 1)
    held = 0
    for _ in range(repeats):
        table = drawn(rng, prompts, answers, 0.5)
        if tails:
            table = ScoreTable(table.models, np.exp(table.coupled), np.exp(table.independent))
        (pair,) = compare_scores(table)
        held += pair.savings_low <= truth <= pair.savings_high
    assert held / repeats > 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5


@pytest.mark.slow
def test_continuous_scores_hold_every_ratio_that_student_s_test_does_not_refuse():
    """Fieller's bounds by another route: the test of E(a - r b) = 0 at each r."""
    rng = np.random.default_rng(0)
    table = drawn(rng, 25, 3, 0.5)
    table = ScoreTable(table.models, np.exp(table.coupled), np.exp(table.independent))
    (pair,) = compare_scores(table, 0.2)
    one, two = (
        ((d - d.mean()) ** 2).mean(axis=1)
        for d in (scores[..., 0] - scores[..., 1] for scores in (table.coupled, table.independent))
    )
    tried = np.linspace(0.001, 1.999, 1_999)
    p = np.array([scipy.stats.ttest_1samp(one - r * two, 0).pvalue for r in tried])
    kept = tried[p > 0.2]
    assert pair.savings_low <= 1 - kept.max()
    assert pair.savings_high >= 1 - kept.min()
    wider = 1 - pair.savings_high < kept.min() - 0.001, 1 - pair.savings_low > kept.max() + 0.001
    assert not all(wider)  # one end at least is Fieller's, not the logarithm's


def test_too_few_prompts_bound_nothing():
    rng = np.random.default_rng(1)
    found = [compare_scores(drawn(rng, 3, 3, 0.0))[0] for _ in range(40)]
    few = [pair for pair in found if pair.too_few_prompts]
    assert all(pair.savings_low == min(-1.0, pair.savings) for pair in few)
    assert len(few) > 20


def test_the_interval_of_binary_scores_is_student_s_of_the_logarithm_of_the_ratio():
    table = drawn(np.random.default_rng(2), 12, 3, 0.5)
    table = ScoreTable(table.models, *(1.0 * (s > 0) for s in (table.coupled, table.independent)))
    (pair,) = compare_scores(table, 0.2)
    one, two = (
        np.array([[a - b for a, b in prompt] for prompt in scores])
        for scores in (table.coupled, table.independent)
    )
    # By leaving prompts out of linear sums: the infinitesimal jackknife, prompt by prompt.
    step = 1e-6
    moves = []
    for at in range(12):
        weights = np.ones(12)
        weights[at] += step
        logs = [
            np.log(
                np.average(
                    (d - np.average(d.mean(1), weights=weights)).var(1)
                    + (d.mean(1) - np.average(d.mean(1), weights=weights)) ** 2,
                    weights=weights,
                )
            )
            for d in (one, two)
        ]
        moves.append(logs[0] - logs[1])
    base = np.log(one.var() / two.var())
    error = np.sqrt(12 / 11 * np.sum(((np.array(moves) - base) / step) ** 2))
    half = scipy.stats.t(11).ppf(0.9) * error
    ratio = 1 - pair.savings
    assert pair.savings_low == pytest.approx(1 - ratio * np.exp(half), rel=1e-4)
    assert pair.savings_high == pytest.approx(1 - ratio * np.exp(-half), rel=1e-4)


def test_models_that_never_differ_with_one_luck_may_differ_elsewhere():
    """Of 20 prompts on none: by binomial law a share of .168 would have shown with .975."""
    independent = np.zeros((20, 3, 2))
    independent[:10, 0, 0] = 1
    (pair,) = compare_scores(ScoreTable(("a", "b"), np.ones((20, 3, 2)), independent))
    share = scipy.stats.binomtest(0, 20).proportion_ci(0.95).high
    assert (pair.savings, pair.savings_high) == (1, 1)
    assert pair.savings_low == pytest.approx(1 - share / (1 / 6 * 5 / 6))


def test_scores_that_never_vary_have_no_savings():
    still = np.ones((3, 2, 2))
    (pair,) = compare_scores(ScoreTable(("a", "b"), still, still))
    assert np.isnan([pair.savings, pair.savings_low, pair.savings_high]).all()


@pytest.mark.parametrize(
    ("coupled", "independent", "message"),
    [
        (np.ones((3, 2, 2)), np.ones((3, 3, 2)), "same prompts"),
        (np.ones((3, 2, 3)), np.ones((3, 2, 3)), "three axes"),
        (np.ones((1, 2, 2)), np.ones((1, 2, 2)), "at least"),
        (np.full((3, 2, 2), np.nan), np.ones((3, 2, 2)), r"none beyond 1e\+150"),
        (np.full((3, 2, 2), 1e200), np.ones((3, 2, 2)), r"none beyond 1e\+150"),
    ],
)
def test_tables_that_make_no_sense(coupled, independent, message):
    with pytest.raises(ValueError, match=message):
        ScoreTable(("a", "b"), coupled, independent)


@pytest.mark.parametrize("sizes", [[], [0], [7]])
def test_sizes_out_of_range(sizes):
    table = ScoreTable(("a", "b"), np.ones((3, 2, 2)), np.ones((3, 2, 2)))
    with pytest.raises(ValueError, match="between 1 and 6"):
        error_curves(table, np.array(sizes, dtype=int))


@pytest.mark.parametrize("spread", [0.5, 3.0])
def test_fieller_s_bounds_are_the_ratios_that_a_paired_t_test_just_refuses(spread):
    rng = np.random.default_rng(3)
    two = rng.gamma(spread**-2, spread**2, 40)
    one = 0.6 * two + 0.4 * rng.exponential(size=40)
    one, two = one / one.mean(), two / two.mean()
    low, high = score_tables._fieller(one, two, scipy.stats.t.ppf(0.975, 39))
    assert 0 < low < 1 < high < np.inf
    for bound in (low, high):
        assert scipy.stats.ttest_rel(one, bound * two).pvalue == pytest.approx(0.05, rel=1e-9)


def test_fieller_s_bound_is_infinite_where_the_denominator_may_be_none():
    one, two = np.ones(6), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 6.0])
    assert scipy.stats.ttest_1samp(two, 0).pvalue > 0.05
    assert score_tables._fieller(one, two, scipy.stats.t.ppf(0.975, 5))[1] == np.inf
