"""The first divergence of a turn's answers, on request of ``assets/first_divergence.js``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import gradio as gr

from coupled_arena.battles.replay import Redecoder
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import _
from coupled_arena.core.records import Battle
from coupled_arena.ui.parts.events import sent, words_of
from coupled_arena.views.tables.first_divergence import divergence_view

_LONGEST = 300  # characters of a message


async def divergence_reason(
    redecoder: Redecoder | None, owner: str, find: Callable[[], Battle], event: gr.EventData
) -> dict[str, Any]:
    """Return why answers parted, or why that cannot be said, and which question of the page it was.

    Parameters
    ----------
    redecoder : Redecoder or None
        None where no models are.
    owner : str
        The visitor.
    find : callable
        Returns the battle; raises ArenaError unless the visitor may know its models.
    event : gr.EventData
        Names the turn, and numbers the question.
    """
    number = sent(event, "number")
    try:
        reason = await _reason(redecoder, owner, await asyncio.to_thread(find), sent(event, "turn"))
    except ArenaError as error:
        reason = _only(words_of(error)[:_LONGEST])
    return {"reason": reason | {"number": number if isinstance(number, int) else 0}}


async def _reason(
    redecoder: Redecoder | None, owner: str, battle: Battle, turn: object
) -> dict[str, Any]:
    if redecoder is None:
        text = _("No models are loaded here: run {command} where they are.")
        return _only(text.format(command=f"coupled-arena explain {battle.id}"))
    known = turn if isinstance(turn, int) and 0 <= turn < len(battle.prompts) else -1
    return divergence_view(await redecoder.explain(owner, battle, known))


def _only(words: str) -> dict[str, Any]:
    return {"words": [words], "rows": []}
