"""Whose turn it is, against brute force and what chance allows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from coupled_arena.core.choices import Cutoff, Pairing
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.estimates import estimate_from_votes
from coupled_arena.stats.ranking.next_pair import ALIKE, pair_chances, unsettled
from coupled_arena.stats.ranking.rank_sets import rank_sets
from coupled_arena.stats.simulation import watching
from coupled_arena.stats.simulation.coverage import SimulationPlan
from coupled_arena.stats.simulation.truths import SimulatedTruth
from coupled_arena.stats.simulation.watching import WatchPlan

MODELS = ("a", "b", "c", "d")
PAIRS = list(combinations(range(4), 2))
# Votes on each pair: the first is preferred, the second, neither.
VOTES = {
    (0, 1): (40, 38, 10),
    (0, 2): (65, 15, 5),
    (0, 3): (65, 12, 8),
    (1, 2): (60, 20, 9),
    (1, 3): (60, 18, 9),
    (2, 3): (55, 25, 0),
}


@pytest.fixture(scope="module")
def votes():
    rows = [
        (MODELS[i], MODELS[j], outcome, n)
        for (i, j), each in VOTES.items()
        for outcome, n in zip(("first", "second", "tie"), each, strict=True)
    ]
    return PairCounts.from_rows(rows)


def part(pair, i, j):
    """Variance that a vote on a pair adds to the difference of two models, outcome by outcome."""
    n = sum(VOTES[pair]) + 1.5
    laws = [(said + 0.5) / n for said in VOTES[pair]]
    moves = [((pair[side] == i) - (pair[side] == j)) / 3 for side in (0, 1)] + [0]
    mean = sum(p * move for p, move in zip(laws, moves, strict=True))
    return sum(p * (move - mean) ** 2 for p, move in zip(laws, moves, strict=True)), mean


def test_no_other_way_to_spend_votes_tells_more(votes):
    wanted = np.zeros((4, 4), dtype=bool)
    for i, j in ((0, 1), (1, 2)):
        wanted[i, j] = wanted[j, i] = True
    parts = {d: [part(pair, *d) for pair in PAIRS] for d in ((0, 1), (1, 2))}

    def error(shares):
        """Sum of the variances in units of the differences, for shares of the votes."""
        share = np.exp(shares) / np.exp(shares).sum()
        return sum(
            sum(v / s for (v, _), s in zip(each, share, strict=True))
            / sum(mean for _, mean in each) ** 2
            for each in parts.values()
        )

    best = minimize(error, np.zeros(6), tol=1e-12).x
    table = pair_chances(votes, wanted)
    found = (np.array([table[pair] for pair in PAIRS]) - ALIKE / 6) / (1 - ALIKE)
    # the optimum is flat: the minimiser knows shares to about the root of its tolerance
    assert found == pytest.approx(np.exp(best) / np.exp(best).sum(), abs=1e-4)


def test_chances_are_chances(votes):
    for pairing in Pairing:
        found = rank_sets(estimate_from_votes(votes), cutoff=Cutoff.ANY_TIME)
        table = pair_chances(votes, unsettled(found, pairing))
        assert np.array_equal(table, table.T)
        assert table.sum() == pytest.approx(2)
        assert not table.diagonal().any()
        assert min(table[pair] for pair in PAIRS) >= ALIKE / 6


def test_a_settled_board_and_an_empty_one_are_drawn_alike(votes):
    settled = np.zeros((4, 4), dtype=bool)
    empty = PairCounts(MODELS, np.zeros((4, 4, 4), dtype=np.int64))
    for counts, wanted in ((votes, settled), (empty, ~np.eye(4, dtype=bool))):
        table = pair_chances(counts, wanted)
        assert [table[pair] for pair in PAIRS] == pytest.approx([1 / 6] * 6)


def test_what_is_to_be_settled(votes):
    """Of these, a and b are not separated, nor are c and d; the others are."""
    found = rank_sets(estimate_from_votes(votes), cutoff=Cutoff.ANY_TIME)
    separated = found.ahead | found.ahead.T
    open_ = {pairing: unsettled(found, pairing) for pairing in Pairing}
    assert not open_[Pairing.UNIFORM].any()
    others = ~np.eye(4, dtype=bool)
    assert np.array_equal(open_[Pairing.PLACES], ~separated & others)
    leader = int(np.argmax(estimate_from_votes(votes).theta))
    about = np.zeros((4, 4), dtype=bool)
    about[leader] = about[:, leader] = True
    assert np.array_equal(open_[Pairing.FIRST], ~separated & others & about)
    assert open_[Pairing.PLACES].sum() > open_[Pairing.FIRST].sum() > 0


def test_votes_go_where_the_first_place_is_undecided():
    """Two lead three: more than chance allows of the votes are on pairs with one of the two."""
    truth = SimulatedTruth((1.2, 1.0, -1.0, -1.0, -1.0), human=1200, judge_only=0)
    plan = SimulationPlan(truth, 1, cutoffs=(Cutoff.ANY_TIME,), draws=200)
    rng = np.random.default_rng(5)
    *_, last = watching._spent(WatchPlan(plan, 100, Pairing.FIRST), rng)
    met = last.votes.comparisons
    on = int(met[:2].sum() - met[0, 1])
    assert met.sum() == 2 * 1200
    assert stats.binom.sf(on - 1, 1200, 7 / 10) < 1e-6
    assert last.votes.counts.sum() == 1200
