"""Waiting on an event loop for turns that another thread or process decodes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coupled_arena.generation.running import Request, Running, Worker


def end_of(running: Running) -> asyncio.Event:
    """Return an event of the running loop that is set at the end of a turn."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    running.done.then(partial(_set, loop, ended))
    return ended


async def decoded(worker: Worker, request: Request) -> Running:
    """Return a turn once it is decoded; one that is given up is stopped.

    Raises
    ------
    PromptError
        Too many wait already, or there is no room for it.
    ModelError
        Decoding failed.
    """
    running = worker.submit(request)
    try:
        await end_of(running).wait()
    finally:
        running.cancelled.set()
    if running.error:
        raise running.error
    return running


def _set(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
        loop.call_soon_threadsafe(ended.set)
