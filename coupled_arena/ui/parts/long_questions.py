"""Questions that take long to read are read beside the event loop, on which everybody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
LONG = 2_000  # characters; fewer are read as ids in some milliseconds


class Reader:
    """Does work on long questions one after the other, in a thread.

    One thread, so that of two equal questions the second finds the round of the first, and long
    questions in any number leave processors to everybody else.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="long-questions")

    async def read(self, characters: int, work: Callable[[], T]) -> T:
        """Do work on so many characters: at once where they are few."""
        if characters <= LONG:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
