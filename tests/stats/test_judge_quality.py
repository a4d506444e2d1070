"""Self-preference and calibration: against plain loops, and on judges that were made up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from coupled_arena.stats.judges.quality import BINS, calibration, self_preference
from coupled_arena.stats.judges.voter_tastes import CastRows
from coupled_arena.stats.simulation.rank_set_runs import binomial_error
from tests.families import first_of

NAMES = ("own",)


def preference(n, judge, people, alpha=0.05):
    """Return the self-preference by counts of prompts."""
    rows = CastRows(np.arange(len(n)), n)
    return self_preference(NAMES, rows, judge / n, people / n, alpha)


def test_self_preference_is_what_rows_say():
    rng = np.random.default_rng(1)
    rows = [(int(rng.integers(40)), *rng.integers(0, 2, 2).tolist()) for _ in range(300)]
    prompts = sorted({row[0] for row in rows})
    n, judge, people = (
        np.array([sum(value(row) for row in rows if row[0] == p) for p in prompts])
        for value in (lambda row: 1, lambda row: row[1], lambda row: row[2])
    )
    found = preference(n, judge, people, 0.1)
    leads = [row[1] - row[2] for row in rows]
    mean = sum(leads) / 300
    spread = 0.0
    for p in prompts:
        spread += sum(d - mean for d, row in zip(leads, rows, strict=True) if row[0] == p) ** 2
    error = np.sqrt(spread * len(prompts) / (len(prompts) - 1)) / 300
    half = stats.t.ppf(0.95, len(prompts) - 1) * error
    assert found.difference == pytest.approx(mean, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half), abs=1e-10)
    assert (found.judge, found.people) == pytest.approx(np.mean([r[1:] for r in rows], axis=0))


def test_one_comparison_a_prompt_is_the_t_interval_of_a_mean():
    rng = np.random.default_rng(2)
    judge, people = rng.integers(0, 2, (2, 50))
    found = preference(np.ones(50, int), judge, people)
    lead = judge - people
    expected = stats.t.interval(0.95, 49, lead.mean(), stats.sem(lead))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_little_says_little():
    nothing = np.zeros(0, dtype=np.int64)
    assert preference(nothing, nothing, nothing) is None
    one = preference(np.array([3]), np.array([2]), np.array([1]))
    assert one.difference == pytest.approx(1 / 3)
    assert np.isnan([one.low, one.high]).all()
    assert calibration(np.zeros((0, 3)), np.zeros((0, 3)), CastRows.each(nothing)) is None


@pytest.mark.slow
def test_intervals_of_self_preference_keep_their_promise():
    """Of a judge that prefers its own model .08 more often, on 60 prompts with 1 to 6 votes."""
    rng, runs, held = np.random.default_rng(3), 2_000, 0
    for _ in range(runs):
        n = rng.integers(1, 7, 60)
        lean = rng.uniform(0.1, 0.8, 60)
        judge, people = rng.binomial(n, lean + 0.08), rng.binomial(n, lean)
        found = preference(n, judge, people)
        held += found.low <= 0.08 <= found.high
    assert held / runs == pytest.approx(0.95, abs=3 * binomial_error(0.95, runs))


def drawn(rng, n, sharper=1.0):
    """Return probabilities, and what was said by odds that are so much sharper."""
    likely = rng.dirichlet([1, 1, 0.5], n)
    true = likely**sharper
    true /= true.sum(1, keepdims=True)
    said = np.eye(3)[[rng.choice(3, p=p) for p in true]]
    return likely, said, CastRows.each(rng.integers(0, max(n // 3, 1), n))


def test_calibration_is_what_rows_say():
    likely, said, rows = drawn(np.random.default_rng(4), 500, 2.0)
    found = calibration(likely, said, rows)
    brier = sum(
        sum((p - s) ** 2 for p, s in zip(row, one, strict=True))
        for row, one in zip(likely, said, strict=True)
    )
    assert found.brier == pytest.approx(brier / 500, abs=1e-12)
    pairs = sorted((p, s) for i in (0, 1) for p, s in zip(likely[:, i], said[:, i], strict=True))
    assert [each.n for each in found.bins] == pytest.approx([1000 / BINS] * BINS, abs=1)
    error = begin = 0
    for each in found.bins:
        here = pairs[begin : begin + each.n]
        begin += each.n
        predicted, observed = (sum(values) / each.n for values in zip(*here, strict=True))
        assert (each.predicted, each.observed) == pytest.approx((predicted, observed), abs=1e-12)
        error += each.n / 1000 * abs(predicted - observed)
    assert begin == 1000
    assert found.error == pytest.approx(error, abs=1e-12)
    low, high = found.brier_interval(0.05)
    assert low < found.brier < high


def test_one_comparison_a_prompt_gives_the_t_interval_of_its_score():
    likely, said, _ = drawn(np.random.default_rng(9), 30)
    found = calibration(likely, said, CastRows.each(np.arange(30)))
    scores = ((likely - said) ** 2).sum(axis=1)
    expected = stats.t.interval(0.95, 29, scores.mean(), stats.sem(scores))
    assert found.brier_interval(0.05) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(
        calibration(likely[:1], said[:1], CastRows.each(np.zeros(1, int))).brier_interval(0.05)
    ).all()


def test_equal_predictions_share_a_bin():
    likely = np.tile([0.6, 0.3, 0.1], (40, 1))
    said = np.eye(3)[[0, 1] * 20]
    found = calibration(likely, said, CastRows.each(np.arange(40)))
    assert [(b.predicted, b.observed, b.n) for b in found.bins] == [
        (pytest.approx(0.3), 0.5, 40),
        (pytest.approx(0.6), 0.5, 40),
    ]
    assert found.error == pytest.approx(0.15)


def test_a_judge_that_is_too_sure_is_told_from_one_that_is_not():
    rng = np.random.default_rng(5)
    fair, sure = (calibration(*drawn(rng, 3_000, sharper)) for sharper in (1.0, 0.3))
    assert fair.error < 0.03 < 0.08 < sure.error_interval(0.05)[0]


@pytest.mark.slow
def test_intervals_of_brier_scores_keep_their_promise():
    """The score of a calibrated judge is known: 1 - E Σ p², by the law that p is drawn from."""
    alpha = np.array([1, 1, 0.5])
    squares = (alpha * (alpha + 1)).sum() / (alpha.sum() * (alpha.sum() + 1))
    rng, runs, held = np.random.default_rng(6), 400, 0
    for _ in range(runs):
        likely = rng.dirichlet(alpha, 200)
        pick = (rng.random((200, 1)) > likely.cumsum(1)[:, :2]).sum(1)
        found = calibration(likely, np.eye(3)[pick], CastRows.each(np.arange(200)))
        low, high = found.brier_interval(0.05)
        held += low <= 1 - squares <= high
    assert held / runs == pytest.approx(0.95, abs=3 * binomial_error(0.95, runs))


def test_what_bins_move_by_is_what_resampled_prompts_say():
    """A plain bootstrap of 1,000 prompts: its .95 quantile is the law's, give or take chance."""
    likely, said, rows = drawn(np.random.default_rng(10), 3_000)
    found = calibration(likely, said, rows)
    predicted, happened = likely[:, :2].ravel(), said[:, :2].ravel()
    edges = np.quantile(predicted, np.arange(1, BINS) / BINS, method="lower")
    place = np.searchsorted(edges, predicted, side="right")
    rng, resamples, below = np.random.default_rng(11), 2_000, 0
    apart = np.bincount(place, predicted - happened, BINS) / len(predicted)
    for _ in range(resamples):
        times = np.bincount(rng.integers(0, 1_000, 1_000), minlength=1_000)
        each = np.repeat(times[rows.prompt], 2)
        again = np.bincount(place, each * (predicted - happened), BINS) / each.sum()
        below += np.abs(again - apart).sum() <= np.quantile(found.moves, 0.95)
    assert below / resamples == pytest.approx(0.95, abs=3 * binomial_error(0.95, resamples))


@pytest.mark.parametrize("sharper", [1.0, 0.5])
@pytest.mark.parametrize("n", first_of(20, 200))
def test_intervals_of_calibration_errors_hold_at_least_as_often(sharper, n):
    """Also of a judge without any error, whom chance alone gives one in every sample."""
    true = 0.0 if sharper == 1 else calibration(*independent(7, 10_000, sharper)).error
    runs, held = 150, 0
    for run in range(runs):
        found = calibration(*independent([8, run], n, sharper))
        low, high = found.error_interval(0.05)
        held += low <= true <= high
    assert held / runs >= 0.95 - 3 * binomial_error(0.95, runs)


def independent(seed, n, sharper):
    """Return as `drawn` does, each comparison of a prompt of its own."""
    rng = np.random.default_rng(seed)
    likely = rng.dirichlet([1, 1, 0.5], n)
    true = likely**sharper
    pick = (rng.random((n, 1)) > (true / true.sum(1, keepdims=True)).cumsum(1)[:, :2]).sum(1)
    return likely, np.eye(3)[pick], CastRows.each(np.arange(n))
