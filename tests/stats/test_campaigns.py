"""Boards of people who vote often, by tastes of their own."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

from coupled_arena.core.choices import Cutoff, TieScore, Voters
from coupled_arena.stats.ranking import voter_tastes
from coupled_arena.stats.ranking.rank_sets import Separation, intervals
from coupled_arena.stats.simulation.coverage import estimate_drawn
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.rankings import Rankings
from coupled_arena.stats.simulation.truths import Campaign

K = 3


def crossed(seed=0, people=5, prompts=8, tastes=1.0):
    """Every person votes once on every pair and prompt."""
    rng = np.random.default_rng(seed)
    pairs = np.array(list(combinations(range(K), 2)))
    shape = people, prompts, len(pairs)
    voter, prompt, pair = (x.ravel() for x in np.indices(shape))
    first, second = pairs[pair].T
    taste = rng.normal(0, tastes, (people, K))
    gap = taste[voter, first] - taste[voter, second] + rng.normal(0, 1, (prompts, K))[prompt, first]
    vote = np.where(rng.random(len(gap)) < 1 / (1 + np.exp(-gap)), 0, 1)
    vote[rng.random(len(gap)) < 0.2] = 2
    models = tuple(f"model {i + 1}" for i in range(K))
    shown = np.ones(len(gap), dtype=bool)
    return Rankings(models, prompt, first, second, vote, np.full_like(vote, 2), shown, voter)


def by_rows(drawn, cluster, ties):
    """Sum over clusters of u uᵀ, row by row, with G / (G - 1)."""
    tie = 0.5 if ties is TieScore.HALF else 0.0
    rows = list(
        zip(*(x.tolist() for x in (cluster, drawn.first, drawn.second, drawn.vote)), strict=True)
    )
    mean, n = {}, {}
    for _, a, b, vote in rows:
        n[a, b] = n.get((a, b), 0) + 1
        won = mean.setdefault((a, b), [0, 0])
        for side in range(2):
            won[side] += tie if vote == 2 else vote == side
    sums = {}
    for one, a, b, vote in rows:
        u = sums.setdefault(one, np.zeros(K))
        for side, model in enumerate((a, b)):
            score = tie if vote == 2 else vote == side
            u[model] += (score - mean[a, b][side] / n[a, b]) / n[a, b] / (K - 1)
    found = sum(np.outer(u, u) for u in sums.values())
    each = len({one for one, a, b, _ in rows if (a, b) == rows[0][1:3]})
    return found * each / (each - 1)


def positive(matrix):
    """Return a matrix without its negative part."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.T


@pytest.mark.parametrize("ties", list(TieScore))
def test_the_covariance_is_that_of_a_loop_over_rows(ties):
    drawn = crossed()
    both = drawn.voter * 1000 + drawn.prompt
    # Of one person on one prompt there are three votes, each on another pair.
    plain = by_rows(drawn, np.arange(len(both)), ties)
    tastes = by_rows(drawn, drawn.voter, ties) - by_rows(drawn, both, ties)
    prompts = by_rows(drawn, drawn.prompt, ties) - plain
    # Residuals have lost the mean of voters to those of prompts, and the other way round.
    voter, prompt = 1 / 5 - 1 / 40, 1 / 8 - 1 / 40
    whole = 1 - voter * prompt
    more = ((1 + voter) / whole - 1) * positive(prompts) + ((1 + prompt) / whole - 1) * positive(
        tastes
    )
    found = estimate_drawn(drawn, Ranking.HUMAN, ties=ties)
    assert found.covariance == pytest.approx(plain + prompts + tastes + more, rel=1e-10)
    assert found.tastes.voters == found.clusters == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "truth",
    [
        pytest.param(
            Campaign((0.0,) * 3, 5, 300, taste=0.0, prompts=6, prompt_effect=2.0),
            marks=pytest.mark.slow,
        ),
        pytest.param(Campaign((0.0,) * 3, 6, 300, taste=2.0, prompts=5), marks=pytest.mark.slow),
        Campaign((0.0,) * 3, 6, 300, taste=1.5, prompts=6, prompt_effect=1.5),
    ],
    ids=["prompts alone", "tastes alone", "both"],
)
def test_variances_are_right_on_average_with_few_voters_and_prompts(truth):
    repeats, found, squares = 150, [], []
    for repeat in range(repeats):
        made = estimate_drawn(truth.draw(np.random.default_rng([9, repeat])), Ranking.HUMAN)
        found.append(np.trace(made.covariance))
        squares.append(((made.theta - truth.win_rates(TieScore.HALF)) ** 2).sum())
    error = np.hypot(np.std(found), np.std(squares)) / repeats**0.5
    assert abs(np.mean(found) - np.mean(squares)) < 3 * error


def test_degrees_are_those_of_people_where_these_are_equally_busy():
    drawn = crossed(people=6, prompts=40, tastes=3.0)
    found = estimate_drawn(drawn, Ranking.HUMAN)
    assert found.degrees == pytest.approx(np.full((K, K), 5.0), rel=1e-6)


def test_voters_of_one_vote_each_change_nothing():
    drawn = Campaign((0.5, 0.0, -0.5), 300, 300, prompts=30).draw(np.random.default_rng(1))
    like, these = (estimate_drawn(drawn, Ranking.PPR, voters=each) for each in Voters)
    assert np.array_equal(like.covariance, these.covariance)
    assert np.array_equal(like.degrees, these.degrees)
    assert np.array_equal(like.certain_size, these.certain_size)
    assert like.tastes.worth == like.tastes.votes == like.tastes.voters == 300
    sets = [Separation(each, 2000).rank_sets() for each in (like, these)]
    assert sets[0].critical_value == sets[1].critical_value


def test_nobody_knows_whom_one_person_speaks_for():
    drawn = Campaign((0.5, 0.0, -0.5), 1, 300).draw(np.random.default_rng(1))
    like, these = (estimate_drawn(drawn, Ranking.HUMAN, voters=each) for each in Voters)
    assert like.tastes.alone
    assert np.array_equal(like.covariance, these.covariance)


def test_votes_of_nobody_known_are_one_person_s_each():
    drawn = Campaign((0.5, 0.0, -0.5), 5, 300).draw(np.random.default_rng(2))
    own = np.where(np.arange(300) < 150, drawn.voter, 1000 + np.arange(300))
    assert estimate_drawn(replace(drawn, voter=own), Ranking.HUMAN).tastes.voters == 5 + 150


def test_votes_of_nobody_known_are_clusters_of_one_vote_each():
    """Of pairs with no votes, with one, and with votes of people who are known: vote by vote."""
    size, unknown = np.zeros((2, 4, 4))
    for i, j, votes, nobody in ((0, 1, 1, 1), (0, 2, 3, 3), (1, 2, 4, 2), (2, 3, 5, 0)):
        size[[i, j], [j, i]], unknown[[i, j], [j, i]] = votes, nobody
    found = voter_tastes.Shares.apart(unknown, size)
    expected = {name: np.zeros((4, 4)) for name in ("squares", "cubes", "qq", "qo", "oo")}
    expected |= {name: np.zeros(4) for name in ("q", "o")}
    pairs = [(i, j) for i, j in combinations(range(4), 2) for _ in range(int(unknown[i, j]))]
    for i, j in pairs:
        share = 1 / size[i, j]
        q, o = (each * np.isin(range(4), (i, j)) for each in (share**2, share / size[i, j]))
        for name, more in (("squares", share**2), ("cubes", share**3)):
            expected[name][[i, j], [j, i]] += more
        products = {"qq": np.outer(q, q), "qo": np.outer(q, o), "oo": np.outer(o, o)}
        for name, more in ({"q": q, "o": o} | products).items():
            expected[name] += more
    assert found.clusters == len(pairs) == 6
    for name, values in expected.items():
        assert getattr(found, name) == pytest.approx(values, rel=1e-12), name


@pytest.mark.parametrize(("people", "prompts"), [(5, 8), (12, 8)])
def test_a_certain_rate_rests_on_as_many_people_or_prompts_as_are_fewest(people, prompts):
    found = estimate_drawn(crossed(people=people, prompts=prompts), Ranking.HUMAN)
    assert found.certain_size == pytest.approx([(K - 1) * min(people, prompts)] * K)


def test_votes_of_a_kind_are_counted_with_their_weights():
    found = csr_array(np.array([[1, 0.5, 0, 0], [0, 2, 3, 0]]))
    kinds = voter_tastes.Kinds(np.array([1, 1, 2, 2]), np.zeros((4, 3)))
    table = voter_tastes.VoterTable(kinds, found, csr_array((0, 4)), np.zeros((3, 3)))
    assert table.times.tolist() == [1, 2.5, 3, 0]


def test_pairs_of_one_voter_each_borrow_what_others_tell_of_tastes():
    """Whoever has a pair for themselves leaves no residual there, and yet has a taste."""
    drawn = Campaign((0.0,) * 4, 12, 2400, taste=1.0).draw(np.random.default_rng(3))
    low, high = np.minimum(drawn.first, drawn.second), np.maximum(drawn.first, drawn.second)
    alone = (low == 0) & (high == 1)
    single = replace(drawn, voter=np.where(alone, 0, drawn.voter))
    apart = replace(drawn, voter=np.where(alone, 1000 + np.arange(2400), drawn.voter))
    found, least = (estimate_drawn(each, Ranking.HUMAN) for each in (single, apart))
    assert (np.diag(found.covariance)[:2] > 1.5 * np.diag(least.covariance)[:2]).all()


def test_where_each_pair_has_one_voter_each_voter_counts_as_one_vote():
    drawn = Campaign((0.0,) * 3, 3, 600).draw(np.random.default_rng(4))
    voter = np.minimum(drawn.first, drawn.second) + np.maximum(drawn.first, drawn.second)
    found = estimate_drawn(replace(drawn, voter=voter), Ranking.HUMAN)
    loss = estimate_drawn(replace(drawn, voter=voter), Ranking.HUMAN, ties=TieScore.LOSS)
    rate = loss.theta
    # Two opponents, of which each weighs a half and rests on one vote.
    assert np.diag(loss.covariance) == pytest.approx(rate * (1 - rate) / 2, rel=0.1)
    assert Separation(found, 2000).rank_sets().high.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("truth", "today"),
    [
        pytest.param(Campaign((0.0,) * 2, 10, 1000), 0.5, marks=pytest.mark.slow),
        (Campaign((0.0,) * 2, 30, 900, prompts=60, prompt_effect=1.0), 0.85),
        pytest.param(Campaign((0.0,) * 5, 10, 1000, judge_only=500), 0.6, marks=pytest.mark.slow),
        pytest.param(
            Campaign((0.0,) * 5, 200, 2000, taste=0.5, uneven=True), 0.7, marks=pytest.mark.slow
        ),
    ],
    ids=["two models", "shared prompts", "five models", "by Zipf"],
)
def test_rank_sets_hold_for_people_like_the_voters(truth, today):
    repeats, theta = 60, truth.win_rates(TieScore.HALF)
    held = {voters: [] for voters in Voters}
    inside = []
    for repeat in range(repeats):
        drawn = truth.draw(np.random.default_rng([7, repeat]))
        for voters in Voters:
            made = estimate_drawn(drawn, Ranking.HUMAN, voters=voters)
            found = Separation(made, 2000).rank_sets(0.05, Cutoff.MAX_T)
            held[voters].append(found.low.max() == 1)
            low, high = intervals(made)
        made = estimate_drawn(drawn, Ranking.PPR)
        low, high = intervals(made)
        inside.append(((low <= theta) & (theta <= high)).mean())
    error = (0.95 * 0.05 / repeats) ** 0.5
    assert np.mean(held[Voters.LIKE]) > 0.95 - 3 * error
    assert np.mean(inside) > 0.95 - 3 * error
    assert np.mean(held[Voters.THESE]) < today + 3 * error


@pytest.mark.slow
def test_where_nobody_has_a_taste_intervals_are_as_wide():
    truth = Campaign((0.0,) * 2, 30, 1800, taste=0.0)
    widths = {voters: [] for voters in Voters}
    for repeat in range(60):
        drawn = truth.draw(np.random.default_rng([8, repeat]))
        for voters in Voters:
            low, high = intervals(estimate_drawn(drawn, Ranking.HUMAN, voters=voters))
            widths[voters].append((high - low).mean())
    like, these = np.array(widths[Voters.LIKE]), np.array(widths[Voters.THESE])
    # Student's t with 29 degrees is 4.3 % wider, and a root of a chi-square .9 % narrower.
    error = 3 * like.std() / 60**0.5
    assert abs(like.mean() - 1.034 * these.mean()) < error


@pytest.mark.parametrize("taste", [0.0, 1.0])
def test_dense_tables_of_votes_tell_what_sparse_ones_do(taste, monkeypatch):
    """Sums in another order: some rounding errors, of 1e-16 each."""
    drawn = replace(crossed(tastes=taste), voter=np.arange(5 * 8 * 3) % 7)
    made = [estimate_drawn(drawn, Ranking.HUMAN)]
    monkeypatch.setattr(voter_tastes, "is_dense", lambda *_: False)
    made.append(estimate_drawn(drawn, Ranking.HUMAN))
    for name in ("covariance", "degrees", "certain_size"):
        dense, sparse = (getattr(each, name) for each in made)
        assert dense == pytest.approx(sparse, rel=1e-12, abs=1e-15)
    dense, sparse = (each.tastes for each in made)
    assert (dense.voters, dense.each, dense.equal) == (sparse.voters, sparse.each, sparse.equal)
    monkeypatch.setattr(voter_tastes, "_BLOCK", 2 * K**2)  # two of seven voters at once
    in_blocks = estimate_drawn(drawn, Ranking.HUMAN)
    assert in_blocks.covariance == pytest.approx(made[0].covariance, rel=1e-12, abs=1e-15)
    assert in_blocks.tastes.voters == dense.voters
