"""How all tabs bind their events, and what visitors are told when one fails."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import gradio as gr
from gradio.blocks import Block
from gradio.context import Context

from coupled_arena.core.errors import ArenaError, StoreFileError, StoreLostError
from coupled_arena.core.language import N_, _

_log = logging.getLogger(__name__)

# At each word from the server Gradio's page copies the values, whole figures, of all that might
# show progress, hidden or not: much of what a leaderboard cost the browser that looked for votes.
UNSHOWN: dict[str, Any] = {"show_progress": "hidden", "show_progress_on": []}
QUIET: dict[str, Any] = {**UNSHOWN, "api_visibility": "private"}
FREE: dict[str, Any] = {**QUIET, "concurrency_limit": None}  # the default runs one at a time

_LOST = N_(  # visitors need no paths; the log has them
    "This arena's database was moved, deleted or exchanged. No vote can be stored at the "
    "moment. Earlier votes are safe. Please tell the operator."
)
_ILL = N_(
    "This arena's database cannot be read or written at the moment, so nothing was stored. "
    "Please try again in a minute, and tell the operator."
)


def sent(event: gr.EventData, name: str) -> object:
    """Return a part of what a page's script sends with an event: a request may hold anything."""
    data: Any = event._data
    return data.get(name) if isinstance(data, dict) else None


def words_of(error: ArenaError) -> str:
    """Return what visitors are told of an error."""
    if isinstance(error, StoreLostError):
        return _(_LOST)
    if isinstance(error, StoreFileError):
        _log.warning("%s", error)
        return _(_ILL)
    return str(error)


@contextmanager
def user_errors() -> Iterator[None]:
    """Show an error that a person can mend as a message in the page."""
    try:
        yield
    except ArenaError as error:
        raise gr.Error(words_of(error), print_exception=False) from error


# Gradio's page, whose events fail without a word of what somebody wrote.

_FAILED = N_("This could not be done. Reload the page, and try again.")


class Page(gr.Blocks):
    """A page whose events fail in one line of the log; Gradio's has values, people's questions."""

    thread = 0  # which one lays it out

    def __enter__(self) -> Self:
        """Begin to lay it out."""
        self.thread = threading.get_ident()
        super().__enter__()
        return self

    async def process_api(self, block_fn: Any, *given: Any, **named: Any) -> dict[str, Any]:
        """Carry out an event.

        Raises
        ------
        gr.Error
            What the visitor is told: the event's own refusal, or that it failed.
        """
        try:
            return await super().process_api(block_fn, *given, **named)
        except gr.Error as error:
            error.print_exception = False
            raise
        except Exception as error:  # noqa: BLE001 (told to the log and the visitor)
            _log.error("An event of the page failed: %(place)s.", {"place": _place(error)})
            _log.debug("It was this.", exc_info=error)
            raise gr.Error(_(_FAILED), print_exception=False) from None


_render = Block.render


def _render_here(block: Block) -> Block:
    """Put a block into the page that this thread lays out.

    Gradio has one page at a time for the whole process. So columns that handlers of one page return
    would join another page, while that is laid out beside them.
    """
    page = Context.root_block
    elsewhere = isinstance(page, Page) and page.thread != threading.get_ident()
    return block if elsewhere else _render(block)


Block.render = _render_here  # type: ignore[method-assign]


def _place(error: Exception) -> str:
    """Return what went wrong where, without what somebody wrote."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
