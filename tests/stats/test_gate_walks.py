"""All looks at once against the loop over units; how many more are expected, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coupled_arena.stats.gate.betting import Bets, Claim, Gate
from coupled_arena.stats.gate.expected import further
from coupled_arena.stats.gate.walks import interval, walk
from tests.families import first_of
from tests.stats.test_gate_betting import flips, looks, shown_after

ALPHA = 0.05


@pytest.fixture
def rng():
    return np.random.default_rng(36)


@pytest.mark.parametrize("law", ["flips", "worse", "continuous", "never", "always"])
def test_all_looks_at_once_are_those_of_the_loop(rng, law):
    """Two candidates, one of which lacks units; units of different weight."""
    n = 700
    if law == "flips":
        drawn = flips(rng, 0.03, 0.05, n, 2)
    elif law == "worse":
        drawn = flips(rng, 0.3, 0.05, n, 2)
    elif law == "continuous":
        drawn = np.clip(rng.normal(0.01, 0.2, (n, 2)), -1, 1)
    else:
        drawn = np.full((n, 2), 0.0 if law == "never" else -1.0)
    drawn[rng.random(n) < 0.2, 1] = np.nan
    weights = rng.integers(1, 6, (n, 2)) / 5
    found = walk(drawn, weights, 0.03, ALPHA, 50)
    each = list(looks(Gate.start(0.03, ALPHA, 2), drawn, weights, 50))
    bounds = np.array([look.interval() for look in each])
    assert found.seen.tolist() == [look.seen for look in each]
    assert np.allclose(found.low, bounds[:, 0], rtol=0, atol=1e-12)
    assert np.allclose(found.high, bounds[:, 1], rtol=0, atol=1e-12)
    means = np.array([look.difference for look in each])
    assert np.allclose(found.difference, means, rtol=0, atol=1e-12, equal_nan=True)
    assert found.gate.known.tolist() == each[-1].known.tolist()
    assert further(found.gate) == further(each[-1])
    there = np.isfinite(drawn[:, 1])
    alone = interval(drawn[there, 1], weights[there, 1], 0.03, ALPHA / 2)
    assert alone == (found.low[-1, 1], found.high[-1, 1])


def test_means_are_followed_no_longer_than_they_matter(rng, monkeypatch):
    """A hundred thousand units take the steps of a few means, not of all of the grid."""
    followed, stakes = [], Bets.stakes

    def counted(bets, seen):
        followed.append(seen.shape[1] * len(bets.means))
        return stakes(bets, seen)

    monkeypatch.setattr(Bets, "stakes", counted)
    walk(flips(rng, 0.03, 0.03, 100_000, 1), None, 0.02, ALPHA, 200)
    assert sum(followed) < 40 * 100_000  # the grid has 841 means


@pytest.mark.parametrize("size", [200, 1000])
def test_a_rare_large_group_that_loses_all_is_no_longer_missed(rng, size):
    """Groups of one prompt, and a few large ones that hold all losses: prompts are at the margin.

    Shares of the largest group seen called them as good in half of the runs.
    """
    margin, repeats, n = 0.05, 100, 150
    share = margin / (size * (1 - margin) + margin)  # of groups that are large
    for declared in (size, 2 * size):
        large = rng.random((n, repeats)) < share
        weights = np.where(large, size, 1) / declared
        bets = Bets.on(np.array([-margin]), margin, repeats).after(-1.0 * large, weights)
        assert (bets.most_above[:, 0] >= math.log(1 / ALPHA)).mean() <= ALPHA
    # A group whose size is no accident, among others of one prompt: each is lost as often.
    weights = np.ones((n, repeats))
    weights[rng.integers(0, n, repeats), np.arange(repeats)] = size
    lost = -1.0 * (rng.random((n, repeats)) < margin)
    bets = Bets.on(np.array([-margin]), margin, repeats).after(lost, weights / size)
    assert (bets.most_above[:, 0] >= math.log(1 / ALPHA)).mean() <= ALPHA


@pytest.mark.parametrize(
    ("flip", "seen"),
    first_of((0.0, 52), (0.1, 50), (0.03, 100), (0.03, 400)),
)
def test_how_many_more_are_expected_is_right_in_the_middle(rng, flip, seen):
    """The median of what is told over what it takes, of those that go on, is near 1.

    With many flips, and a wide prior or stakes that know the mean, it was half of it.
    """
    most = 1000 if flip == 0 else 9000 if flip < 0.05 else 24_000
    drawn = flips(rng, flip, flip, most, 60)
    taken = shown_after(drawn, 0.02)
    left = np.flatnonzero((taken > seen) & np.isfinite(taken))
    told = [
        further(walk(drawn[:seen, at : at + 1], None, 0.02, ALPHA, 1).gate)[0] or math.inf
        for at in left
    ]
    ratio = np.median((seen + np.array(told)) / taken[left])
    assert ratio == pytest.approx(1, abs=0.05 if flip == 0 else 0.4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "gained", "seen", "most"),
    [
        (0.05, 0.01, 200, 6000),  # worse by twice the margin: it was 5
        (0.11, 0.01, 50, 2000),  # by five times the margin: it was 24
    ],
)
def test_what_is_much_better_or_worse_is_not_taken_for_equal(rng, lost, gained, seen, most):
    drawn = flips(rng, lost, gained, most, 60)
    good, worse = (shown_after(drawn, 0.02, claim) for claim in (Claim.AS_GOOD, Claim.WORSE))
    taken = np.minimum(good, worse)
    left = np.flatnonzero((taken > seen) & np.isfinite(taken))
    told = [
        further(walk(drawn[:seen, at : at + 1], None, 0.02, ALPHA, 1).gate)[0] or math.inf
        for at in left
    ]
    assert 0.5 < np.median((seen + np.array(told)) / taken[left]) < 3


def test_nothing_more_is_expected_of_what_is_known_and_hardly_any_number_at_the_margin():
    known = Gate.start(0.03, ALPHA).after(np.zeros((2000, 1)))
    assert further(known) == (0,)
    start = Gate.start(0.02, ALPHA)
    assert further(start)[0] > 300
    nothing_flipped = start.after(np.zeros((52, 1)))
    assert further(nothing_flipped)[0] == pytest.approx(319 - 52, rel=0.1)
    at_the_margin = np.where(np.arange(20_000) % 100 < 3, -1.0, 0.0)[:, None]
    (more,) = further(Gate.start(0.03, ALPHA).after(at_the_margin))
    assert more is None or more > 20_000
