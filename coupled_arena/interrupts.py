"""Ctrl-C as something to act on, rather than an exception in the middle of whatever runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_interrupt(act: Callable[[], None]) -> Iterator[None]:
    """Call a function at every Ctrl-C; for the main thread."""
    before = signal.signal(signal.SIGINT, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
