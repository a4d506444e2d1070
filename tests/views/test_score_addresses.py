"""Every count of battles behind scores leads to exactly as many."""

from __future__ import annotations

from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

from coupled_arena.analysis.battles import battles_of_models, read_battles
from coupled_arena.analysis.coupling.savings import battles_of_pairs, coupling, read_protocol_scores
from coupled_arena.analysis.leaderboard.one_model import read_model
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import (
    Drawn,
    Finish,
    Mode,
    Origin,
    Prompt,
    Reply,
    Sampling,
    Score,
)
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.views.addresses import coupling_addresses, read_address, replies_address
from coupled_arena.views.tables.coupling import coupling_pairs, with_battles
from tests.batches import at_once
from tests.families import first_of
from tests.store.conftest import make_battle, make_vote

MODELS = ("ant & bee", "cat=1", "dog#2")
MODES = {"battles_coupled": Mode.COUPLED, "battles_independent": Mode.INDEPENDENT}
HIDDEN = ("nothing", "rounds", "stored")


def scored(batch, rng, number, *, category, mode, warm, origin):
    """Store a battle whose replies have scores; each fourth one of the arena was voted on."""
    metric = "other" if number % 7 == 0 else "quiz"
    models = MODELS if number % 5 else MODELS[:2]
    battle = make_battle(
        *models,
        mode=mode,
        origin=origin,
        sampling=Sampling(0.7 if warm else 0.1, 0, 1.0, 9),
        prompts=(Prompt(f"{category} {number % 4}?", None, category, "en"),),
        replies=tuple(
            Reply(0, place, model, (), Finish.STOP) for place, model in enumerate(models)
        ),
    )
    marks = [Score(0, at, metric, float(rng.integers(2))) for at in range(len(models))]
    batch.add_battle(battle, marks)
    if origin is Origin.ARENA and number % 4 == 0:
        batch.cast(make_vote(battle, *[1] * len(models)))


@pytest.fixture(scope="module")
def store():
    rng = np.random.default_rng(11)
    with Store.in_memory() as opened:
        for metric in ("quiz", "other"):
            opened.write(partial(scores.declare, metric=metric, source="benchmark"))
        with at_once(opened) as batch:
            kinds = product(("art", "maths"), MODES.values(), (True, False), (*Origin, *Origin))
            for number, (category, mode, warm, origin) in enumerate(8 * list(kinds)):
                if origin is not Origin.IMPORT:
                    scored(
                        batch, rng, number, category=category, mode=mode, warm=warm, origin=origin
                    )
        yield opened


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize(
    ("category", "temperature"), first_of((None, 0.7), ("art", 0.7), ("maths", 0.1))
)
def test_counts_of_pairs_lead_to_as_many_battles(store, hidden, category, temperature):
    read = read_protocol_scores(store, "quiz", MODELS, category, Drawn(temperature))
    found = coupling(read)
    counts = battles_of_pairs(store, read, hidden)
    table = with_battles(coupling_pairs(found), counts)
    to = coupling_addresses(read, counts)
    rows = {(row["model_a"], row["model_b"]): row for row in table.records()}
    led_to = set()
    assert set(rows) == set(combinations(MODELS, 2))
    for pair in found.pairs:
        assert to(pair, "savings") is None
        met = any(rows[pair.model_a, pair.model_b][column] for column in MODES)
        for name in ("model_a", "model_b"):
            address = to(pair, name)
            assert (address is not None) == met
            if address is not None:
                model = read_address(address).model
                assert model == getattr(pair, name)
                led_to.add(model)
        for column, mode in MODES.items():
            shown = rows[pair.model_a, pair.model_b][column]
            if shown is None:
                assert hidden == "stored"
                assert to(pair, column) is None
                continue
            wanted = read_address(to(pair, column)).wanted
            listed = read_battles(store, wanted, hidden, size=500)
            assert len(listed.battles) == listed.tally.battles == shown > 0
            assert {battle.mode for battle in listed.battles} == {mode}
            assert all({pair.model_a, pair.model_b} <= {*each.models} for each in listed.battles)
    for model in led_to:
        assert read_model(store, model, hidden).model == model
    if hidden == "nothing":  # nobody votes: all that was counted is there
        prompts, seeds, _ = read.table.coupled.shape
        assert all(min(row[name] for name in MODES) >= prompts * seeds for row in rows.values())


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("mode", [None, *MODES.values()])
def test_counts_of_models_lead_to_as_many_battles(store, hidden, mode):
    counts = battles_of_models(store, MODELS, hidden, mode)
    assert set(counts) == set(MODELS)
    for model, n in counts.items():
        wanted = read_address(replies_address(model, mode)).wanted
        listed = read_battles(store, wanted, hidden, size=500)
        assert len(listed.battles) == n > 0
        assert all(model in each.models for each in listed.battles)


def test_a_temperature_is_a_number():
    with pytest.raises(ArenaError, match="not a number"):
        read_address("?tab=battles&temperature=warm")
