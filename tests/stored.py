"""Stored battles as `generate` leaves them, written without a model."""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from coupled_arena.battles.batch import BatchPlan
from coupled_arena.core.records import (
    Battle,
    Finish,
    Mode,
    Outcome,
    Prompt,
    Reply,
    Sampling,
    Score,
    Vote,
    new_id,
)
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.tables import battles, scores, upkeep, verdicts, votes

MODELS = ("ann-model", "bob-model", "cas-model")
EXPERIMENT = 0x5EED_0123_4567_89AB


def plan(questions, models, modes=(Mode.COUPLED,), repetitions=1, **words):
    prompts = tuple(Prompt(text, category="small talk", **words) for text in questions)
    return BatchPlan(prompts, tuple(models), modes, repetitions, EXPERIMENT, Sampling())


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


@dataclass
class Batch:
    """Battles, votes and verdicts that reach a store together."""

    battles: list[Battle] = field(default_factory=list)
    votes: list[tuple[Vote, bool]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    marks: list[tuple[str, Sequence[Score]]] = field(default_factory=list)

    def add_battle(self, battle, marks=()):
        self.battles.append(battle)
        self.marks.append((battle.id, marks))

    def cast(self, vote, *, reveal=True):
        self.votes.append((vote, reveal))

    def write(self, cursor):
        for battle in self.battles:
            battles.add(cursor, battle)
        for id, marks in self.marks:
            scores.add(cursor, id, marks)
        for vote, reveal in self.votes:
            votes.cast(cursor, vote, reveal=reveal)
        for name in sorted({verdict.judge for verdict in self.verdicts}):
            cursor.execute(
                "insert into judges (judge, model, prompt_hash, sampling) values (?, '', '', '') "
                "on conflict do nothing",
                [name],
            )
        new = [battle.id for battle in self.battles]
        changed = [*new, *(vote.battle for vote, _ in self.votes)]
        upkeep.enrol(cursor, "list_contains($battles, battle)", {"battles": new})
        upkeep.refresh(cursor, "list_contains($battles, battle)", {"battles": changed})
        if self.verdicts:
            verdicts.add(cursor, self.verdicts)


@contextmanager
def at_once(store):
    """Collect what is stored and write it in one transaction, as an import does.

    That is many times faster than one transaction for each. Within another batch it joins that.
    """
    if isinstance(store, Batch):
        yield store
        return
    batch = Batch()
    yield batch
    store.write(batch.write)


def judge(store, name, battle, first, second, outcome):
    """Store a verdict, as the judging code does: with its comparisons, in one transaction."""
    outcome = outcome and Outcome(outcome)
    with at_once(store) as batch:
        batch.verdicts.append(Verdict(new_id(), battle.id, name, first, second, outcome, ""))
