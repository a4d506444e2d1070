"""What visitors have decoded once more, beside the battles of others: a few at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from coupled_arena.battles.first_divergence import Reason, explain_with
from coupled_arena.battles.replay import Replay, replay_beside
from coupled_arena.core.errors import PromptError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle
from coupled_arena.generation.running import Worker
from coupled_arena.generation.turns import Models

_AT_ONCE = 2
_WAITING = 50  # of all visitors together
_OWN = 4  # of one visitor, at once or waiting
_OWN_WAIT = N_("You are waiting for others of these already. Try again when they have come.")
_ALL_WAIT = N_("Too many people ask for this at the moment. Try again in a minute.")


class Gate:
    """Lets a few through at a time, of each visitor one; the others wait in turn.

    Parameters
    ----------
    at_once : int
        How many are through at the same time.
    waiting : int
        How many wait for that at most.
    own : int
        How many of one visitor are through or wait at most.
    """

    def __init__(self, at_once: int = _AT_ONCE, waiting: int = _WAITING, own: int = _OWN) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._most = at_once + waiting
        self._own = own
        self._here: Counter[str] = Counter()  # by visitor, who is through or waits
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def through(self, owner: str) -> AsyncIterator[None]:
        """Wait for one's turn.

        Raises
        ------
        PromptError
            Too many wait already.
        """
        if self._here[owner] >= self._own:
            raise PromptError(_(_OWN_WAIT))
        if self._here.total() >= self._most:
            raise PromptError(_(_ALL_WAIT))
        self._here[owner] += 1
        try:
            # One's own line first: who asks for much at once waits behind themselves.
            async with self._locks.setdefault(owner, asyncio.Lock()), self._places:
                yield
        finally:
            self._here[owner] -= 1
            if not self._here[owner]:
                del self._here[owner]
                del self._locks[owner]


class Redecoder:
    """Decodes battles of the past once more, or the one draw at which their answers part.

    Parameters
    ----------
    models : mapping of str to LanguageModel
    worker : Worker
        Who decodes for everybody; battles and these share its queue.
    """

    def __init__(self, models: Models, worker: Worker) -> None:
        self._models = models
        self._worker = worker
        self._replays, self._draws = Gate(), Gate()

    async def replay(self, owner: str, battle: Battle) -> Replay:
        """Decode a battle again.

        Parameters
        ----------
        owner : str
            The visitor who wants it.
        battle : Battle

        Raises
        ------
        BattleError
            A model of it is not loaded, or it holds no noise to replay.
        PromptError
            Too many wait already, or there is no room for it.
        ModelError
            Decoding failed.
        """
        async with self._replays.through(owner):
            return await replay_beside(battle, self._models, self._worker)

    async def explain(self, owner: str, battle: Battle, turn: int) -> Reason:
        """Return why the replies of a turn part; takes and raises likewise."""
        async with self._draws.through(owner):
            return await explain_with(self._worker, self._models, battle, turn)
