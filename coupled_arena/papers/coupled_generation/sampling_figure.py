"""A picture of what coupling saves by temperature or top-p, a line for each pair of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from coupled_arena.analysis.coupling.sweep import Sweep, SweptPair
from coupled_arena.views.figures.lines import Axes, Line, line_figure, line_style
from coupled_arena.views.figures.theme import Head
from coupled_arena.views.tables.sweep import sweep_table
from coupled_arena.views.tables.table import BETWEEN

_AXES = {"temperature": "Temperature", "top_p": "Top-p"}
_APART = 0.012  # of the axis, between the intervals of two pairs
_WIDEST = 0.15  # of the axis, for those of all
_ZERO = {"width": 1, "color": "#8a8f98"}


def sweep_figure(
    found: Sweep, by: Literal["temperature", "top_p"], rows: Sequence[SweptPair], where: str
) -> go.Figure:
    """Draw the savings under some samplings that differ in one thing, with their intervals.

    Parameters
    ----------
    by : {"temperature", "top_p"}
        What they differ in.
    rows : sequence of SweptPair
        All of them finite.
    where : str
        What they have in common.
    """
    own: dict[str, list[SweptPair]] = {}
    for row in rows:
        own.setdefault(BETWEEN.join((row.pair.model_a, row.pair.model_b)), []).append(row)
    values = sorted({getattr(row.drawn, by) for row in rows})
    apart = min(_APART, _WIDEST / len(own)) * (values[-1] - values[0])
    lines = [
        Line(
            name,
            [getattr(row.drawn, by) + (at - (len(own) - 1) / 2) * apart for row in swept],
            [row.pair.savings for row in swept],
        )
        for at, (name, swept) in enumerate(own.items())
    ]
    bounds = [end for row in rows for end in (row.pair.savings_low, row.pair.savings_high)]
    y_range = min(0.0, *bounds), max(0.0, *bounds)
    head = Head(
        "savings",
        f"What coupling saves by {_AXES[by].lower()}",
        (f"{found.metric}; {where}", f"Bars: {100 * (1 - found.alpha):.4g}% intervals"),
        sweep_table(found),
    )
    axes = Axes(_AXES[by], "Samples saved", share_y=True, y_range=y_range)
    figure = line_figure(lines, axes, head, points=True)
    for at, swept in enumerate(own.values()):
        figure.update_traces(error_y=_bars(swept, line_style(at)), selector=at)
    figure.update_xaxes(tickvals=values, ticktext=[f"{value:g}" for value in values])
    return figure.add_hline(y=0, line=_ZERO)


def _bars(rows: Sequence[SweptPair], style: Mapping[str, Any]) -> dict[str, Any]:
    pairs = [row.pair for row in rows]
    return {
        "array": [pair.savings_high - pair.savings for pair in pairs],
        "arrayminus": [pair.savings - pair.savings_low for pair in pairs],
        "color": style["color"],
        "thickness": 1.2,
        "width": 3,
    }
