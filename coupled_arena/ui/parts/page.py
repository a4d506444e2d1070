"""Gradio's page, whose events fail without a word of what somebody wrote."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Any

import gradio as gr

from coupled_arena.core.language import N_, _

_log = logging.getLogger(__name__)
_FAILED = N_("This could not be done. Reload the page, and try again.")


class Page(gr.Blocks):
    """A page whose events fail in one line of the log; Gradio's has values, people's questions."""

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


def _place(error: Exception) -> str:
    """Return what went wrong where, without what somebody wrote."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
