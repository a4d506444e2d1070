"""Running coroutines beside tests in a browser: its loop stays in the thread that began it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def completed(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, run in a thread that has no loop yet."""
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(asyncio.run, work).result()
