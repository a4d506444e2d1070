"""Whether reveals change votes: known effects are found, tastes and busy voters are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.stats.told_effects import OFTEN, ToldVotes, told_effects

K = 4
NONE = np.zeros(K)


def drawn(rng, effects, voters=30, votes=60, taste=0.12):
    """Votes of people with tastes of their own, who are told the names after each vote."""
    voter = np.repeat(np.arange(voters), votes)
    told = np.tile(np.arange(votes), voters)
    first = rng.integers(K, size=len(voter))
    second = (first + rng.integers(1, K, size=len(voter))) % K
    liked = rng.uniform(-taste, taste, (voters, K))
    x = np.log1p(told) / np.log1p(OFTEN)
    chance = (
        0.5 + liked[voter, first] - liked[voter, second] + (effects[first] - effects[second]) * x
    )
    return ToldVotes(voter, first, second, (rng.random(len(voter)) < chance).astype(float), told)


def test_as_least_squares_with_a_constant_for_each_voter_and_pair():
    """By a plain regression with dummies, where the last model's effect is left out."""
    rng = np.random.default_rng(1)
    votes = drawn(rng, np.array([0.1, 0.0, 0.0, -0.1]), voters=12, votes=40)
    x = np.log1p(votes.told) / np.log1p(OFTEN)
    low, high = np.minimum(votes.first, votes.second), np.maximum(votes.first, votes.second)
    group = np.unique(np.stack([votes.voter, low, high]), axis=1, return_inverse=True)[1].ravel()
    dummies = np.eye(group.max() + 1)[group]
    y = np.where(votes.first < votes.second, votes.score, 1 - votes.score)
    slopes = (np.eye(K)[low] - np.eye(K)[high])[:, :-1] * x[:, None]
    fitted = np.linalg.lstsq(np.hstack([dummies, slopes]), y, rcond=None)[0][-(K - 1) :]
    beta = np.append(fitted, 0.0)
    expected = (beta - beta.mean()) * K / (K - 1)
    assert told_effects(votes, K).change == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("voters", "votes"), [(30, 60), (10, 120)], ids=["thirty voters", "ten voters"]
)
def test_intervals_hold_the_truth(voters, votes):
    rng = np.random.default_rng(7)
    effects = np.array([0.2, 0.0, -0.1, -0.1])
    runs, held, found = 300, 0, 0
    for _ in range(runs):
        told = told_effects(drawn(rng, effects, voters, votes, 0.08), K)
        truth = effects * K / (K - 1)
        held += bool(np.all((told.low <= truth) & (truth <= told.high)))
        found += told.low[0] > 0
    # Three binomial errors below 95%.
    assert held / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
    assert found / runs > 0.6


def test_tastes_and_busy_voters_are_no_effect():
    """Whoever votes much likes model 0: between voters this looks as if reveals did it."""
    rng = np.random.default_rng(11)
    runs, wrong = 300, 0
    for _ in range(runs):
        few, much = drawn(rng, NONE, 40, 10, 0.1), drawn(rng, NONE, 10, 100, 0.1)
        wins = (much.first == 0) & (rng.random(len(much.first)) < 0.3)
        loses = (much.second == 0) & (rng.random(len(much.first)) < 0.3)
        much = replace(
            much, voter=much.voter + 40, score=np.where(wins, 1.0, np.where(loses, 0.0, much.score))
        )
        both = ToldVotes(
            *(np.concatenate(pair) for pair in zip(parts(few), parts(much), strict=True))
        )
        told = told_effects(both, K)
        wrong += told.p_value <= 0.05
        assert (told.p_value <= 0.05) == bool(np.any((told.low > 0) | (told.high < 0)))
    assert wrong / runs <= 0.05 + 3 * np.sqrt(0.95 * 0.05 / runs)


def parts(votes):
    return votes.voter, votes.first, votes.second, votes.score, votes.told


def test_too_few_are_counted_and_nothing_more():
    rng = np.random.default_rng(3)
    for voters, votes in ((9, 200), (30, 3)):
        told = told_effects(drawn(rng, NONE, voters, votes), K)
        assert len(told.change) == 0
        assert told.p_value == 1.0
        assert told.voters <= voters
    blind = drawn(rng, NONE)
    told = told_effects(replace(blind, told=np.zeros_like(blind.told)), K)
    assert (told.votes, told.voters) == (0, 0)
    nobody = ToldVotes(*(np.empty(0, kind) for kind in (int, int, int, float, int)))
    assert len(told_effects(nobody, 0).change) == 0


def test_sides_and_models_nobody_was_shown_change_nothing():
    rng = np.random.default_rng(5)
    votes = drawn(rng, np.array([0.1, 0.0, 0.0, -0.1]))
    turned = replace(votes, first=votes.second, second=votes.first, score=1 - votes.score)
    one, other = told_effects(votes, K), told_effects(turned, K + 2)
    assert other.change[:K] == pytest.approx(one.change)
    assert other.high[:K] == pytest.approx(one.high)
    assert np.isnan(other.change[K:]).all()
