"""Who watches: looks are shared among all, and answers that nobody waits for are stopped."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading

import pytest

from coupled_arena.battles.pair_sampling import new_battle
from coupled_arena.battles.rounds import Round
from coupled_arena.battles.viewers import CADENCE, Viewers
from coupled_arena.core.records import Sampling
from coupled_arena.generation.running import Request, Running

FOREVER = 1e6  # seconds


@pytest.fixture
def current():
    battle = new_battle(["a", "b"], 2, Sampling(), coupled_share=1, rng=random.Random(0))
    return Round("eve", battle)


@pytest.fixture
def running():
    return Running(Request((), Sampling()), ())


async def stopped(running, seconds):
    """Tell whether a turn is stopped before so many seconds are over."""
    clock = asyncio.get_running_loop()
    end = clock.time() + seconds
    while clock.time() < end and not running.cancelled.is_set():
        await asyncio.sleep(0.01)
    return running.cancelled.is_set()


async def turns():
    """Let all that is ready on the loop go on, and what follows from it."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_many_viewers_share_what_a_few_get_each(current, running):
    viewers = Viewers(FOREVER)

    async def crowd(people):
        with contextlib.ExitStack() as stack:
            for _ in range(people):
                stack.enter_context(viewers.watching(current, running))
            return viewers.interval

    assert asyncio.run(crowd(1)) == asyncio.run(crowd(16)) == CADENCE
    assert asyncio.run(crowd(100)) == 2 * asyncio.run(crowd(50)) == 0.5


def test_answers_are_stopped_for_who_is_gone_however_long_the_patience(current, running):
    viewers = Viewers(FOREVER)

    async def leave():
        viewers.expect("eve")  # who then came
        viewers.expect("mia")
        with viewers.watching(current, running):
            pass
        return await stopped(running, FOREVER)

    assert asyncio.run(leave())


def test_answers_go_on_for_who_has_asked_for_the_page_again(current, running):
    viewers = Viewers(1.5)

    async def reload():
        with viewers.watching(current, running):
            viewers.expect("eve")
        early = await stopped(running, 1.0)  # twice as long as for anybody else
        return early, await stopped(running, FOREVER)

    assert asyncio.run(reload()) == (False, True)


def test_answers_are_stopped_that_nobody_comes_to_watch(current, running):
    viewers = Viewers(0.1)

    async def wait():
        viewers.expect("eve")
        viewers.stop_unwatched(current, running)
        return await stopped(running, FOREVER)

    assert asyncio.run(wait())


def test_who_watches_again_keeps_the_answers(current, running):
    viewers = Viewers(0.1)

    async def come_back():
        with viewers.watching(current, running):
            pass
        with viewers.watching(current, running):
            return await stopped(running, 0.5)

    assert not asyncio.run(come_back())


@pytest.mark.parametrize("before", [True, False])
def test_the_end_of_a_turn_is_told_at_once(current, running, before):
    viewers = Viewers(FOREVER)
    viewers._watching = 10**9  # so many that each looks once in months

    async def end():
        if before:
            running.done.set()
        with viewers.watching(current, running) as moments:
            thread = threading.Thread(target=running.done.set)
            thread.start()
            await viewers.pause(moments)
            thread.join()

    asyncio.run(end())
    running.done.set()  # where the loop is closed


@pytest.mark.parametrize("many", [True, False])
def test_the_first_words_are_told_at_once_where_looks_are_rare(current, running, monkeypatch, many):
    viewers = Viewers(FOREVER)
    if many:
        viewers._watching = 10**9
    else:
        monkeypatch.setattr("coupled_arena.battles.viewers.CADENCE", FOREVER)

    async def speak():
        with viewers.watching(current, running) as moments:
            first = asyncio.create_task(viewers.pause(moments))
            running.show(("A", ""))
            await moments.words
            await turns()
            assert first.done() == many
            second = asyncio.create_task(viewers.pause(moments))  # the next ones are awaited
            running.show(("A word", "Another"))
            await turns()
            assert not second.done()
            running.done.set()
            await asyncio.gather(first, second)

    asyncio.run(speak())
