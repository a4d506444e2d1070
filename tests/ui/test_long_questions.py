"""Questions that take long to read hold nobody else up, and are read once by each model."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from types import SimpleNamespace

import pytest

from coupled_arena.battles.rounds import request_of
from coupled_arena.core.records import Finish, Mode, Prompt, Reply
from coupled_arena.ui.parts.question_box import LONG, Reader
from tests.patience import PATIENCE
from tests.store.conftest import make_battle
from tests.stored import plan
from tests.ui.coroutines import completed


def read_two(characters, goes_on):
    """Read two texts: which ones, each in which thread, and the loop's own thread."""

    async def reading():
        reader, read = Reader(), []

        def work(number):
            assert goes_on.wait(PATIENCE / 10)
            read.append((number, threading.get_ident()))

        tasks = [asyncio.create_task(reader.read(characters, lambda n=n: work(n))) for n in (1, 2)]
        await asyncio.sleep(0)  # both have begun
        goes_on.set()
        await asyncio.gather(*tasks)
        return read, threading.get_ident()

    return completed(reading())


def test_the_loop_goes_on_while_a_long_question_is_read():
    read, loop = read_two(LONG + 1, threading.Event())
    (first, one), (second, other) = read
    # One after the other: the second finds what the first has begun.
    assert (first, second, one == other, one != loop) == (1, 2, True, True)


def test_a_short_question_is_read_at_once():
    goes_on = threading.Event()
    goes_on.set()
    read, loop = read_two(LONG, goes_on)
    assert read == [(1, loop), (2, loop)]


@pytest.mark.parametrize(
    ("size", "readings"), [(2, "abcde"), (4, "abcde"), (2, "ababa"), (4, "aaaaa")]
)
def test_a_first_question_is_read_once_by_models_that_read_alike(size, readings):
    read = Counter()

    def model(name, reading):
        def encode(messages):
            read[reading] += 1
            return tuple(map(ord, reading + messages[-1]["content"]))

        return SimpleNamespace(name=name, reading=reading, encode=encode)

    models = {name: model(name, reading) for name, reading in zip("abcde", readings, strict=True)}
    battle, question = next(plan(["Why?"], "abcd"[:size], (Mode.COUPLED,)).battles())
    checked = []
    worker = SimpleNamespace(check=checked.append)
    request = request_of(models, worker, battle, question)
    assert read == Counter({*readings})
    assert len(checked) == size * 5  # whichever place: none is told from another by being asked
    for contender in request.contenders:
        reading = models[contender.model].reading
        assert contender.prompt == tuple(map(ord, reading + question.text))
    assert isinstance(question, Prompt)


def test_a_further_question_is_read_with_the_answers_of_each_place():
    def encode(messages):
        return tuple(map(ord, "|".join(message["content"] for message in messages)))

    models = {name: SimpleNamespace(name=name, reading="one", encode=encode) for name in "ab"}
    replies = tuple(Reply(0, place, word, (1,), Finish.STOP) for place, word in enumerate("xy"))
    battle = make_battle("a", "b", prompts=(Prompt("Why?"),), replies=replies)
    worker = SimpleNamespace(check=lambda request: None)
    request = request_of(models, worker, battle, Prompt("And?"))
    said = ["".join(map(chr, contender.prompt)) for contender in request.contenders]
    assert said == ["Why?|x|And?", "Why?|y|And?"]
