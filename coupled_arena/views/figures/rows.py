"""Figures with a line for each model.

Names and numbers stand above the marks rather than beside the axis, so that the marks keep the
whole width of a phone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from coupled_arena.core.language import _
from coupled_arena.views.figures.theme import Head, Theme, finish, shortened
from coupled_arena.views.markup import straight
from coupled_arena.views.words.names import without_data

Lacking = Callable[[Sequence[str]], str]  # says which models are lacking something
_LINE = 50  # characters of a line above a figure


@dataclass(frozen=True)
class FigureRow:
    """A line of text: a model, and what stands beside it in plotly's markup."""

    model: str
    text: str
    known: bool = True


def italic(text: str) -> str:
    """Return a text that stands where a number is lacking."""
    return f"<i>{text}</i>"


def row_label(row: int, label: FigureRow, theme: Theme) -> list[dict[str, Any]]:
    """Return the annotations that name a row and say its numbers."""
    place: dict[str, Any] = {
        "y": row,
        "yshift": 17,
        "showarrow": False,
        "xref": "paper",
        "bgcolor": theme.ground,  # no line of the axis runs through a name
        "borderpad": 0,
        "font": {"color": theme.text if label.known else theme.faint},
    }
    return [
        {**place, "text": shortened(label.model), "x": 0, "xanchor": "left"},
        {**place, "text": label.text, "x": 1, "xanchor": "right"},
    ]


def split_idle(rows: Sequence[FigureRow]) -> tuple[Sequence[FigureRow], Sequence[FigureRow]]:
    """Return the rows up to the last one that is known, and those after it."""
    last = max((at for at, row in enumerate(rows) if row.known), default=-1)
    return rows[: last + 1], rows[last + 1 :]


def idle_lines(rows: Sequence[FigureRow], lacking: Lacking) -> list[str]:
    """Return what stands above a figure in the place of rows of which nothing is known."""
    if not rows:
        return []
    text = lacking([row.model for row in rows])
    return [escape(line, quote=False) for line in wrap(straight(text), _LINE)]


DASH = "\N{EN DASH}"
_ROW = 48  # pixels: a line of text, and the mark under it
_TIGHT_ROW = 38
_MANY = 12  # models above which rows move together


def row_figure(
    traces: list[dict[str, Any]],
    rows: Sequence[FigureRow],
    theme: Theme,
    head: Head,
    axis: dict[str, Any],
    lacking: Lacking = without_data,
) -> go.Figure:
    """Return a figure of traces whose y is the number of a row, from above.

    The last rows of which nothing is known share a line that says what they are lacking.
    """
    rows, idle = split_idle(rows)
    head = replace(head, lines=(*head.lines, *idle_lines(idle, lacking)))
    tall = _ROW if len(rows) <= _MANY else _TIGHT_ROW
    layout = {
        "xaxis": {**plain_axis(theme), **axis},
        "yaxis": {"range": [len(rows) - 0.6, -0.75], "visible": False},
        "annotations": [
            each for row, label in enumerate(rows) for each in row_label(row, label, theme)
        ],
    }
    return finish(traces, theme, head, height=tall * len(rows) + 62, layout=layout)


def marks(x: Sequence[float], y: Sequence[float], colour: str, **marker: Any) -> dict[str, Any]:
    """Return a trace of dots."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "y": list(y),
        "cliponaxis": False,
        "hoverinfo": "text",
        "marker": {"size": 11, "color": colour, **marker},
    }


def interval_dots(
    points: Sequence[tuple[float, float, float, float]], theme: Theme
) -> dict[str, Any]:
    """Return a trace of dots on their intervals (row, value, low, high)."""
    return {
        **marks([value for _, value, _, _ in points], [row for row, *_ in points], theme.accent),
        "error_x": {
            "type": "data",
            "array": [high - value for _, value, _, high in points],
            "arrayminus": [value - low for _, value, low, _ in points],
            "thickness": 5,
            "width": 0,
            "color": theme.pale,
        },
    }


def bar_lines(
    bars: Sequence[tuple[float, float, float]],
    colour: str,
    thickness: int,
    *,
    round_ends: bool = True,
) -> dict[str, Any]:
    """Return a trace of bars (row, from, to); round ends reach a little beyond."""
    beyond = 0.18 if round_ends else 0.0
    x: list[float | None] = []
    y: list[float | None] = []
    for row, low, high in bars:
        x += [low - beyond, high + beyond, None]
        y += [row, row, None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"width": thickness, "color": colour},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def rate_axis(theme: Theme) -> dict[str, Any]:
    """Return the axis of win rates."""
    return {
        "range": [0, 1],
        "tickvals": [0, 0.25, 0.5, 0.75, 1],
        "tickformat": ".0%",
        "title": axis_title(_("Win rate"), theme),
    }


def plain_axis(theme: Theme) -> dict[str, Any]:
    """Return what all axes with numbers share.

    Where two axes meet, their first numbers stand apart.
    """
    return {
        "automargin": True,
        "zeroline": False,
        "gridcolor": theme.grid,
        "ticklabelstandoff": 6,
    }


def axis_title(text: str, theme: Theme) -> dict[str, Any]:
    """Return a small title."""
    return {"text": text, "font": {"size": 12, "color": theme.faint}, "standoff": 8}
