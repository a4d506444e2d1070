"""A figure on the page, with how to read it and buttons that save it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import gradio as gr
import plotly.graph_objects as go
from gradio.components.plot import PlotData

from coupled_arena.core.language import _
from coupled_arena.core.settings import resource
from coupled_arena.views.figures.registry import Figure

NARROW = 340
"""Pixels; below twice this, figures stand one above the other."""

Leads = Sequence[str] | Sequence[Sequence[str | None]]
_KINDS = ("png", "svg", "csv")


def figure_rows(prefix: str, rows: Sequence[Sequence[Figure]]) -> dict[Figure, gr.Plot]:
    """Lay out empty figures, row by row, inside the current Blocks and return them."""
    plots: dict[Figure, gr.Plot] = {}
    for row in rows:
        with gr.Row():
            for figure in row:
                with gr.Column(min_width=NARROW):
                    plots[figure] = figure_panel(prefix, figure)
    return plots


def figure_panel(prefix: str, figure: Figure, *, first: bool = False) -> gr.Plot:
    """Lay out an empty figure inside the current Blocks and return it.

    Parameters
    ----------
    prefix : str
        The figure's id is this, a hyphen, and its name.
    first : bool
        Whether a tab opens with it, so that its place is kept until it is drawn.
    """
    elem_id = f"{prefix}-{figure.slug}"
    classes = ["figure", *(["opening"] if first else [])]
    plot = gr.Plot(show_label=False, elem_id=elem_id, elem_classes=classes)
    buttons = "".join(
        f'<button type="button" data-kind="{kind}" aria-label="'
        + _("Save as {kind}").format(kind=kind.upper())
        + '">'
        f"{kind.upper()}</button>"
        for kind in _KINDS
    )
    reading = _("How to read this")
    gr.HTML(
        html_template=(
            '<div class="figure-foot">'
            f"<details><summary>{reading}</summary><p>{_(figure.reading)}</p>"
            '<p class="settings"></p></details>'
            f'<div class="save" data-figure="{elem_id}">{buttons}</div></div>'
        ),
        js_on_load=resource("assets/figures.js").read_text(encoding="utf-8"),
        apply_default_css=False,
        elem_id=f"{elem_id}-foot",
    )
    return plot


def drawn(figure: go.Figure, leads: Leads | None = None) -> PlotData:
    """Return a figure for the page, without plotly's own buttons: they would cover the title.

    Parameters
    ----------
    leads : sequence of str, or of sequences of str or None, optional
        Where a click leads: an address for each row, or for each cell by row and column.
    """
    content: dict[str, Any] = json.loads(figure.to_json() or "{}")
    if leads:
        content["layout"]["meta"]["leads"] = leads
    content["config"] = {"displayModeBar": False, "doubleClick": False}
    return PlotData(type="plotly", plot=json.dumps(content))
