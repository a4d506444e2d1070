from __future__ import annotations

import random
from typing import ClassVar

import pytest

from coupled_arena.battles.annotation import Annotation
from coupled_arena.battles.arena import Arena, ArenaRules
from coupled_arena.core.errors import PromptLengthError
from coupled_arena.core.records import Sampling
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.worker import EngineWorker
from coupled_arena.store.work_queues.battles import Backlog
from tests.generation.markov import MarkovModel, random_chain

WORDS = ["go ", "left ", "right ", "up ", "down ", "end"]


class TalkingModel(MarkovModel):
    """A Markov chain that reads conversations: it begins where their length points."""

    arithmetic: ClassVar = {"dtype": "float32"}

    def encode(self, messages):
        words = sum(len(message["content"].split()) for message in messages)
        if words >= self.context_length:
            raise PromptLengthError(f"{words} tokens are too many for {self.context_length}.")
        return (words % (len(WORDS) - 1),) * words


def talking(name, seed, words=WORDS, **options):
    plain = random_chain(words, seed, name=name, stops=["end"], **options)
    return TalkingModel(name, plain.table, words, plain.vocabulary.stops, **options)


@pytest.fixture
def models():
    return {name: talking(name, seed) for seed, name in enumerate(["ann", "bob", "cas", "dot"])}


@pytest.fixture
def capacity():
    """What the engine takes in; a test may have another."""
    return Capacity()


@pytest.fixture
def worker(models, capacity):
    running = EngineWorker(LockstepEngine(models, capacity))
    yield running
    running.close()


@pytest.fixture
def make_arena(models, worker, store):
    made = []

    def make(seed=0, coupled_share=0.5, max_new_tokens=12, **rules):
        sampling = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=max_new_tokens)
        rules = ArenaRules(sampling, coupled_share=coupled_share, **rules)
        made.append(Arena(models, worker, store, rules, random.Random(seed)))
        return made[-1]

    yield make
    for arena in made:
        arena.close()


@pytest.fixture
def annotating(store):
    """A function that lets people vote on the stored battles, a share of them twice."""
    made = []

    def make(reveal, undo, share=0.0, votes_each=None, **more):
        backlog = Backlog(store, votes_each, share)
        annotation = Annotation(store, backlog, random.Random(3), undo, reveal, **more)
        made.append((annotation, backlog))
        return annotation

    yield make
    for annotation, backlog in made:
        annotation.close()
        backlog.close()
