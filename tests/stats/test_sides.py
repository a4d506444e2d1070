"""What being shown first does, and whether sides were drawn by lot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from coupled_arena.core.choices import Weighting
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.rank_sets import Separation
from coupled_arena.stats.ranking.sides import Sides, SideSums
from coupled_arena.stats.simulation.coverage import estimate_drawn
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.rankings import table_of_clusters
from coupled_arena.stats.simulation.truths import Campaign
from tests.families import first_of


def test_the_effect_is_free_of_which_model_is_better():
    """Shown first the better one wins 8 of 10, shown second 6: the slot is worth two tenths."""
    counts = PairCounts.from_rows(
        [
            *(("A", "B", "first", 8), ("A", "B", "second", 2)),
            *(("B", "A", "first", 4), ("B", "A", "second", 6)),
        ]
    )
    assert Sides.of(counts).effect == pytest.approx((0.6 - 0.2) / 2)


def test_without_a_pair_in_both_orders_nothing_is_known():
    sides = Sides.of(PairCounts.from_rows([("A", "B", "first", 30), ("C", "B", "tie", 30)]))
    assert np.isnan(sides.effect)
    assert not sides.by_lot
    assert sides.one_sided == (("A", "B"), ("C", "B"))


def test_few_votes_in_one_order_may_be_lot():
    sides = Sides.of(PairCounts.from_rows([("A", "B", "first", 5), ("C", "B", "tie", 3)]))
    assert sides.by_lot
    assert sides.one_sided == ()


def test_lots_are_seldom_taken_for_none():
    rng, found = np.random.default_rng(5), []
    for _ in range(500):
        shown = rng.binomial(rng.integers(1, 30, (6, 6)), 0.5)
        counts = np.zeros((6, 6, 4), dtype=np.int64)
        counts[..., 2] = np.triu(shown, 1)
        counts[..., 2] += np.triu(rng.binomial(shown * 2, 0.5), 1).T
        found.append(Sides.of(PairCounts(tuple("ABCDEF"), counts)).by_lot)
    assert np.mean(found) > 0.95


@pytest.mark.parametrize(("taste", "prompts"), [(0.0, None), (0.7, 30)])
def test_the_interval_holds_the_effect(taste, prompts):
    """Of equal models, with people and prompts that both come again."""
    effect = {"taste": taste, "prompts": prompts, "prompt_effect": taste}
    truth = Campaign((0.0,) * 3, 20, 600, first_slot=0.4, **effect)
    spread = 2**0.5 * np.hypot(taste, taste)
    gaps = 0.4 + spread * np.random.default_rng(0).standard_normal(400_000)
    exact, repeats, held = 0.7 * float((2 * expit(gaps) - 1).mean()), 300, 0
    for repeat in range(repeats):
        drawn = truth.draw(np.random.default_rng([3, repeat]))
        sides = Sides.of(drawn.counts().votes)
        if prompts:
            adds = sides.influence[drawn.first, drawn.second, drawn.vote]
            ways = [
                SideSums.of(table_of_clusters(each), adds) for each in (drawn.voter, drawn.prompt)
            ]
            both = SideSums.of(table_of_clusters(drawn.voter * 100 + drawn.prompt), adds).squares
            sides = sides.clustered(ways, both)
        low, high = sides.interval(0.05)
        held += low <= exact <= high
    assert held / repeats > 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5


@pytest.mark.parametrize(("by_order", "holds"), first_of((True, True), (False, False)))
def test_each_order_weighs_the_same_where_names_decide_sides(by_order, holds):
    """Four of five in the order of names, the first favoured by half a log-odds."""
    truth = Campaign((0.0,) * 3, 600, 600, taste=0.0, first_slot=0.5, by_name=0.6)
    repeats, held = 150, 0
    weighting = Weighting.POSITION if by_order else Weighting.STRATIFIED
    for repeat in range(repeats):
        drawn = truth.draw(np.random.default_rng([4, repeat]))
        assert not Sides.of(drawn.counts().votes).by_lot
        made = estimate_drawn(drawn, Ranking.HUMAN, weighting)
        held += Separation(made, 2000).rank_sets().low.max() == 1
    assert bool(held / repeats > 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5) is holds
