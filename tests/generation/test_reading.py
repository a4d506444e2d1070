"""Whose prompts the engine reads, and when: others go on meanwhile."""

from __future__ import annotations

import pytest

from tests.generation.known_answers import add, engine_of, hum, request
from tests.generation.markov import MarkovBatch, MarkovReading


@pytest.mark.usefixtures("passes")
def test_what_runs_goes_on_between_the_prompts_of_many():
    """Where decoding takes no time, a step reads 512 tokens of prompts, in the order they came.

    Of a longer one it reads a chunk.
    """
    model = hum()
    engine = engine_of(model)
    runs = add(engine, request(("hum", 0, [0]))), add(engine, request(("hum", 1, [0] * 900)))
    for written in ([1, 0], [2, 0], [3, 1]):  # 900 tokens are read in two steps of their own
        engine.step()
        assert [len(run.lines[0].tokens) for run in runs] == written
    assert [call for call in model.calls if call[0] == "read"] == [("read", 512), ("read", 388)]
    for seed in range(2, 9):
        prompt = [0] * (200 - seed) + [1] * seed  # each another: the same would be read once
        runs += (add(engine, request(("hum", seed, prompt))),)
    written = []
    while not all(run.lines[0].tokens for run in runs):
        engine.step()
        written.append([len(run.lines[0].tokens) for run in runs])
        assert engine.battles == 9
    ahead = [[4, 2], [5, 3], [6, 4], [7, 5]]
    later = [[1, 1], [2, 2, 1, 1], [3, 3, 2, 2, 1, 1], [4, 4, 3, 3, 2, 2, 1]]
    assert written == [a + b + [0] * (7 - len(b)) for a, b in zip(ahead, later, strict=True)]


@pytest.fixture
def lasting(passes, monkeypatch):
    """Make a function that gives what a kind of object does a duration, in seconds of `passes`."""

    def lasting(kind, does, seconds):
        done = getattr(kind, does)

        def lasts(self, *given):
            done(self, *given)
            passes(seconds(*given))

        monkeypatch.setattr(kind, does, lasts)

    return lasting


def test_a_step_reads_prompts_for_as_long_as_the_last_one_decoded(lasting):
    """Who waits for first words and who waits for further ones have half of the time each."""
    lasting(MarkovReading, "read", lambda: 1.0)
    lasting(MarkovBatch, "add", lambda prompts, read: 1.0 * len({*map(tuple, prompts)} - {*read}))
    lasting(MarkovBatch, "advance", lambda _tokens: 2.5)
    engine = engine_of(hum())
    first = add(engine, request(("hum", 0, [0])))
    engine.step()
    others = [add(engine, request(("hum", 0, [n % 2] * (512 - n)))) for n in range(8)]
    long = add(engine, request(("hum", 0, [0] * 5 * 512)))
    begun = []
    for _step in range(5):
        assert not long.lines[0].tokens
        engine.step()
        begun.append(sum(bool(run.lines[0].tokens) for run in others))
    assert begun == [3, 6, 8, 8, 8]  # after two of them half a second is left, so a third is read
    assert (len(long.lines[0].tokens), len(first.lines[0].tokens)) == (1, 6)


def test_a_step_that_took_minutes_does_not_make_the_next_one_as_long(lasting):
    """The process of an engine is ended where a step takes too long."""
    lasting(MarkovReading, "read", lambda: 3.0)
    lasting(MarkovBatch, "advance", lambda _tokens: 300.0)
    engine = engine_of(hum())
    add(engine, request(("hum", 0, [0])))
    engine.step()
    long = add(engine, request(("hum", 0, [0] * 10 * 512)))
    engine.step()
    assert engine._admission._readings["hum", long.lines[0].contender.prompt].left == 6 * 512


def test_nothing_is_read_for_those_who_left_before_their_turn():
    model = hum()
    engine = engine_of(model)
    runs = [add(engine, request(("hum", seed, [0] * 300))) for seed in range(4)]
    for left in runs[1:3]:
        left.cancelled.set()
    engine.step()
    engine.step()
    assert [run.done.is_set() for run in runs] == [False, True, True, False]
    assert [len(run.lines[0].tokens) for run in runs] == [2, 0, 0, 1]
    assert [calls for calls in model.calls if calls[0] == "add"] == [("add", 1), ("add", 2)]


@pytest.mark.usefixtures("passes")
def test_what_is_read_of_a_long_prompt_is_dropped_with_who_asked():
    model = hum()
    engine = engine_of(model)
    leaves, stays = (add(engine, request(("hum", seed, [seed] * 1500))) for seed in (0, 1))
    engine.step()
    leaves.cancelled.set()
    engine.step()
    assert leaves.done.is_set()
    assert list(engine._admission._readings) == [("hum", (1,) * 1500)]
    engine.step()
    engine.step()
    assert len(stays.lines[0].tokens) == 1
    assert not engine._admission._readings
    assert [size for what, size in model.calls if what == "read"] == [512, 512, 512, 476]


@pytest.mark.usefixtures("passes")
def test_a_prompt_that_cannot_be_read_on_costs_its_battle():
    model = hum()
    engine = engine_of(model)
    bystander = add(engine, request(("hum", 0, [0])))
    lost, later = (add(engine, request(("hum", seed, [0] * 1500))) for seed in (1, 2))
    engine.step()
    reading = engine._admission._readings["hum", (0,) * 1500]

    def fail():
        raise MemoryError("none left")

    reading.read = fail
    engine.step()
    assert "none left" in str(lost.error)
    while not (later.lines[0].tokens or later.done.is_set()):
        engine.step()
    assert bystander.error is None
    assert later.error is None
