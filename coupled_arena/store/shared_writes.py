"""Writes in turn: who comes first carries out its piece of work, and those that wait for the same.

A commit costs much the same for one vote as for many. So what waits is done together, in one
transaction, if it may share one. The first who waits does it for all.

While several wait, turns rest in between, so that more share each. To write what four hundred
people asked and voted in one moment took a third of the server's processor.
This module knows no database.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_MOST = 64  # pieces of work in one turn: whoever waits for it does so for a moment
_REST = 2.0  # times as long as the last turn took
_LONGEST_REST = 0.5  # seconds


class Piece(Generic[T]):
    """A piece of work of one thread.

    Parameters
    ----------
    work : callable
        What is to be done.
    item : object
        What it is done to.
    shares : bool
        Whether it may be done together with others that share. Those of the same work may be done
        by one call.

    Attributes
    ----------
    outcome : Future
        What the work has returned or raised.
    """

    def __init__(
        self, work: Callable[..., Sequence[T]], item: object = None, *, shares: bool
    ) -> None:
        self.work = work
        self.item = item
        self.shares = shares
        self.outcome: Future[T] = Future()
        self.called = threading.Event()  # it is done, or it is its thread's turn
        self.leads = False


class WriteQueue:
    """Pieces of work in the order in which they came.

    Parameters
    ----------
    carry_out : callable
        Does pieces of work, and gives each its outcome; called by one thread at a time.
    """

    def __init__(self, carry_out: Callable[[Sequence[Piece[Any]]], None]) -> None:
        self._carry_out = carry_out
        self._changing = threading.Lock()
        self._waiting: list[Piece[Any]] = []
        self._busy = False
        self._rests_until = 0.0

    def take(self, piece: Piece[T]) -> T:
        """Return what a piece of work returns, or raise what it raises."""
        with self._changing:
            self._waiting.append(piece)
            if not self._busy:
                self._call_next()
        try:
            piece.called.wait()
            if piece.leads:
                self._lead(piece)
        except BaseException:  # Ctrl-C
            self._leave(piece)
            raise
        return piece.outcome.result()

    def _lead(self, piece: Piece[Any]) -> None:
        """Carry out what waits, beginning with this thread's own piece of work."""
        if piece.shares:
            time.sleep(max(0.0, self._rests_until - time.monotonic()))
        began = time.monotonic()
        with self._changing:
            alone = (at for at, each in enumerate(self._waiting) if not each.shares)
            together = self._waiting[: max(1, min(next(alone, _MOST), _MOST))]
            del self._waiting[: len(together)]
        try:
            self._carry_out(together)
        finally:
            with self._changing:
                # Of a thread that is interrupted the others' work is left to the next one.
                undone = [each for each in together[1:] if not each.outcome.done()]
                self._waiting[:0] = undone
                piece.leads = False
                now = time.monotonic()
                rest = min(_REST * (now - began), _LONGEST_REST) if len(self._waiting) > 1 else 0.0
                self._rests_until = now + rest
                self._call_next()
            for each in together:
                if each.outcome.done():
                    each.called.set()

    def _leave(self, piece: Piece[Any]) -> None:
        with self._changing:
            if piece in self._waiting:
                self._waiting.remove(piece)
            if piece.leads:
                piece.leads = False
                self._call_next()

    def _call_next(self) -> None:
        self._busy = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].called.set()
