"""The audit's part on style: what sways the judge beside people, and its bias at equal style."""

from __future__ import annotations

from typing import Any

import gradio as gr

from coupled_arena.analysis.style.judge import JudgeStyle
from coupled_arena.core.choices import Control
from coupled_arena.core.language import _
from coupled_arena.ui.parts.controls import offered
from coupled_arena.views.markup import joined, listed
from coupled_arena.views.tables.judge_style import judge_style_models, judge_style_traits
from coupled_arena.views.words.judge_style import judge_style_warnings, judge_style_words


class JudgeStylePanel:
    """A choice among the audit's, and components that are shown where style is held fixed."""

    def build_choice(self) -> gr.Radio:
        """Lay out the choice inside the current Blocks."""
        return gr.Radio(
            offered(Control),
            value=Control.NONE.value,
            label=_("Style held fixed"),
            info=_("Adds bias and agreement that length, or Markdown too, cannot move."),
            elem_id="audit-control",
        )

    def build(self) -> None:
        """Lay out the panel inside the current Blocks."""
        with gr.Column(visible=False, elem_id="audit-style") as self._all:
            gr.Markdown(_("## With style held fixed"))
            self._words = gr.HTML(elem_id="audit-style-words", apply_default_css=False)
            with gr.Column(visible=False) as self._known:
                self._traits = gr.HTML(elem_id="audit-style-traits", apply_default_css=False)
                self._models = gr.HTML(elem_id="audit-style-models", apply_default_css=False)

    @property
    def outputs(self) -> list[Any]:
        """The components that `shown` changes."""
        return [self._all, self._words, self._known, self._traits, self._models]

    def shown(self, style: JudgeStyle | None) -> dict[Any, Any]:
        """Return the panel with a result, or without one."""
        changed: dict[Any, Any] = {self._all: gr.Column(visible=style is not None)}
        if style is None:
            return changed
        warnings = listed(judge_style_warnings(style), "hint")
        changed[self._words] = joined([listed(judge_style_words(style), "findings"), warnings])
        changed[self._known] = gr.Column(visible=bool(style.models))
        if style.models:
            changed[self._traits] = judge_style_traits(style).html() if style.traits else ""
            changed[self._models] = judge_style_models(style).html()
        return changed
