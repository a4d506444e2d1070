"""Turns of models whose answers are known, for tests of the engine."""

from __future__ import annotations

from coupled_arena.core.records import Sampling
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.running import Contender, Request
from tests.generation.markov import chain

GREEDY = Sampling(temperature=0.0, max_new_tokens=50)


def request(*contenders, sampling=GREEDY, turn=0):
    """Build a request from (model, seed, prompt) triples."""
    return Request(tuple(Contender(m, s, tuple(p)) for m, s, p in contenders), sampling, turn)


def engine_of(*models):
    return LockstepEngine({model.name: model for model in models})


def add(engine, wanted):
    running = engine.prepare(wanted)
    engine.add(running)
    return running


def hum(name="hum", **options):
    return chain(["<q>", "m"], {"<q>": "m", "m": "m"}, name=name, **options)
