"""Bounds of time and memory for work on what came with a model.

A configuration may ask for a billion layers, a template for a text of gigabytes. Such work ends
with an exception here, before it takes the machine.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import resource


class TooMuchError(Exception):
    """The work takes more time or memory than it may."""


@contextmanager
def bounded(seconds: float, size: int) -> Iterator[None]:
    """Let what follows take so many seconds of the processor and so many further bytes.

    Seconds count in the main thread alone, where a signal can interrupt the work. Where the system
    knows no such bounds there are none.

    Raises
    ------
    TooMuchError
        It takes more.
    """
    if sys.platform != "linux":
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = _mapped() + size
    if before[0] == resource.RLIM_INFINITY or most < before[0]:
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        with _timed(seconds):
            yield
    except MemoryError as error:
        raise TooMuchError(f"it takes more than {size >> 20:,} MiB of memory") from error
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def _timed(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(*_: Any) -> None:
        raise TooMuchError(f"it takes more than {seconds:g} s of the processor")

    before = signal.signal(signal.SIGPROF, over)
    # Again and again: Python drops an exception that is raised while it deletes an object.
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _mapped() -> int:
    """Return the bytes of addresses that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()
