"""A quiet line while something is amiss that visitors cannot mend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from coupled_arena.ui.parts.events import FREE
from coupled_arena.views.markup import paragraph


class Notice:
    """The line; what exactly is wrong stands in the log.

    Parameters
    ----------
    says : callable
        Returns what is amiss, empty while all is well.
    elem_id : str
    seconds : float
        Between looks.
    """

    def __init__(self, says: Callable[[], str], elem_id: str, seconds: float) -> None:
        self._says = says
        self._elem_id = elem_id
        self._seconds = seconds

    def build(self) -> None:
        """Lay out the line inside the current Blocks."""
        shown = gr.State("")
        line = gr.HTML(self._words, elem_id=self._elem_id, apply_default_css=False)
        gr.Timer(self._seconds).tick(self._refresh, shown, [shown, line], **FREE)

    def _refresh(self, shown: str) -> Any:
        words = self._words()
        return (words, words) if words != shown else (gr.skip(), gr.skip())

    def _words(self) -> str:
        said = self._says()
        return paragraph(said, "hint") if said else ""
