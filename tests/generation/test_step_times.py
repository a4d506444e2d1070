"""What steps took: the histogram, its blocks, and the tokens."""

from __future__ import annotations

import numpy as np

from coupled_arena.generation import engine_messages
from coupled_arena.generation.engine_messages import BOUNDS, StepTimes
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.worker import EngineWorker
from tests.generation.test_failures import answered, request, talkative, trio
from tests.patience import until


def test_a_histogram_is_that_of_numpy():
    seconds = np.random.default_rng(1).lognormal(-2, 3, 500)
    one, other = StepTimes(), StepTimes()
    for number, each in enumerate(seconds):
        (one if number % 3 else other).add(each, 2)
    one.join(other)
    edges = [0, *np.nextafter(BOUNDS, np.inf), np.inf]  # numpy's bins have their lower edge
    assert one.counts == np.histogram(seconds, edges)[0].tolist()
    assert np.isclose(one.seconds, seconds.sum())
    assert one.tokens == 1000


def test_steps_are_told_by_whole_blocks_and_tokens_once_a_reply_is_over(monkeypatch):
    monkeypatch.setattr(engine_messages, "BLOCK", 8)
    told = []
    worker = EngineWorker(LockstepEngine(talkative(trio())), told.append)
    try:
        runs = [answered(worker.submit(request(seed, "one", "two"))) for seed in range(4)]
        tokens = sum(len(line.tokens) for running in runs for line in running.lines)
        assert tokens == 4 * 2 * 12
        until(lambda: len(told) == 4 * 12 // 8)
        assert {sum(block.counts) for block in told} == {8}
        assert sum(block.tokens for block in told) == tokens
    finally:
        worker.close()
