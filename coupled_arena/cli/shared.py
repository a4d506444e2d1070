"""What commands share: common options, output, a progress bar, how they read the store.

A bar is on stderr, in a terminal alone, and disappears at the end. It appears after a second: a
script therefore reads the same output on a fast and on a slow machine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.choices import Uncounted
from coupled_arena.core.settings import Settings

if TYPE_CHECKING:
    from coupled_arena.store.database import Store


Config = Annotated[Path | None, typer.Option(help="TOML file with settings and a catalog.")]
Preset = Annotated[str | None, typer.Option(help="Catalog of the program.")]
Db = Annotated[Path | None, typer.Option(help="Database file.  [default: arena.duckdb]")]
Excluded = Annotated[
    Uncounted,
    typer.Option(help="[Excluded](trust.md#exclusion) votes: left out, or counted."),
]
Named = Annotated[
    Uncounted,
    typer.Option(
        help="Votes on answers that [name a "
        "model](trust.md#answers-that-name-a-model): left out, or counted."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def show(answer: dict[str, Any], as_json: bool, text: Callable[[], str]) -> None:
    """Print an answer on stdout."""
    typer.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else text())


def reading(
    settings: Settings,
    excluded: str = Uncounted.LEAVE_OUT,
    named: str = Uncounted.LEAVE_OUT,
) -> AbstractContextManager[Store]:
    """Open the database, or its newest snapshot while another process owns it.

    Parameters
    ----------
    excluded, named : {"leave-out", "include"}
        Whether votes count that do not by default: see `Excluded` and `Named`.
    """
    return ArenaStore(settings.db, excluded, named).reading()


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
