"""The running process: Ctrl-C as an event, its processors, and the progress of long computations.

Ctrl-C is then no exception in the middle of a computation.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

Track = Callable[[range], Iterable[int]]
"""Passes the numbers of the repeats on: shows a progress bar, or stops early."""


@contextmanager
def on_interrupt(act: Callable[[], None]) -> Iterator[None]:
    """Call a function at every Ctrl-C; for the main thread."""
    before = signal.signal(signal.SIGINT, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """Yield a list to which every Ctrl-C is added before it interrupts.

    A library in C may turn the interrupt into an error of its own.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        signal.default_int_handler(number, frame)

    here = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not here or before is not signal.default_int_handler:
        yield noted  # who has said what is to happen knows better
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does at the time; a container's first process would ignore it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may listen to signals
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    # Programs that a script starts in the background ignore SIGINT, but must end all the same.
    act = handler if callable(handler) else signal.default_int_handler
    act(signal.SIGINT, frame)


def threads_beside_a_server() -> int | None:
    """Return with how many threads to decode so that one processor is left to the web server.

    None where ``OMP_NUM_THREADS`` has said it.
    """
    if os.environ.get("OMP_NUM_THREADS"):
        return None
    can_choose = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if can_choose else os.cpu_count() or 1
    return max(1, processors - 1)
