"""What the battle tab is for: three steps as pictures until there is a vote, then a sentence."""

from __future__ import annotations

import gradio as gr
from markupsafe import Markup

from coupled_arena.core.language import N_, _
from coupled_arena.store.database import Store
from coupled_arena.store.tables.votes import any_votes
from coupled_arena.views.markup import joined, paragraph

_CARD = '<rect x="{}" y="6" width="40" height="48" rx="6"/>'
_CARDS = _CARD.format(6) + _CARD.format(58)
_LINES = '<path d="M14 22h24M14 32h24M14 42h15M66 22h24M66 32h18M66 42h24"/>'
_STEPS = (
    (
        N_("Ask a question."),
        '<rect x="10" y="8" width="84" height="32" rx="16"/><path d="M28 40v12l14-12"/>'
        '<path class="mark" d="M26 24h38"/><path class="mark" d="m74 24 8 0m-5-5 5 5-5 5"/>',
    ),
    (N_("Read two answers; their models stay hidden."), _CARDS + _LINES),
    (
        N_("Choose the better one: then you see who wrote it."),
        f'{_CARDS}<path class="mark" d="m66 31 8 8 16-18"/><path d="M14 22h24M14 32h24M14 42h15"/>',
    ),
)
INTRO = N_(
    "Anonymous models answer side by side; you say which answer is better, then you see who they "
    "were."
)
_STEP = Markup('<li><svg viewBox="0 0 104 60" aria-hidden="true">{}</svg><span>{}</span></li>')
# Whoever sees the names for the first time has done all three.
_GONE = 'window.addEventListener("arena:reveal", () => { element.style.display = "none"; });'


class FirstSteps:
    """The pictures, until there is a vote; then the sentence.

    Parameters
    ----------
    offer : Markup
        What leads to the example; empty where there is none.
    """

    def __init__(self, store: Store, offer: Markup) -> None:
        self._store = store
        self._offer = offer

    def build(self) -> None:
        """Lay them out inside the current Blocks."""
        gr.HTML(self._shown, js_on_load=_GONE, elem_id="first-steps", apply_default_css=False)

    def _shown(self) -> Markup:
        with self._store.cursor() as cursor:
            if any_votes(cursor):
                return paragraph(_(INTRO))
        steps = Markup("").join(_STEP.format(Markup(drawn), _(said)) for said, drawn in _STEPS)
        return joined([Markup('<ol class="steps">{}</ol>').format(steps), self._offer])
