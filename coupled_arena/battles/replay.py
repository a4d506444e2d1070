"""Decode stored battles again: the same seed gives the same words, or the first difference.

At the end the same for visitors, beside the battles of others: a few at a time.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from coupled_arena.battles.first_divergence import Reason, explain_with
from coupled_arena.core.errors import PromptError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle, Finish, Reply
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.running import Running, Worker, decoded
from coupled_arena.generation.turns import (
    Models,
    before_turn,
    check_replayable,
    next_request,
)


@dataclass(frozen=True)
class Replay:
    """A battle decoded again and compared token by token.

    Attributes
    ----------
    first_difference : int or None
        Position of the first token that differs, in the first reply that does.
    turn, model : the reply it lies in
    score_gap : float or None
        By how much the token drawn now beats the stored one. A gap near 0 is the rounding of
        another batch shape, device or library version; a larger one is another model or text. None
        where the stored token could not be drawn at all, or the logits are out of reach. They are
        so in the process that decodes for the web app. Of a server the tokens count that it tells
        of.
    """

    battle: str
    identical: bool
    first_difference: int | None = None
    turn: int | None = None
    model: str | None = None
    score_gap: float | None = None


def replay(battle: Battle, models: Models, kv_tokens: int | None = None) -> Replay:
    """Decode a stored battle again from its seed.

    Parameters
    ----------
    kv_tokens : int, optional
        Tokens whose keys and values each model holds at most; else what free memory allows.

    Raises
    ------
    BattleError
        A model of it is not configured, or it holds no noise to replay.
    PromptLengthError
        There is no room for it.
    """
    from coupled_arena.generation.lockstep import LockstepEngine, decode  # torch: seconds

    check_replayable(battle, models)
    engine = LockstepEngine(models, Capacity(kv_tokens=kv_tokens))
    for turn, prompt in enumerate(battle.prompts):
        request = next_request(models, before_turn(battle, turn), prompt)
        if found := _departure(battle, turn, decode(engine, [request])[0]):
            return _difference(battle, models, *found)
    return Replay(battle.id, identical=True)


async def replay_beside(battle: Battle, models: Models, worker: Worker) -> Replay:
    """Do the same with a worker that decodes for others too; how clear a difference is, is unknown.

    Raises
    ------
    BattleError
        A model of it is not loaded, or it holds no noise to replay.
    PromptError
        Too many wait already, or there is no room for it.
    """
    check_replayable(battle, models)
    for turn, prompt in enumerate(battle.prompts):
        request = next_request(models, before_turn(battle, turn), prompt)
        running = await decoded(worker, request)
        if found := _departure(battle, turn, running):
            reply, index = found
            name = battle.models[reply.place]
            return Replay(battle.id, identical=False, first_difference=index, turn=turn, model=name)
    return Replay(battle.id, identical=True)


def _departure(battle: Battle, turn: int, repeated: Running) -> tuple[Reply, int] | None:
    """Return the first reply of a turn that came out otherwise, and from which token on."""
    for reply in (reply for reply in battle.replies if reply.turn == turn):
        index = _first_difference(reply, tuple(repeated.lines[reply.place].tokens))
        if index is not None:
            return reply, index
    return None


def _difference(battle: Battle, models: Models, reply: Reply, index: int) -> Replay:
    from coupled_arena.generation.lockstep import score_gap

    model = models[battle.models[reply.place]]
    outcome = reply.tokens[index] if index < len(reply.tokens) else model.vocabulary.end
    gap = score_gap(models, battle, reply, index, outcome)
    return Replay(
        battle.id,
        identical=False,
        first_difference=index,
        turn=reply.turn,
        model=model.name,
        score_gap=gap if math.isfinite(gap) else None,
    )


def _first_difference(reply: Reply, repeated: tuple[int, ...]) -> int | None:
    """Return where a stored reply departs from its repetition, if it does."""
    for index, (stored, drawn) in enumerate(zip(reply.tokens, repeated, strict=False)):
        if stored != drawn:
            return index
    shorter = min(len(reply.tokens), len(repeated))
    cut = reply.finish is Finish.CANCELLED and len(repeated) >= len(reply.tokens)
    return None if cut or len(repeated) == len(reply.tokens) else shorter


# Limits on what visitors may have decoded again, so that battles keep the engine.
_AT_ONCE = 2
_WAITING = 50  # of all visitors together
_OWN = 4  # of one visitor, at once or waiting
_OWN_WAIT = N_("Your earlier requests still wait. Try again when they are done.")
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
