"""Agreement of a judge with people: golden numbers, theorems, a second route row by row."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from coupled_arena.core.choices import Ties
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.samples import ModelCounts
from tests.stats.judged_rows import counts_of, drawn_counts, pairs_of
from tests.stats.real_votes import FOLDER, all_rows, needs_real_votes

GOLDEN = FOLDER / "golden_judge_audit_gpt4.json"
SECTIONS = {"all": Ties.LOSS, "no_ties": Ties.DROP}
PLAIN = {
    "n": "n",
    "b": "b",
    "p": "p",
    "q": "q",
    "judge_score": "judge_score",
    "AG": "agreement",
    "BA": "balanced_agreement",
    "JB": "judge_bias",
    "rho": "rho",
    "rho2": "rho_squared",
    "tau_max": "tau_max",
    "lambda_inf": "power_tuning_limit",
    "thm6_condition": "at_frontier",
    "n11": "both",
    "n10": "human_alone",
    "n01": "judge_alone",
    "n00": "neither",
}
BOUNDS = ("thm9_lower", "thm9_upper")
CHECKED = ("thm9_ok", "cor10_ok")  # that there is a table at all says so


def table(both=0, human=0, judge=0, neither=0):
    return Agreement(*(np.atleast_1d(np.array(n)) for n in (both, human, judge, neither)))


def real_counts(models):
    labelled = np.zeros((len(models), len(models), 4, 4), dtype=np.int64)
    rows = all_rows()
    np.add.at(labelled, (rows.a, rows.b, rows.h, rows.g), 1)
    return counts_of(labelled, np.zeros(labelled.shape[:3], dtype=np.int64))


@needs_real_votes
@pytest.mark.parametrize("section", SECTIONS)
def test_real_votes_and_gpt_4(section):
    golden = json.loads(GOLDEN.read_text())
    ties, rows = SECTIONS[section], golden[section]["gpt4"]
    own = ModelCounts.of(real_counts(golden["models"]))
    found = Agreement.of(own, ties)
    bounds = dict(zip(BOUNDS, found.rho_squared_bounds, strict=True))
    variance = (own.labelled * found.rho_influence(ties) ** 2).sum((1, 2))
    low, high = found.tau_max_interval(0.1, variance)
    for place, model in enumerate(golden["models"]):
        expected = dict(rows[model])
        interval = expected.pop("tau_ci90", None)
        assert all(expected.pop(name) for name in CHECKED)
        for name, value in expected.items():
            ours = bounds[name] if name in BOUNDS else getattr(found, PLAIN[name])
            assert ours[place] == pytest.approx(value, abs=1e-9), (model, name)
        if interval:
            # Theirs are percentiles of a bootstrap. A 5 % percentile of B draws has a standard
            # error of 2.1 standard deviations / sqrt(B): with B >= 1000, .067 of them. Three of
            # these for each bound, and as much again for what the two methods differ by.
            width = interval[1] - interval[0]
            assert low[place] == pytest.approx(interval[0], abs=0.12 * width)
            assert high[place] == pytest.approx(interval[1], abs=0.12 * width)


@needs_real_votes
def test_what_ten_votes_are_worth_with_gpt_4():
    golden = json.loads(GOLDEN.read_text())
    own = ModelCounts.of(real_counts(golden["models"]))
    ranges = [Agreement.of(own, ties).tau_max for ties in Ties]
    assert [(round(tau.min(), 2), round(tau.max(), 2)) for tau in ranges] == [
        (1.04, 1.24),
        (1.16, 1.64),
    ]


@pytest.mark.parametrize("drop", [False, True])
def test_counts_give_what_rows_give(drop):
    counts = drawn_counts(np.random.default_rng(1))
    found = Agreement.of(ModelCounts.of(counts), Ties.DROP if drop else Ties.LOSS)
    for model in range(3):
        s, judged = pairs_of(counts, model, drop=drop)
        assert found.n[model] == len(s)
        by_hand = {
            "b": s.mean(),
            "p": judged[s == 1].mean(),
            "q": 1 - judged[s == 0].mean(),
            "judge_score": judged.mean(),
            "judge_bias": (judged - s).mean(),
            "agreement": (judged == s).mean(),
            "rho": np.corrcoef(s, judged)[0, 1],
            "power_tuning_limit": np.cov(s, judged)[0, 1] / np.var(judged, ddof=1),
            "tau_max": 1 / (1 - np.corrcoef(s, judged)[0, 1] ** 2),
        }
        for name, value in by_hand.items():
            assert getattr(found, name)[model] == pytest.approx(value, abs=1e-12), name


@given(st.lists(st.integers(0, 60), min_size=4, max_size=4))
def test_the_theorems_hold_for_every_table(cells):
    """Making the table asserts the bounds; here they are written out from b, p and q."""
    found = table(*cells)
    (b,), (p,), (q,), (rho_squared,) = found.b, found.p, found.q, found.rho_squared
    if np.isnan([b, p, q, rho_squared]).any():
        return
    agreement, balanced = b * p + (1 - b) * q, (p + q) / 2
    assert found.agreement[0] == pytest.approx(agreement, abs=1e-12)
    assert found.judge_bias[0] == pytest.approx((1 - q) * (1 - b) - (1 - p) * b, abs=1e-12)
    assert 4 * b * (1 - b) * (2 * balanced - 1) ** 2 <= rho_squared + 1e-9
    assert rho_squared <= abs(2 * balanced - 1) + 1e-9
    if balanced >= 0.5:
        assert rho_squared <= min(p, q) + 1e-9
    if 0.5 <= found.agreement[0] <= b:
        assert found.at_frontier[0]
        assert found.tau_max[0] <= 2 + 1e-9
    assert abs(found.judge_bias[0]) <= found.bias_possible[0] + 1e-12
    # Proposition 4's own form of the squared correlation.
    score = found.judge_score[0]
    assert rho_squared == pytest.approx(
        b / (1 - b) * (p - score) ** 2 / (score * (1 - score)), abs=1e-9
    )


def test_a_table_that_breaks_a_theorem_is_an_error_of_the_program(monkeypatch):
    monkeypatch.setattr(Agreement, "rho", property(lambda self: np.array([0.99])))
    with pytest.raises(AssertionError, match="rho"):
        table(30, 20, 20, 30)


@pytest.mark.parametrize("bias", [0.3, -0.3])
def test_agreement_allows_any_bias_up_to_what_it_lacks(bias):
    """Proposition 2: agreement .7, and the bias is all of the missing .3, either way."""
    found = table(40, 30 * (bias < 0), 30 * (bias > 0), 30)
    assert found.agreement[0] == 0.7
    assert found.judge_bias[0] == pytest.approx(bias)
    assert found.bias_possible[0] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("cells", "known"),
    [
        ((0, 0, 0, 0), {}),
        ((9, 0, 0, 0), {"b": 1, "p": 1, "agreement": 1, "judge_bias": 0}),
        ((0, 0, 0, 9), {"b": 0, "q": 1, "agreement": 1, "judge_bias": 0}),
        ((5, 4, 0, 0), {"b": 1, "p": 5 / 9, "judge_bias": -4 / 9}),
        # The judge always says the same: no correlation, but surely no gain either.
        ((5, 0, 4, 0), {"b": 5 / 9, "p": 1, "q": 0, "tau_max": 1, "judge_bias": 4 / 9}),
        ((5, 0, 0, 4), {"rho": 1, "tau_max": np.inf, "judge_bias": 0}),
        ((0, 5, 4, 0), {"rho": -1, "tau_max": np.inf, "agreement": 0}),
    ],
)
def test_what_a_table_cannot_say_is_nan(cells, known):
    found = table(*cells)
    for name, value in known.items():
        assert getattr(found, name)[0] == pytest.approx(value), name
    unknown = {"b", "p", "q", "rho", "tau_max"} - set(known)
    if not sum(cells) or "rho" in unknown:
        assert np.isnan(found.rho[0])
    variance = np.zeros(1)
    for ties in Ties:
        assert np.isfinite(found.rho_influence(ties)).all()
        assert np.isfinite(found.bias_influence(ties)).all()
    low, high = found.tau_max_interval(0.05, variance)
    assert np.isnan(low[0]) == np.isnan(high[0])
    low, high = found.bias_interval(critical_value(0.05), variance)
    if sum(cells):
        assert -1 <= low[0] < high[0] <= 1


@pytest.mark.parametrize("ties", Ties)
def test_influences_are_derivatives(ties):
    """Adding a little weight to a kind of comparison moves the number as its influence says."""
    own = ModelCounts.of(drawn_counts(np.random.default_rng(2)))
    million = 1_000_000
    plain = Agreement.of(ModelCounts(own.models, own.labelled * million, own.unlabelled), ties)
    for h in range(3):
        for g in range(3):
            more = own.labelled * million
            more[:, h, g] += 1
            moved = Agreement.of(ModelCounts(own.models, more, own.unlabelled), ties)
            change = moved.judge_bias - plain.judge_bias
            assert change == pytest.approx(plain.bias_influence(ties)[:, h, g], abs=1e-12)
            change = np.arctanh(moved.rho) - np.arctanh(plain.rho)
            assert change == pytest.approx(plain.rho_influence(ties)[:, h, g], abs=1e-12)


def test_a_made_up_judge_gives_its_parameters_back():
    """b = .4, p = .7, q = .85; tolerance: five standard errors."""
    rng, n = np.random.default_rng(3), 200_000
    b, p, q = 0.4, 0.7, 0.85
    law = [b * p, b * (1 - p), (1 - b) * (1 - q), (1 - b) * q]
    found = table(*rng.multinomial(n, law))
    for name, value, size in (("b", b, n), ("p", p, n * b), ("q", q, n * (1 - b))):
        error = np.sqrt(value * (1 - value) / size)
        assert getattr(found, name)[0] == pytest.approx(value, abs=5 * error)
    score = law[0] + law[2]
    assert found.rho_squared[0] == pytest.approx(
        b / (1 - b) * (p - score) ** 2 / (score * (1 - score)), abs=0.01
    )


@pytest.mark.parametrize(("n", "b", "p", "q"), [(80, 0.5, 0.8, 0.8), (300, 0.2, 0.5, 0.9)])
def test_intervals_cover(n, b, p, q):
    """Of the bias and of the ceiling: tolerance three binomial standard errors, 4,000 tables."""
    rng, repeats = np.random.default_rng(4), 4_000
    law = np.array([b * p, b * (1 - p), (1 - b) * (1 - q), (1 - b) * q])
    cells = rng.multinomial(n, law, size=repeats).T
    found = Agreement(*cells)
    both, human, judge, neither = law
    rho = (both * neither - human * judge) / np.sqrt(
        b * (1 - b) * (both + judge) * (human + neither)
    )
    labelled = np.zeros((repeats, 3, 3), dtype=np.int64)
    labelled[:, 0, 0], labelled[:, 0, 1], labelled[:, 1, 0], labelled[:, 1, 1] = cells
    variance = (labelled * found.rho_influence(Ties.LOSS) ** 2).sum((1, 2))
    critical = critical_value(0.05)
    within = 3 * np.sqrt(0.05 * 0.95 / repeats)
    for (low, high), truth in (
        (found.bias_interval(critical), judge - human),
        (found.tau_max_interval(0.05, variance), 1 / (1 - rho**2)),
    ):
        assert ((low <= truth) & (truth <= high)).mean() == pytest.approx(0.95, abs=within)


def test_a_comparison_that_is_there_three_times_says_no_more_of_the_bias():
    """Copies of a prompt have the variance of one: the interval is as without them."""
    cells = 30, 9, 4, 21
    bias = np.repeat([0, -1, 1, 0], cells)  # of each comparison: the judge alone, or people alone
    variance = np.array([bias.var() / len(bias)])
    critical = critical_value(0.05)
    copied = table(*(3 * each for each in cells)).bias_interval(critical, variance)
    np.testing.assert_allclose(copied, table(*cells).bias_interval(critical), rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.1])
@pytest.mark.parametrize("n", [15, 40])
def test_the_ceiling_holds_with_few_checked(n, alpha):
    """Exactly: every table there is, by its probability; the easy benchmark held in .66."""
    three = np.array(list(product(range(n + 1), repeat=3)))
    cells = np.column_stack([three, n - three.sum(axis=1)])
    cells = cells[cells[:, 3] >= 0].astype(np.int64)
    found = Agreement(*cells.T)
    labelled = np.zeros((len(cells), 3, 3), dtype=np.int64)
    labelled[:, [0, 0, 1, 1], [0, 1, 0, 1]] = cells
    variance = (labelled * found.rho_influence(Ties.LOSS) ** 2).sum((1, 2))
    low, high = found.tau_max_interval(alpha, variance)
    for b, p, q in product((0.5, 0.7, 0.9), (0.5, 0.8, 0.95), (0.1, 0.5, 0.8)):
        law = np.array([b * p, b * (1 - p), (1 - b) * (1 - q), (1 - b) * q])
        likely = scipy.stats.multinomial(n, law).pmf(cells)
        score = law[0] + law[2]
        rho = (law[0] - b * score) / np.sqrt(b * (1 - b) * score * (1 - score))
        held = (low <= 1 / (1 - rho**2) + 1e-12) & (1 / (1 - rho**2) <= high)
        given = likely[np.isfinite(low)]  # a table that says nothing has no interval
        assert given @ held[np.isfinite(low)] / given.sum() > 1 - alpha - 0.012, (b, p, q)


def test_large_tables_have_a_normal_interval_and_perfect_ones_none():
    found = table(40, 12, 9, 30)
    variance = np.array([0.01])
    half = scipy.stats.norm.ppf(0.975) * 0.1
    ends = 1 / (1 - np.tanh(np.arctanh(found.rho[0]) + np.array([-half, half])) ** 2)
    assert np.concatenate(found.tau_max_interval(0.05, variance)) == pytest.approx(ends)
    assert np.isnan(table(9, 0, 0, 6).tau_max_interval(0.05, np.zeros(1))).all()
    idle = np.concatenate(table(9, 0, 6, 0).tau_max_interval(0.05, np.zeros(1)))
    assert idle[0] == 1 < idle[1]
