"""Several judges beside votes: against a loop over votes, one judge, and what λ must satisfy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.core.choices import Cutoff, Design, TieScore, Voters, Weighting
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.judge_weights import least_weights
from coupled_arena.stats.simulation.coverage import SimulationPlan, estimate_drawn, simulate
from coupled_arena.stats.simulation.rank_set_runs import Ranking, binomial_error
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth, evenly
from tests.stats.several_judges import by_models, by_pairs, counts_of, drawn_rows

K = 4


@pytest.fixture(scope="module", params=[2, 3])
def drawn(request):
    judges = request.param
    rows = drawn_rows(np.random.default_rng([8, judges]), K, judges, 500, 900)
    return judges, rows, counts_of(*rows, K, judges)


def same(found, expected):
    theta, covariance, tuning = expected
    assert found.judge_weights == pytest.approx(tuning, abs=1e-10)
    assert found.power_tuning == pytest.approx(sum(tuning), abs=1e-10)
    assert found.theta == pytest.approx(theta, abs=1e-10)
    assert found.covariance == pytest.approx(covariance, abs=1e-10)
    assert (np.array(tuning) > 0.01).all()
    assert sum(tuning) < 0.99  # nothing is at its bound, where the loops know nothing of bounds


@pytest.mark.parametrize("ties", list(TieScore))
@pytest.mark.parametrize("weighting", [Weighting.STRATIFIED, Weighting.POSITION])
def test_against_a_loop_over_votes(drawn, weighting, ties):
    judges, rows, counts = drawn
    half, by_position = ties is TieScore.HALF, weighting is Weighting.POSITION
    expected = by_pairs(*rows, K, judges, half=half, by_position=by_position)
    same(estimate(counts, weighting, ties=ties), expected)


def test_each_comparison_the_same_against_a_loop_over_votes(drawn):
    judges, rows, counts = drawn
    same(estimate(counts, Weighting.COUNT), by_models(*rows, K, judges))


def test_a_pair_with_one_verdict_alone_is_left_to_people():
    votes, alone = drawn_rows(np.random.default_rng(6), 3, 2, 300, 400)
    met = [row for row in alone if {row[0], row[1]} == {0, 1}]
    alone = [row for row in alone if row not in met] + met[:1]
    found = estimate(counts_of(votes, alone, 3, 2))
    same(found, by_pairs(votes, alone, 3, 2))


@pytest.mark.parametrize("weighting", list(Weighting))
@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("votes", [500, 25], ids=["enough", "filled in"])
def test_a_judge_given_again_says_nothing_more(weighting, times, votes):
    rows, alone = drawn_rows(np.random.default_rng(2), K, 1, votes, 2 * votes)
    one = estimate(counts_of(rows, alone, K, 1), weighting)
    again = [(a, b, h, said * times) for a, b, h, said in rows]
    found = estimate(
        counts_of(again, [(a, b, said * times) for a, b, said in alone], K, times), weighting
    )
    assert one.power_tuning > 0.1
    assert found.judge_weights == pytest.approx([one.power_tuning / times] * times, abs=1e-10)
    for name in ("theta", "covariance", "degrees", "floor", "size", "certain_size", "free"):
        assert getattr(found, name) == pytest.approx(getattr(one, name), abs=1e-10), name
    assert found.warnings == one.warnings
    assert (found.sparse is None) == (one.sparse is None)


def test_a_judge_who_says_nothing_changes_nothing():
    rows, alone = drawn_rows(np.random.default_rng(5), K, 1, 500, 900)
    one = estimate(counts_of(rows, alone, K, 1))
    rows = [(a, b, h, (2, *said)) for a, b, h, said in rows]
    found = estimate(counts_of(rows, [(a, b, (2, *said)) for a, b, said in alone], K, 2))
    assert found.judge_weights == pytest.approx([0, one.power_tuning], abs=1e-10)
    assert found.covariance == pytest.approx(one.covariance, abs=1e-10)


def test_judges_who_contradict_people_are_not_heard():
    rows, alone = drawn_rows(np.random.default_rng(5), K, 2, 500, 900)
    turned = str.maketrans("01", "10")

    def against(said):
        return tuple(int(str(g).translate(turned)) for g in said)

    counts = counts_of(
        [(a, b, h, against(said)) for a, b, h, said in rows],
        [(a, b, against(said)) for a, b, said in alone],
        K,
        2,
    )
    found, alone_ = estimate(counts), estimate_from_votes(counts.votes)
    assert found.judge_weights == (0.0, 0.0)
    assert found.theta == pytest.approx(alone_.theta, abs=1e-12)
    assert found.covariance == pytest.approx(alone_.covariance, abs=1e-12)


def test_more_judges_are_never_worse_where_lambda_is_fitted(drawn):
    judges, (votes, alone), counts = drawn
    together = np.trace(estimate(counts).covariance)
    for judge in range(judges):
        one = counts_of(
            [(a, b, h, said[judge : judge + 1]) for a, b, h, said in votes],
            [(a, b, said[judge : judge + 1]) for a, b, said in alone],
            K,
            1,
        )
        assert together < np.trace(estimate(one).covariance)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.integers(1, 3), st.integers(0, 2**32), st.booleans())
def test_weights_are_the_least_of_all_that_are_allowed(judges, seed, alike):
    """By what holds at a minimum and nowhere else: slopes vanish, or point out of the bounds."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(judges, 4)) * rng.choice([0.05, 1.0, 10.0])
    gain = rng.normal(size=judges) * rng.choice([0.0, 0.01, 1.0])
    if alike:
        root[-1], gain[-1] = root[0], gain[0]
    cost = root @ root.T
    found = least_weights(gain, cost)
    assert (found >= 0).all()
    assert found.sum() <= 1 + 1e-9
    slope = cost @ found - gain
    scale = 1e-8 * (1 + np.abs(cost).max() + np.abs(gain).max())
    pressed = -slope.min() if found.sum() > 1 - 1e-9 else 0.0  # by the bound on the sum
    assert pressed >= -scale
    assert (slope + pressed >= -scale).all()
    assert np.abs((slope + pressed)[found > 1e-9]).max(initial=0) < scale


def test_several_judges_say_what_the_first_one_says(drawn):
    judges, (votes, alone), counts = drawn
    first = counts_of(
        [(a, b, h, said[:1]) for a, b, h, said in votes],
        [(a, b, said[:1]) for a, b, said in alone],
        K,
        1,
    )
    assert (counts.judges, first.judges) == (judges, 1)
    assert (counts.verdicts.counts == first.verdicts.counts).all()
    assert (counts.votes.counts == first.votes.counts).all()


@pytest.mark.parametrize(
    ("labelled", "unlabelled"),
    [((4, 16), 4), ((4, 4), 16), ((4, 256), 256), ((4, 6), 6), ((3, 16), 16)],
)
def test_counts_of_no_number_of_judges(labelled, unlabelled):
    with pytest.raises(ValueError, match="cannot have the shape"):
        JudgedCounts(
            ("a", "b"),
            np.zeros((2, 2, *labelled), dtype=np.int64),
            np.zeros((2, 2, unlabelled), dtype=np.int64),
        )


def test_negative_counts_are_refused():
    unlabelled = np.zeros((2, 2, 16), dtype=np.int64)
    unlabelled[0, 1, 3] = -1
    with pytest.raises(ValueError, match="negative"):
        JudgedCounts(("a", "b"), np.zeros((2, 2, 4, 16), dtype=np.int64), unlabelled)


@pytest.mark.parametrize("biased", [0.0, 0.3])
def test_a_truth_with_several_judges(biased):
    """Each judge by itself follows the law of one, and given the vote they are independent."""
    common = {"ties": 0.3, "toward_first": biased, "toward_last": biased}
    strengths = evenly(3, 1.0)
    three = SimulatedTruth(
        strengths, 60_000, 40_000, judge_quality=0.6, more_judges=(0.4, 0.2), **common
    )
    drawn = three.draw(np.random.default_rng(4))
    assert (drawn.judges, drawn.labelled.sum(), drawn.unlabelled.sum()) == (3, 60_000, 40_000)
    cells = drawn.labelled.reshape(3, 3, 4, 4, 4, 4)
    for judge, quality in enumerate((0.6, 0.4, 0.2)):
        one = SimulatedTruth(strengths, 6, 0, judge_quality=quality, **common)
        law = one.compare(np.random.default_rng(judge), 100_000 * (1 - np.eye(3, dtype=int)))
        others = tuple({3, 4, 5} - {3 + judge})
        found = cells.sum(others) / np.maximum(cells.sum((2, 3, 4, 5)), 1)[..., None, None]
        assert found == pytest.approx(law / 100_000, abs=0.02)
    for judge in range(3):
        both = cells[0, 1, 0].sum(axis=judge)  # of two judges, on votes for the first of two models
        apart = np.outer(both.sum(1), both.sum(0)) / both.sum()
        assert np.abs(both - apart).max() < 4 * np.sqrt(apart.max())


@pytest.mark.parametrize("changes", [{"more_judges": (1.2,)}, {"more_judges": (0.5, -0.1)}])
def test_qualities_that_are_none(changes):
    with pytest.raises(ValueError, match="probabilities"):
        SimulatedTruth((0.0, 0.0), 10, 10, **changes)


def test_four_judges_are_too_many():
    with pytest.raises(ValueError, match="at most 3 judges"):
        SimulatedTruth((0.0, 0.0), 10, 10, more_judges=(0.1, 0.2, 0.3))


@pytest.mark.parametrize("design", [Design.CLUSTERED, Design.VOTERS])
def test_designs_with_one_judge(design):
    with pytest.raises(ValueError, match="has one judge"):
        SimulatedTruth((0.0, 0.0), 10, 10, more_judges=(0.5,), design=design)


def test_a_campaign_with_several_judges():
    """The first judge says the same, whoever else judges; each repeats its share of votes."""
    shared = {"taste": 0.0, "judge_only": 3000}
    one, three = (
        Campaign((0.0,) * 3, 10, 3000, more_judges=more, **shared).draw(np.random.default_rng(5))
        for more in ((), (0.3, 0.0))
    )
    assert (one.judges, three.judges, three.silent) == (1, 3, 64)
    codes = three.verdict // 16, three.verdict // 4 % 4, three.verdict % 4
    for name in ("prompt", "first", "second", "vote", "voter"):
        assert np.array_equal(getattr(one, name), getattr(three, name))
    # Ties .3: of what a judge says by itself .3² + .35² · 2 is what the vote says.
    by_chance = 0.09 + 2 * 0.35**2
    for said, quality in zip(codes, (0.5, 0.3, 0.0), strict=True):
        agrees = quality + (1 - quality) * by_chance
        assert np.mean(said == three.vote) == pytest.approx(agrees, abs=0.03)
    counts = three.counts()
    assert (counts.judges, counts.alone.sum()) == (3, 3000)
    weights = estimate_drawn(three, Ranking.PPR).judge_weights
    assert weights[0] > weights[1] > weights[2] - 0.05


def test_all_judges_of_a_campaign_are_silent_at_once():
    truth = Campaign((0.0,) * 3, 10, 600, more_judges=(0.4,), judge_only=600, silent=0.5)
    drawn = truth.draw(np.random.default_rng(6))
    assert drawn.shown.sum() == 600
    unsaid = drawn.verdict == drawn.silent
    assert 0.1 * 600 < unsaid.sum() < 0.3 * 600
    assert drawn.shown[unsaid].all()
    assert drawn.counts().has_silent


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5])
def test_boards_of_several_judges_hold_for_people_like_the_voters(k):
    truth = Campaign(
        (0.0,) * k, 10, 1000, prompts=60, prompt_effect=1.0, judge_only=1000, more_judges=(0.45,)
    )
    how = {"cutoffs": (Cutoff.MAX_T,), "draws": 2000}
    like, these = (
        simulate(SimulationPlan(truth, repeats=60, voters=voters, **how)) for voters in Voters
    )
    error = binomial_error(0.95, 60)
    for found in (like, these):
        (sets,) = (one for one in found.rank_sets if one.ranking is Ranking.PPR)
        (ends,) = (one for one in found.intervals if one.ranking is Ranking.PPR)
        held = sets.coverage, ends.coverage.mean()
        if found is like:
            assert min(held) > 0.95 - 3 * error
        else:
            assert max(held) < 0.95 - 3 * error


@cache
def simulated(judges, bias):
    truth = SimulatedTruth(
        evenly(5, 0.0), 300, 1500, ties=0.3, more_judges=judges, toward_first=bias
    )
    return simulate(SimulationPlan(truth, repeats=400, cutoffs=(Cutoff.MAX_T,), draws=4000))


@pytest.mark.slow
@pytest.mark.parametrize("more", [(0.45,), (0.45, 0.4)])
@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_rank_sets_and_intervals_keep_their_promise(more, bias):
    """k = 5, 30 votes a pair, at a nominal 95 %; and each further judge narrows the intervals."""
    before, after = simulated(more[:-1], bias), simulated(more, bias)
    (sets,) = (one for one in after.rank_sets if one.ranking is Ranking.PPR)
    (found,) = (one for one in after.intervals if one.ranking is Ranking.PPR)
    (wider,) = (one for one in before.intervals if one.ranking is Ranking.PPR)
    assert sets.coverage > 0.95 - 3 * binomial_error(0.95, 400)
    assert found.coverage.min() > 0.95 - 3 * binomial_error(0.95, 400)
    assert np.abs(found.bias).max() < 0.01
    assert found.width < 0.99 * wider.width
