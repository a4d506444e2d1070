"""How many votes: known formulas, and experiments of the size that was planned."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.integrate
from scipy.stats import norm

from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.judges.planner import (
    explained_within_pairs,
    likely_lead,
    needs,
    power_of_each,
    spread_of_leads,
    unevenness_of,
    variance_for_power,
    variance_for_width,
)
from coupled_arena.stats.judges.powered_means import contrast
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation, rank_sets
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.truths import SimulatedTruth, evenly


def test_a_proportion_without_a_judge():
    """The textbook's n = z² b(1-b) / (w/2)² for b = .4 and w = .1: 369."""
    b, votes = 0.4, 50
    goal = variance_for_width(0.1, 0.05)
    found = needs(b * (1 - b) / votes, votes, 0.25, goal, 10)
    assert found.votes_alone == math.ceil(norm.ppf(0.975) ** 2 * b * (1 - b) / 0.05**2) == 369


def test_the_judge_s_share():
    found = needs(0.0025, 100, 0.5, 0.001, 4)
    assert found.votes_alone == 250
    assert found.tau == pytest.approx(1 / (1 - 0.5 / 1.25))
    assert found.tau_max == pytest.approx(2)
    assert (found.votes, found.verdicts) == (150, 750)
    assert needs(0.0025, 100, 0.5, 0.001, 0).votes == 250


def test_votes_that_are_there_save_verdicts():
    found = needs(0.0025, 100, 0.5, 0.001, 1e6, votes_there=200)
    assert found.votes == 200
    assert found.tau == pytest.approx(1.25)
    assert 1 / (1 - 0.5 / (1 + 1 / found.verdicts_per_vote)) == pytest.approx(1.25)
    assert found.verdicts == math.ceil(200 * (1 + found.verdicts_per_vote))
    assert needs(0.0025, 100, 0.5, 0.001, 1e6, votes_there=300).votes == 126


def test_a_judge_that_is_always_right():
    assert needs(0.0025, 100, 1.0, 0.001, 4).tau_max == math.inf


def test_the_power_is_the_one_asked_for():
    """Tests of that many votes find the difference in 80 % of 20,000 draws, within three SE."""
    rng, b, lead, repeats = np.random.default_rng(1), 0.45, 0.08, 20_000
    variance = 2 * b * (1 - b) / 100  # of a difference, both with 100 votes
    goal = variance_for_power(lead, norm.ppf(0.975), 0.05, 0.8)
    n = needs(variance, 100, 0, goal, 0).votes_alone
    wins = rng.binomial(n, [b + lead / 2, b - lead / 2], size=(repeats, 2)) / n
    spread = np.sqrt((wins * (1 - wins)).sum(1) / n)
    found = (np.abs(wins[:, 0] - wins[:, 1]) > norm.ppf(0.975) * spread).mean()
    # A difference of .08 changes b(1-b) by 2 lead²/4 of itself: less than the tolerance.
    assert found == pytest.approx(0.8, abs=3 * np.sqrt(0.16 / repeats) + 0.005)


@pytest.mark.slow
def test_the_board_separates_as_often_as_was_planned():
    """Rank-sets of eight models (cut-off 3.0) on as many votes as were planned for power .8.

    A test of the two models alone would have planned for half as many, which give power .4.
    """
    truth = SimulatedTruth(evenly(8, 1.4), 28_000, 112_000, judge_quality=0.8)
    lead = float(truth.theta[2] - truth.theta[3])
    pilot = truth.draw(np.random.default_rng(0))
    assert isinstance(pilot, JudgedCounts)
    human, weights = estimate_from_votes(pilot.votes), contrast(8, 2, 3)
    critical = rank_sets(human).critical_value
    assert 2.95 < critical < 3.1
    found = needs(
        float(weights @ human.covariance @ weights),
        truth.human,
        explained_within_pairs(pilot, weights),
        variance_for_power(lead, critical, 0.05, 0.8),
        4,
    )
    repeats = 200
    error = 3 * (0.8 * 0.2 / repeats) ** 0.5
    for ranking, n in ((Ranking.HUMAN, found.votes_alone), (Ranking.PPR, found.votes)):
        planned = replace(truth, human=n, judge_only=4 * n)
        shares = [_separated(planned, ranking, repeat) for repeat in range(repeats)]
        assert np.mean(shares) == pytest.approx(0.8, abs=error)
    assert found.votes < 0.75 * found.votes_alone


def test_votes_that_come_by_chance_vary_more_by_two_of_their_number():
    """The variance of a mean is in proportion to 1 / (n - 1), whose n is drawn."""
    size = 40.0
    drawn = np.random.default_rng(3).poisson(size, 400_000)
    found = (1 / (drawn - 1)).mean() * size
    told = 1 + unevenness_of(np.array([size]), np.array([1.0]))
    # The series goes on with 6/n²; the rest is its next term and chance.
    assert told == pytest.approx(found, abs=8 / size**2)
    # Of pairs with other numbers of votes each counts by its part in the variance.
    counts, weights = np.array([10.0, 90.0]), np.array([1.0, 1.0])
    assert unevenness_of(counts, weights) == pytest.approx(2 * (0.9 / 10 + 0.1 / 90))


def test_what_pairs_add_is_in_the_votes():
    plain, more = (needs(0.01, 100, 0.0, 0.002, 0, 0, each).votes_alone for each in (0.0, 0.5))
    assert plain == 500
    f = more / 100
    assert 0.01 / f * (1 + 0.5 / f) == pytest.approx(0.002, rel=1 / more)


def _separated(truth, ranking, repeat):
    drawn = truth.draw(np.random.default_rng([7, repeat]))
    made = estimate_from_votes(drawn.votes) if ranking is Ranking.HUMAN else estimate(drawn)
    sets = Separation(made, LIVE_DRAWS).rank_sets()
    # The two are apart if one's worst place is before the other's best: none is between them.
    return sets.high[2] < sets.low[3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: variance_for_width(0, 0.05), "width"),
        (lambda: variance_for_width(0.1, 2), "alpha"),
        (lambda: variance_for_power(0, 1.96, 0.05, 0.8), "cannot be separated"),
        (lambda: variance_for_power(0.1, 1.96, 0.05, 0.01), "power"),
        (lambda: needs(0.0, 5, 0.1, 0.01, 1), "Too few votes"),
        (lambda: needs(0.1, 5, math.nan, 0.01, 1), "Too few votes"),
        (lambda: needs(0.1, 5, 0.1, 0.01, -1), "verdicts for each vote"),
    ],
)
def test_what_cannot_be_planned(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("models", "critical"),
    [
        (5, 2.73),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((3, 2.34), (8, 3.03))),
    ],
)
def test_a_plan_from_a_pilot_has_the_power_that_it_promises(models, critical):
    """Of the pilot's first and second; a plan for its own lead has .6 to .7 in place of .8."""
    rng, repeats, power = np.random.default_rng(models), 300, 0.8
    shares, naive = [], []
    covariance = 0.5 * (np.eye(models) - 1 / models)  # of a lead: 1
    for _ in range(repeats):
        true = rng.normal(0, 1.5, models)
        pilot = true + rng.normal(0, 0.5**0.5, models)
        one, other = np.argsort(-pilot)[:2]
        lead = pilot[one] - pilot[other]
        spread = spread_of_leads(pilot, covariance)
        likely = likely_lead(lead, 1.0, spread, critical, power)
        for each, found in ((likely.planned, shares), (lead, naive)):
            distance = (true[one] - true[other]) / each * (critical + norm.ppf(power))
            found.append(norm.sf(critical - distance) + norm.cdf(-critical - distance))
    error = 3 * np.std(shares) / repeats**0.5
    assert np.mean(naive) < power - error
    assert np.mean(shares) > power - error


def test_a_likely_lead_is_what_integration_says():
    """By quadrature: the mean power is the one asked for, and the quantiles are .1 and .9."""
    found = likely_lead(0.06, 0.0009, 0.002, 2.5, 0.9)
    shrunk = 0.002 / 0.0029
    posterior = norm(shrunk * 0.06, (shrunk * 0.0009) ** 0.5)
    sd = found.planned / (2.5 + norm.ppf(0.9))
    mean, _ = scipy.integrate.quad(
        lambda lead: posterior.pdf(lead) * (norm.sf(2.5 - lead / sd) + norm.cdf(-2.5 - lead / sd)),
        *posterior.interval(1 - 1e-12),
        limit=500,
    )
    assert mean == pytest.approx(0.9, abs=2e-3)
    for end, share in ((found.least, 0.1), (found.most, 0.9)):
        assert posterior.cdf(end) - posterior.cdf(-end) == pytest.approx(share, abs=2e-3)
    assert found.planned < 0.06


@pytest.mark.parametrize("critical", [2.3, 3.3])
def test_several_separations_at_once_need_more_power_of_each(critical):
    """Independent ones multiply, and equal ones are one; an easy one adds nothing."""
    even = np.ones(3)
    for correlation, wanted in ((np.eye(3), 0.8 ** (1 / 3)), (np.ones((3, 3)), 0.8)):
        found = power_of_each(even, correlation, critical, 0.8)
        assert found == pytest.approx(wanted, abs=4e-3)
    assert power_of_each(np.array([1.0, 0.3]), np.eye(2), critical, 0.8) == pytest.approx(
        0.8, abs=4e-3
    )
    assert power_of_each(np.array([0.7]), np.eye(1), critical, 0.8) == 0.8


@pytest.mark.parametrize("models", [3, 5, 8])
def test_all_separations_pass_as_often_as_was_planned(models):
    """Differences of one model and equal others, as normal as a board's."""
    rng, power, critical, lead = np.random.default_rng(models), 0.8, 2.7, 0.06
    weights = np.hstack([np.ones((models - 1, 1)), -np.eye(models - 1)])
    covariance = weights @ weights.T / 1000
    error, own = covariance[0, 0] ** 0.5 / lead, np.diag(covariance) ** 0.5
    correlation = covariance / np.outer(own, own)
    each = power_of_each(np.full(models - 1, error), correlation, critical, power)
    goal = variance_for_power(lead, critical, 0.05, each)
    times = covariance[0, 0] / goal
    drawn = lead + rng.multivariate_normal(np.zeros(models - 1), covariance / times, 20_000)
    passed = drawn / (own / times**0.5) > critical
    assert passed.all(axis=1).mean() == pytest.approx(power, abs=3 * (0.16 / 20_000) ** 0.5 + 0.005)
    assert passed.mean() > power + 0.05
