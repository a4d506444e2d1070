"""Panels of the leaderboard that are shown where there is something to show."""

from __future__ import annotations

from typing import Any

import gradio as gr
from markupsafe import Markup

from coupled_arena.analysis.leaderboard.memory import against_memory
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.analysis.style.result import StyleBoard
from coupled_arena.core.language import _
from coupled_arena.ui.parts.figure_panel import drawn, figure_panel
from coupled_arena.views.addresses import model_address
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.leaderboard import style_figure
from coupled_arena.views.figures.memory import memory_figure
from coupled_arena.views.markup import joined, listed
from coupled_arena.views.tables.memory import memory_table
from coupled_arena.views.tables.style import style_effects, style_models
from coupled_arena.views.words.style import style_warnings, style_words


class MemoryPanel:
    """Quality against memory, where the sizes of two models are known."""

    def build(self) -> None:
        """Lay out the panel inside the current Blocks."""
        with gr.Column(visible=False) as self._all:
            self._figure = figure_panel("board", registry.BOARD_MEMORY)
            self._table = gr.HTML(elem_id="board-memory-table", apply_default_css=False)

    @property
    def outputs(self) -> list[Any]:
        """The components that `shown` changes."""
        return [self._all, self._figure, self._table]

    def shown(self, board: Leaderboard, *, dark: bool) -> dict[Any, Any]:
        """Return the panel with a board that knows sizes, or hide it."""
        found = against_memory(board)
        changed: dict[Any, Any] = {self._all: gr.Column(visible=found is not None)}
        if found is not None:
            changed[self._figure] = drawn(memory_figure(board, found, dark=dark))
            changed[self._table] = _folded(board)
        return changed


def _folded(board: Leaderboard) -> Markup:
    rows = memory_table(board).html(
        address=lambda row, name: model_address(row.model) if name == "model" else None
    )
    summary = Markup("<summary>{}</summary>").format(_("The models with their sizes as a table"))
    return Markup('<details class="pair-table">{}{}</details>').format(summary, rows)


class StylePanel:
    """Components that are shown where the visitor holds style fixed."""

    def build(self) -> None:
        """Lay out the panel inside the current Blocks."""
        with gr.Column(visible=False, elem_id="board-style") as self._all:
            gr.Markdown(_("## With style held fixed"))
            self._words = gr.HTML(elem_id="board-style-words", apply_default_css=False)
            self._models = gr.HTML(elem_id="board-style-models", apply_default_css=False)
            with gr.Column(visible=False) as self._known:
                self._effects = figure_panel("board", registry.STYLE_EFFECTS)
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
