"""Figures with a cell for each pair of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.views.figures.rows import DASH
from coupled_arena.views.figures.theme import LINE, Head, Theme, finish, shortened, wrapped

CROWDED = 5  # models above which a phone's cells have room for one number only
FULL = 32  # models above which they have room for none
_FIXED = 8  # models above which cells keep their width, and a phone moves the figure sideways
_COLUMN_LINES = 3  # of a name that stands on end below a phone's column
_CELL, _BESIDE = 38, 214  # pixels of such a cell, and of the names beside all of them


def finite(value: float) -> float | None:
    """Return a number, None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None


def matrix_figure(
    names: Sequence[str],
    cells: dict[str, Any],
    unmet: Sequence[tuple[int, int]],
    theme: Theme,
    head: Head,
) -> go.Figure:
    """Return a figure with a cell for each pair of models.

    Parameters
    ----------
    cells : dict
        What a heatmap has: z, text, hovertext, zmin, zmid and zmax, from behind to ahead.
    unmet : sequence of (row, column)
        Cells with a dash in them.
    """
    k = len(names)
    small = {"size": 12} if k > _FIXED else {}
    heatmap = {
        "type": "heatmap",
        "texttemplate": "%{text}",
        "hoverinfo": "text",
        "colorscale": [[0, theme.behind], [0.5, theme.even], [1, theme.ahead]],
        "showscale": False,
        "xgap": 3 if k <= FULL else 1,
        "ygap": 3 if k <= FULL else 1,
        **cells,
        "textfont": {"color": theme.written, **small, **cells.get("textfont", {})},
    }
    rows = [(wrapped if k <= _FIXED else shortened)(name) for name in names]
    columns = [_below(name, row, k) for name, row in zip(names, rows, strict=True)]
    if k > FULL:  # columns are too narrow for names: numbers stand for them, some of them
        rows = [f"{place}. {shortened(name)}" for place, name in enumerate(names, 1)]
        columns = ["" if place > 1 and place % 5 else f"{place}" for place in range(1, k + 1)]
    least = 3 if k <= CROWDED else 2 if k <= FULL else 1
    lines = max(least, *(row.count("<br>") + 1 for row in rows))
    layout = {
        "xaxis": {
            **_names(columns),
            "range": [-0.5, k - 0.5],
            **({"tickangle": -90} if CROWDED < k <= FULL else {"autotickangles": [0, -90]}),
        },
        "yaxis": {**_names(rows), "range": [k - 0.5, -0.5]},
        **({"width": _BESIDE + _CELL * k} if _FIXED < k <= FULL else {}),
    }
    return finish(
        [heatmap, _dashes(unmet, theme)],
        theme,
        head,
        height=(lines * LINE + 6) * k + 86,
        layout=layout,
    )


def _dashes(unmet: Sequence[tuple[int, int]], theme: Theme) -> dict[str, Any]:
    """Return a trace for cells without a value, into which plotly writes nothing."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": [j for _, j in unmet],
        "y": [i for i, _ in unmet],
        "text": [DASH] * len(unmet),
        "textfont": {"color": theme.faint},
        "hoverinfo": "skip",
    }


def _below(name: str, row: str, k: int) -> str:
    """Return a name for beneath a column; `row` is what it is beside a row."""
    fits = k <= CROWDED and row.count("<br>") < _COLUMN_LINES
    return row if fits else shortened(name)


def _names(names: Sequence[str]) -> dict[str, Any]:
    return {
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "tickfont": {"size": 12 if len(names) <= FULL else 10},
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }
