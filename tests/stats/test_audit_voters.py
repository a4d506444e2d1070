"""Audits where people voted often: plain loops, least squares, coverage, and nothing to add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.core.choices import Ties
from coupled_arena.stats.judges.quality import calibration, self_preference
from coupled_arena.stats.judges.voter_tastes import Ballots, CastRows, for_people, mean_errors
from coupled_arena.stats.simulation.audit_votes import NUMBERS, AuditedVotes, held, truths
from coupled_arena.stats.simulation.rankings import Rankings, table_of_clusters
from coupled_arena.stats.simulation.truths import Campaign


def crossed(k=3, people=6, prompts=9, seed=0):
    """Every person votes once on every prompt, on some pair; a judge has said something, too."""
    rng = np.random.default_rng(seed)
    voter, prompt = (x.ravel() for x in np.indices((people, prompts)))
    n = len(voter)
    first = rng.integers(0, k, n)
    second = (first + rng.integers(1, k, n)) % k
    taste, effect = rng.normal(0, 1, (people, k)), rng.normal(0, 1, (prompts, k))
    gap = (taste[voter] + effect[prompt])[np.arange(n), first]
    gap = gap - (taste[voter] + effect[prompt])[np.arange(n), second]
    vote = np.where(rng.random(n) < 1 / (1 + np.exp(-gap)), 0, 1)
    vote[rng.random(n) < 0.2] = 2
    verdict = np.where(rng.random(n) < 0.6, vote, rng.integers(0, 3, n))
    models = tuple(f"model {i}" for i in range(k))
    return Rankings(models, prompt, first, second, vote, verdict, np.ones(n, bool), voter)


def rows_of(drawn, ties):
    """Yield what a loop over comparisons says of each model: row, model, won, judged."""
    for i in range(len(drawn.vote)):
        pair = int(drawn.first[i]), int(drawn.second[i])
        if ties is Ties.DROP and (drawn.vote[i] >= 2 or drawn.verdict[i] >= 2):
            continue
        for side, model in enumerate(pair):
            yield i, model, float(drawn.vote[i] == side), float(drawn.verdict[i] == side)


def shares(label, at, n):
    return np.bincount(label[at]) / n


def by_loops(drawn, ties, residual):
    """Return the covariance by voter and prompt of numbers that `residual` gives: its parts.

    Parameters
    ----------
    residual : callable
        Of won and judged: what they have more than the mean of the model.
    """
    k, labels = len(drawn.models), {"voter": drawn.voter, "prompt": drawn.prompt}
    rows = list(rows_of(drawn, ties))
    at = [[i for i, m, *_ in rows if m == model] for model in range(k)]
    n = np.array([len(each) for each in at])
    mean = [np.mean([residual(w, j) for _, m, w, j in rows if m == x]) for x in range(k)]
    u = np.zeros((len(drawn.vote), k))
    for i, m, won, judged in rows:
        u[i, m] += (residual(won, judged) - mean[m]) / n[m]
    square = {
        name: np.array([(shares(label, at[m], n[m]) ** 2).sum() for m in range(k)])
        for name, label in labels.items()
    }

    def gram(label, factor):
        sums = [(u * np.sqrt(factor))[label == one].sum(axis=0) for one in np.unique(label)]
        return sum(np.outer(s, s) for s in sums)

    by_voter = gram(drawn.voter, 1 / (1 - square["voter"]))
    prompts = len(np.unique(drawn.prompt))
    these = gram(drawn.prompt, np.ones(k)) * (prompts / (prompts - 1)) ** 2
    both = gram(np.arange(len(u)), n / (n - 1))
    return these, by_voter, both


@pytest.mark.parametrize("ties", list(Ties))
def test_errors_by_voter_and_prompt_are_those_of_loops_over_rows(ties):
    drawn = crossed()
    found = AuditedVotes.of(drawn, voters=True, ties=ties)
    k = len(drawn.models)
    for tasted, residual in (
        (found.means.tasted, lambda won, judged: won),
        (found.tasted, lambda won, judged: judged - won),
    ):
        these, by_voter, both = by_loops(drawn, ties, residual)
        made = [getattr(tasted, name)[:k, :k] for name in ("these", "by_voter", "alone")]
        if tasted is found.tasted:  # of the bias only variances are used
            made, *expected = made, *map(np.diag, (these, by_voter, both))
            made = [np.diag(each) for each in made]
        else:
            expected = these, by_voter, both
        for one, other in zip(made, expected, strict=True):
            assert one == pytest.approx(other, rel=1e-10)
    assert found.means.tasted.voters == 6


def test_a_mean_has_the_two_way_errors_of_clustered_least_squares():
    """y = a: the sandwich by voter, and by prompt, less that by vote; each with G / (G - 1)."""
    drawn = crossed(k=2)
    lead = (drawn.vote == 0).astype(float)
    rows = CastRows.each(drawn.prompt, drawn.voter)
    n = len(lead)
    away = (lead - lead.mean()) / n

    def sandwich(label):
        sums = np.bincount(label, away)
        return (sums**2).sum() * len(sums) / (len(sums) - 1)

    parts = [sandwich(x) for x in (drawn.voter, drawn.prompt, np.arange(n))]
    found = mean_errors(rows, away[:, None]).covariance[0, 0]
    # All have voted as often, and so on each prompt: what both lose to each other is known.
    voter, prompt = 1 / 6 - 1 / n, 1 / 9 - 1 / n
    whole = 1 - voter * prompt
    more = ((1 + voter) / whole - 1) * max(parts[1] - parts[2], 0)
    more += ((1 + prompt) / whole - 1) * max(parts[0] - parts[2], 0)
    assert found == pytest.approx(parts[0] + parts[1] - parts[2] + more, rel=1e-10)


def test_voters_of_one_vote_each_and_one_voter_change_nothing():
    truth = Campaign((0.0,) * 3, 9, 300, prompts=30, prompt_effect=1.0, judge_only=300)
    drawn = truth.draw(np.random.default_rng(3))
    today = AuditedVotes.of(drawn, voters=False).intervals()
    for voter in (np.arange(600), np.zeros_like(drawn.voter)):
        found = AuditedVotes.of(replace(drawn, voter=voter), voters=True)
        assert found.means.tasted is None
        assert found.means.votes_worth is None
        for name, ends in found.intervals().items():
            assert np.array_equal(ends, today[name], equal_nan=True)


def test_votes_of_nobody_known_are_one_person_s_each():
    rng = np.random.default_rng(4)
    n = 40
    adds = table_of_clusters(np.arange(n)).T.tocsr() @ np.c_[rng.normal(size=n) / n]
    voter = np.where(np.arange(n) < 20, np.arange(n) % 4, np.arange(n))
    found, total = table_of_clusters(voter), np.ones(n)
    cells, nothing = type(found)(np.ones((n, 1))), type(found)((0, n))
    plain = adds.T @ adds
    columns, cell = type(found)(adds), np.zeros(1, dtype=int)
    known = found[np.diff(found.indptr) > 1]
    made = [
        for_people(Ballots(each, nothing, cells, total), columns, cell, plain, plain)
        for each in (found, known)
    ]
    assert made[0].voters == made[1].voters == 24
    assert made[0].shares.squares == pytest.approx(made[1].shares.squares, rel=1e-12)
    # What single votes lost to the mean is n / (n - 1) of them in the one, and a bit more of all.
    assert made[0].covariance == pytest.approx(made[1].covariance, rel=0.05)


def of_ballots(voter, cell, won):
    """Return means of cells for people like the voters, and what each vote adds to them."""
    n, cells = np.bincount(cell), np.eye(cell.max() + 1)[cell]
    adds = cells * ((won - np.bincount(cell, won)[cell] / n[cell]) / n[cell])[:, None]
    votes, table = len(cell), type(table_of_clusters(voter))
    ballots = Ballots(table_of_clusters(voter), table((0, votes)), table(cells), np.ones(votes))
    plain = adds.T @ adds
    return for_people(ballots, table(adds), np.arange(len(n)), plain, plain), adds


def test_a_cell_of_one_voter_borrows_what_other_cells_tell_of_tastes():
    """Four people cast three votes each on one model, and a fifth all six on another."""
    voter, cell = np.repeat([0, 1, 2, 3, 4], [3, 3, 3, 3, 6]), np.repeat([0, 1], [12, 6])
    won = np.array([1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 1])
    found, adds = of_ballots(voter, cell, won)
    squares = (adds**2).sum(axis=0)
    by_voter = (np.bincount(voter[:12], adds[:12, 0]) ** 2).sum() / (1 - 1 / 4)
    tastes = by_voter - squares[0] * 12 / 11
    share = tastes / (squares[0] * 12 / 11 * (3 - 1))  # of the most: all votes of a person alike
    assert 0 < share < 1
    expected = squares + np.array([tastes, share * squares[1] * 6 / 5 * (6 - 1)])
    assert found.covariance == pytest.approx(np.diag(expected), rel=1e-12)


def test_where_each_cell_has_one_voter_a_voter_counts_as_one_vote():
    found, adds = of_ballots(np.repeat([0, 1], 6), np.repeat([0, 1], 6), np.arange(12) % 3 == 0)
    squares = (adds**2).sum(axis=0)
    expected = squares + squares * 6 / 5 * (6 - 1)  # these votes, and five more alike
    assert found.covariance == pytest.approx(np.diag(expected), rel=1e-12)


def test_degrees_are_those_of_people_where_these_are_equally_busy():
    drawn = Campaign((0.0,) * 2, 6, 1200, taste=3.0).draw(np.random.default_rng(5))
    found = AuditedVotes.of(drawn, voters=True).means
    assert found.degrees_of(np.eye(2, 4)) == pytest.approx([5.0, 5.0], rel=1e-6)
    assert found.certain_size == pytest.approx([6.0, 6.0])


def test_a_sum_is_known_better_than_its_small_part_that_is_known_worse():
    """Prompts of an effect make most of this variance, so few people matter little."""
    few = Campaign((0.0,) * 2, 5, 2000, taste=0.0, prompts=400, prompt_effect=3.0)
    means = AuditedVotes.of(few.draw(np.random.default_rng(6)), voters=True).means
    assert 4 < means.degrees_of(np.eye(2, 4))[0] <= means.degrees


def test_self_preference_is_for_people_like_the_voters():
    drawn = Campaign((0.0, 0.0), 8, 800, taste=1.5, prompts=40).draw(np.random.default_rng(7))
    said = [((x < 2) & (x == drawn.first)).astype(int) for x in (drawn.verdict, drawn.vote)]
    wide, these = (
        self_preference(("own",), CastRows.each(drawn.prompt, voter), *said, 0.05)
        for voter in (drawn.voter, None)
    )
    assert wide.difference == these.difference
    assert wide.high - wide.low > 1.5 * (these.high - these.low)


def test_rows_that_are_alike_may_be_counted_once():
    rng = np.random.default_rng(8)
    prompt, voter, value = rng.integers(0, [[5], [4], [2]], (3, 200))
    alike, times = np.unique(np.stack([prompt, voter, value]), axis=1, return_counts=True)
    once, each = (
        mean_errors(rows, ((x - value.mean()) / 200)[:, None])
        for rows, x in (
            (CastRows(alike[0], times, alike[1]), alike[2]),
            (CastRows.each(prompt, voter), value),
        )
    )
    assert once.covariance == pytest.approx(each.covariance, rel=1e-12)
    assert once.degrees == pytest.approx(each.degrees, rel=1e-12)


def test_calibration_is_for_people_like_the_voters():
    rng, n = np.random.default_rng(9), 1000
    voter, prompt = np.arange(n) % 10, rng.integers(0, 100, n)
    harsh = rng.uniform(-0.3, 0.3, 10)[voter]
    likely = np.stack([np.full(n, 0.5), np.full(n, 0.3), np.full(n, 0.2)], axis=1)
    won = rng.random(n) < 0.5 + harsh
    said = np.eye(3)[np.where(won, 0, 1)]
    like, these = (calibration(likely, said, CastRows.each(prompt, x)) for x in (voter, None))
    assert (like.error, like.brier) == (these.error, these.brier)
    widths = [np.ptp(found.brier_interval(0.05)) for found in (like, these)]
    assert widths[0] > 1.5 * widths[1]
    assert np.quantile(like.moves, 0.95) > 1.5 * np.quantile(these.moves, 0.95)


def test_the_truth_of_a_campaign_is_that_of_very_many_votes():
    campaign = Campaign((0.0,) * 2, 40_000, 40_000, prompt_effect=1.0, judge_only=10)
    drawn = campaign.draw(np.random.default_rng(10))
    found = AuditedVotes.of(drawn, voters=False)
    wanted = truths(campaign)
    assert found.means.human == pytest.approx([wanted["win rate"]] * 2, abs=0.01)
    assert found.table.tau_max == pytest.approx([wanted["worth"]] * 2, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    "campaign",
    [
        Campaign((0.0,) * 3, 6, 300, taste=2.0, prompts=5, judge_only=100),
        Campaign((0.0,) * 3, 6, 300, taste=1.5, prompts=6, prompt_effect=1.5, judge_only=100),
    ],
    ids=["tastes alone", "both"],
)
def test_variances_are_right_on_average_with_few_voters_and_prompts(campaign):
    repeats, found, squares = 200, [], []
    for repeat in range(repeats):
        drawn = campaign.draw(np.random.default_rng([11, repeat]))
        means = AuditedVotes.of(drawn, voters=True).means
        found.append(np.trace(means.covariance[:3, :3]))
        squares.append(((means.human - truths(campaign)["win rate"]) ** 2).sum())
    error = np.hypot(np.std(found), np.std(squares)) / repeats**0.5
    assert np.mean(found) > np.mean(squares) - 3 * error
    assert np.mean(found) < 1.2 * np.mean(squares) + 3 * error  # (G / (G - 1))^2 of the prompts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("campaign", "today"),
    [
        (Campaign((0.0,) * 3, 10, 1000, prompts=60, prompt_effect=1.0, judge_only=1000), 0.85),
        (Campaign((0.0,) * 3, 5, 500, judge_only=500), 0.75),
        (Campaign((0.0,) * 2, 30, 900, taste=0.0, judge_only=900), 1.0),
    ],
    ids=["shared prompts", "five people", "nobody has a taste"],
)
def test_intervals_hold_for_people_like_the_voters(campaign, today):
    repeats = 200
    error = (0.05 * 0.95 / repeats) ** 0.5
    like, wide = held(campaign, repeats, voters=True)
    these, narrow = held(campaign, repeats, voters=False)
    assert (like > 0.95 - 3 * error).all()
    rate = NUMBERS.index("win rate")
    assert these[rate] <= today + 3 * error
    if campaign.taste == 0:
        # Student's t with 29 degrees is 4.3 % wider, and a root of a chi-square .9 % narrower.
        assert wide[rate] == pytest.approx(1.034 * narrow[rate], rel=0.03)
