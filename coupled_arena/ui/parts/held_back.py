"""What people who are to vote blind may not ask for: names, boards, battles and files.

The server refuses it, whoever asks and however: the page only does not offer it. Gradio's events
have numbers; those that may tell a name are noted while the page is built.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gradio as gr
from starlette.requests import HTTPConnection
from starlette.types import Scope

from coupled_arena.core.errors import StoreError
from coupled_arena.ui.parts.events import FREE
from coupled_arena.ui.parts.visitor import member_of, name_of

_log = logging.getLogger(__name__)
WHY = "Names, boards and battles are not open to you yet."


class HeldBack:
    """Who is refused what.

    Parameters
    ----------
    opens : callable
        Tells whether a voter may know names; admins always may.

    Attributes
    ----------
    events : set of int
        Numbers of the events that may tell a name.
    """

    def __init__(self, opens: Callable[[str], bool]) -> None:
        self._opens = opens
        self.events: set[int] = set()

    @contextmanager
    def noting(self, page: gr.Blocks) -> Iterator[None]:
        """Note all events that a page gets in this block as such that may tell a name."""
        before = set(page.fns)
        yield
        self.events |= set(page.fns) - before

    def show(self, page: gr.Blocks, tabs: Sequence[gr.Tab]) -> None:
        """Show tabs that were built hidden to everybody who may see them."""

        def shown(request: gr.Request) -> Any:
            seen = self.is_open(request, request.session_hash)
            return [gr.Tab(visible=True) if seen else gr.skip() for _tab in tabs]

        page.load(shown, None, list(tabs), **FREE)

    def is_open(self, request: gr.Request | HTTPConnection, session: str | None) -> bool:
        """Tell whether somebody may know names; nobody may while the store cannot note it."""
        member = member_of(request)
        if member and member.admin:
            return True
        try:
            return self._opens(name_of(request, session))
        except StoreError as error:
            _log.warning("Nobody is told names at the moment: %s", error)
            return False

    async def refuses(self, scope: Scope, session: str | None) -> bool:
        """Tell whether a request for names is refused."""
        return not await asyncio.to_thread(self.is_open, HTTPConnection(scope), session)
