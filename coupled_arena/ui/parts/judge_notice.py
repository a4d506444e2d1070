"""A quiet line while the live judge does not answer."""

from __future__ import annotations

from typing import Any

import gradio as gr

from coupled_arena.battles.judge_runs.live import LiveJudge
from coupled_arena.ui.parts.events import FREE
from coupled_arena.views.markup import paragraph

_LOOK = 3.0  # seconds between looks


class JudgeNotice:
    """The line; what exactly is wrong stands in the log, for visitors cannot mend it."""

    def __init__(self, judge: LiveJudge) -> None:
        self._judge = judge

    def build(self) -> None:
        """Lay out the line inside the current Blocks."""
        shown = gr.State("")
        line = gr.HTML(self._words, elem_id="judge-notice", apply_default_css=False)
        gr.Timer(_LOOK).tick(self._refresh, shown, [shown, line], **FREE)

    def _refresh(self, shown: str) -> Any:
        words = self._words()
        return (words, words) if words != shown else (gr.skip(), gr.skip())

    def _words(self) -> str:
        if self._judge.answering:
            return ""
        name = self._judge.name
        return paragraph(
            f"The judge {name} does not answer at the moment. Votes count as ever; its verdicts "
            "will follow.",
            "hint",
        )
