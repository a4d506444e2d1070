"""Coupled against independent: from counts, against rows in plain loops."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import norm as normal
from scipy.stats import t as t_law

from coupled_arena.stats.counts import OUTCOMES, PairCounts
from coupled_arena.stats.coupling.modes import compare_modes, stars

MODELS = ("x", "y", "z")


def drawn(seed, n, per_prompt=1):
    """Return rows (prompt, mode, a, b, outcome) with an effect of the prompt."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        prompt = i // per_prompt
        lean = np.random.default_rng((seed, prompt)).dirichlet(np.ones(4))
        a, b = rng.choice(3, 2, replace=False)
        rows.append((prompt, int(rng.integers(2)), a, b, int(rng.choice(4, p=lean))))
    return rows


def counted(rows, mode):
    return PairCounts.from_rows(
        ((MODELS[a], MODELS[b], OUTCOMES[o], 1) for _, m, a, b, o in rows if m == mode), MODELS
    )


def won(row, model, other):
    """Return 1 or 0 for a comparison of the two, None for any other."""
    _, _, a, b, outcome = row
    if (a, b) == (model, other):
        return float(outcome == 0)
    return float(outcome == 1) if (b, a) == (model, other) else None


def by_rows(rows, model, other):
    """Return both rates, and the variance of their difference clustered by prompt."""
    wins = [[won(r, model, other) for r in rows if r[1] == mode] for mode in (0, 1)]
    wins = [[w for w in one if w is not None] for one in wins]
    rates = [float(np.mean(one)) for one in wins]
    sums = defaultdict(float)
    for row in rows:
        if (w := won(row, model, other)) is not None:
            n = len(wins[row[1]])
            sums[row[0]] += (1 - 2 * row[1]) * (w - rates[row[1]]) / (n * (n - 1)) ** 0.5
    return rates, sum(s * s for s in sums.values()), [len(one) for one in wins]


def test_one_comparison_a_prompt():
    rows = drawn(1, 300)
    found = compare_modes(counted(rows, 0), counted(rows, 1))
    for i, j in permutations(range(3), 2):
        rates, variance, sizes = by_rows(rows, i, j)
        assert (found.pairs.coupled[i, j], found.pairs.independent[i, j]) == pytest.approx(rates)
        assert found.pairs.variance[i, j] == pytest.approx(variance)
        spread = sum(r * (1 - r) / (n - 1) for r, n in zip(rates, sizes, strict=True))
        assert variance == pytest.approx(spread)  # the textbook's formula


def clustered_by_hand(rows, found):
    """Sum the influence of each prompt, with a loop over rows."""
    pairs = defaultdict(lambda: np.zeros((3, 3)))
    models = defaultdict(lambda: np.zeros(3))
    ties = defaultdict(float)
    for prompt, mode, a, b, outcome in rows:
        for role, (m, o) in enumerate(((a, b), (b, a))):
            pairs[prompt][m, o] += found.influence.pairs[mode, a, b, outcome, role]
            models[prompt][m] += found.influence.models[mode, a, b, outcome, role]
        ties[prompt] += found.influence.ties[mode, a, b, outcome].sum()
    return (
        sum(s**2 for s in pairs.values()),
        sum(s**2 for s in models.values()),
        sum(s**2 for s in ties.values()),
    )


def test_clusters():
    rows = drawn(2, 900, per_prompt=6)
    plain = compare_modes(counted(rows, 0), counted(rows, 1))
    pairs, models, ties = clustered_by_hand(rows, plain)
    prompts = np.array([[_prompts(rows, i, j) for j in range(3)] for i in range(3)])
    found = plain.clustered((pairs, prompts), (models, 150), (ties, 150))
    for i, j in permutations(range(3), 2):
        few = (prompts[i, j] / (prompts[i, j] - 1)) ** 2  # the jackknife's factor
        assert found.pairs.variance[i, j] == pytest.approx(few * by_rows(rows, i, j)[1])
    t = found.pairs.difference[0, 1] / found.pairs.variance[0, 1] ** 0.5
    assert found.pairs.p_value[0, 1] == pytest.approx(2 * t_law.sf(abs(t), prompts[0, 1] - 1))
    assert found.averages.variance != pytest.approx(plain.averages.variance, rel=0.01)


def _prompts(rows, i, j):
    return len({prompt for prompt, _, a, b, _ in rows if {a, b} == {i, j}})


def test_one_prompt_proves_nothing():
    rows = drawn(5, 60, per_prompt=60)
    plain = compare_modes(counted(rows, 0), counted(rows, 1))
    one = np.ones((3, 3), dtype=int)
    found = plain.clustered((plain.pairs.variance, one), (plain.averages.variance, 1), (1.0, 1))
    assert found.tie_interval(0.05) == (-1, float("inf"))
    assert np.isnan(found.pairs.p_value).all()
    assert np.isnan(found.averages.p_value).all()


def test_clusters_of_one_are_no_clusters():
    rows = drawn(3, 400)
    plain = compare_modes(counted(rows, 0), counted(rows, 1))
    pairs, models, ties = clustered_by_hand(rows, plain)
    assert ties == pytest.approx(plain.tie_variance, rel=1e-12)
    assert pairs == pytest.approx(plain.pairs.variance, rel=1e-12)
    assert models == pytest.approx(plain.averages.variance, rel=1e-12)


def test_averages_are_over_opponents():
    rows = drawn(4, 500)
    found = compare_modes(counted(rows, 0), counted(rows, 1))
    assert found.averages.coupled == pytest.approx(np.nanmean(found.pairs.coupled, axis=1))
    assert found.averages.difference == pytest.approx(np.nanmean(found.pairs.difference, axis=1))
    apart = np.nansum(found.pairs.variance, axis=1)  # different opponents, different comparisons
    assert found.averages.variance == pytest.approx(apart / 2**2)


def test_the_published_test_is_the_pooled_z():
    """30 of 50 against 20 of 50: z = .2 / sqrt(.5 x .5 x 2/50) = 2, p = .0455."""
    rows = [("x", "y", "first", 30), ("x", "y", "tie", 20)]
    other = [("x", "y", "first", 20), ("x", "y", "tie", 30)]
    found = compare_modes(PairCounts.from_rows(rows), PairCounts.from_rows(other))
    assert found.published_p_value[0, 1] == pytest.approx(0.0455, abs=1e-4)
    assert (found.coupled_ties[0, 1], found.independent_ties[0, 1]) == (0.4, 0.6)
    assert found.tie_change == pytest.approx(-1 / 3)


def test_the_change_of_ties_has_the_interval_of_a_risk_ratio():
    """20 of 50 against 30 of 50: log(2/3) ± 1.96 sqrt(.6/(49 x .4) + .4/(49 x .6))."""
    rows = [("x", "y", "first", 30), ("x", "y", "tie", 20)]
    other = [("x", "y", "first", 20), ("x", "y", "both_bad", 30)]
    found = compare_modes(PairCounts.from_rows(rows), PairCounts.from_rows(other))
    error = (0.6 / (49 * 0.4) + 0.4 / (49 * 0.6)) ** 0.5
    expected = [2 / 3 * np.exp(sign * 1.959964 * error) - 1 for sign in (-1, 1)]
    assert found.tie_interval(0.05) == pytest.approx(expected)
    nobody = compare_modes(
        PairCounts.from_rows(rows), PairCounts.from_rows([("x", "y", "first", 9)])
    )
    assert nobody.tie_interval(0.05) == (-1, float("inf"))


@pytest.mark.parametrize("per_prompt", [1, 5])
def test_the_interval_of_the_change_of_ties_holds_it(per_prompt):
    """Prompts that tie often or seldom, under both protocols: a change of a fifth."""
    rng, repeats, held = np.random.default_rng(12), 400, 0
    prompts = 400 // per_prompt
    for _ in range(repeats):
        tied = np.stack([rng.beta(2, 3, prompts) * 0.8, rng.beta(2, 3, prompts)])
        n = rng.binomial(per_prompt, tied)
        both = [
            PairCounts.from_rows(
                [("x", "y", "tie", int(m.sum())), ("x", "y", "first", int(400 - m.sum()))]
            )
            for m in n
        ]
        found = compare_modes(*both)
        ours = found.influence.ties[:, 0, 1].sum(-1)  # (mode, outcome)
        sums = n * ours[:, [2]] + (per_prompt - n) * ours[:, [0]]
        squares = float((sums**2).sum())
        one = np.ones((2, 2), dtype=int)
        pairs, averages = (found.pairs.variance, one), (found.averages.variance, 1)
        low, high = found.clustered(pairs, averages, (squares, 2 * prompts)).tie_interval(0.05)
        held += low <= -0.2 <= high
    assert held / repeats >= 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5


@pytest.mark.slow
def test_the_test_holds_its_level():
    """Both protocols alike: rejected at .05 in about one of twenty."""
    repeats, rng = 2000, np.random.default_rng(9)
    rejected = 0
    for _ in range(repeats):
        tables = rng.multinomial(60, [0.35, 0.25, 0.3, 0.1], 2)
        both = [PairCounts(("x", "y"), _one_pair(table)) for table in tables]
        rejected += bool(compare_modes(*both).pairs.p_value[0, 1] < 0.05)
    # at 60 a side the normal approximation itself is off by about .005
    assert rejected / repeats == pytest.approx(0.05, abs=3 * (0.05 * 0.95 / repeats) ** 0.5 + 0.005)


def _one_pair(table):
    counts = np.zeros((2, 2, 4), dtype=np.int64)
    counts[0, 1] = table
    return counts


def test_flipped_rankings_are_named():
    coupled = PairCounts.from_rows([("x", "y", "first", 6), ("x", "y", "second", 5)])
    independent = PairCounts.from_rows([("x", "y", "first", 5), ("x", "y", "second", 6)])
    assert compare_modes(coupled, independent).flips == (("x", "y"),)
    assert compare_modes(coupled, coupled).flips == ()


def test_a_handful_of_votes_is_no_proof():
    """3 of 3 against 0 of 2 is nothing; 6 of 6 against 3 of 6 has only one side that varied."""
    found = compare_modes(
        PairCounts.from_rows([("x", "y", "first", 3), ("x", "z", "first", 6)], MODELS),
        PairCounts.from_rows(
            [("x", "y", "second", 2), ("x", "z", "first", 3), ("x", "z", "second", 3)], MODELS
        ),
    )
    assert np.isnan(found.pairs.p_value[0, 1])
    assert np.isnan(found.averages.p_value[1])
    variance = 0.25 / 5 + 6.5 * 0.5 / 49 / 6  # p (1 - p)/(n - 1), and (w + 1/2)/(n + 1) for 6 of 6
    assert found.pairs.p_value[0, 2] == pytest.approx(2 * normal.sf(0.5 / variance**0.5))
    assert found.averages.p_value[0] == pytest.approx(found.pairs.p_value[0, 2])


def test_what_is_missing_is_nan_and_never_a_star():
    coupled = PairCounts.from_rows([("x", "y", "first", 6)], MODELS)
    independent = PairCounts.from_rows([("x", "z", "first", 6), ("x", "y", "first", 2)], MODELS)
    found = compare_modes(coupled, independent)
    assert np.isnan(found.pairs.difference[0, 2])
    assert np.isnan(found.averages.difference[2])
    assert found.pairs.difference[0, 1] == 0
    assert np.isnan(found.pairs.p_value).all()
    assert stars(np.nan) == ""


@pytest.mark.parametrize(
    ("p", "mark"), [(0.05, ""), (0.049, "*"), (0.009, "**"), (0.0009, "***"), (1e-5, "****")]
)
def test_stars(p, mark):
    assert stars(p) == mark


def test_only_the_same_models_can_be_compared():
    with pytest.raises(ValueError, match="same models"):
        compare_modes(PairCounts.from_rows([], MODELS), PairCounts.from_rows([], ("x", "y")))
