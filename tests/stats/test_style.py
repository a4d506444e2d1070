"""Bradley-Terry with covariates, against plain loops, another library, and a known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit
from scipy.stats import t as student

from benchmarks.style import board, held
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.bradley_terry import bradley_terry
from coupled_arena.stats.style import (
    ELO,
    PairRows,
    PairScores,
    UnboundedError,
    entangled,
    fit,
    sandwich,
    win_rates,
)


def drawn(seed=0, *, k=4, n=150, p=2, per_cluster=3):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, k, n)
    second = (first + rng.integers(1, k, n)) % k
    covariates = rng.normal(size=(n, p))
    odds = 0.4 * (first - second) + covariates @ np.linspace(0.8, -0.3, p)
    outcome = np.where(rng.random(n) < 0.2, 0.5, rng.random(n) < expit(odds))
    clusters = rng.permutation(np.arange(n) // per_cluster) * 7
    return PairRows(k, first, second, outcome, covariates, clusters)


def design(rows):
    """Return the rows as vectors whose first model has strength zero."""
    found = []
    for a, b, x in zip(rows.first, rows.second, rows.covariates, strict=True):
        z = np.zeros(rows.k + rows.p)
        z[a] += 1
        z[b] -= 1
        z[rows.k :] = x
        found.append(z[1:])
    return np.array(found)


def by_hand(rows):
    """Return estimate, covariance and degrees by an optimiser and plain loops, centred."""
    z = design(rows)

    def loss(theta):
        total = 0.0
        for row, y in zip(z, rows.outcome, strict=True):
            eta = row @ theta
            total += np.logaddexp(0, eta) - y * eta
        return total

    def slope(theta):
        total = np.zeros(len(theta))
        for row, y in zip(z, rows.outcome, strict=True):
            total += (expit(row @ theta) - y) * row
        return total

    start = np.zeros(z.shape[1])
    theta = optimize.minimize(loss, start, jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    information = np.zeros((len(theta), len(theta)))
    for row in z:
        p = expit(row @ theta)
        information += p * (1 - p) * np.outer(row, row)
    bread = np.linalg.inv(information)
    meat, moved = np.zeros_like(bread), {}
    for cluster in set(rows.clusters.tolist()):
        total, parts = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        own = rows.clusters == cluster
        for row, y in zip(z[own], rows.outcome[own], strict=True):
            p = expit(row @ theta)
            total += (y - p) / np.sqrt(1 - p * (1 - p) * row @ bread @ row) * row
            parts += p * (1 - p) * np.outer(row, row)
        meat += np.outer(total, total)
        moved[cluster] = bread @ parts @ bread
    groups = len(moved)
    centre = np.zeros((rows.k + rows.p, len(theta)))
    centre[1:] = np.eye(len(theta))
    centre[: rows.k] -= centre[: rows.k].mean(axis=0)
    shares = np.array([np.diag(centre @ part @ centre.T) for part in moved.values()])
    degrees = shares.sum(0) ** 2 / (shares**2).sum(0) - 1
    covariance = groups / (groups - 1) * centre @ bread @ meat @ bread @ centre.T
    return centre @ theta, covariance, degrees


@pytest.mark.parametrize("per_cluster", [1, 3])
@pytest.mark.parametrize("p", [0, 1, 3])
def test_another_route_to_every_number(p, per_cluster):
    rows = drawn(p, p=p, per_cluster=per_cluster)
    estimate, covariance, degrees = by_hand(rows)
    found = fit(rows)
    known = sandwich([(found, np.eye(rows.k + rows.p))])
    assert found.estimate == pytest.approx(estimate, abs=1e-6)
    assert known.covariance == pytest.approx(covariance, abs=1e-6)
    assert known.degrees == pytest.approx(degrees, rel=1e-5)
    scores = PairScores.of(found)
    assert scores.score.value == pytest.approx(1000 + ELO * estimate[: rows.k], abs=1e-3)
    assert scores.score.error == pytest.approx(ELO * np.sqrt(np.diag(covariance))[: rows.k])
    low, high = scores.coefficient.interval(0.1)
    error = np.sqrt(np.diag(covariance))[rows.k :]
    beyond = student.ppf(0.95, degrees[rows.k :]) * error
    assert (high - low) / 2 == pytest.approx(beyond, rel=1e-4)


def test_blocks_do_not_matter(monkeypatch):
    found = fit(drawn(per_cluster=4))
    whole = sandwich([(found, np.eye(6))])
    monkeypatch.setattr("coupled_arena.stats.style._BLOCK", 6 * 7)
    parts = sandwich([(found, np.eye(6))])
    assert parts.covariance == pytest.approx(whole.covariance, rel=1e-12)
    assert parts.degrees == pytest.approx(whole.degrees, rel=1e-12)


def test_without_covariates_it_is_bradley_terry():
    rows = drawn(p=0)
    counts = np.zeros((rows.k, rows.k, 4), dtype=np.int64)
    code = {1.0: 0, 0.0: 1, 0.5: 2}
    for a, b, y in zip(rows.first, rows.second, rows.outcome, strict=True):
        counts[a, b, code[y]] += 1
    expected = bradley_terry(PairCounts(tuple("abcd"), counts), resamples=1).score
    assert PairScores.of(fit(rows)).score.value == pytest.approx(expected, abs=1e-3)


def test_who_is_shown_first_does_not_matter():
    rows = drawn()
    other = replace(
        rows,
        first=rows.second,
        second=rows.first,
        outcome=1 - rows.outcome,
        covariates=-rows.covariates,
    )
    one, two = PairScores.of(fit(rows)), PairScores.of(fit(other))
    assert two.values == pytest.approx(one.values)
    assert two.win_rate.error == pytest.approx(one.win_rate.error)


def test_win_rates_and_their_errors():
    found = fit(drawn())
    scores = PairScores.of(found)
    strength = scores.values[:4]
    rates, k = win_rates(strength), 4
    for m in range(k):
        against = [expit(strength[m] - strength[o]) for o in range(k) if o != m]
        assert rates[m] == pytest.approx(np.mean(against))
    slopes = optimize.approx_fprime(strength, win_rates, 1e-7)
    covariance = sandwich([(found, np.eye(6))]).covariance[:4, :4]
    errors = np.sqrt(np.diag(slopes @ covariance @ slopes.T))
    assert scores.win_rate.error == pytest.approx(errors, rel=1e-4)
    assert scores.win_rate.value.mean() == pytest.approx(0.5)
    low, high = scores.win_rate.share_interval(0.05)
    assert (low > 0).all()
    assert (low < rates).all()
    assert (rates < high).all()
    assert (high < 1).all()


@pytest.mark.parametrize("alpha", [0.05, 0.4])
def test_ranks_are_those_that_no_pair_excludes(alpha):
    fitted = fit(drawn(n=600))
    scores, known = PairScores.of(fitted), sandwich([(fitted, np.eye(6))])
    found, k = scores.ranks(alpha), 4
    for m in range(k):
        better = worse = 0
        for o in range(k):
            if o == m:
                continue
            gap = scores.values[o] - scores.values[m]
            pair = known.covariance[[m, o]][:, [m, o]]
            error = np.sqrt(pair[0, 0] + pair[1, 1] - 2 * pair[0, 1])
            free = min(known.degrees[m], known.degrees[o])
            beyond = student.ppf(1 - alpha / (k * (k - 1)), free) * error
            better += gap > beyond
            worse += -gap > beyond
        assert (found.low[m], found.high[m]) == (1 + better, k - worse)


def test_two_fits_together_have_the_covariance_of_their_sums():
    """The difference of a fit and itself is known exactly, that of two fits by what they share."""
    rows = drawn()
    other = replace(rows, outcome=np.roll(rows.outcome, 1))
    one, two = fit(rows), fit(other)
    both = sandwich([(one, np.eye(6)), (two, np.eye(6))]).covariance
    assert both[:6, :6] == pytest.approx(sandwich([(one, np.eye(6))]).covariance)
    assert both[6:, 6:] == pytest.approx(sandwich([(two, np.eye(6))]).covariance)
    same = sandwich([(one, np.eye(6)), (one, np.eye(6))]).covariance
    contrast = np.hstack([np.eye(6), -np.eye(6)])
    assert np.diag(contrast @ same @ contrast.T) == pytest.approx(0, abs=1e-12)


def test_a_covariate_that_decides_everything_has_no_finite_effect():
    rows = drawn(p=1)
    decided = replace(rows, outcome=(rows.covariates[:, 0] > 0).astype(float))
    with pytest.raises(UnboundedError):
        fit(decided)
    turned = decided.outcome.copy()
    turned[np.argmax(rows.covariates[:, 0])] = 0.0
    assert np.isfinite(fit(replace(decided, outcome=turned)).estimate).all()


def test_a_model_that_always_wins_has_no_finite_score():
    rows = drawn(p=0)
    outcome = np.where(rows.first == 0, 1.0, np.where(rows.second == 0, 0.0, rows.outcome))
    with pytest.raises(UnboundedError):
        fit(replace(rows, outcome=outcome))


def test_what_follows_from_the_models_is_told_apart():
    rows = drawn(p=2)
    size = np.array([1.0, 2.0, 3.0, 5.0])
    of_models = (size[rows.first] - size[rows.second])[:, None]
    twice = 2 * rows.covariates[:, :1]
    assert entangled(rows) == ()
    assert entangled(replace(rows, covariates=np.hstack([rows.covariates, of_models]))) == (2,)
    assert entangled(replace(rows, covariates=np.hstack([rows.covariates, twice]))) == (2,)


@pytest.mark.parametrize(
    ("k", "votes", "per_prompt", "spread"), [(3, 60, 1, 0.5), (4, 200, 10, 0.5)]
)
def test_intervals_hold_what_they_promise(k, votes, per_prompt, spread):
    """The whole table is in benchmarks/README.md; 95 % less three binomial errors of 300 boards."""
    found = held(k, votes, per_prompt, spread, repeats=300)
    assert found.pop("without scores") == 0
    least = 0.95 - 3 * (0.05 * 0.95 / 300) ** 0.5
    assert min(found.values()) >= least, found


def test_control_finds_the_true_order_where_length_hides_it():
    """The strongest write least, and length is worth more than strength."""
    rng = np.random.default_rng(5)
    strength, length = np.array([0.6, 0.2, -0.2, -0.6]), np.array([0.0, 0.6, 1.2, 1.8])
    a = rng.integers(0, 4, 20_000)
    b = (a + rng.integers(1, 4, len(a))) % 4
    longer = [np.exp(rng.normal(length[side], 0.5)) for side in (a, b)]
    x = (longer[0] - longer[1]) / (longer[0] + longer[1])
    won = rng.random(len(a)) < expit(strength[a] - strength[b] + 3 * x)
    rows = PairRows(4, a, b, won.astype(float), x[:, None], np.arange(len(a)))
    without = PairScores.of(fit(replace(rows, covariates=x[:, None][:, :0])))
    control = PairScores.of(fit(rows))
    assert without.ranks(0.05).rank.tolist() == [4, 3, 2, 1]
    assert control.ranks(0.05).rank.tolist() == [1, 2, 3, 4]
    low, high = control.score.interval(0.001)
    true = 1000 + ELO * strength
    assert ((low <= true) & (true <= high)).all()


def test_the_drawn_votes_follow_the_truth():
    """Voters of a prompt share their luck; each by itself still follows the logistic law."""
    strength = np.array([0.5, -0.5])
    rows = board(np.random.default_rng(3), strength, 40_000, 10)
    found = fit(rows)
    error = np.sqrt(np.diag(sandwich([(found, np.eye(3))]).covariance))
    assert (np.abs(found.estimate - [0.5, -0.5, 1.0]) < 4 * error).all()
