"""Ties as half a win: row by row, on real votes, and against a truth."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from coupled_arena.core.choices import Cutoff, TieScore
from coupled_arena.stats.counts import JudgedCounts, PairCounts
from coupled_arena.stats.ranking.any_time import plain_record
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation, intervals, rank_sets
from coupled_arena.stats.simulation.truths import SimulatedTruth, evenly
from tests.families import first_of
from tests.stats.judged_rows import drawn_counts, rows_of
from tests.stats.real_votes import design, golden, needs_real_votes

HALF = np.array([[1, 0, 0.5, 0.5], [0, 1, 0.5, 0.5]])


def row_by_row(counts):
    """Return λ, the stratified win rates and their covariance, with numpy's own covariances."""
    both, alone = rows_of(counts)
    k, parts = len(counts.models), []
    for i, j in combinations(range(k), 2):
        scores = []
        for rows, columns in ((both, (2, 3)), (alone, (2,))):
            met = rows[np.isin(rows[:, 0], (i, j)) & np.isin(rows[:, 1], (i, j))]
            of_i = np.where(met[:, 0] == i, 0, 1)
            scores += [
                np.stack([HALF[of_i, met[:, c]], HALF[1 - of_i, met[:, c]]]) for c in columns
            ]
        parts.append(((i, j), *scores))
    gain = sum(np.trace(np.cov(h, g)[:2, 2:]) / h.shape[1] for _, h, g, _ in parts)
    cost = sum(
        np.trace(np.cov(g)) / g.shape[1] + np.trace(np.cov(v)) / v.shape[1] for _, _, g, v in parts
    )
    tuning = float(np.clip(gain / cost, 0, 1))
    theta, covariance = np.zeros(k), np.zeros((k, k))
    for pair, h, g, v in parts:
        theta[list(pair)] += (h - tuning * g).mean(1) + tuning * v.mean(1)
        part = np.cov(h - tuning * g) / h.shape[1] + tuning**2 * np.cov(v) / v.shape[1]
        covariance[np.ix_(pair, pair)] += part
    return tuning, theta / (k - 1), covariance / (k - 1) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_rows_say(seed):
    counts = drawn_counts(np.random.default_rng(seed), k=4)
    tuning, theta, covariance = row_by_row(counts)
    found = estimate(counts, ties=TieScore.HALF)
    assert found.power_tuning == pytest.approx(tuning, abs=1e-14)
    np.testing.assert_allclose(found.theta, theta, atol=1e-14)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-14)
    assert found.theta.mean() == pytest.approx(0.5)
    assert estimate(counts).theta.mean() < 0.45


def test_two_models_are_as_far_apart_as_with_ties_as_losses():
    """The difference of the two is wins less losses, whatever ties count for."""
    counts = PairCounts.from_rows([("a", "b", "first", 30), ("b", "a", "first", 14)])
    tied = PairCounts.from_rows([("a", "b", "tie", 21)], counts.models)
    half, loss = (estimate_from_votes(counts + tied, ties=ties) for ties in TieScore)
    assert half.theta[0] - half.theta[1] == pytest.approx(loss.theta[0] - loss.theta[1])
    of = np.array([1, -1])
    assert of @ half.covariance @ of == pytest.approx(of @ loss.covariance @ of)


def test_ties_alone_are_no_proof_that_models_are_equal():
    counts = PairCounts.from_rows(
        [("a", "b", "tie", 12), ("b", "c", "tie", 12), ("a", "c", "tie", 12)]
    )
    found = estimate_from_votes(counts, ties=TieScore.HALF)
    np.testing.assert_array_equal(found.theta, 0.5)
    np.testing.assert_allclose(found.floor, 2 * (1 / 2) ** 2 * 0.25 / 12)
    low, high = intervals(found)
    assert (low < 0.4).all()
    assert (high > 0.6).all()
    assert (rank_sets(found).sizes == 3).all()


@pytest.mark.parametrize("ties", TieScore)
def test_two_models_have_one_record_whatever_a_tie_counts_for(ties):
    counts = PairCounts.from_rows(
        [("a", "b", "first", 9), ("b", "a", "first", 4), ("a", "b", "tie", 5), ("b", "a", "tie", 2)]
    )
    assert plain_record(estimate_from_votes(counts, ties=ties)) == (9, 4)


def test_no_coupling_moves_win_rates_of_answers_that_are_right_or_wrong():
    """P(x > y) + P(x = y) / 2 is 1/2 + (E x - E y) / 2 for every joint law of x and y."""
    right, wrong = 60, 40  # of a hundred answers of either model: a has 60 right, b has 40
    boards = []
    for both in (40, 24, 0):  # coupled as far as it goes, independent, as unlike as it goes
        only_a, only_b = right - both, wrong - both
        rows = [("a", "b", "first", only_a), ("a", "b", "second", only_b)]
        rows += [("a", "b", "tie", 100 - only_a - only_b)]
        boards.append(PairCounts.from_rows(rows))
    for counts in boards:
        found = estimate_from_votes(counts, ties=TieScore.HALF)
        np.testing.assert_allclose(found.theta, [0.6, 0.4], atol=1e-14)
    assert len({estimate_from_votes(each).theta[0] for each in boards}) == 3


@needs_real_votes
def test_real_votes_leave_fewer_ranks():
    models, (human, alone) = golden()["models"], design("balanced")
    labelled, unlabelled = np.zeros((12, 12, 4, 4), int), np.zeros((12, 12, 4), int)
    np.add.at(labelled, (human.a, human.b, human.h, human.g), 1)
    np.add.at(unlabelled, (alone.a, alone.b, alone.g), 1)
    counts = JudgedCounts(tuple(models), labelled, unlabelled)
    half, loss = (rank_sets(estimate(counts, ties=ties)).sizes.mean() for ties in TieScore)
    assert half < loss


@pytest.mark.parametrize("spread", [0.0, 1.5])
@pytest.mark.parametrize("cutoff", first_of(Cutoff.STEP_DOWN, Cutoff.MAX_T))
def test_rank_sets_and_intervals_cover(spread, cutoff):
    """Equal strengths have ½; others are in the same order, whatever a tie counts for."""
    truth, repeats = SimulatedTruth(evenly(4, spread), 240, 900, ties=0.3), 150
    law = 1 / (1 + np.exp(np.subtract.outer(truth.strengths, truth.strengths).T))
    theta = ((0.7 * law + 0.15).sum(1) - 0.5) / 3
    best, worst = truth.ranks
    held, inside = [], []
    for repeat in range(repeats):
        made = estimate(truth.draw(np.random.default_rng([5, repeat])), ties=TieScore.HALF)
        found = Separation(made, LIVE_DRAWS // 4).rank_sets(0.05, cutoff)
        held.append(((found.low <= best) & (worst <= found.high)).all())
        low, high = intervals(made)
        inside.append((low <= theta) & (theta <= high))
    error = 3 * (0.05 * 0.95 / repeats) ** 0.5
    assert np.mean(held) >= 0.95 - error
    assert np.mean(inside, axis=0).min() >= 0.95 - error
