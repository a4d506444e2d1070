"""Coupled against independent where people voted often: plain loops, least squares, the level."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.stats import crossed
from tests.families import first_of
from tests.stats.mode_votes import ModeCampaign, ModeVotes, wrong


def balanced(seed=0, people=8, each=30):
    """Two models; half of the people vote in each mode, as often as the others."""
    rng = np.random.default_rng(seed)
    voter = np.repeat(np.arange(people), each)
    lean = rng.uniform(0.1, 0.9, people)[voter]
    outcome = np.where(rng.random(len(voter)) < lean, 0, 1)
    nothing = np.zeros_like(voter)
    mode = (voter >= people // 2).astype(int)
    return ModeVotes(2, mode, nothing, nothing + 1, outcome, voter, np.arange(len(voter)))


def test_the_variance_is_that_of_clustered_least_squares():
    """y = a + b · mode, its sandwich by voter, and G / (G - 1) of each mode's voters."""
    drawn = balanced()
    found = drawn.compared(voters=True)
    x = np.stack([np.ones(len(drawn.mode)), drawn.mode == 0], axis=1)
    y = 1.0 * (drawn.outcome == 0)
    bread = np.linalg.inv(x.T @ x)
    left = y - x @ (bread @ x.T @ y)
    scores = np.stack([(x * left[:, None])[drawn.voter == v].sum(axis=0) for v in range(8)])
    sandwich = (bread @ scores.T @ scores @ bread)[1, 1]
    assert found.pairs.variance[0, 1] == pytest.approx(sandwich * 4 / 3, rel=1e-10)
    assert found.averages.variance == pytest.approx([sandwich * 4 / 3] * 2, rel=1e-10)
    # Four people tell each mode's variance with three degrees, and both modes do about as well.
    assert 3 <= found.pairs.degrees[0, 1] <= 6 + 1e-9
    assert (found.people, found.both) == (8, 0)


def by_rows(drawn, pair):
    """Sum over voters, less over votes, of what votes on a pair add to its difference."""
    rows = list(zip(*(x.tolist() for x in (drawn.mode, drawn.first, drawn.second)), strict=True))
    won = [
        (a, o) == (pair[0], 0) or (b, o) == (pair[0], 1)
        for (_, a, b), o in zip(rows, drawn.outcome.tolist(), strict=True)
    ]
    at = [i for i, (_, a, b) in enumerate(rows) if {a, b} == set(pair)]
    n = Counter(rows[i][0] for i in at)
    mean = {m: sum(won[i] for i in at if rows[i][0] == m) / n[m] for m in n}
    voters = Counter((rows[i][0], int(drawn.voter[i])) for i in at)
    squares = {m: sum(c**2 for (mode, _), c in voters.items() if mode == m) / n[m] ** 2 for m in n}
    sums, apart, both = defaultdict(float), 0.0, defaultdict(float)
    for i in at:
        mode, voter = rows[i][0], int(drawn.voter[i])
        u = (1 - 2 * mode) * (won[i] - mean[mode]) / n[mode]
        sums[voter] += u / (1 - squares[mode]) ** 0.5
        u /= (1 - 1 / n[mode]) ** 0.5
        both[voter, int(drawn.prompt[i])] += u
        apart += u**2
    return sum(s**2 for s in sums.values()), apart, sum(s**2 for s in both.values())


def test_voters_and_prompts_are_those_of_a_loop_over_rows():
    truth = ModeCampaign(3, 9, 900, coupled=0, prompts=40, prompt_effect=1.0)
    drawn = truth.draw(np.random.default_rng(5))
    these, like = (drawn.compared(voters=each) for each in (False, True))
    by_voter, _, by_both = by_rows(drawn, (0, 2))
    assert like.pairs.variance[0, 2] == pytest.approx(
        these.pairs.variance[0, 2] + by_voter - by_both, rel=1e-10
    )
    assert (like.people, like.both) == (9, 9)
    assert np.array_equal(like.pairs.difference, these.pairs.difference, equal_nan=True)


@pytest.mark.slow
def test_tastes_of_people_who_vote_in_both_modes_cancel():
    """As many votes of each person in each mode: less is left than if nobody had a taste."""
    ratio = []
    for seed in range(60):
        drawn = balanced(seed, people=10, each=100)
        both = replace(drawn, mode=np.arange(1000) % 2)
        these, like = (both.compared(voters=each) for each in (False, True))
        ratio.append(like.pairs.variance[0, 1] / these.pairs.variance[0, 1])
        apart = drawn.compared(voters=True)
        assert apart.pairs.variance[0, 1] > 4 * these.pairs.variance[0, 1]
        assert (like.both, apart.both) == (10, 0)
    # Chances to win are uniform from .1 to .9, so .8^2 / 12 of the variance .25 is between people.
    assert np.mean(ratio) == pytest.approx(1 - 0.64 / 12 / 0.25, abs=3 * np.std(ratio) / 60**0.5)


def same(these, like):
    return all(
        np.array_equal(getattr(these, name).variance, getattr(like, name).variance)
        and np.array_equal(getattr(these, name).degrees, getattr(like, name).degrees)
        for name in ("pairs", "averages")
    ) and (these.tie_variance, these.tie_degrees) == (like.tie_variance, like.tie_degrees)


@pytest.mark.parametrize("prompts", [None, 20])
def test_voters_of_one_vote_each_and_one_voter_change_nothing(prompts):
    for voters in (300, 1):
        truth = ModeCampaign(3, voters, 300, coupled=0, prompts=prompts)
        drawn = truth.draw(np.random.default_rng(6))
        assert same(*(drawn.compared(voters=each) for each in (False, True)))


def test_where_one_person_voted_in_a_mode_others_tell_how_tastes_differ():
    drawn = balanced(people=8)
    alone = replace(drawn, voter=np.where(drawn.mode == 1, 7, drawn.voter))
    found, before = alone.compared(voters=True), alone.compared(voters=False)
    assert found.pairs.variance[0, 1] > 5 * before.pairs.variance[0, 1]
    assert found.pairs.p_value[0, 1] > 0.05


@pytest.mark.parametrize(
    ("truth", "today"),
    first_of(
        (ModeCampaign(3, 20, 2000), 0.2),
        (ModeCampaign(3, 20, 2000, coupled=0), 0.0),
        (ModeCampaign(2, 30, 3000, prompts=60, prompt_effect=1.0), 0.2),
        (ModeCampaign(3, 20, 2000, taste=0.0, tendency=0.0), 0.0),
    ),
    ids=["one mode each", "both modes", "shared prompts", "nobody has a taste"],
)
def test_the_level_holds_for_people_like_the_voters(truth, today):
    repeats = 100
    error = (0.05 * 0.95 / repeats) ** 0.5
    assert (wrong(truth, repeats, voters=True, seed=1) < 0.05 + 3 * error).all()
    assert (wrong(truth, repeats, voters=False, seed=1) >= today).all()


def test_dense_tables_of_votes_tell_what_sparse_ones_do(monkeypatch):
    """Sums in another order: some rounding errors, of 1e-16 each."""
    drawn = ModeCampaign(4, 40, 1200, prompts=10).draw(np.random.default_rng(1))
    dense = drawn.compared(voters=True)
    monkeypatch.setattr(crossed, "is_dense", lambda *_: False)
    sparse = drawn.compared(voters=True)
    for name in ("pairs", "averages"):
        for what in ("variance", "degrees"):
            found, other = (getattr(getattr(each, name), what) for each in (dense, sparse))
            assert found == pytest.approx(other, rel=1e-12, nan_ok=True)
    assert dense.tie_variance == pytest.approx(sparse.tie_variance, rel=1e-12)
    assert dense.tie_degrees == pytest.approx(sparse.tie_degrees, rel=1e-12)
