"""A progress bar on stderr: in a terminal alone, and gone when all is done.

It comes after a second. A script therefore reads the same on a fast and on a slow machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Item = TypeVar("Item")
DELAY = 1.0  # seconds: what is done sooner needs no bar


class Bar:
    """A bar over so many steps; a context manager.

    Parameters
    ----------
    total : int or None
        The number of steps; None where nobody knows it.
    text : str
        Stands before the bar.
    """

    def __init__(self, total: int | None, text: str = "") -> None:
        console = Console(stderr=True)
        columns = (
            *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        hidden = not console.is_terminal
        self._progress = Progress(*columns, console=console, transient=True, disable=hidden)
        self._task = self._progress.add_task(text, total=total)
        self._since = time.monotonic()

    def advance(self, steps: int = 1, text: str | None = None) -> None:
        """Go on by some steps, and change the text if one is given."""
        self._progress.update(self._task, advance=steps, description=text)
        if not self._progress.live.is_started and time.monotonic() - self._since >= DELAY:
            self._progress.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()


def tracked(items: Iterable[Item], text: str = "") -> Iterator[Item]:
    """Pass items on under a bar."""
    total = len(items) if isinstance(items, Sized) else None
    with Bar(total, text) as bar:
        for item in items:
            yield item
            bar.advance()
