"""A turn as the web server sees it while another process decodes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Finish
from coupled_arena.generation.engine_messages import Ended
from coupled_arena.generation.running import Announced, Line, Request, Running

How = Literal["whole", "stopped", "given_up", "failed"]
HOW: tuple[How, ...] = get_args(How)


class RelayedTurn(Running):
    """A turn that another process decodes: its lines are known once it is done."""

    def __init__(
        self, request: Request, lines: tuple[Line, ...], cancel: Callable[[], None]
    ) -> None:
        super().__init__(request, lines)
        self.cancelled = Announced(cancel)

    def grow(self, gained: tuple[str, ...]) -> None:
        """Show what has been added."""
        self.texts = tuple(map(str.__add__, self.texts, gained))

    def move(self, ahead: int | None) -> None:
        """Take over how many turns begin before this one; None: it has begun."""
        self.ahead, self.begun = ahead, ahead is None

    def end(self, ended: Ended) -> None:
        """Take over how the turn ended."""
        self.begun, self.ahead = ended.begun, None
        self.most_rows, self.error = ended.most_rows, ended.error
        for line, (tokens, text, finish) in zip(self.lines, ended.lines, strict=False):
            line.tokens, line.text, line.finish = tokens, text, finish
        for line, draw in zip(self.lines, ended.draws, strict=False):
            line.draw = draw
        if ended.lines:
            self.texts = tuple(line.text for line in self.lines)
        self.done.set()

    def fail(self, error: ArenaError) -> None:
        """End the turn; what has been said stays in sight."""
        self.error = error
        self.done.set()

    @property
    def how(self) -> How:
        """How it ended: `given_up` before it began, `stopped` where any answer was cut short."""
        if self.error:
            return "failed"
        if not self.begun:
            return "given_up"
        stopped = any(line.finish is Finish.CANCELLED for line in self.lines)
        return "stopped" if stopped else "whole"
