"""A store with everything that a report can show, under names that are no names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import numpy as np

from coupled_arena.core.records import (
    Mode,
    Origin,
    Prompt,
    Sampling,
    Score,
    Source,
    new_id,
)
from coupled_arena.core.verdicts import Grade
from coupled_arena.store.database import Store
from coupled_arena.store.tables import gates, scores
from coupled_arena.store.tables.gates import StoredGate
from coupled_arena.store.tables.judges import bind
from coupled_arena.store.transfer.snapshots import snapshot
from coupled_arena.store.work_queues.judging import PendingSolutions
from tests.batches import at_once, judge
from tests.store.conftest import make_battle, make_vote
from tests.stored import rows

SCRIPT = "<script>document.title = 'run'</script>"
ENDING = "</script><img src=x onerror=\"document.title = 'run'\"> & co/8-bit"
PLAIN = "plain"
MODELS = (SCRIPT, ENDING, PLAIN)
JUDGE = "judge <b onmouseover=alert(1)>"
METRIC = "quiz </style><script>document.title = 'run'</script>"
SEED = "5eed0123456789ab"
FOLDER = "/home/somebody/secret"
PROTOCOL = (Mode.COUPLED, Mode.INDEPENDENT)
RATES = dict(zip(MODELS, (0.8, 0.6, 0.3), strict=True))


def fill(store, prompts=8, seeds=2):
    """Store benchmark battles of all models under both modes, scored, judged and graded."""
    rng = np.random.default_rng(5)
    store.write(lambda cursor: scores.declare(cursor, METRIC, source="benchmark"))
    store.write(
        lambda cursor: bind(cursor, JUDGE, f"{FOLDER}/judge-8b", "ab" * 32, '{"temperature": 0}')
    )
    with at_once(store) as batch:
        for q, seed, mode in product(range(prompts), range(seeds), PROTOCOL):
            battle = scored(batch, rng, q, seed, mode)
            for a, b in ((0, 1), (0, 2), (1, 2)):
                judge(batch, JUDGE, battle, a, b, rng.choice(["first", "second", "tie"]))
    add_gate(store)
    with PendingSolutions(store, JUDGE) as pending:
        for page in pending.pages():
            pending.add(
                [
                    Grade(
                        new_id(),
                        each.key,
                        JUDGE,
                        bool(("right" in each.answer) != (rng.random() < 0.2)),
                        "raw",
                    )
                    for each in page
                ]
            )


def add_gate(store):
    """Store a gate that takes the coupled battles in their order."""
    planned = rows(store, "select battle from battles where mode = 'coupled' order by battle_no")
    battles = tuple(battle for (battle,) in planned)
    asks = (*MODELS[:2], METRIC, 0.05, 0.05)
    gate = StoredGate("9a" * 16, *asks, SEED, 2, battles, datetime(2026, 3, 1, tzinfo=UTC))
    store.write(lambda cursor: gates.add(cursor, gate))


def made(path):
    """Return a database file with all of it."""
    with Store.in_memory() as store:
        fill(store)
        vote(store)
        snapshot(store, path)
    return path


def scored(batch, rng, q, seed, mode):
    """Store one battle with an answer and a score of each model."""
    luck = rng.random()
    right = [(luck if mode is Mode.COUPLED else rng.random()) < RATES[model] for model in MODELS]
    battle = make_battle(
        *MODELS,
        mode=mode,
        origin=Origin.GENERATE,
        experiment=SEED,
        repetition=seed,
        seed=int(rng.integers(2**60)),
        sampling=Sampling(),
        prompts=(Prompt(f"Question {q}?", f"q{q}", "sums", "en"),),
        arithmetic={
            f"{SCRIPT}/dtype": "float32",
            f"{SCRIPT}/torch": "2.13.0",
            f"{SCRIPT}/source": f"folder:{FOLDER}/weights",
            f"{ENDING}/dtype": "bfloat16",
            f"{ENDING}/commit": "c0ffee",
            "turn 0/most battles at once": "8",
        },
    )
    texts = ["right" if each else f"wrong {place} {seed}" for place, each in enumerate(right)]
    replies = tuple(
        replace(reply, text=text) for reply, text in zip(battle.replies, texts, strict=True)
    )
    marks = [Score(0, place, METRIC, float(each), "4") for place, each in enumerate(right)]
    battle = replace(battle, replies=replies)
    batch.add_battle(battle, marks)
    return battle


def vote(store, times=20):
    """Let people vote on rounds of the battle tab; a judge knows two thirds of them."""
    rng = np.random.default_rng(6)
    with at_once(store) as batch:
        for at, mode in product(range(times), PROTOCOL):
            pair = [MODELS[i] for i in rng.permutation(3)[:2]]
            battle = make_battle(*pair, mode=mode, prompts=(), replies=(), experiment=None)
            batch.add_battle(battle)
            first = rng.random() < RATES[pair[0]] / (RATES[pair[0]] + RATES[pair[1]])
            same = at % 10 == 0
            source = Source.IDENTICAL if same else Source.HUMAN
            ranks = (1, 1) if same else (1, 2) if first else (2, 1)
            batch.cast(make_vote(battle, *ranks, voter=f"voter {at % 7}", source=source))
            if at % 3:
                judge(batch, JUDGE, battle, 0, 1, "first" if first else "second")
