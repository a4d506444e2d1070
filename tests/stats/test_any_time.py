"""The cut-off that holds at all looks together, against exact laws and other routes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, binom

from coupled_arena.core.choices import Cutoff, Design, Voters
from coupled_arena.stats.counts import JudgedCounts, PairCounts
from coupled_arena.stats.ranking import any_time
from coupled_arena.stats.ranking.any_time import WinRates
from coupled_arena.stats.ranking.distances import Distances
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import rank_sets
from coupled_arena.stats.simulation import watching
from coupled_arena.stats.simulation.coverage import SimulationPlan, estimate_drawn
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth, evenly
from coupled_arena.stats.simulation.watching import WatchPlan, watch
from tests.families import first_of


def two(wins, losses, ties=0):
    rows = [("a", "b", "first", wins), ("b", "a", "first", losses), ("a", "b", "tie", ties)]
    return estimate_from_votes(PairCounts.from_rows(rows))


def apart(estimated, alpha=0.05):
    found = rank_sets(estimated, alpha, Cutoff.ANY_TIME)
    return bool((found.high < len(found.high)).any())


@pytest.mark.parametrize(("models", "alpha"), [(2, 0.05), (5, 0.05), (12, 0.1)])
def test_the_boundary_is_the_formula_and_narrowest_at_a_thousand(models, alpha):
    kappa = 2 * np.log(models * (models - 1) / (2 * alpha))
    x = np.linspace(kappa, kappa + 10, 2_000_001)
    m = 1000 / x[np.argmin(np.abs(kappa + np.log1p(x) - x))]
    for n in (10, 1000, 10_000_000):
        square = (1 + m / n) * (np.log(1 + n / m) + kappa)
        # the grid leaves x off by 5e-6 of about 10
        assert any_time.boundary(n, models, alpha) == pytest.approx(np.sqrt(square), rel=1e-6)
    looks = np.geomspace(100, 10_000, 401)
    widths = [any_time.boundary(n, models, alpha) / np.sqrt(n) for n in looks]
    assert widths == sorted(widths, reverse=True)
    heights = [any_time.boundary(n, models, alpha) for n in looks]
    assert looks[np.argmin(heights)] == pytest.approx(1000, rel=0.02)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (7, 0), (30, 12), (200, 260)])
def test_the_capital_is_the_mean_over_what_the_gambler_believes(wins, losses):
    def bet(p):
        return (2 * p) ** wins * (2 * (1 - p)) ** losses * beta.pdf(p, 10, 10)

    mean, error = quad(bet, 0, 1, epsabs=0, epsrel=1e-10, limit=500)
    assert np.exp(any_time.log_capital(wins, losses)) == pytest.approx(mean, rel=1e-8), error


@pytest.mark.parametrize("alpha", first_of(0.05, 0.2))
def test_two_models_are_separated_where_the_capital_suffices(alpha):
    for votes in (20, 100, 700):
        for wins in range(votes // 2, votes + 1):
            enough = any_time.log_capital(wins, votes - wins) >= np.log(1 / alpha)
            assert apart(two(wins, votes - wins, ties=13), alpha) == enough, (wins, votes)


@pytest.mark.slow
def test_equal_models_are_seldom_separated_at_any_time():
    """Exactly, by the law of a fair coin: what is absorbed at the capital's limit."""
    alive, looks = np.array([1.0]), 1000  # by wins
    separated = 0.0
    for n in range(1, looks + 1):
        alive = (np.append(alive, 0) + np.append(0, alive)) / 2
        capital = [any_time.log_capital(wins, n - wins) for wins in range(n + 1)]
        over = np.array(capital) >= np.log(20)
        separated += alive[over].sum()
        alive[over] = 0
    assert 0.01 < separated <= 0.05  # Ville's inequality; looks without end would come nearer


def test_a_judge_or_shared_prompts_leave_two_models_to_the_normal_law():
    votes = np.zeros((2, 2, 4, 4), int)
    votes[0, 1, :2, :2] = [[120, 20], [30, 40]]
    verdicts = np.zeros((2, 2, 4), int)
    verdicts[0, 1, :2] = [600, 320]
    powered = estimate(JudgedCounts(("a", "b"), votes, verdicts))
    assert powered.power_tuning > 0
    assert apart(powered)
    distance = Distances.of(powered).estimated
    assert any_time.distance(powered, distance, 0.05).tolist() == distance.tolist()


def test_what_is_learnt_is_counted_in_prompts_where_votes_share_them():
    truth = SimulatedTruth(evenly(3, 0), 600, 0, design=Design.VOTERS, voters=20)
    rows = truth.draw(np.random.default_rng(1))
    found = estimate_drawn(rows, Ranking.HUMAN)
    assert found.human == 600
    assert any_time.information(found) == pytest.approx(30)  # 3 pairs on 10 prompts
    alone = replace(found, clusters=None)
    assert any_time.information(alone) == 600


def test_a_newcomer_is_apart_from_nobody_before_five_votes_for_each_opponent():
    def board(votes):
        old = [("a", "b", "first", 900), ("b", "a", "first", 100)]
        new = [(x, "new", "first", votes) for x in ("a", "b")]
        return estimate_from_votes(PairCounts.from_rows([*old, *new]))

    for votes in range(1, 5):
        found = rank_sets(board(votes), 0.05, Cutoff.ANY_TIME)
        assert (found.low[2], found.high[2]) == (1, 3)
    found = rank_sets(board(8), 0.05, Cutoff.ANY_TIME)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 2, 3], [1, 2, 3])


@pytest.mark.slow
def test_who_watches_is_not_misled():
    """Of equal models; a cut-off for one look misleads in .38 to .53 of boards."""
    truth = SimulatedTruth(evenly(3, 0), 1000, 0, ties=0.3)
    cutoffs = (Cutoff.BONFERRONI, Cutoff.ANY_TIME)
    found = watch(WatchPlan(SimulationPlan(truth, 60, cutoffs=cutoffs), every=20))
    by_cutoff = {one.cutoff: one for one in found.cutoffs if one.ranking is Ranking.HUMAN}
    once, always = (by_cutoff[cutoff] for cutoff in cutoffs)
    binomial = (0.05 * 0.95 / 60) ** 0.5
    assert always.coverage >= 0.95 - 3 * binomial
    assert once.coverage < 0.95 - 3 * binomial
    assert once.coverage_at_last >= 0.95 - 3 * binomial


@pytest.mark.slow
def test_what_is_planned_suffices_on_a_board_that_is_watched():
    """Votes drawn one by one, of models that differ as planned."""
    truth, power, repeats = SimulatedTruth(evenly(3, 1.6), 6000, 0, ties=0.3), 0.8, 60
    theta = truth.theta
    counts = SimulatedTruth(evenly(3, 1.6), 600_000, 0, ties=0.3).draw(np.random.default_rng(0))
    many = estimate_from_votes(counts.votes)
    lead = theta[0] - theta[1]
    spread = many.covariance[0, 0] + many.covariance[1, 1] - 2 * many.covariance[0, 1]
    votes = any_time.stopping_votes(lead**2 / (spread * many.human), 3, 0.05, power)
    truth = replace(truth, human=int(np.ceil(votes / 6) * 6))
    plan = SimulationPlan(truth, repeats, cutoffs=(Cutoff.ANY_TIME,))
    (found, _) = watch(WatchPlan(plan, every=6)).cutoffs
    error = (power * (1 - power) / repeats) ** 0.5
    assert found.separated == pytest.approx(power, abs=3 * error)


def test_voters_of_a_campaign_come_one_after_the_other(monkeypatch):
    """Somebody looks after every 25 votes, and not before the third voter has come."""
    seen = []

    def look(drawn, *settings):
        seen.append(np.sort(np.bincount(drawn.voter, minlength=6)))
        return estimate_drawn(drawn, *settings)

    monkeypatch.setattr(watching, "estimate_drawn", look)
    campaign = Campaign((2.0, 0.0, -2.0), 6, 300, taste=0.2)
    found = watch(WatchPlan(SimulationPlan(campaign, 1, cutoffs=(Cutoff.ANY_TIME,)), every=25))
    whole = [[0, 0, 0, 25, 50, 50], [0, 0, 0, 50, 50, 50], [0, 0, 25, 50, 50, 50]]
    assert [each.tolist() for each in seen[:3]] == whole
    assert [each.sum() for each in seen] == list(range(125, 301, 25))
    human, powered = found.cutoffs  # nobody judges, so both are one
    assert (human.coverage, human.size) == (powered.coverage, powered.size)


def test_with_two_voters_nobody_looks():
    campaign = Campaign((3.0, -3.0), 2, 200)
    plan = SimulationPlan(campaign, 2, cutoffs=(Cutoff.ANY_TIME,))
    (human, _) = watch(WatchPlan(plan, every=25)).cutoffs
    assert (human.separated, human.size) == (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5])
def test_who_watches_a_campaign_is_not_misled(k):
    """Ten people, each with all of a hundred votes before the next; the other way misleads."""
    campaign, repeats = Campaign((0.0,) * k, 10, 1000), 40
    like, these = (
        watch(
            WatchPlan(
                SimulationPlan(campaign, repeats, cutoffs=(Cutoff.ANY_TIME,), voters=voters), 25
            )
        ).cutoffs[0]
        for voters in Voters
    )
    error = (0.05 * 0.95 / repeats) ** 0.5
    assert like.coverage >= 0.95 - 3 * error
    assert these.coverage < 0.95 - 3 * error


def test_somebody_must_look():
    truth = SimulatedTruth(evenly(3, 0), 100, 0)
    with pytest.raises(ValueError, match="Of 100 votes one can look after each 1 to 100"):
        WatchPlan(SimulationPlan(truth, 1), every=101)


def test_as_many_walks_pass_the_boundary_by_the_planned_votes_as_wanted():
    """Walks of one step a vote, which are looked at as rarely as those of the plan."""
    signal, models, alpha, walks = 0.02, 3, 0.05, 2000
    votes = any_time.stopping_votes(signal, models, alpha, 0.5)
    looks = np.unique(np.geomspace(15, votes, 150).round()).astype(int)
    rng = np.random.default_rng(33)
    steps = signal**0.5 + rng.standard_normal((walks, looks[-1]))
    far = steps.cumsum(axis=1)[:, looks - 1] / np.sqrt(looks)
    passed = (far > [any_time.boundary(n, models, alpha) for n in looks]).any(axis=1)
    assert passed.mean() == pytest.approx(0.5, abs=4 * (0.25 / walks) ** 0.5)


def test_a_difference_that_the_first_look_tells_needs_no_more_votes():
    """Looks then all have as many votes, up to rounding."""
    votes = any_time.stopping_votes(1e6, 3, 0.001, 0.8)
    assert votes == pytest.approx(any_time.FEWEST_PER_OPPONENT * 3)


def _paths_that_miss(runs, looks, rng):
    """Return how often an interval of the first of three models ever misses its win rate."""
    against = np.array([[0.0, 0.6, 0.45], [0.4, 0.0, 0.5], [0.55, 0.5, 0.0]])
    truth, missed = against[0].sum() / 2, 0
    pairs = [(0, 1), (0, 2), (1, 2)]
    for _ in range(runs):
        counts = np.zeros((3, 3, 4), np.int64)
        out = False
        for _ in range(looks):
            for a, b in pairs:
                won = int(rng.binomial(12, against[a, b]))
                counts[a, b, :2] += won, 12 - won
            found = WinRates.of(estimate_from_votes(PairCounts(("a", "b", "c"), counts)))
            low, high = found.intervals(0.2)
            out |= not low[0] <= truth <= high[0]
        missed += out
    return missed


def test_an_interval_over_time_seldom_misses_at_any_look():
    # Each path misses with a probability of at most .2: so many misses come once in 10,000 runs.
    assert _paths_that_miss(40, 10, np.random.default_rng(5)) <= binom.ppf(0.9999, 40, 0.2)


@pytest.mark.slow
def test_an_interval_over_time_seldom_misses_at_any_of_many_looks():
    assert _paths_that_miss(300, 30, np.random.default_rng(6)) <= binom.ppf(0.9999, 300, 0.2)


def test_before_its_first_votes_an_interval_over_time_is_everything():
    counts = np.zeros((3, 3, 4), np.int64)
    counts[0, 1, :2], counts[0, 2, :2], counts[1, 2, :2] = (2, 2), (2, 2), (90, 60)
    found = WinRates.of(estimate_from_votes(PairCounts(("a", "b", "c"), counts)))
    low, high = found.intervals(0.05)
    assert (low[0], high[0]) == (0.0, 1.0)
    assert 0 < low[1] < high[1] < 1
