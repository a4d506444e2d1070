"""Decoding stored battles again: the same seed gives the same words, or the difference is told."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
        another batch shape, device or library version; a larger one is another model or text.
        None where the stored token could not be drawn at all, or the logits are out of reach: on
        a server, or in the process that decodes for the web app.
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


def _departure(battle: Battle, turn: int, again: Running) -> tuple[Reply, int] | None:
    """Return the first reply of a turn that came out otherwise, and from which token on."""
    for reply in (reply for reply in battle.replies if reply.turn == turn):
        index = _first_difference(reply, tuple(again.lines[reply.place].tokens))
        if index is not None:
            return reply, index
    return None


def _difference(battle: Battle, models: Models, reply: Reply, index: int) -> Replay:
    from coupled_arena.generation.score_gap import score_gap

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


def _first_difference(reply: Reply, again: tuple[int, ...]) -> int | None:
    """Return where a stored reply departs from its repetition, if it does."""
    for index, (stored, drawn) in enumerate(zip(reply.tokens, again, strict=False)):
        if stored != drawn:
            return index
    shorter = min(len(reply.tokens), len(again))
    cut = reply.finish is Finish.CANCELLED and len(again) >= len(reply.tokens)
    return None if cut or len(again) == len(reply.tokens) else shorter
