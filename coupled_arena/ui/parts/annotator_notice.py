"""Who one votes as, for whoever came by a link of their own; nobody else is told."""

from __future__ import annotations

from typing import Any

import gradio as gr

from coupled_arena.core.language import _
from coupled_arena.ui.parts.events import FREE
from coupled_arena.ui.parts.visitor import annotator_of
from coupled_arena.views.markup import paragraph


def annotator_notice(page: gr.Blocks) -> None:
    """Lay out the line inside the current Blocks, which are those of the page."""
    line = gr.HTML(elem_id="annotator", apply_default_css=False, visible=False)
    page.load(_words, None, line, **FREE)


def _words(request: gr.Request) -> Any:
    annotator = annotator_of(request)
    if annotator is None:
        return gr.skip()
    return gr.HTML(
        paragraph(_("You vote as {name}.").format(name=annotator.name), "hint"), visible=True
    )
