"""How all tabs bind their events and tell people what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from coupled_arena.core.errors import ArenaError, StoreLostError

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
FREE: dict[str, Any] = {**QUIET, "concurrency_limit": None}  # the default runs one at a time

_LOST = (
    "This arena's database was moved, deleted or exchanged, so that no vote can be stored at the "
    "moment. What was stored before is safe. Please tell whoever runs the arena."
)


@contextmanager
def user_errors() -> Iterator[None]:
    """Show an error that a person can mend as a message in the page."""
    try:
        yield
    except StoreLostError as error:  # visitors need no paths; the log has them
        raise gr.Error(_LOST, print_exception=False) from error
    except ArenaError as error:
        raise gr.Error(str(error), print_exception=False) from error
