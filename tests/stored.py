"""Stored battles as `generate` leaves them, written without a model."""

from __future__ import annotations

import random
import secrets
from dataclasses import replace

from coupled_arena.battles.batch import BatchPlan
from coupled_arena.core.records import Finish, Mode, Prompt, Reply, Sampling
from tests.batches import at_once

MODELS = ("ann-model", "bob-model", "cas-model")
EXPERIMENT = 0x5EED_0123_4567_89AB


def plan(questions, models, modes=(Mode.COUPLED,), repetitions=1, **words):
    prompts = tuple(Prompt(text, category="small talk", **words) for text in questions)
    return BatchPlan(prompts, tuple(models), modes, repetitions, EXPERIMENT, (Sampling(),))


def answered(battle, prompt, texts=None):
    """Return a planned battle with an answer of each model, which does not tell its name."""
    codes = [random.Random(f"{battle.id} {place}") for place in range(len(battle.models))]
    texts = texts or [" ".join(str(code.random()) for _ in range(9)) for code in codes]
    replies = tuple(
        Reply(0, place, text, (place, 7), Finish.STOP) for place, text in enumerate(texts)
    )
    return replace(battle, prompts=(prompt,), replies=replies)


def fill(store, questions, models=MODELS[:2], texts=None, **options):
    """Store the answered battles of a plan and return them."""
    made = [answered(*entry, texts) for entry in plan(questions, models, **options).battles()]
    with at_once(store) as batch:
        for battle in made:
            batch.add_battle(battle)
    return made


def imported(*models, texts=("one", "two"), **changes):
    """Return a battle as an import leaves it: nothing is known of its noise."""
    (battle, prompt), *_ = plan(["Said elsewhere?"], models).battles()
    battle = replace(battle, id=secrets.token_hex(16), mode=Mode.UNKNOWN, seed=0, nonce=b"")
    return replace(answered(battle, prompt, texts), experiment=None, repetition=None, **changes)


def rows(store, query):
    """Return what a query finds."""
    with store.cursor() as cursor:
        return cursor.execute(query).fetchall()
