"""Who one votes as, for whoever came by a link of their own or has signed in."""

from __future__ import annotations

from typing import Any

import gradio as gr
from markupsafe import Markup

from coupled_arena.core.language import _
from coupled_arena.ui.parts.events import FREE
from coupled_arena.ui.parts.visitor import annotator_of, member_of
from coupled_arena.views.markup import joined, paragraph

_WAY = Markup('<p class="hint">{} <a href="{}">{}</a></p>')


def annotator_notice(page: gr.Blocks, *, signs_in: bool = False) -> None:
    """Lay out the line inside the current Blocks, which are those of the page.

    Parameters
    ----------
    signs_in : bool
        Whether people may sign in: whoever has not is told where.
    """
    line = gr.HTML(elem_id="annotator", apply_default_css=False, visible=False)

    def words(request: gr.Request) -> Any:
        said = _words(request, signs_in=signs_in)
        return gr.HTML(said, visible=True) if said else gr.skip()

    page.load(words, None, line, **FREE)


def _words(request: gr.Request, *, signs_in: bool) -> str:
    if member := member_of(request):
        said = _("You are signed in as {name}.").format(name=member.name)
        return joined([_WAY.format(said, "logout", _("Sign out"))])
    if annotator := annotator_of(request):
        return paragraph(_("You vote as {name}.").format(name=annotator.name), "hint")
    return joined([_WAY.format("", "login", _("Sign in"))]) if signs_in else ""
