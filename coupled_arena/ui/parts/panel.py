"""Panels whose content a script of ours draws, see ``assets``."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.texts import texts_path


def panel(name: str, *scripts: str, value: dict[str, Any] | None = None) -> gr.HTML:
    """Return a panel that is drawn anew from its value whenever that changes.

    Parameters
    ----------
    name : str
        Its id on the page, and the class of the element that the scripts draw into.
    scripts : str
        Files ``assets/*.js`` that make one script, in this order.
    value : dict, optional
        What it shows at first.
    """
    files = (resource(f"assets/{script}.js") for script in scripts)
    script = [f"const TEXTS = {json.dumps(texts_path())};"]
    script += [file.read_text(encoding="utf-8") for file in files]
    return gr.HTML(
        value=value,
        # No answer may pass through the template: Gradio evaluates what it renders.
        html_template=f'<div class="{name}"></div>',
        js_on_load="\n".join(script),
        apply_default_css=False,
        elem_id=name,
    )


def comparison_panel(value: dict[str, Any] | None = None) -> gr.HTML:
    """Return the panel that draws named answers side by side."""
    scripts = "patch", "remembered", "reading", "tables", "parting", "judged", "compare"
    return panel("comparison", *scripts, value=value)
