"""How all tabs bind their events and tell people what went wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from coupled_arena.core.errors import ArenaError, StoreFileError, StoreLostError
from coupled_arena.core.language import N_, _

_log = logging.getLogger(__name__)

# At each word from the server Gradio's page copies the values, whole figures, of all that might
# show progress, hidden or not: much of what a leaderboard cost the browser that looked for votes.
UNSHOWN: dict[str, Any] = {"show_progress": "hidden", "show_progress_on": []}
QUIET: dict[str, Any] = {**UNSHOWN, "api_visibility": "private"}
FREE: dict[str, Any] = {**QUIET, "concurrency_limit": None}  # the default runs one at a time

_LOST = N_(  # visitors need no paths; the log has them
    "This arena's database was moved, deleted or exchanged, so that no vote can be stored at the "
    "moment. What was stored before is safe. Please tell whoever runs the arena."
)
_ILL = N_(
    "This arena's database cannot be read or written at the moment, so nothing was stored. Please "
    "try again in a minute, and tell whoever runs the arena."
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
