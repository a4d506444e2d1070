"""Votes on coupled and independent battles of made-up models, as rows and in a store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.core.records import Mode
from tests.batches import at_once
from tests.store.conftest import make_vote
from tests.stored import answered, plan

MODELS = ("ann-model", "bob-model", "cas-model", "dan-model")
_QUALITY = np.array([0.0, 0.1, 0.6, 1.0])


@dataclass(frozen=True)
class Row:
    """A pair of a battle: whether the first won, lost or neither."""

    mode: Mode
    prompt: str
    model: str
    other: str
    won: int


def vote_all(store, prompts=30, seeds=4):
    """Store battles of all models under both protocols, and a vote on each; return the rows.

    Coupled models share their luck, and tie more often.
    """
    rng = np.random.default_rng(5)
    questions = [f"Question {n}?" for n in range(prompts)]
    modes = (Mode.COUPLED, Mode.INDEPENDENT)
    taste = {question: rng.normal(0, 0.5, len(MODELS)) for question in questions}
    rows = []
    with at_once(store) as batch:
        for entry in plan(questions, MODELS, modes=modes, repetitions=seeds).battles():
            battle = answered(*entry)
            (prompt,) = battle.prompts
            luck = rng.normal(0, 1, 1 if battle.mode is Mode.COUPLED else len(MODELS))
            own = [_QUALITY[MODELS.index(name)] for name in battle.models]
            marks = taste[prompt.text][[MODELS.index(name) for name in battle.models]]
            level = np.round((np.array(own) + marks + luck) * 1.5)
            ranks = [1 + int((level > one).sum()) for one in level]
            batch.add_battle(battle)
            batch.cast(make_vote(battle, *ranks))
            for i, model in enumerate(battle.models):
                for j, other in enumerate(battle.models):
                    if i != j:
                        won = int(np.sign(ranks[j] - ranks[i]))
                        rows.append(Row(battle.mode, prompt.text, model, other, won))
    return rows
