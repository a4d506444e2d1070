"""Where the engine waits when all that runs is written by servers."""

from __future__ import annotations

import threading

_arrived = threading.Event()


def announce() -> None:
    """Wake the engine: a token has arrived, or a stream has ended."""
    _arrived.set()


def wait(seconds: float) -> None:
    """Return once something has arrived since the last wait, or after so many seconds."""
    _arrived.wait(seconds)
    _arrived.clear()
