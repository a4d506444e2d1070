"""Several judges beside votes: against a loop over votes, one judge, and what λ must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.judges_together import least
from coupled_arena.stats.ranking.strata import Weighting
from coupled_arena.stats.tie_scores import TieScore
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
    assert (found.thin is None) == (one.thin is None)


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
    found = least(gain, cost)
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
    [((4, 16), 4), ((4, 4), 16), ((4, 256), 256), ((4, 5), 5), ((3, 16), 16)],
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
