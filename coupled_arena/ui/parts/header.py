"""The head of the page: what it is, and the choice of light or dark."""

from __future__ import annotations

import gradio as gr

from coupled_arena.core.language import _
from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.identity import DESCRIPTION, NAME

_HEADER = """<header class="page-header">
<div><h1>{name}</h1><p>{description}</p></div>
<label><span>{theme}</span> <select>
<option value="system">{system}</option>
<option value="light">{light}</option>
<option value="dark">{dark}</option>
</select></label>
</header>"""


def header() -> gr.HTML:
    """Return the head of the page."""
    scripts = (resource(f"assets/{name}.js") for name in ("remembered", "appearance"))
    return gr.HTML(
        _HEADER.format(
            name=NAME,
            description=_(DESCRIPTION),
            theme=_("Theme"),
            system=_("system"),
            light=_("light"),
            dark=_("dark"),
        ),
        js_on_load="\n".join(script.read_text(encoding="utf-8") for script in scripts),
        apply_default_css=False,
        padding=False,
        elem_id="header",
    )
