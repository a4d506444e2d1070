"""Bets on paired differences against a plain loop; their level and power by simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from coupled_arena.stats.gate.betting import CLAIMS, Bets, Claim, Gate, Verdict, closed, grid

ALPHA = 0.05


def largest(loss):
    return 0.5 / loss if loss else math.inf


def loop_capitals(differences, weights, mean, guess):
    """The logarithms of both capitals after each unit, as the formula has them."""
    up = down = 0.0
    seen, found = [], []
    for d, w in zip(differences, weights, strict=True):
        n = len(seen)
        centre = sum(seen) / n if n else 0.0
        variance = (10 * 0.25 + sum((x - centre) ** 2 for x in seen)) / (10 + n)
        above, below = ((10 * guess + sign * sum(seen)) / (10 + n) for sign in (1, -1))
        stakes = [
            min(max(each / (variance + each**2), 0.0), most)
            for each, most in ((above, largest(1 + mean)), (below, largest(1 - mean)))
        ]
        x = w * (d - mean)
        up += math.log(1 + stakes[0] * x)
        down += math.log(1 - stakes[1] * x)
        seen.append(x)
        found.append((up, down))
    return np.array(found).T


def looks(gate, differences, weights=None, most=200):
    """What is known on the way, unit by unit, after so many looks at most."""
    start = 0
    for end in np.unique(np.linspace(1, len(differences), most).astype(int)).tolist():
        block = slice(start, end)
        gate = gate.after(differences[block], None if weights is None else weights[block])
        start = end
        yield gate


@pytest.fixture
def rng():
    return np.random.default_rng(35)


def test_capitals_are_those_of_a_plain_loop(rng):
    differences, weights = rng.uniform(-1, 1, (60, 2)), rng.uniform(0.1, 1, (60, 2))
    means = np.array([-0.4, -0.02, 0.0, 0.3])
    _, above, below = Bets.on(means, 0.02, 2).walked(differences, weights)
    for k in range(2):
        for at, mean in enumerate(means):
            looped = loop_capitals(differences[:, k], weights[:, k], mean, 0.02)
            assert above[:, k, at] == pytest.approx(looped[0], abs=1e-12)
            assert below[:, k, at] == pytest.approx(looped[1], abs=1e-12)


def test_a_unit_that_a_candidate_lacks_changes_nothing(rng):
    differences = rng.uniform(-1, 1, (40, 1))
    holes = np.insert(differences, [3, 3, 17, 40], np.nan, axis=0)
    one, other = (Gate.start(0.05, ALPHA).after(each) for each in (differences, holes))
    assert np.array_equal(one.bets.above, other.bets.above)
    assert (one.bets.units, other.seen) == ([40], 44)


def test_units_may_come_in_any_portions(rng):
    differences = rng.choice([-1.0, 0.0, 1.0], (300, 2), p=[0.02, 0.9, 0.08])
    start = Gate.start(0.05, ALPHA, 2)
    whole, each = start.after(differences), start
    for one in differences:
        each = each.after(one[None])
    *_, looked = looks(start, differences, most=7)
    for other in (each, looked):
        assert other.bets.above == pytest.approx(whole.bets.above, abs=1e-10)
        assert other.bets.most_below == pytest.approx(whole.bets.most_below, abs=1e-10)
        assert other.known.tolist() == whole.known.tolist()
    assert Verdict.BETTER in whole.verdicts


def test_the_interval_holds_the_means_that_no_gambler_refutes(rng):
    differences = rng.choice([-1.0, 0.0, 1.0], (120, 1), p=[0.05, 0.9, 0.05])
    gate = Gate.start(0.04, ALPHA).after(differences)
    means = grid(0.04)[::4]
    kept = [
        mean
        for mean in means
        if (loop_capitals(differences[:, 0], np.ones(120), mean, 0.04) < math.log(1 / ALPHA)).all()
    ]
    gate = replace(gate, bets=Bets.on(means, 0.04).after(differences))
    (low,), (high,) = gate.interval()
    assert (low, high) == (means[means < min(kept)].max(), means[means > max(kept)].min())
    assert low < gate.difference[0] < high


def test_the_grid_has_the_margin_and_nothing():
    for margin in (1e-4, 0.02, 1 / 3, 0.5, 0.99):
        means = grid(margin)
        assert {-margin, 0.0, -1.0, 1.0} <= set(means.tolist())
        assert (np.diff(means) > 0).all()


def test_closed_testing_looks_at_every_set(rng):
    capital = rng.normal(0, 2, (5, 4))
    for row, found in zip(capital, closed(capital), strict=True):
        for j in range(4):
            means = [
                np.exp(row[list(some)]).mean()
                for size in range(1, 5)
                for some in combinations(range(4), size)
                if j in some
            ]
            assert np.exp(found[j]) == pytest.approx(min(means), rel=1e-12)


def test_closed_testing_never_finds_less_than_holm(rng):
    for row in rng.normal(2, 2, (200, 5)):
        order = np.argsort(-row)
        steps = np.exp(row[order]) / np.arange(5, 0, -1) >= 1 / ALPHA
        by_holm = set(order[: int(np.append(steps, False).argmin())].tolist())
        assert by_holm <= set(np.flatnonzero(closed(row) >= math.log(1 / ALPHA)).tolist())


def flips(rng, lost, gained, n, repeats):
    drawn = rng.random((n, repeats))
    return np.where(drawn < lost, -1.0, np.where(drawn < lost + gained, 1.0, 0.0))


def shown_after(differences, margin, claim=Claim.AS_GOOD):
    """After how many units each column is shown to be so, by itself."""
    bets = Bets.on(np.array([-margin, 0.0]), margin, differences.shape[1])
    _, above, below = bets.walked(differences)
    won = (above[..., 0], below[..., 0], above[..., 1])[CLAIMS.index(claim)]
    reached = won >= math.log(1 / ALPHA)
    return np.where(reached.any(axis=0), 1 + reached.argmax(axis=0), np.inf)


@pytest.mark.parametrize("law", ["flips", "continuous", "repeated"])
def test_at_the_margin_the_error_is_at_most_alpha_whenever_one_stops(rng, law):
    n, repeats, margin = 1500, 200, 0.04
    if law == "flips":
        drawn = flips(rng, 0.07, 0.03, n, repeats)
    elif law == "continuous":
        drawn = np.clip(rng.normal(-margin, 0.2, (n, repeats)), -1, 1 - 2 * margin)
    else:  # means of four answers, whose prompt helps one of the two
        taste = rng.uniform(-0.3, 0.3, (n, repeats)) - margin
        answers = rng.random((4, n, repeats)) < abs(taste)
        drawn = (np.sign(taste) * answers).mean(axis=0)
    error = 3 * math.sqrt(ALPHA * (1 - ALPHA) / repeats)
    for claim in (Claim.AS_GOOD, Claim.WORSE):
        assert np.isfinite(shown_after(drawn, margin, claim)).mean() <= ALPHA + error


def test_equal_models_are_shown_after_about_as_many_prompts_as_one_look_takes(rng):
    """A look after each prompt costs about a tenth, see `benchmarks/gate.py`."""
    after = shown_after(flips(rng, 0.03, 0.03, 3500, 200), 0.03)
    once = (1.645 + 0.842) ** 2 * 0.06 / 0.03**2  # the fixed test at power .8: 412
    assert np.median(after) == pytest.approx(1.06 * once, rel=0.15)
    assert np.isfinite(after).mean() > 0.98


def test_what_is_worse_is_shown_to_be_so(rng):
    drawn = flips(rng, 0.08, 0.02, 3000, 100)
    assert np.isfinite(shown_after(drawn, 0.02, Claim.WORSE)).mean() > 0.95
    assert np.isinf(shown_after(drawn, 0.02, Claim.AS_GOOD)).all()


def test_the_interval_passes_the_margin_where_the_verdict_says_so(rng):
    for lost, gained in ((0.02, 0.02), (0.06, 0.01), (0.03, 0.06), (0.04, 0.02)):
        gate = Gate.start(0.03, ALPHA)
        for look in looks(gate, flips(rng, lost, gained, 1500, 1), most=30):
            (low,), (high,) = look.interval()
            good, worse, better = (bool(each) for each in look.known[:, 0])
            assert (good, worse, better) == (low >= -0.03, high <= -0.03, low >= 0)


def test_the_interval_holds_the_truth_at_all_times(rng):
    gate = Gate.start(0.02, ALPHA, 60)
    gate = replace(gate, bets=Bets.on(np.linspace(-1, 1, 101), 0.02, 60))
    missed = np.zeros((2, 60), bool)
    for look in looks(gate, flips(rng, 0.05, 0.08, 1000, 60), most=40):
        low, high = look.bets.interval(ALPHA)
        missed |= np.stack([low > 0.03, high < 0.03])
    assert (missed.sum(axis=1) <= 60 * ALPHA + 3 * math.sqrt(60 * ALPHA * (1 - ALPHA))).all()


def test_several_candidates_at_the_margin_are_wrong_together_at_most_so_often(rng):
    repeats = 150
    drawn = np.stack(
        [flips(rng, *law, 800, repeats) for law in ((0.07, 0.03), (0.07, 0.03), (0.01, 0.06))], 2
    )
    _, above, _ = Bets.on(np.array([-0.04]), 0.04, 3 * repeats).walked(drawn.reshape(800, -1))
    shown = (closed(above.reshape(800, repeats, 3)) >= math.log(1 / ALPHA)).any(axis=0)
    error = math.sqrt(ALPHA * (1 - ALPHA) / repeats)
    assert shown[:, :2].any(axis=1).mean() <= ALPHA + 3 * error
    assert shown[:, 2].mean() > 0.95


def test_what_is_no_difference_is_refused():
    gate = Gate.start(0.02, ALPHA)
    with pytest.raises(ValueError, match="between -1 and 1"):
        gate.after(np.array([[0.1], [1.5]]))
    with pytest.raises(ValueError, match="Weights"):
        gate.after(np.array([[0.1]]), np.array([[1.5]]))
    for margin in (0, 1, -0.1, float("nan")):
        with pytest.raises(ValueError, match="margin"):
            Gate.start(margin, ALPHA)
    with pytest.raises(ValueError, match="alpha"):
        Gate.start(0.02, 1.2)
