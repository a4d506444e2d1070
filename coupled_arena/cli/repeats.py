"""What the commands share that draw again and again: a bar that Ctrl-C ends, lists of numbers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import TypeVar

from coupled_arena.api.checks import listed
from coupled_arena.core.errors import ArenaError

Number = TypeVar("Number", int, float)


class Bar:
    """A progress bar over repeats that the first Ctrl-C ends after the repeat at hand."""

    def __init__(self) -> None:
        self._stopped = False
        self._short: list[tuple[int, int]] = []  # repeats done and wanted, where these are fewer

    def __call__(self, repeats: range) -> Iterator[int]:
        """Pass the repeats on until all are done, or Ctrl-C is pressed."""
        from coupled_arena.cli.bars import tracked

        def stop(*_: object) -> None:
            # What is finished is worth reporting; who cannot wait for it presses again.
            self._stopped = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = signal.signal(signal.SIGINT, stop)
        try:
            for done, repeat in enumerate(tracked(repeats, "repeats"), 1):
                yield repeat
                if self._stopped:
                    self._short += [(done, len(repeats))] if done < len(repeats) else []
                    return
        finally:
            signal.signal(signal.SIGINT, before)

    def finish(self) -> None:
        """Say so where not all was done."""
        if self._short:
            done, wanted = min(self._short)
            raise ArenaError(f"Interrupted: the figures are of {done} of {wanted} repeats.")


def numbers(text: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    """Read numbers that are separated by commas."""
    try:
        return tuple(kind(item) for item in listed(text))
    except ValueError:
        raise ArenaError(f"{text!r} is not a list of numbers separated by commas.") from None
