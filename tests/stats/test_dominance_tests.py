"""Tests of dominance: the bootstrap by another route, levels, power, and bad input."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from coupled_arena.core.choices import Correction, PValues
from coupled_arena.stats.risk.dominance import Order, one_against_all, violation_ratios
from coupled_arena.stats.risk.dominance_draws import bootstrap_ratios, swap_p_values
from coupled_arena.stats.risk.dominance_tests import (
    DominancePlan,
    compare_models,
    fewest_bootstraps,
    samples_needed,
)
from tests.stats.dominance_routes import by_arrays, second_order_of_laws

WORD = 2**64


def normal(rng, n, *means):
    return rng.normal(size=(len(means), n)) + np.array(means)[:, None]


def splitmix(state):
    """SplitMix64 in Python's integers."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % WORD
        word = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
        yield word ^ (word >> 31)


def drawn(seed, n):
    """Places of n scores drawn with replacement: two to a word, low half first."""
    words = splitmix(seed)
    halves = (half for word in words for half in (word % 2**32, word >> 32))
    return [(half * n) >> 32 for _, half in zip(range(n), halves, strict=False)]


def test_splitmix_gives_the_published_words():
    words = splitmix(1234567)
    assert [next(words) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize("repetitions", [1, 3])
@pytest.mark.parametrize(
    ("sizes", "paired"),
    [((7, 7, 7), True), ((600, 600), True), ((7, 7, 7), False), ((5, 8), False)],
)
def test_bootstrap_samples_by_another_route(sizes, paired, repetitions):
    rng = np.random.default_rng(4)
    samples = [rng.integers(-4, 5, n * repetitions).astype(float) for n in sizes]
    ratios = bootstrap_ratios(samples, 3, paired=paired, seed=9, repetitions=repetitions)
    seeds = np.random.SeedSequence(9).generate_state(3, np.uint64)
    for b, seed in enumerate(seeds.tolist()):
        resampled = [
            x.reshape(n, repetitions)[
                drawn((seed + (0 if paired else m) * 0xBF58476D1CE4E5B9) % WORD, n)
            ].ravel()
            for m, (x, n) in enumerate(zip(samples, sizes, strict=True))
        ]
        for pair, (i, j) in enumerate(combinations(range(len(sizes)), 2)):
            wanted = by_arrays(resampled[i], resampled[j])
            assert ratios[:, b, pair] == pytest.approx(wanted, abs=1e-10)


def test_the_loops_for_equal_and_other_sizes_agree():
    rng = np.random.default_rng(5)
    x = normal(rng, 700, 0.0, 0.1, 0.0)
    even = bootstrap_ratios(x, 400, paired=False, seed=1)
    uneven = bootstrap_ratios([x[0], x[1], x[2, :-1]], 400, paired=False, seed=1)
    # The third model has one score less; the first two are the same.
    assert uneven[:, :, 0] == pytest.approx(even[:, :, 0], abs=1e-9)


def test_the_seed_decides():
    x = np.random.default_rng(0).normal(size=(3, 50))
    one, again, other = (bootstrap_ratios(x, 250, paired=True, seed=s) for s in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_p_values_from_the_samples_themselves():
    rng = np.random.default_rng(3)
    x = normal(rng, 60, 0.0, 0.2, 0.4)
    plan = DominancePlan(
        bootstraps=300, correction=Correction.NONE, threshold=0.4, p_values=PValues.PERCENTILE
    )
    found = compare_models(x, plan)
    pairs = bootstrap_ratios(x, 300, paired=True)
    for order in Order:
        matrices = np.full((300, 3, 3), 0.5)
        for pair, (i, j) in enumerate(combinations(range(3), 2)):
            matrices[:, i, j] = pairs[order - 1, :, pair]
            matrices[:, j, i] = 1 - pairs[order - 1, :, pair]
        means = one_against_all(matrices)
        gaps = means[:, :, None] - means[:, None, :]
        off = ~np.eye(3, dtype=bool)
        one = found[order]
        assert one.violation == pytest.approx(violation_ratios(list(x))[order - 1])
        assert one.relative.p_values[off] == pytest.approx(((1 + (gaps >= 0).sum(0)) / 301)[off])
        against = (1 + (matrices >= 0.4).sum(0)) / 301
        assert one.absolute.p_values[off] == pytest.approx(against[off])
        assert one.relative.deviation == pytest.approx(gaps.std(0, ddof=1), abs=1e-12)
        assert one.absolute.deviation == pytest.approx(matrices.std(0, ddof=1), abs=1e-12)


def test_corrections_by_hand():
    rng = np.random.default_rng(3)
    x = normal(rng, 60, 0.0, 0.2, 0.4)

    def adjusted(correction):
        plan = DominancePlan(bootstraps=300, correction=correction)
        return compare_models(x, plan)[Order.FIRST].relative

    off = ~np.eye(3, dtype=bool)
    p = adjusted(Correction.NONE).adjusted[off]
    assert adjusted(Correction.BONFERRONI).adjusted[off] == pytest.approx(np.minimum(9 * p, 1))
    steps = [max(min(1, (6 - r) * q) for r, q in enumerate(sorted(p)[: s + 1])) for s in range(6)]
    assert sorted(adjusted(Correction.HOLM).adjusted[off]) == pytest.approx(steps)
    harmonic = sum(1 / i for i in range(1, 7))
    levels = [
        min(min(1, 6 * harmonic * q / (r + 1)) for r, q in list(enumerate(sorted(p)))[s:])
        for s in range(6)
    ]
    assert sorted(adjusted(Correction.FDR).adjusted[off]) == pytest.approx(levels)


def test_borda_counts_wins_and_shows_ties():
    rng = np.random.default_rng(3)
    prompts = rng.normal(size=400)
    x = np.stack([prompts, prompts, prompts + 1 + 0.1 * rng.normal(size=400), prompts - 1])
    for one in compare_models(x, DominancePlan(bootstraps=999)).values():
        assert one.relative.borda.tolist() == [1, 1, 3, 0]
        assert one.relative.ranks.tolist() == [2, 2, 1, 4]
        assert one.ranking[0] == 2
        assert one.ranking[-1] == 3


@pytest.mark.parametrize("p_values", PValues)
def test_identical_models_never_win(p_values):
    prompts = np.random.default_rng(3).normal(size=200)
    others = np.random.default_rng(4).normal(size=(2, 200))
    x = np.stack([prompts, others[0], prompts, others[1], prompts])
    for one in compare_models(x, DominancePlan(bootstraps=999, p_values=p_values)).values():
        assert not one.relative.wins[np.ix_([0, 2, 4], [0, 2, 4])].any()
        assert one.relative.p_values[0, 4] == 1


@pytest.mark.parametrize("p_values", PValues)
def test_constant_scores(p_values):
    x = np.array([[1.0] * 30, [0.0] * 30])
    for one in compare_models(x, DominancePlan(bootstraps=999, p_values=p_values)).values():
        assert one.relative.wins.tolist() == [[False, True], [False, False]]
        assert one.absolute.wins.tolist() == [[False, True], [False, False]]


def rejections(draw, plan, repeats, pairs, seed=1):
    """Share of repeats in which any of some pairs is won, by (order, kind)."""
    rng = np.random.default_rng(seed)
    found = {(order, kind): 0 for order in Order for kind in ("relative", "absolute")}
    for _ in range(repeats):
        result = compare_models(draw(rng), plan)
        for order, kind in found:
            found[order, kind] += getattr(result[order], kind).wins[pairs].any()
    return {key: hits / repeats for key, hits in found.items()}


def nominal(level, repeats):
    return level + 3 * (level * (1 - level) / repeats) ** 0.5


BOUNDARY = DominancePlan(bootstraps=499, paired=False, correction=Correction.NONE, threshold=0.5)
EVERY = (slice(None), slice(None))


def wider(rng):
    """Two laws with a first violation ratio of one half."""
    return [rng.normal(0, 1, 300), rng.normal(0, 2, 300)]


@pytest.mark.slow
def test_false_positives_at_the_boundary_of_the_first_order():
    found = rejections(wider, BOUNDARY, 400, (0, 1))
    for kind in ("relative", "absolute"):
        assert found[Order.FIRST, kind] <= nominal(0.05, 400)
    assert found[Order.SECOND, "relative"] > 0.9  # where the narrower one does dominate


def test_the_printed_algorithm_rejects_half_of_the_time():
    published = DominancePlan(
        bootstraps=199,
        paired=False,
        correction=Correction.NONE,
        threshold=0.5,
        p_values=PValues.PUBLISHED,
    )
    found = rejections(wider, published, 300, (0, 1))
    for kind in ("relative", "absolute"):
        assert found[Order.FIRST, kind] == pytest.approx(0.5, abs=3 * 0.5 / 300**0.5)


@pytest.mark.slow
def test_family_wise_errors_of_identical_models():
    found = rejections(
        lambda rng: rng.normal(size=(5, 80)),
        DominancePlan(bootstraps=599, paired=False),  # 25 / .05 - 1 are needed to reject
        300,
        EVERY,
    )
    for order in Order:
        assert found[order, "relative"] <= nominal(0.05, 300)


def heavy(rng):
    """Eight equal models, whose violation ratios hang on the few best replies."""
    return np.exp(rng.normal(size=(8, 50)))


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
def test_swap_p_values_hold_in_heavy_tails(paired):
    """The bootstrap alone is wrong in about a tenth of such tables."""
    settings = {"bootstraps": 1279, "paired": paired}
    found = rejections(heavy, DominancePlan(**settings), 80, EVERY)
    alone = rejections(heavy, DominancePlan(**settings, p_values=PValues.PERCENTILE), 80, EVERY)
    for key, share in found.items():
        assert share <= min(nominal(0.05, 80), alone[key])
    assert found[Order.FIRST, "relative"] < alone[Order.FIRST, "relative"]


def grades(rng, k=5):
    """Equal models with grades from 1 to 5 on 20 prompts, of correlation one half."""
    merit = rng.normal(size=(k, 20)) + rng.normal(size=20)
    return np.digitize(merit / 2**0.5, norm.ppf([0.2, 0.4, 0.6, 0.8])) + 1.0


def test_a_win_has_no_smaller_p_value_than_the_exact_test():
    rng = np.random.default_rng(2)
    plan, wins = DominancePlan(bootstraps=399, correction=Correction.NONE), 0
    for _ in range(20):
        x = grades(rng)
        found = compare_models(x, plan)
        for order in Order:
            won = found[order].relative
            at = list(zip(*np.nonzero(won.wins), strict=True))
            exact = swap_p_values(list(x), at, plan.bootstraps, paired=True)[order - 1]
            assert (won.p_values[won.wins] >= exact).all()
            wins += len(at)
    assert wins > 5


@pytest.mark.slow
def test_family_wise_errors_of_grades_on_few_prompts():
    """By a quarter of the exact test's p-value wins were wrong in .063 of 2,000 such tables."""
    found = rejections(grades, DominancePlan(bootstraps=1000), 600, EVERY)
    for share in found.values():
        assert share <= nominal(0.04, 600)  # 20 tests at .05 / 25 each


@pytest.mark.slow
@pytest.mark.parametrize("law", ["lognormal", "t"])
@pytest.mark.parametrize(("k", "n"), [(2, 50), (4, 100), (8, 50), (8, 200)])
@pytest.mark.parametrize("paired", [False, True])
def test_family_wise_errors_in_heavy_tails(law, k, n, paired):
    def draw(rng):
        size = (k + 1, n)
        x = rng.standard_t(3, size=size) if law == "t" else np.exp(rng.normal(size=size))
        return x[:k] + paired * x[k]

    found = rejections(draw, DominancePlan(bootstraps=2 * 20 * k**2, paired=paired), 400, EVERY)
    for share in found.values():
        assert share <= nominal(0.05, 400)


@pytest.mark.slow
def test_the_bootstrap_alone_fails_in_heavy_tails():
    alone = DominancePlan(bootstraps=2559, p_values=PValues.PERCENTILE)
    found = rejections(lambda rng: np.exp(rng.normal(size=(8, 50))), alone, 400, EVERY)
    assert found[Order.FIRST, "relative"] > nominal(0.05, 400)


def repeated(rng):
    """Two models on 60 prompts, 5 replies to each, which depend on the prompt."""
    prompts = rng.normal(size=(2, 60, 1))
    return (prompts + 0.5 * rng.normal(size=(2, 60, 5))).reshape(2, -1)


@pytest.mark.slow
def test_replies_to_one_prompt_are_not_independent():
    settings = {"bootstraps": 199, "paired": False, "correction": Correction.NONE}
    whole = rejections(repeated, DominancePlan(**settings, repetitions=5), 400, (0, 1))
    apart = rejections(repeated, DominancePlan(**settings), 100, (0, 1))
    for order in Order:
        assert whole[order, "relative"] <= nominal(0.05, 400)
        assert apart[order, "relative"] > 0.15


def shifted(rng):
    """Two models .1 apart whose scores have correlation .8."""
    prompts = rng.normal(size=1000)
    own = rng.normal(size=(2, 1000))
    return 0.8**0.5 * prompts + 0.2**0.5 * own + [[0.1], [0.0]]


@pytest.mark.slow
def test_pairing_keeps_its_power():
    paired = rejections(shifted, DominancePlan(bootstraps=499), 100, (0, 1))
    apart = rejections(shifted, DominancePlan(bootstraps=499, paired=False), 100, (0, 1))
    for order in Order:
        assert paired[order, "relative"] > 0.9
        assert apart[order, "relative"] < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("correction", [Correction.BONFERRONI, Correction.HOLM])
def test_family_wise_errors_of_twelve_identical_models(paired, correction):
    def draw(rng):
        return rng.normal(size=(12, 200)) + paired * rng.normal(size=200)

    plan = DominancePlan(bootstraps=4000, paired=paired, correction=correction)
    found = rejections(draw, plan, 400, EVERY)
    for order in Order:
        assert found[order, "relative"] <= nominal(0.05, 400)


@pytest.mark.slow
@pytest.mark.parametrize("p_values", [PValues.APPROXIMATE, PValues.PUBLISHED])
def test_normal_laws_fail_for_twelve_identical_models(p_values):
    plan = DominancePlan(bootstraps=1000, paired=False, p_values=p_values)
    found = rejections(lambda rng: rng.normal(size=(12, 200)), plan, 100, EVERY)
    for order in Order:
        assert found[order, "relative"] > 0.5


@pytest.mark.slow
def test_false_positives_at_both_boundaries():
    """In the second order N(m, 2) and N(0, 1) are even at m = .478369."""
    shift = 0.478369
    assert second_order_of_laws(norm(shift, 2), norm(0, 1)) == pytest.approx(0.5, abs=1e-5)
    draws = {
        Order.FIRST: wider,
        Order.SECOND: lambda rng: [rng.normal(shift, 2, 2000), rng.normal(0, 1, 2000)],
    }
    for order, draw in draws.items():
        for pair in ((0, 1), (1, 0)):
            found = rejections(draw, BOUNDARY, 1000, pair)
            assert found[order, "relative"] <= nominal(0.05, 1000)


def test_too_few_bootstrap_samples_cannot_reject():
    assert fewest_bootstraps(12, DominancePlan()) == 144 / 0.05 - 1
    x = np.array([[1.0] * 30, [0.0] * 30, [-1.0] * 30])
    least = fewest_bootstraps(3, DominancePlan())
    for draws, possible in ((least, True), (least - 1, False)):
        result = compare_models(x, DominancePlan(bootstraps=draws))
        assert result[Order.FIRST].relative.wins.any() == possible


def test_samples_that_second_order_takes():
    """About 120,000 for N(0, 1) against N(0.5, 2), whose ratio is .45, at 95 % power."""
    rng = np.random.default_rng(2)
    n, plan = 40_000, DominancePlan(bootstraps=400, paired=False, correction=Correction.NONE)
    tests = compare_models([rng.normal(0, 1, n), rng.normal(0.5, 2, n)], plan)
    gap = 2 * second_order_of_laws(norm(0, 1), norm(0.5, 2)) - 1
    needed = samples_needed(tests[Order.SECOND].relative, n, plan, gap)[0, 1]
    assert needed == pytest.approx(120_000, rel=0.15)  # a standard deviation of 400 is off by 4 %


@pytest.mark.parametrize(
    ("samples", "settings", "complaint"),
    [
        ([[1.0, 2.0]], {}, "two models"),
        ([[1.0], [2.0]], {}, "two prompts"),
        ([[1.0, 2.0], [1.0]], {"paired": False}, "two prompts"),
        ([[1.0, 2.0], [1.0, 2.0, 3.0]], {}, "same prompts"),
        ([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], {"repetitions": 2}, "two prompts"),
        ([[1.0, 2.0, 3.0] * 3] * 2, {"repetitions": 2}, "as many scores"),
        ([[1.0, np.nan], [1.0, 2.0]], {}, "finite"),
        ([[1.0, np.inf], [1.0, 2.0]], {}, "finite"),
    ],
)
def test_samples_that_make_no_sense(samples, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        compare_models([np.array(x) for x in samples], DominancePlan(bootstraps=10, **settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": float("nan")},
        {"threshold": 0},
        {"threshold": 0.6},
        {"bootstraps": 1},
        {"repetitions": 0},
        {"seed": -1},
    ],
)
def test_settings_out_of_range(settings):
    with pytest.raises(ValueError, match=next(iter(settings)).removesuffix("s")):
        DominancePlan(**settings)
