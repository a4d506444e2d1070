"""Estimates from counts against the golden file and against a second route, from rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.core.choices import Covariance, Cutoff, Weighting
from coupled_arena.stats.counts import JudgedCounts, PairCounts
from coupled_arena.stats.ranking.estimates import Estimate, estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import rank_sets
from coupled_arena.stats.ranking.strata import PairPrompts
from coupled_arena.stats.simulation.rankings import Rankings
from tests.stats.real_votes import all_rows, design, golden, needs_real_votes
from tests.stats.reference import Rows, power_tuning, powered, rank_sets_chi2, stratified

NOBODY = Rows(*(np.zeros(0, dtype=int) for _ in range(4)))
DESIGNS = ["hash_n990", "hash_n2000", "balanced_n990_N5346"]
ALL = {
    "count_published": (Weighting.COUNT, Covariance.PUBLISHED),
    "count_corrected": (Weighting.COUNT, Covariance.CORRECTED),
    "stratified_within": (Weighting.STRATIFIED, Covariance.CORRECTED),
    "position_within": (Weighting.POSITION, Covariance.CORRECTED),
}


def counts_of(human, alone, models):
    k = len(models)
    labelled = np.zeros((k, k, 4, 4), dtype=np.int64)
    unlabelled = np.zeros((k, k, 4), dtype=np.int64)
    np.add.at(labelled, (human.a, human.b, human.h, human.g), 1)
    np.add.at(unlabelled, (alone.a, alone.b, alone.g), 1)
    return JudgedCounts(tuple(models), labelled, unlabelled)


def same_rank_sets(estimated: Estimate, expected):
    for cutoff in (Cutoff.CHI2, Cutoff.BONFERRONI):
        for alpha, sets in expected.get(cutoff.value, {}).items():
            found = rank_sets(estimated, float(alpha), cutoff)
            assert np.stack([found.low, found.high], axis=1).tolist() == sets, (cutoff, alpha)


# The golden file has twelve significant digits.


@needs_real_votes
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("who", ["human", "gpt4"])
def test_all_real_votes_of_one_kind(name, who):
    counts = counts_of(all_rows(), NOBODY, golden()["models"])
    expected = golden()["all"][who][name]
    found = estimate_from_votes(counts.votes if who == "human" else counts.verdicts, *ALL[name])
    assert found.theta == pytest.approx(expected["theta"], abs=1e-11)
    assert found.standard_error == pytest.approx(expected["se"], abs=1e-11)
    assert rank_sets(found).rank.tolist() == expected["point_rank"]
    assert found.warnings == ()
    same_rank_sets(found, expected["rank_sets"])


@needs_real_votes
@pytest.mark.parametrize("name", DESIGNS)
def test_real_votes_with_gpt4(name):
    human, alone = design(name)
    counts = counts_of(human, alone, golden()["models"])
    expected = golden()["ppr"][name]["gpt4"]
    for kind in Covariance:
        found = estimate(counts, Weighting.COUNT, kind)
        assert found.power_tuning == pytest.approx(expected["lambda"]["paper"], abs=1e-11)
        assert found.theta == pytest.approx(expected["count"]["theta"], abs=1e-11)
        sigma = np.array(expected["count"][f"Sigma_{kind}"])
        assert found.covariance == pytest.approx(sigma, abs=1e-11)
        same_rank_sets(found, expected["count"][f"rank_sets_{kind}"])
        alone_ = estimate_from_votes(counts.votes, Weighting.COUNT, kind)
        assert alone_.standard_error == pytest.approx(
            expected["human_only_Dn"][f"se_{kind}"], abs=1e-11
        )
        same_rank_sets(alone_, expected["human_only_Dn"][f"rank_sets_{kind}"])
    found = estimate(counts)
    assert found.power_tuning == pytest.approx(expected["stratified"]["lam"], abs=1e-11)
    assert found.theta == pytest.approx(expected["stratified"]["theta"], abs=1e-11)
    assert found.standard_error == pytest.approx(expected["stratified"]["se"], abs=1e-11)
    same_rank_sets(found, expected["stratified"]["rank_sets"])
    assert (found.human, found.judge_only) == (len(human.a), len(alone.a))


@needs_real_votes
@pytest.mark.parametrize("name", DESIGNS)
def test_the_reference_meets_the_golden_values(name):
    """What the benchmark compares with must itself be right."""
    human, alone = design(name)
    expected = golden()["ppr"][name]["gpt4"]
    assert power_tuning(human, alone, 12) == pytest.approx(expected["lambda"]["paper"], abs=1e-11)
    theta, published, corrected = powered(human, alone, 12)
    assert theta == pytest.approx(expected["count"]["theta"], abs=1e-11)
    assert published == pytest.approx(np.array(expected["count"]["Sigma_published"]), abs=1e-11)
    assert corrected == pytest.approx(np.array(expected["count"]["Sigma_corrected"]), abs=1e-11)
    sets = np.stack(rank_sets_chi2(theta, published, 0.05), axis=1).tolist()
    assert sets == expected["count"]["rank_sets_published"]["chi2"]["0.05"]


# The counts route against the rows route, on random designs.


@st.composite
def designs(draw, least=0):
    """Return (human, alone, k): 2 to 20 models, ties, pairs that never met, kinds of judges."""
    k = draw(st.integers(2, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.sampled_from([0.1, 1.0, 10.0]))  # low: the same outcome nearly every time
    agreement = draw(st.sampled_from([0.0, 0.7, 1.0]))
    always_tie = draw(st.booleans())

    def rows(most):
        size = rng.integers(0, most + 1, size=(k, k)) * (rng.random((k, k)) < 0.8) + least
        np.fill_diagonal(size, 0)
        a, b = (np.repeat(index.ravel(), size.ravel()) for index in np.indices((k, k)))
        h = rng.choice(4, size=len(a), p=rng.dirichlet(np.full(4, spread)))
        g = np.where(rng.random(len(a)) < agreement, h, rng.integers(0, 4, len(a)))
        return Rows(a, b, h, np.full(len(a), 2) if always_tie else g)

    return rows(draw(st.sampled_from([3, 9]))), rows(draw(st.sampled_from([0, 1, 6]))), k


def models_of(k):
    return [f"m{i:02}" for i in range(k)]


def with_votes(human, k):
    """Return which models have a vote."""
    return np.isin(np.arange(k), np.concatenate([human.a, human.b]))


def only(rows, present):
    place = np.cumsum(present) - 1
    at = present[rows.a] & present[rows.b]
    return Rows(place[rows.a[at]], place[rows.b[at]], rows.h[at], rows.g[at])


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(designs())
def test_count_weighted_counts_say_what_the_rows_say(drawn):
    human, alone, k = drawn
    counts = counts_of(human, alone, models_of(k))
    present = with_votes(human, k)
    if not present.any():
        return
    inner = only(alone, present)
    theta, published, corrected = powered(only(human, present), inner, present.sum())
    for kind, covariance in (
        (Covariance.CORRECTED, corrected),
        (Covariance.PUBLISHED, published),
    ):
        found = estimate(counts, Weighting.COUNT, kind)
        assert found.models == tuple(np.array(models_of(k))[present])
        assert found.theta == pytest.approx(theta, abs=1e-12)
        assert found.covariance == pytest.approx(covariance, abs=1e-12)
        assert np.isfinite(found.covariance).all()
        if present.sum() == 2 and kind is Covariance.CORRECTED:
            continue  # compared by the score test, which has a test of its own
        # What rank-sets make of few votes has a test of its own, too.
        many = replace(
            found, size=np.full(len(theta), 1e12), degrees=np.full_like(covariance, np.inf)
        )
        sets = rank_sets(many, 0.1, Cutoff.CHI2)
        never_varied = (np.diag(found.covariance) == 0) & (kind is Covariance.CORRECTED)
        # With two wins and two losses more (Agresti and Coull): 2 / n² after n votes.
        varied = found.covariance + np.diag(never_varied * 2 / many.size**2)
        assert [sets.low.tolist(), sets.high.tolist()] == [
            x.tolist() for x in rank_sets_chi2(found.theta, varied, 0.1)
        ]


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(designs(least=5), st.booleans())
def test_stratified_counts_say_what_the_rows_say(drawn, by_position):
    human, alone, k = drawn
    alone = Rows(*(x[5 * k :] for x in (alone.a, alone.b, alone.h, alone.g)))  # uneven, with gaps
    weighting = Weighting.POSITION if by_position else Weighting.STRATIFIED
    found = estimate(counts_of(human, alone, models_of(k)), weighting)
    theta, covariance, tuning = stratified(human, alone, k, by_position=by_position)
    assert found.weighting is weighting
    assert found.power_tuning == pytest.approx(tuning, abs=1e-9)
    assert found.theta == pytest.approx(theta, abs=1e-12)
    assert found.covariance == pytest.approx(covariance, abs=1e-12)


# What is asked for and cannot be had


def test_worked_example():
    """A beat B in 9 of 15 and C in 5 of 10, B beat C in 2 of 5.

    A: (9/15 + 5/10)/2 = .55, variance (.6 x .4/14 + .5 x .5/9)/4 = .0112302.
    """
    counts = PairCounts.from_rows(
        [
            *[("A", "B", "first", 6), ("A", "B", "second", 2), ("A", "B", "tie", 2)],
            *[("B", "A", "first", 1), ("B", "A", "second", 3), ("B", "A", "both_bad", 1)],
            *[("C", "A", "first", 4), ("A", "C", "first", 5), ("A", "C", "tie", 1)],
            *[("B", "C", "first", 2), ("B", "C", "tie", 3)],
        ]
    )
    found = estimate_from_votes(counts)
    assert found.theta == pytest.approx([0.55, 0.3, 0.2])
    assert found.standard_error[0] == pytest.approx(0.0112302**0.5, abs=1e-6)
    assert found.power_tuning == 0


def test_where_pairs_short_of_votes_cannot_be_filled_in_each_vote_weighs_the_same():
    found = estimate_from_votes(PairCounts.from_rows([("A", "B", "first", 3)]))
    assert found.weighting is Weighting.COUNT
    assert "1 pair has fewer than 5 human comparisons" in found.warnings[0]
    by_position = estimate_from_votes(
        PairCounts.from_rows([("A", "B", "first", 9)]), Weighting.POSITION
    )
    assert "in each order" in by_position.warnings[0]


def on_prompts(*sizes):
    """Return 20 votes in each pair of three models, and on how many prompts they are."""
    counts = PairCounts.from_rows(
        (a, b, outcome, 10) for a, b in ("AB", "AC", "BC") for outcome in ("first", "second")
    )
    prompts = np.zeros((3, 3), dtype=np.int64)
    prompts[np.triu_indices(3, 1)] = sizes
    prompts = prompts + prompts.T
    return counts, PairPrompts(counts.models, prompts, np.zeros_like(prompts))


def test_pairs_short_of_prompts_are_filled_in_and_it_is_said():
    counts, prompts = on_prompts(20, 4, 12)
    found = estimate_from_votes(counts, prompts=prompts)
    assert found.weighting is Weighting.STRATIFIED
    assert found.sparse is not None
    assert found.sparse.share.tolist() == [[1, 1, 0.8], [1, 1, 1], [0.8, 1, 1]]
    assert found.warnings[0].startswith("1 pair has fewer than 5 prompts: a fit to all votes")
    counts, prompts = on_prompts(20, 5, 12)
    assert estimate_from_votes(counts, prompts=prompts).sparse is None


def test_orders_that_were_told_apart_fall_back_together():
    """Six prompts with A first and four with B first are six at least, whoever is first."""
    counts, prompts = on_prompts(6, 6, 6)
    votes = prompts.votes.copy()
    votes[1, 0] = 4
    ordered = PairPrompts(counts.models, votes, prompts.alone)
    found = estimate_from_votes(counts, Weighting.POSITION, prompts=ordered)
    assert found.weighting is Weighting.COUNT
    assert (found.free == found.free.T).all()
    assert found.free[0, 1] == 6
    assert found.size.tolist() == [12, 12, 12]


def test_pairs_on_few_prompts_are_named():
    counts, prompts = on_prompts(9, 6, 10)
    assert estimate_from_votes(counts, prompts=prompts).warnings == (
        "2 pairs were compared on fewer than 10 prompts (A–C on 6, A–B on 9): others may rank "
        "the models otherwise. Ask more prompts; more voters on the same ones do not help.",
    )
    few = PairCounts.from_rows((a, b, "first", 7) for a, b in ("AB", "AC", "BC"))
    sevens = PairPrompts(few.models, 7 - 7 * np.eye(3, dtype=np.int64), np.zeros((3, 3), np.int64))
    assert estimate_from_votes(few, prompts=sevens).warnings == ()  # a prompt for each vote


def test_a_prompt_for_each_vote_changes_nothing():
    counts, prompts = on_prompts(20, 20, 20)
    plain, told = estimate_from_votes(counts), estimate_from_votes(counts, prompts=prompts)
    for one in ("theta", "covariance", "floor", "size", "certain_size", "free"):
        assert (getattr(plain, one) == getattr(told, one)).all(), one


def test_a_variance_from_few_prompts_is_that_of_their_means():
    """Votes on six prompts, by hand: the variance of six means, at half the weight."""
    rng = np.random.default_rng(3)
    share = rng.integers(0, 6, (3, 6))  # of five votes on each of six prompts of each pair
    rows = [
        (prompt + 6 * pair, *models, vote, 0, True)
        for pair, models in enumerate([(0, 1), (0, 2), (1, 2)])
        for prompt in range(6)
        for vote in [0] * share[pair, prompt] + [1] * (5 - share[pair, prompt])
    ]
    drawn = Rankings(("A", "B", "C"), *(np.array(column) for column in zip(*rows, strict=True)))
    plain = estimate_from_votes(drawn.counts().votes, prompts=drawn.prompts())
    found = plain.clustered(
        drawn.gram(plain.influence), drawn.clusters, drawn.products(plain.influence)
    )
    means = (share / 5).var(axis=1, ddof=1) / 6
    assert found.covariance[0, 0] == pytest.approx((means[0] + means[1]) / 4)
    assert found.degrees[0, 0] == pytest.approx(means[:2].sum() ** 2 / (means[:2] ** 2 / 5).sum())
    assert found.clusters == 18


def test_a_model_without_votes_is_left_out_and_named():
    counts = PairCounts.from_rows([("A", "B", "first", 9)], models=["A", "B", "C"])
    found = estimate_from_votes(counts)
    assert found.models == ("A", "B")
    assert found.warnings == ("These models have no vote, and so no place: C.",)


def test_the_published_covariance_brings_its_weighting():
    found = estimate_from_votes(
        PairCounts.from_rows([("A", "B", "first", 9)]), kind=Covariance.PUBLISHED
    )
    assert found.weighting is Weighting.COUNT
    assert "count weighting" in found.warnings[0]


@pytest.mark.parametrize("weighting", Weighting)
@pytest.mark.parametrize("kind", Covariance)
def test_a_judge_that_always_says_tie_has_no_weight(weighting, kind):
    rng = np.random.default_rng(3)
    labelled = np.zeros((3, 3, 4, 4), dtype=np.int64)
    labelled[..., 2] = rng.integers(2, 20, (3, 3, 4))
    unlabelled = np.zeros((3, 3, 4), dtype=np.int64)
    unlabelled[..., 2] = 50
    counts = JudgedCounts(("x", "y", "z"), labelled, unlabelled)
    found, human = (
        estimate(counts, weighting, kind),
        estimate_from_votes(counts.votes, weighting, kind),
    )
    assert found.power_tuning == 0
    assert found.theta == pytest.approx(human.theta)
    assert found.covariance == pytest.approx(human.covariance)


def test_a_pair_without_verdicts_alone_keeps_its_votes():
    """Where the judge saw nothing else of a pair, that pair's part is the votes'."""
    rng = np.random.default_rng(5)
    labelled = rng.integers(3, 9, (3, 3, 4, 4))
    for i in range(4):
        labelled[:, :, i, i] += 30
    unlabelled = rng.integers(50, 90, (3, 3, 4))
    unlabelled[0, 1] = unlabelled[1, 0] = 0
    counts = JudgedCounts(("x", "y", "z"), labelled, unlabelled)
    found = estimate(counts)
    assert found.power_tuning > 0.3
    votes, verdicts = labelled.sum(3), labelled.sum(2)

    def share(table, i, j):
        return (table[i, j, 0] + table[j, i, 1]) / (table[i, j] + table[j, i]).sum()

    rectifier = share(unlabelled, 0, 2) - share(verdicts, 0, 2)
    expected = (share(votes, 0, 1) + share(votes, 0, 2) + found.power_tuning * rectifier) / 2
    assert found.theta[0] == pytest.approx(expected, abs=1e-12)
