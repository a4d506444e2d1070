"""How long tests wait for what must come: machines differ several times in speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 300


def until(look: Callable[[], T]) -> T:
    """Return what a look finds, once it finds something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, f"nothing within {PATIENCE:.0f} s"
        time.sleep(0.1)
    return found


def new_context(browser, **options):
    """Return a context of a browser that waits as long as tests do; its own patience is 30 s."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    return context
