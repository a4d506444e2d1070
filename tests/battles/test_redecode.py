"""What visitors have decoded once more: a few at a time, whatever one of them asks for."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from coupled_arena.battles.first_divergence import explain_divergence
from coupled_arena.battles.replay import Gate, Redecoder, Replay
from coupled_arena.core.errors import BattleError, PromptError
from coupled_arena.core.records import Mode
from tests.battles.test_first_divergence import parted
from tests.patience import PATIENCE


class Watched:
    """A worker that counts the turns it has been handed and that are not over."""

    def __init__(self, worker):
        self._worker = worker
        self.running = []
        self.most = 0

    def submit(self, request):
        self.running = [each for each in self.running if not each.done.is_set()]
        self.running.append(self._worker.submit(request))
        self.most = max(self.most, len(self.running))
        return self.running[-1]


def through(gate, owner, inside, released):
    async def pass_gate():
        async with gate.through(owner):
            inside[owner] += 1
            await released.wait()
            inside[owner] -= 1

    return asyncio.create_task(pass_gate())


async def until_quiet():
    for _ in range(20):
        await asyncio.sleep(0)


def test_of_each_visitor_one_is_through_and_the_others_wait_behind_it():
    async def run():
        gate, inside, released = Gate(2, 50, 4), Counter(), asyncio.Event()
        greedy = [through(gate, "greedy", inside, released) for _ in range(100)]
        await until_quiet()
        assert inside == {"greedy": 1}
        other = through(gate, "other", inside, released)
        await until_quiet()
        assert inside == {"greedy": 1, "other": 1}
        late = through(gate, "late", inside, released)
        await until_quiet()
        assert inside["late"] == 0  # two are through
        released.set()
        await asyncio.gather(other, late)
        said = await asyncio.gather(*greedy, return_exceptions=True)
        assert Counter(map(type, said)) == {type(None): 4, PromptError: 96}
        assert inside.total() == 0

    asyncio.run(run())


def test_of_all_visitors_so_many_wait():
    async def run():
        gate, inside, released = Gate(1, 2, 4), Counter(), asyncio.Event()
        tasks = [through(gate, name, inside, released) for name in "abcd"]
        await until_quiet()
        with pytest.raises(PromptError, match="Too many people"):
            await asyncio.wait_for(tasks[3], PATIENCE)
        tasks[1].cancel()  # its visitor has left
        await until_quiet()
        tasks[3] = through(gate, "e", inside, released)
        released.set()
        await asyncio.gather(tasks[0], tasks[2], tasks[3])

    asyncio.run(run())


def test_whoever_asks_a_hundred_times_leaves_the_engine_to_others(models, worker):
    watched = Watched(worker)
    (battle, _), (another, _) = parted(models, count=2)
    expected = explain_divergence(another, models, 1)

    async def run():
        again = Redecoder(models, watched)
        flood = [asyncio.create_task(again.explain("greedy", battle, 1)) for _ in range(100)]
        assert await again.explain("other", another, 1) == expected
        said = await asyncio.gather(*flood, return_exceptions=True)
        assert Counter(map(type, said))[PromptError] == 96
        assert watched.most <= 2
        assert (await again.replay("greedy", battle)) == Replay(battle.id, identical=True)

    asyncio.run(run())


def test_what_fails_leaves_no_trace(models, worker):
    (battle, _) = next(parted(models))
    again = Redecoder(models, worker)

    async def run():
        for _ in range(10):
            with pytest.raises(BattleError, match="no turn 7"):
                await again.explain("ann", battle, 7)
        assert (await again.explain("ann", battle, 1)).coupled is (battle.mode is Mode.COUPLED)

    asyncio.run(run())
