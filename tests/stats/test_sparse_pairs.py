"""Pairs with few votes, filled in: continuous in the votes, and with error bars that hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from coupled_arena.core.choices import Cutoff, TieScore, Weighting
from coupled_arena.stats.counts import JudgedCounts, PairCounts
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import Separation, intervals
from coupled_arena.stats.ranking.strata import PairPrompts
from tests.families import first_of

FIRST, SECOND, TIE = range(3)
PRIOR = 2.0


def board(votes):
    """Return counts from a table (k, k, 4)."""
    return PairCounts(tuple(f"m{i:02}" for i in range(len(votes))), votes)


def fitted(counts):
    """Return the chances to win, by minimising the penalised likelihood of decisive votes."""
    wins = counts.wins
    k, votes = len(wins), counts.comparisons.sum() / 2

    def loss(s):
        gaps = s[:, None] - s
        return (wins * np.logaddexp(0, -gaps)).sum() + (s**2).sum() / (2 * PRIOR**2)

    found = minimize(loss, np.zeros(k), tol=1e-12).x
    decided = (wins.sum() + 1) / (votes + 2)
    return decided * expit(found[:, None] - found)


@st.composite
def boards(draw):
    """Return votes of a board, some pairs with many, some with few or none, and one vote more."""
    k = draw(st.integers(3, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = rng.choice([0, 1, 2, 4, 5, 12], size=(k, k), p=rng.dirichlet(np.ones(6)))
    sizes = np.triu(sizes, 1)
    sizes[0, :] = np.maximum(sizes[0, :], np.arange(k) > 0)  # everybody has a vote
    law = rng.dirichlet(np.full(4, draw(st.sampled_from([0.2, 1.0, 10.0]))), size=(k, k))
    votes, (a, b) = rng.multinomial(sizes, law), draw(st.permutations(range(k)))[:2]
    return votes, (a, b, draw(st.sampled_from([FIRST, SECOND, TIE])))


# What it is


def test_worked_example():
    """B and C have two of five votes, one of them won by B: three are as the fit has them."""
    counts = PairCounts.from_rows(
        [
            *[("A", "B", "first", 12), ("B", "A", "first", 4), ("A", "B", "tie", 4)],
            *[("A", "C", "first", 9), ("A", "C", "second", 6)],
            *[("B", "C", "first", 1), ("C", "B", "tie", 1)],
        ]
    )
    found, expected = estimate_from_votes(counts), fitted(counts)
    theta = [
        (12 / 20 + 9 / 15) / 2,
        (4 / 20 + (1 + 3 * expected[1, 2]) / 5) / 2,
        (6 / 15 + (0 + 3 * expected[2, 1]) / 5) / 2,
    ]
    assert found.theta == pytest.approx(theta, abs=1e-6)
    assert found.weighting is Weighting.STRATIFIED
    assert found.sparse is not None
    assert found.sparse.pairs == 1
    assert found.warnings[0].startswith("1 pair has fewer than 5 human comparisons: a fit to all")


def test_ties_as_half_a_win_make_every_pair_one():
    """What the fit fills in has as many ties as all votes: both sides of a pair sum to one."""
    rng = np.random.default_rng(6)
    votes = rng.integers(0, 4, (4, 4, 4)) * ~np.eye(4, dtype=bool)[..., None]
    votes[0, 1] = votes[1, 0] = 0
    found = estimate_from_votes(board(votes), ties=TieScore.HALF)
    assert found.sparse is not None
    others = ~np.eye(4, dtype=bool)
    assert (found.sparse.expected + found.sparse.expected.T)[others] == pytest.approx(1)
    assert found.theta.mean() == pytest.approx(0.5)
    fit, decided = fitted(board(votes)), (board(votes).wins.sum() + 1) / (votes.sum() + 2)
    assert found.sparse.expected[0, 1] == pytest.approx((1 - decided) / 2 + fit[0, 1], abs=1e-6)


def test_a_judge_corrects_what_there_is_and_the_fit_fills_in_the_rest():
    rng = np.random.default_rng(4)
    labelled = np.zeros((3, 3, 4, 4), dtype=np.int64)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        law = np.full((4, 4), 0.0225) + 0.16 * np.eye(4)
        labelled[a, b] = rng.multinomial(40, law.ravel()).reshape(4, 4)
    labelled[1, 2] = np.diag([2, 1, 0, 0])
    unlabelled = rng.integers(20, 60, (3, 3, 4))
    counts = JudgedCounts(("x", "y", "z"), labelled, unlabelled)
    found, expected = estimate(counts), fitted(counts.votes)
    assert 0 < found.power_tuning < 1

    def corrected(table, alone, m, o):
        votes, verdicts = table[m, o] + table[o, m].T, alone[m, o] + alone[o, m]
        human = (table[m, o][FIRST].sum() + table[o, m][SECOND].sum()) / votes.sum()
        judge = (table[m, o][:, FIRST].sum() + table[o, m][:, SECOND].sum()) / votes.sum()
        said = (alone[m, o][FIRST] + alone[o, m][SECOND]) / verdicts.sum()
        return human + found.power_tuning * (said - judge)

    means = [corrected(counts.labelled, counts.unlabelled, 1, o) for o in (0, 2)]
    filled = 0.6 * means[1] + 0.4 * expected[1, 2]
    assert found.theta[1] == pytest.approx((means[0] + filled) / 2, abs=1e-6)


def test_a_model_without_votes_changes_nobody_s_number():
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 2, (4, 4, 4)) * ~np.eye(4, dtype=bool)[..., None]
    wider = np.zeros((5, 5, 4), dtype=np.int64)
    wider[:4, :4] = votes
    one, other = estimate_from_votes(board(votes)), estimate_from_votes(board(wider))
    assert one.sparse is not None
    assert (one.theta == other.theta).all()
    assert (one.covariance == other.covariance).all()


def test_no_votes_between_groups_are_said_and_separate_nobody():
    votes = np.zeros((4, 4, 4), dtype=np.int64)
    votes[0, 1, FIRST] = votes[2, 3, FIRST] = 40
    votes[0, 1, SECOND] = votes[2, 3, SECOND] = 10
    found = estimate_from_votes(board(votes))
    assert found.warnings[1].startswith("No votes join 2 groups of models")
    sets = Separation(found).rank_sets()
    assert (sets.low[[0, 2]] == 1).all()
    assert (sets.high[[1, 3]] == 4).all()
    assert sets.high[0] >= 3  # below both of the others, for all one knows
    assert np.isfinite(found.covariance).all()


# Continuous in the votes


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(boards())
def test_a_vote_moves_nobody_by_more_than_its_share(drawn):
    """By one over the votes of its pair or of five, and by what it tells the fit.

    Of strengths with the information H (a Laplacian, each pair's with the least curvature on the
    way) and the prior's, one vote moves the distance of m and o by at most √(R_mo R_ab), with
    R_mo the variance of that distance under (H + prior)⁻¹: the change of a maximum is the score
    of the vote times the inverse of the information on the way.
    """
    votes, (a, b, outcome) = drawn
    more = votes.copy()
    more[a, b, outcome] += 1
    moved = estimate_from_votes(board(more)).theta - estimate_from_votes(board(votes)).theta
    assert (np.abs(moved) <= bound(votes, more, (a, b)) + 1e-6).all()


def bound(votes, more, pair):
    k, counts = len(votes), board(more)
    fits = fitted(board(votes)), fitted(counts)
    sizes = board(votes).comparisons
    lack = np.maximum(5 - sizes, 0) / 5
    np.fill_diagonal(lack, 0)
    direct = np.zeros(k)
    direct[list(pair)] = 1 / max(5, sizes[pair] + 1)
    decided = [fit[0, 1] + fit[1, 0] for fit in fits]
    chances = [fit / d for fit, d in zip(fits, decided, strict=True)]
    curvature = np.minimum(*(chance * (1 - chance) for chance in chances))
    information = (counts.wins + counts.wins.T) * curvature
    np.fill_diagonal(information, 0)
    laplacian = np.diag(information.sum(axis=1)) - information
    inverse = np.linalg.inv(laplacian + np.eye(k) / PRIOR**2)
    own = np.diag(inverse)
    variance = own[:, None] + own - 2 * inverse
    far = np.sqrt(variance * variance[pair]) / 4 + abs(decided[1] - decided[0])
    return (direct + (lack * far).sum(axis=1)) / (k - 1)


def test_a_newcomer_s_votes_move_each_other_model_by_its_part_of_them():
    """From 0 to 7 votes a pair: θ of the others is the mean with one opponent more."""
    rng = np.random.default_rng(1)
    base = rng.multinomial(20, [0.4, 0.3, 0.2, 0.1], size=(4, 4))
    before = estimate_from_votes(board(base * ~np.eye(4, dtype=bool)[..., None])).theta
    votes = np.zeros((5, 5, 4), dtype=np.int64)
    votes[:4, :4] = base * ~np.eye(4, dtype=bool)[..., None]
    for n in range(28):
        votes[n % 4, 4, rng.integers(4)] += 1
        counts = board(votes)
        found, expected = estimate_from_votes(counts).theta[:4], fitted(counts)[:4, 4]
        size, won = counts.comparisons[:4, 4], counts.wins[:4, 4]
        theirs = (won + np.maximum(5 - size, 0) * expected) / np.maximum(size, 5)
        assert found == pytest.approx((3 * before + theirs) / 4, abs=1e-6)


# Error bars


@pytest.mark.parametrize("ties", TieScore)
def test_what_votes_add_is_how_they_move_the_estimate(ties):
    """Pairs of many votes on few prompts: a vote more moves all models as it is said to."""
    rng = np.random.default_rng(2)
    law = np.array([0.4, 0.3, 0.2, 0.1])
    votes = np.rint(rng.uniform(1000, 4000, (4, 4, 1)) * law).astype(np.int64)
    votes *= ~np.eye(4, dtype=bool)[..., None]
    on = np.array([[0, 999, 2, 999], [999, 0, 999, 3], [2, 999, 0, 1], [999, 3, 1, 0]])
    prompts = PairPrompts(board(votes).models, on, np.zeros_like(on))
    before = estimate_from_votes(board(votes), prompts=prompts, ties=ties)
    assert before.sparse is not None
    total = np.zeros((4, 4))
    for a, b, outcome in np.argwhere(votes):
        more = votes.copy()
        more[a, b, outcome] += 1
        moved = estimate_from_votes(board(more), prompts=prompts, ties=ties).theta - before.theta
        total += votes[a, b, outcome] * np.outer(moved, moved)
        third = np.setdiff1d(range(4), (a, b))
        added = before.sparse.added[a, b, outcome]
        assert moved[third] == pytest.approx(added[third], rel=0.01)
    gram = before.covariance - before.sparse.misfit
    assert before.clustered(gram, before.human).covariance == pytest.approx(before.covariance)
    least = np.diag(total).min()
    assert gram == pytest.approx(total, abs=0.01 * least)


def test_few_votes_that_agree_are_held_against_the_fit():
    """B lost both its votes against C, which do not vary: they count as far as they surprise."""
    votes = np.zeros((3, 3, 4), dtype=np.int64)
    votes[0, 1] = votes[0, 2] = [8, 8, 4, 0]
    votes[1, 2, SECOND] = 2
    found = estimate_from_votes(board(votes))
    assert found.sparse is not None
    own = found.influence.labelled[1, 2, SECOND, TIE]
    direct = own - found.sparse.added[1, 2, SECOND, [1, 2]]
    expected = fitted(board(votes))
    surprise = np.array([0 - expected[1, 2], 1 - expected[2, 1]])
    assert direct == pytest.approx(surprise / 5 / 2, abs=1e-6)


def circle(k):
    """Return chances of equal models that no strengths describe: each beats the next half."""
    ahead = (np.arange(k)[None, :] - np.arange(k)[:, None]) % k
    return 0.7 * expit(0.8 * np.where(ahead == 0, 0, np.sign(k / 2 - ahead)))


def newcomer(rng):
    sizes = np.full((5, 5), 30)
    sizes[:, -1] = rng.integers(0, 4, 5)
    sizes[0, -1] += 1
    return sizes


def gaps(rng):
    sizes = np.full((5, 5), 30)
    first, second = np.triu_indices(5, 1)
    at = rng.choice(10, 3, replace=False)
    sizes[first[at], second[at]] = 0
    return sizes


BOARDS = {"newcomer": newcomer, "all thin": lambda _: np.full((5, 5), 3), "gaps": gaps}


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize(
    "chance", first_of(circle(5), np.full((5, 5), 0.35)), ids=["circle", "fits"]
)
def test_rank_sets_of_equal_models_hold_with_thin_pairs(name, chance):
    """Of equal models, in a world that the fit describes and one that it does not.

    Count weighting: .64 in a circle with gaps, .83 with a newcomer.
    """
    repeats, held, covered = 150, dict.fromkeys((Cutoff.MAX_T, Cutoff.STEP_DOWN), 0), []
    law = np.zeros((5, 5, 4))
    law[..., FIRST], law[..., SECOND] = chance, chance.T
    law[..., TIE] = 1 - chance - chance.T
    truth = (chance.sum(axis=1) - np.diag(chance)) / 4
    for repeat in range(repeats):
        rng = np.random.default_rng([7, repeat])
        votes = rng.multinomial(np.triu(BOARDS[name](rng), 1), law)
        found = estimate_from_votes(board(votes))
        separation = Separation(found, 3000)
        for cutoff in held:
            held[cutoff] += (separation.rank_sets(0.05, cutoff).sizes == 5).all()
        low, high = intervals(found)
        covered.append(((low <= truth) & (truth <= high)).mean())
    floor = 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5
    assert min(held.values()) / repeats >= floor
    assert np.mean(covered) >= floor
