"""Growing answers on a stream of their own: server-sent events beside Gradio's.

Gradio opens a round, tells how it ended and takes the vote. What comes in between would pass, ten
times a second for each visitor, through all that Gradio does for an event. Here it costs one small
message. A message has what all answers have gained, to the same number of tokens, and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

import gradio as gr
from fastapi import APIRouter, HTTPException, Request
from starlette.responses import StreamingResponse
from starlette.types import Send

from coupled_arena.battles.blind_view import RoundView
from coupled_arena.core.errors import ArenaError
from coupled_arena.ui.parts.visitor import has_cookie, name_of

_RECONNECT = 100  # milliseconds until a page whose connection broke makes another
_SILENCE = 15.0  # seconds, after which a proxy may take a connection for dead
_STILL_THERE = b": ping\n\n"
_LENGTHS = re.compile(r"\d{1,9}(-\d{1,9})+")


class Watched(Protocol):
    """What visitors watch; see `Arena`."""

    closing: bool

    def view(self, owner: str, round_id: str) -> RoundView:
        """Return what the visitor may see of a round of theirs."""
        ...

    def watch(self, owner: str, round_id: str) -> AsyncGenerator[RoundView]:
        """Yield a running round again and again until its turn is over."""
        ...


def events_path(round_id: str, turn: int, request: gr.Request) -> str:
    """Return where a visitor hears how the answers of a turn go on."""
    path = f"rounds/{round_id}/{turn}/events"
    # Whoever has no cookie is known by the session, which Gradio's own requests name like this.
    return path if has_cookie(request.cookies) else f"{path}?session_hash={request.session_hash}"


def answer_stream(rounds: Watched) -> APIRouter:
    """Return the route under which pages follow the answers of a round."""
    router = APIRouter()

    async def events(request: Request) -> EventStream:
        round_id, turn = request.path_params["round_id"], request.path_params["turn"]
        owner = name_of(request, request.query_params.get("session_hash"))
        try:
            turns = len(rounds.view(owner, round_id).turns)
        except ArenaError:
            turns = 0
        if not turn < turns:  # no round that is not theirs is there
            raise HTTPException(404)
        received = _lengths(request.headers.get("last-event-id", ""))
        return EventStream(_events(rounds, owner, round_id, turn, received))

    # Not a route of FastAPI's: its kind of stream takes two tasks and two queues for each message.
    router.add_route("/rounds/{round_id}/{turn:int}/events", events)
    return router


class EventStream(StreamingResponse):
    """Server-sent events, written as they are; their generator ends with the connection."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        # Proxies are not to wait for more of it.
        super().__init__(events, headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        self._events = events

    async def stream_response(self, send: Send) -> None:
        """Send the events."""
        async with aclosing(self._events):
            await super().stream_response(send)


async def _events(
    rounds: Watched, owner: str, round_id: str, turn: int, received: tuple[int, ...] | None
) -> AsyncGenerator[bytes]:
    """Yield what the answers of a turn gain, beyond what the page has received."""
    clock, shown_ahead = asyncio.get_running_loop(), -1
    said, view = clock.time(), rounds.view(owner, round_id)
    try:
        async with aclosing(rounds.watch(owner, round_id)) as views:
            async for view in views:
                if len(view.turns) != turn + 1:  # it was given up, or there is another one
                    break
                answers, lengths = _answers(view)
                if (lengths, view.ahead) != (received, shown_ahead):
                    yield _message(answers, view.ahead, received)
                    received, shown_ahead, said = lengths, view.ahead, clock.time()
                elif clock.time() - said >= _SILENCE:
                    yield _STILL_THERE
                    said = clock.time()
    except ArenaError:
        pass  # the page asks how the round is, and is told
    # Who was told so when the arena closes would read that nothing was written. A stream that
    # breaks is a lost connection, which is what it is.
    if not rounds.closing or any(view.turns[-1].answers):
        yield _end(view, turn)


def _answers(view: RoundView) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the answers of the last turn, and how long they are."""
    answers = view.turns[-1].answers
    return answers, tuple(map(len, answers))


def _message(answers: Sequence[str], ahead: int | None, received: tuple[int, ...] | None) -> bytes:
    """Return the place in the queue, and what answers have gained since a page had so much."""
    known = received if received and len(received) == len(answers) else None
    data = (
        {"more": [text[had:] for text, had in zip(answers, known, strict=True)]}
        if known
        else {"answers": answers}
    )
    number = "-".join(str(len(text)) for text in answers)
    said = json.dumps({**data, "ahead": ahead}, separators=(",", ":"))
    return f"data: {said}\nid: {number}\nretry: {_RECONNECT}\n\n".encode()


def _lengths(last_event_id: str) -> tuple[int, ...] | None:
    """Return how many characters a page has of each answer, None if it has nothing yet."""
    known = _LENGTHS.fullmatch(last_event_id)
    return tuple(map(int, last_event_id.split("-"))) if known else None


def _end(view: RoundView, turn: int) -> bytes:
    """Return the last message: how the answers ended, and whether the page is to ask for more."""
    more = view.running or any((view.recorded, view.reveal, view.error))
    data = {"look": more or len(view.turns) != turn + 1, "stopped": view.turns[-1].stopped}
    return f"event: end\ndata: {json.dumps(data)}\n\n".encode()
