from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.stats.counts import OUTCOMES, PairCounts
from coupled_arena.stats.win_rates import MissingVotes, win_rates


def test_worked_example():
    """A beat B in 9 of 15 and C in 5 of 10; B and C met only four times.

    A: (9/15 + 5/10)/2 = .55, variance (.6 x .4/14 + .5 x .5/9)/4 = .0112302.
    Wilson's interval at n = .55 x .45/.0112302 = 22.039.
    """
    rates = win_rates(
        PairCounts.from_rows(
            [
                *[("A", "B", "first", 6), ("A", "B", "second", 2), ("A", "B", "tie", 2)],
                *[("B", "A", "first", 1), ("B", "A", "second", 3), ("B", "A", "both_bad", 1)],
                *[("C", "A", "first", 4), ("A", "C", "first", 5), ("A", "C", "tie", 1)],
                ("B", "C", "tie", 4),
            ]
        )
    )
    assert rates.models == ("A", "B", "C")
    assert rates.win_rate == pytest.approx([0.55, 0.2, 0.4])
    assert rates.standard_error == pytest.approx([0.105972, 0.106904, 0.163299], abs=1e-6)
    assert (rates.low[0], rates.high[0]) == pytest.approx((0.35076, 0.73439), abs=1e-5)
    assert rates.comparisons.tolist() == [25, 19, 14]
    assert rates.ties.tolist() == [3, 6, 5]
    assert rates.both_bad.tolist() == [1, 1, 0]
    assert rates.opponents.tolist() == [2, 1, 1]
    assert rates.enough.all()
    assert rates.missing == (MissingVotes("B", "C", 1),)
    assert rates.alpha == 0.05


def test_five_wins_of_five_leave_an_interval():
    """Wilson's interval for 5 of 5 at 95 %: 5/(5 + 1.95996²) = .56552."""
    rates = win_rates(PairCounts.from_rows([("A", "B", "first", 5)]))
    assert rates.standard_error.tolist() == [0, 0]
    assert rates.low == pytest.approx([0.56552, 0], abs=1e-5)
    assert rates.high == pytest.approx([1, 0.43448], abs=1e-5)


def test_certain_wins_count_as_often_as_the_rarest_opponent():
    """5 of 5 and 100 of 100 prove no more than 10 of 10: 10/(10 + 1.95996²) = .72246."""
    rates = win_rates(PairCounts.from_rows([("A", "B", "first", 5), ("A", "C", "first", 100)]))
    assert rates.low[0] == pytest.approx(0.72246, abs=1e-5)


def test_too_few_votes_are_no_win_rate():
    rates = win_rates(PairCounts.from_rows([("A", "B", "first", 4), ("C", "C", "tie", 9)]))
    assert not rates.enough.any()
    for estimate in (rates.win_rate, rates.standard_error, rates.low, rates.high):
        assert np.isnan(estimate).all()
    assert rates.missing == (
        MissingVotes("A", "B", 1),
        MissingVotes("A", "C", 5),
        MissingVotes("B", "C", 5),
    )


def test_a_first_vote_against_somebody_new_takes_nothing_away():
    old = [("A", "B", "first", 4), ("A", "B", "tie", 3)]
    before = win_rates(PairCounts.from_rows(old))
    after = win_rates(PairCounts.from_rows([*old, ("A", "C", "second", 1)]))
    assert after.enough.tolist() == [True, True, False]
    assert after.win_rate[:2].tolist() == before.win_rate.tolist()
    assert after.comparisons.tolist() == [8, 7, 1]


@pytest.mark.parametrize("rows", [[], [("A", "A", "first", 9)]])
def test_nobody_to_compare(rows):
    rates = win_rates(PairCounts.from_rows(rows))
    assert not rates.enough.any()
    assert rates.missing == ()


@pytest.mark.parametrize("alpha", [0, 1, 95, -0.1, float("nan")])
def test_alpha_is_an_error_level(alpha):
    with pytest.raises(ValueError, match="alpha"):
        win_rates(PairCounts.from_rows([]), alpha)


Design = list[tuple[str, str, str]]


@st.composite
def designs(draw) -> tuple[Design, float]:
    """Return single comparisons of 2 to 8 models, with pairs that never met, and an alpha."""
    k = draw(st.integers(2, 8))
    models = [f"m{i}" for i in range(k)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.sampled_from([0.1, 1.0, 10.0]))  # low: the same outcome nearly every time
    rows = []
    for first, second in combinations(models, 2):
        law = rng.dirichlet(np.full(4, spread))
        for _ in range(rng.choice([0, 1, 4, 5, 6, 12])):
            pair = (first, second) if rng.random() < 0.7 else (second, first)
            rows.append((*pair, OUTCOMES[rng.choice(4, p=law)]))
    return rows, draw(st.sampled_from([0.01, 0.05, 0.3]))


def by_rows(rows: Design, model: str, alpha: float) -> tuple[float, float, float, float] | None:
    """Return win rate, standard error and interval of one model from lists of zeros and ones."""
    won = defaultdict(list)
    for first, second, outcome in rows:
        if model == first:
            won[second].append(1.0 if outcome == "first" else 0.0)
        elif model == second:
            won[first].append(1.0 if outcome == "second" else 0.0)
    lists = [one for one in won.values() if len(one) >= 5]
    if not lists:
        return None
    rate = statistics.fmean(statistics.fmean(one) for one in lists)
    error = sum(statistics.variance(one) / len(one) for one in lists) ** 0.5 / len(lists)
    if rate in (0, 1):
        size = len(lists) * min(map(len, lists))
    else:
        # Half a win and half a loss more, where all outcomes are equal; then p(1-p)/n of them.
        guarded = [
            statistics.variance(one) / len(one)
            if len(set(one)) == 2
            else (len(one) + 0.5) * 0.5 / (len(one) + 1) ** 2 / len(one)
            for one in lists
        ]
        size = rate * (1 - rate) * len(lists) ** 2 / sum(guarded)
    # The roots of (rate - x)^2 = z^2 x (1 - x)/size.
    c = statistics.NormalDist().inv_cdf(1 - alpha / 2) ** 2 / size
    low, high = np.sort(np.roots([1 + c, -(2 * rate + c), rate**2]).real)
    return rate, error, low, high


@settings(max_examples=300, deadline=None, derandomize=True)
@given(designs())
def test_counts_say_what_the_rows_say(design):
    rows, alpha = design
    counts = PairCounts.from_rows((*row, n) for row, n in Counter(rows).items())
    rates = win_rates(counts, alpha)
    for i, model in enumerate(rates.models):
        expected = by_rows(rows, model, alpha)
        assert rates.enough[i] == (expected is not None)
        if expected is not None:
            found = (rates.win_rate[i], rates.standard_error[i], rates.low[i], rates.high[i])
            assert found == pytest.approx(expected, abs=1e-7)
            assert 0 <= found[2] <= found[0] <= found[3] <= 1
            assert found[2] < found[3]


@pytest.mark.parametrize(
    ("law", "n", "alpha"),
    [
        ([(0.45, 0.30, 0.20, 0.05), (0.60, 0.20, 0.15, 0.05), (0.40, 0.45, 0.10, 0.05)], 60, 0.05),
        ([(0.45, 0.30, 0.20, 0.05), (0.60, 0.20, 0.15, 0.05), (0.40, 0.45, 0.10, 0.05)], 60, 0.2),
        ([(0.70, 0.10, 0.15, 0.05), (0.80, 0.05, 0.10, 0.05), (0.30, 0.30, 0.30, 0.10)], 6, 0.05),
    ],
)
def test_intervals_cover_the_truth(law, n, alpha):
    """Pairs (0,1), (0,2), (1,2), each outcome drawn from its law, half of them in each order."""
    repeats, k = 400, 3
    rng = np.random.default_rng(20240607)
    truth, covered = np.zeros(k), np.zeros(k)
    counts = np.zeros((repeats, k, k, 4), dtype=np.int64)
    for (a, b), (first, second, tie, bad) in zip(combinations(range(k), 2), law, strict=True):
        truth[a] += first / (k - 1)
        truth[b] += second / (k - 1)
        counts[:, a, b] = rng.multinomial(n // 2, (first, second, tie, bad), repeats)
        counts[:, b, a] = rng.multinomial(n - n // 2, (second, first, tie, bad), repeats)
    for one in counts:
        rates = win_rates(PairCounts(("x", "y", "z"), one), alpha)
        covered += (rates.low <= truth) & (truth <= rates.high)
    tolerance = 3 * (alpha * (1 - alpha) / repeats) ** 0.5
    assert (covered / repeats >= 1 - alpha - tolerance).all()
    assert covered.mean() / repeats < 1 - alpha / 3  # they are not merely wide


def test_standard_errors_match_the_spread_of_estimates():
    """Unbiased with the divisor n - 1: at five votes a pair, n would give 20 % less variance."""
    rng = np.random.default_rng(7)
    estimates, variances = [], []
    for wins in rng.binomial(5, (0.5, 0.3), (20_000, 2)):
        counts = np.zeros((3, 3, 4), dtype=np.int64)
        counts[0, 1:, 0], counts[0, 1:, 2] = wins, 5 - wins
        rates = win_rates(PairCounts(("x", "y", "z"), counts))
        estimates.append(rates.win_rate[0])
        variances.append(rates.standard_error[0] ** 2)
    truth = (0.25 + 0.21) / 5 / 4
    assert np.var(estimates) == pytest.approx(truth, rel=0.03)
    assert np.mean(variances) == pytest.approx(truth, rel=0.03)
