"""Questions that take long to read hold nobody else up, and are read once by each model."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from coupled_arena.battles.asking import request_of
from coupled_arena.core.records import Mode, Prompt
from coupled_arena.ui.parts.long_questions import LONG, Reader
from tests.stored import plan


def read_two(characters):
    """Return how long the loop stood still while two texts were read, and their order."""

    async def reading():
        reader, read, longest, last = Reader(), [], 0.0, time.monotonic()

        def work(number):
            time.sleep(0.3)
            read.append(number)

        tasks = [asyncio.create_task(reader.read(characters, lambda n=n: work(n))) for n in (1, 2)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0.005)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        return longest, read

    with ThreadPoolExecutor(1) as elsewhere:  # a test in a browser leaves a loop in this thread
        return elsewhere.submit(asyncio.run, reading()).result()


def test_the_loop_goes_on_while_a_long_question_is_read():
    longest, read = read_two(LONG + 1)
    assert longest < 0.3 <= read_two(LONG)[0]
    assert read == [1, 2]  # one after the other: the second finds what the first has begun


@pytest.mark.parametrize("size", [2, 4])
def test_a_first_question_is_read_once_by_each_model(size):
    read = Counter()

    def model(name):
        def encode(messages):
            read[name] += 1
            return tuple(map(ord, name + messages[-1]["content"]))

        return SimpleNamespace(name=name, encode=encode, device="cpu", context_length=99)

    models = {name: model(name) for name in "abcde"}
    battle, question = next(plan(["Why?"], "abcd"[:size], (Mode.COUPLED,)).battles())
    checked = []
    worker = SimpleNamespace(check=checked.append)
    request = request_of(models, worker, battle, question)
    assert read == Counter("abcde")
    assert len(checked) == size * 5  # whichever place: none is told from another by being asked
    for contender in request.contenders:
        assert contender.prompt == tuple(map(ord, contender.model + question.text))
    assert isinstance(question, Prompt)
