"""Deviations of violation ratios from theory, against weights, bootstrap and repeated draws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from coupled_arena.papers.risk.violation_ratios import influences, limit_deviations
from coupled_arena.stats.risk.dominance import compare, violation_ratios
from coupled_arena.stats.risk.dominance_draws import bootstrap_ratios

COPIES = 20_000


@pytest.mark.parametrize(("n", "m"), [(5, 4), (5, 7), (6, 6)])
def test_an_influence_is_what_one_more_copy_of_a_score_does(n, m):
    rng = np.random.default_rng(n * m)
    x, y = np.sort(rng.normal(size=n)), np.sort(rng.normal(0.2, 1.5, size=m))
    many, others = np.repeat(x, COPIES), np.repeat(y, COPIES)
    before = np.array(compare(many, others))
    fewer = np.array([compare(np.delete(many, at * COPIES), others) for at in range(n)])
    more = np.array([compare(np.sort(np.append(many, score)), others) for score in x])
    # Where both quantiles step at once the two sides differ, and theory takes their mean.
    slopes = ((more - before) * (n * COPIES + 1) + (before - fewer) * (n * COPIES - 1)) / 2
    assert influences(x, y) == pytest.approx(slopes.T, abs=2e-4)
    assert influences(x, y).sum(axis=1) == pytest.approx([0, 0], abs=1e-12)


def samples(seed, size, together):
    rng = np.random.default_rng(seed)
    common = together * rng.normal(size=size)
    return [
        common + rng.normal(size=size),
        common + 0.2 + 1.5 * rng.normal(size=size),
        0.5 * common + rng.exponential(size=size) - 0.8,
    ]


def spreads(given, drawn):
    """Return the bootstrap's deviations of all ratios and of all differences of means."""
    k = len(given)
    pairs = list(combinations(range(k), 2))
    ratios = np.full((drawn.shape[0], k, k), 0.5)
    for at, (i, j) in enumerate(pairs):
        ratios[:, i, j], ratios[:, j, i] = drawn[:, at], 1 - drawn[:, at]
    means = (ratios.sum(axis=2) - 0.5) / (k - 1)
    return (
        np.array([ratios[:, i, j].std() for i, j in pairs]),
        np.array([(means[:, i] - means[:, j]).std() for i, j in pairs]),
    )


@pytest.mark.parametrize("paired", [True, False])
def test_theory_and_bootstrap_agree(paired):
    """To 2 % of drawing 4,000 times, and what a ratio bends within one deviation."""
    given = samples(3, 4000, together=1.0)
    limits = limit_deviations(given, paired=paired)
    drawn = bootstrap_ratios(given, 4000, paired=paired, seed=1)
    places = tuple(zip(*combinations(range(3), 2), strict=True))
    for order in range(2):
        absolute, relative = spreads(given, drawn[order])
        # A ratio that is nearly 0 or 1 bends so much that there is no normal law to speak of.
        decided = np.abs(violation_ratios(given)[order][places] - 0.5) > 0.5 - absolute * 3
        ours = limits.absolute[order][places]
        assert ours[~decided] == pytest.approx(absolute[~decided], rel=0.1)
        assert limits.relative[order][places] == pytest.approx(relative, rel=0.15)


@pytest.mark.slow
def test_theory_agrees_with_repeated_draws():
    estimates = np.array(
        [violation_ratios(samples(seed, 1500, 1.0))[:, 0, 1] for seed in range(800)]
    )
    said = np.array(
        [
            limit_deviations(samples(seed, 1500, 1.0), paired=True).absolute[:, 0, 1]
            for seed in range(60)
        ]
    )
    # 800 draws leave 2.5 % of a deviation open; twice that, and a little for the bend.
    assert np.sqrt((said**2).mean(axis=0)) == pytest.approx(estimates.std(axis=0), rel=0.12)


def test_the_unit_of_the_scores_does_not_matter():
    given = samples(5, 300, together=0.5)
    ours = limit_deviations(given, paired=True)
    scaled = limit_deviations([1000 * x + 7 for x in given], paired=True)
    assert scaled.absolute == pytest.approx(ours.absolute, rel=1e-9)
    assert scaled.relative == pytest.approx(ours.relative, rel=1e-9)


def test_repeated_scores_of_a_prompt_count_together():
    given = samples(6, 200, together=0.5)
    once = limit_deviations(given, paired=True)
    twice = limit_deviations([np.repeat(x, 2) for x in given], paired=True, repetitions=2)
    assert twice.absolute == pytest.approx(once.absolute, rel=1e-9)
    apart = limit_deviations([np.repeat(x, 2) for x in given], paired=True)
    assert apart.absolute == pytest.approx(once.absolute / 2**0.5, rel=1e-9)


def test_equal_samples_have_no_law():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 50))
    limits = limit_deviations([x, x, y], paired=False)
    assert np.isnan(limits.absolute[:, 0, 1]).all()
    assert np.isfinite(limits.absolute[:, 0, 2]).all()


@pytest.mark.parametrize(
    ("sizes", "paired", "repetitions", "said"),
    [((4, 5), True, 1, "same prompts"), ((4, 5), False, 2, "repetitions")],
)
def test_samples_that_do_not_fit(sizes, paired, repetitions, said):
    with pytest.raises(ValueError, match=said):
        limit_deviations(
            [np.arange(float(n)) for n in sizes], paired=paired, repetitions=repetitions
        )
