"""What the commands share that draw again and again: a bar that Ctrl-C ends, lists of numbers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import typer

from coupled_arena.cli.shared import listed
from coupled_arena.core.errors import ArenaError

Number = TypeVar("Number", int, float)
Seed = Annotated[int, typer.Option(min=0, help="Seed of the whole experiment.")]
Repeats = Annotated[int, typer.Option(min=1, help="How often to draw.")]


class Bar:
    """A progress bar over repeats that the first Ctrl-C ends after the repeat at hand."""

    def __init__(self) -> None:
        self._stopped = False

    def __call__(self, repeats: Iterable[int]) -> Iterator[int]:
        """Pass the repeats on until all are done, or Ctrl-C is pressed."""
        from coupled_arena.cli.bars import tracked

        def stop(*_: object) -> None:
            # What is finished is worth reporting; who cannot wait for it presses again.
            self._stopped = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = signal.signal(signal.SIGINT, stop)
        try:
            for repeat in tracked(repeats, "repeats"):
                yield repeat
                if self._stopped:
                    return
        finally:
            signal.signal(signal.SIGINT, before)

    def finish(self, done: int, wanted: int) -> None:
        """Say so where not all was done."""
        if done < wanted:
            raise ArenaError(f"Interrupted: the figures are of {done} of {wanted} repeats.")


@contextmanager
def one_line() -> Iterator[None]:
    """Turn what the statistics refuse into an error that a person can mend."""
    try:
        yield
    except ValueError as error:
        raise ArenaError(str(error)) from error


def numbers(text: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    """Read numbers that are separated by commas."""
    try:
        return tuple(kind(item) for item in listed(text))
    except ValueError:
        raise ArenaError(f"{text!r} is not a list of numbers separated by commas.") from None
