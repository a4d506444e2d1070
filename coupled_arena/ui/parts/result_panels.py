"""Results that are parts of tabs: scores with style held fixed, how far annotators agree."""

from __future__ import annotations

from typing import Any

import gradio as gr

from coupled_arena.analysis.agreement import read_agreement
from coupled_arena.analysis.style.result import StyleBoard
from coupled_arena.core.language import _
from coupled_arena.store.database import Store
from coupled_arena.ui.parts.events import FREE, user_errors
from coupled_arena.ui.parts.figure_panel import drawn, figure_panel
from coupled_arena.views.figures.reading import BOARD
from coupled_arena.views.figures.style import style_figure
from coupled_arena.views.markup import heading, joined, listed
from coupled_arena.views.tables.style import style_effects, style_models
from coupled_arena.views.words.agreement import agreement_findings
from coupled_arena.views.words.style import style_warnings, style_words


class StylePanel:
    """Components that are shown where the visitor holds style fixed."""

    def build(self) -> None:
        """Lay out the panel inside the current Blocks."""
        with gr.Column(visible=False, elem_id="board-style") as self._all:
            gr.Markdown(_("## With style held fixed"))
            self._words = gr.HTML(elem_id="board-style-words", apply_default_css=False)
            self._models = gr.HTML(elem_id="board-style-models", apply_default_css=False)
            with gr.Column(visible=False) as self._known:
                self._effects = figure_panel("board-style-effects", BOARD["style"])
                self._table = gr.HTML(elem_id="board-style-table", apply_default_css=False)

    @property
    def outputs(self) -> list[Any]:
        """The components that `shown` changes."""
        return [self._all, self._words, self._models, self._known, self._effects, self._table]

    def shown(self, style: StyleBoard | None, *, dark: bool) -> dict[Any, Any]:
        """Return the panel with a result, or without one."""
        changed: dict[Any, Any] = {self._all: gr.Column(visible=style is not None)}
        if style is None:
            return changed
        warnings = listed(style_warnings(style), "hint")
        changed[self._words] = joined([listed(style_words(style), "findings"), warnings])
        changed[self._models] = style_models(style).html()
        changed[self._known] = gr.Column(visible=bool(style.effects))
        if style.effects:
            changed[self._effects] = drawn(style_figure(style, dark=dark))
            changed[self._table] = style_effects(style).html()
        return changed


# How far annotators agree, wherever a tab says so.


class AgreementPanel:
    """What is said, read again whenever its tab is selected."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def build(self) -> None:
        """Lay out the panel inside the current Blocks."""
        self._said = gr.HTML(elem_id="agreement", apply_default_css=False)

    def read_when_shown(self, tabs: gr.Tabs, title: str) -> None:
        """Read the store whenever the tab of this title is selected."""

        def show(event: gr.SelectData) -> Any:
            if event.value != title:
                return gr.skip()
            with user_errors():
                found = agreement_findings(read_agreement(self._store))
            return joined([heading(_("Agreement between people"), 2), found])

        tabs.select(show, None, self._said, **FREE)
