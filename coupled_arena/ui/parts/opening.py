"""What a tab opens with: a sentence, and behind one click how it was computed."""

from __future__ import annotations

from typing import Any

import gradio as gr
from markupsafe import escape

from coupled_arena.core.language import N_, _
from coupled_arena.views.markup import joined, paragraph

HOW = N_("How this was computed, and filters")
NO_VERDICTS = N_(
    '<p class="headline">There are no verdicts here yet.</p><p class="hint">Let a judge judge the '
    "battles, or import verdicts with <code>coupled-arena import FILE --judge NAME</code>.</p>"
)

_WAITING = '<p class="headline waiting">{}</p>'


def verdict(elem_id: str) -> gr.HTML:
    """Lay out the place of the sentence inside the current Blocks: as tall before it is known."""
    return gr.HTML(
        waiting(_("Counting …")),
        elem_id=elem_id,
        elem_classes=["verdict"],
        apply_default_css=False,
    )


def waiting(sentence: str) -> str:
    """Return what is said until the sentence is known as the value of that place."""
    return _WAITING.format(escape(sentence))


def said(sentence: str) -> str:
    """Return a sentence as the value of that place."""
    return paragraph(sentence, "headline")


def hidden(*parts: gr.Column) -> dict[Any, Any]:
    """Return the updates that leave nothing but the sentence."""
    return {part: gr.Column(visible=False) for part in parts}


def how(text: str, title: str = HOW) -> gr.Accordion:
    """Return what opens at a click, with these words at its top; its controls go inside."""
    folded = gr.Accordion(_(title), open=False)
    with folded:
        gr.HTML(joined([paragraph(_(text), "method")]), apply_default_css=False)
    return folded
