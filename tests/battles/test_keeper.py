"""Battles of a batch run are stored together: within a second, or when the run ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coupled_arena.battles.batch import Keeper
from coupled_arena.core.errors import BattleError
from coupled_arena.core.records import Score
from coupled_arena.store.database import Store
from tests.stored import MODELS, answered, plan, rows

TABLES = ("turns", "replies", "scores", "models", "same_words", "reply_styles", "naming_replies")
# Which number a prompt has says nothing.
COMPARISONS = "select * exclude (prompt_no) from comparisons join prompts using (prompt_no)"


def marked(count, named=False):
    """Battles with scores; two have equal answers, one may name its model."""
    found = []
    for n, entry in enumerate(plan([f"Question {n}?" for n in range(count)], MODELS).battles()):
        texts = {0: ["the same"] * 3, 1: ["I am ann-model.", "no", "yes"] if named else None}
        battle = answered(*entry, texts.get(n))
        found.append((battle, [Score(0, place, "quiz", n % 2, "B") for place in range(3)]))
    return found


def contents(store):
    asked = {name: f"from {name}" for name in TABLES} | {"comparisons": COMPARISONS}
    return {name: sorted(rows(store, query), key=repr) for name, query in asked.items()}


@pytest.fixture
def other(tmp_path):
    with Store.open(tmp_path / "other.duckdb") as store:
        yield store


def test_many_are_stored_as_one_by_one(store, other):
    battles = marked(5, named=True)
    for battle, marks in battles:
        store.add_battle(battle, marks)
    other.add_battles(battles)
    assert contents(store) == contents(other)
    assert len(contents(store)["comparisons"]) == 15
    assert contents(store)["naming_replies"]
    other.add_battles(battles[2:4])  # again
    assert contents(store) == contents(other)


def test_what_is_there_in_part_gets_what_it_lacks(store, other):
    battles = marked(3)
    store.add_battle(battles[1][0])
    store.add_battles(battles)
    other.add_battles([battles[1], battles[0], battles[2]])
    assert len(rows(store, "from scores")) == len(rows(other, "from scores")) == 9
    assert len(rows(store, "from battles")) == 3


def test_all_or_none(store):
    (first, marks), (second, _) = marked(2)
    store.add_battle(first)
    with pytest.raises(BattleError):
        store.add_battles([(second, marks), (replace(first, seed=first.seed + 1), marks)])
    assert len(rows(store, "from battles")) == 1


def test_once_a_second_and_at_the_end(store):
    now, battles = [100.0], marked(5)

    def there():
        return len(rows(store, "from battles"))

    with Keeper(store, lambda: now[0]) as keeper:
        for n, (seconds, stored) in enumerate([(0, 1), (0.5, 1), (0.9, 1), (1.0, 4)]):
            now[0] = 100 + seconds
            keeper.take(*battles[n])
            keeper.store_in_time()
            assert there() == stored
        keeper.take(*battles[4])
        keeper.store_in_time()
        assert there() == 4
    assert there() == 5


def test_what_has_ended_is_stored_whatever_ends_the_run(store):
    def interrupted():
        with Keeper(store, lambda: 0.0) as keeper:
            for battle, marks in marked(3):
                keeper.take(battle, marks)
                keeper.store_in_time()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(rows(store, "from battles")) == 3
