"""Pairs that meet more often, because their votes are to settle something."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest
from scipy import stats

from coupled_arena.battles import pair_sampling
from coupled_arena.battles.arena import Arena, ArenaRules
from coupled_arena.battles.pair_sampling import WhoseTurn, new_battle
from coupled_arena.core.choices import Pairing
from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Prompt, Sampling, new_id
from tests.batches import at_once
from tests.battles.test_battle import played
from tests.patience import until
from tests.store.conftest import make_battle, make_vote

NAMES = ("ann", "bob", "cas", "dot")
CHANCES = np.array(
    [[0, 0.4, 0.1, 0.05], [0.4, 0, 0.2, 0.05], [0.1, 0.2, 0, 0.2], [0.05, 0.05, 0.2, 0]]
)
CLEAR = dict.fromkeys(combinations(NAMES, 2), (30, 2))
UNCLEAR = {**CLEAR, ("ann", "bob"): (16, 16)}


@pytest.mark.parametrize("size", [2, 3, 4])
def test_models_meet_as_often_as_it_is_noted(size):
    rng, drawn = random.Random(3), 4000
    made = [
        new_battle(NAMES, size, Sampling(), coupled_share=0.5, rng=rng, chances=CHANCES)
        for _ in range(drawn)
    ]
    noted = {frozenset(battle.models): battle.chance for battle in made}
    assert sum(noted.values()) == pytest.approx(1)
    found = Counter(battle.models for battle in made)
    orders = factorial(size)  # whoever is drawn, all of them are alike
    assert len(found) == orders * comb(4, size)
    expected = [noted[frozenset(models)] * drawn / orders for models in found]
    assert stats.chisquare(list(found.values()), expected).pvalue > 1e-6


def test_where_all_are_alike_it_is_noted_too():
    battle = new_battle(NAMES, 3, Sampling(), coupled_share=0.5, rng=random.Random(1))
    assert battle.chance == 1 / comb(4, 3)


def vote(store, wins):
    """Store votes by pair: how often the first wins, and how often the second."""
    with at_once(store) as batch:
        for pair, outcomes in wins.items():
            for ranks, n in zip(((1, 2), (2, 1)), outcomes, strict=True):
                for _ in range(n):
                    battle = make_battle(*pair, prompts=(Prompt(new_id()),))
                    batch.add_battle(battle)
                    batch.votes.append((make_vote(battle, *ranks), True))


def looked(turn, names=NAMES):
    """Return the chances once the votes have been looked at."""
    until(lambda: turn.chances(names) is not None)
    return turn.chances(names)


@pytest.fixture
def turn(store, monkeypatch):
    """Make one that looks at the votes at each question."""
    monkeypatch.setattr(pair_sampling, "_PAUSE", 0.0)
    monkeypatch.setattr(pair_sampling, "_SHARE", 0)
    made = []

    def make(pairing):
        made.append(WhoseTurn(store, pairing))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.slow
def test_the_first_place_is_asked_about_until_it_is_settled(store, turn):
    vote(store, UNCLEAR)
    first = turn(Pairing.FIRST)
    before = looked(first)
    assert before[0, 1] > before[2, 3]
    assert before[2, 3] >= 0.5 / 6
    assert np.triu(before).sum() == pytest.approx(1)
    vote(store, {("ann", "bob"): (300, 20)})
    until(lambda: first.chances(NAMES)[0, 1] == pytest.approx(1 / 6))  # settled: all are alike


def test_a_newcomer_is_asked_about(store, turn):
    vote(store, dict.fromkeys(combinations(NAMES[:3], 2), (40, 2)))
    found = looked(turn(Pairing.PLACES))
    assert found[3, :3].min() > found[:3, :3].max()


def test_all_are_alike_without_votes_and_by_default(store, turn):
    first = turn(Pairing.FIRST)
    assert first.chances(NAMES) is None
    first.close()  # once it has looked
    assert first.chances(NAMES) is None
    vote(store, {("ann", "bob"): (9, 1)})
    uniform = turn(Pairing.UNIFORM)
    assert uniform.chances(NAMES) is None
    assert uniform._looking is None


@pytest.mark.slow
def test_a_store_that_cannot_be_read_changes_nothing(store, turn, monkeypatch, caplog):
    vote(store, UNCLEAR)
    places = turn(Pairing.PLACES)
    before = looked(places)

    def gone():
        raise StoreError("gone")

    monkeypatch.setattr(store, "version", gone)

    def said():
        assert places.chances(NAMES) is before
        return "Pairs are drawn as before: gone" in caplog.text

    until(said)
    assert places.chances(NAMES) is before


@pytest.mark.slow
def test_an_arena_draws_by_it_and_stores_the_chance(models, worker, store, turn, monkeypatch):
    vote(store, UNCLEAR)
    first = turn(Pairing.FIRST)
    chances = looked(first, tuple(models))
    monkeypatch.setattr(pair_sampling, "_PAUSE", 1e9)
    rules = ArenaRules(Sampling(max_new_tokens=20))
    with closing(Arena(models, worker, store, rules, random.Random(2), first)) as arena:
        round_id = played(arena)
        drawn = arena.round_of("eve", round_id).state.battle
        arena.vote("eve", round_id, [1, 2])
    assert drawn.chance == chances[tuple(NAMES.index(model) for model in drawn.models)]
    with store.cursor() as cursor:
        query = "select chance from battles where battle = ?"
        assert cursor.execute(query, [drawn.id]).fetchall() == [(drawn.chance,)]
