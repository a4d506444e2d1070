"""Who watches answers grow: how often they are told, and when nobody is left to write for."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

from coupled_arena.battles.rounds import Round
from coupled_arena.generation.running import end_of, on_loop

if TYPE_CHECKING:
    from coupled_arena.generation.running import Running

CADENCE = 0.1  # seconds between looks at a running turn, whoever is decoding
_BUDGET = 200  # looks a second that all viewers share
_BLINK = 0.5  # seconds within which a broken connection is made anew


class Moments(NamedTuple):
    """What is worth a look of a viewer at once: the first words, and the end."""

    words: asyncio.Task[Literal[True]]
    end: asyncio.Task[Literal[True]]


class Viewers:
    """All who watch running turns, on one event loop.

    A page that is closed and one that is reloaded end the same connection. But a browser asks for
    the page again before it leaves it: answers go on for whoever has just done so.

    Parameters
    ----------
    patience : float
        Seconds for which answers go on for a visitor who is expected.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._watching = 0
        self._expected: dict[str, float] = {}  # by visitor, until when

    @contextmanager
    def watching(self, current: Round, running: Running) -> Iterator[Moments]:
        """Count somebody who watches; a turn that nobody watches any more is stopped.

        Yields what may be waited for.
        """
        loop = asyncio.get_running_loop()
        events = on_loop(running.spoken), end_of(running)
        moments = Moments(*(loop.create_task(event.wait()) for event in events))
        self._expected.pop(current.owner, None)  # here they are
        current.watchers += 1
        self._watching += 1
        try:
            yield moments
        finally:
            for each in moments:
                each.cancel()
            current.watchers -= 1
            self._watching -= 1
            delay = min(_BLINK, self._patience)
            loop.call_later(delay, self.stop_unwatched, current, running)

    async def pause(self, moments: Moments) -> None:
        """Wait until it is time to look again, or something has come that is worth it.

        Where looks are rare, because many watch, somebody who has no words yet is told at once.
        Else the moment of the first words would be known more exactly, for nothing.
        """
        waited = {moments.end}
        if self.interval > CADENCE and not moments.words.done():
            waited.add(moments.words)
        await asyncio.wait(waited, timeout=self.interval, return_when=asyncio.FIRST_COMPLETED)

    @property
    def interval(self) -> float:
        """Seconds between two looks of a viewer: the more there are, the less often each looks."""
        return max(CADENCE, self._watching / _BUDGET)

    def expect(self, owner: str) -> None:
        """Note that a visitor is about to watch, or to come back."""
        now = time.monotonic()
        self._expected = {key: end for key, end in self._expected.items() if end > now}
        self._expected[owner] = now + self._patience

    def stop_unwatched(self, current: Round, running: Running) -> None:
        """Stop a turn that nobody watches, at once or when its visitor is no longer expected."""
        if current.watchers or running.done.is_set():
            return
        left = self._expected.get(current.owner, -math.inf) - time.monotonic()
        if left > 0:
            asyncio.get_running_loop().call_later(left, self.stop_unwatched, current, running)
        else:
            running.cancelled.set()
