"""Figures of any number of lines, each with its name at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal

import plotly.graph_objects as go

from coupled_arena.core.language import number
from coupled_arena.views.figures.rows import axis_title, plain_axis
from coupled_arena.views.figures.theme import LINE, Head, Theme, finish, theme_for, wrapped

_LETTER = 6.8  # pixels
_SIZE = 12
_BELOW = 68  # pixels of a figure's height that its lower axis takes

NamedLine = tuple[str, str, str, float]
"""Mark, its colour, the line's name, and how high it ends."""


def line_names(
    lines: Sequence[NamedLine], ends: tuple[float, float], height: int, theme: Theme
) -> dict[str, Any]:
    """Return the part of a layout that names each line on its right.

    Parameters
    ----------
    ends : tuple of float
        Lowest and highest value that is drawn.
    height : int
        Of the figure without its head, see `finish`.
    """
    low, high = ends
    margin = 0.05 * (high - low) or 0.5
    low, high = low - margin, high + margin
    pixels = (height - _BELOW) / (high - low)
    wanted = [(y - low) * pixels for *_, y in lines]
    texts = [wrapped(name) for _, _, name, _ in lines]
    longest = max((len(part) for text in texts for part in text.split("<br>")), default=0)
    heights = [LINE * (text.count("<br>") + 1) for text in texts]
    # Above the plot is the figure's head; below it, beside the axis, there is room.
    ceiling = height - _BELOW + LINE / 2
    annotations = [
        {
            "text": f'<span style="color:{colour}">{mark}</span> {text}',
            "x": 1,
            "xref": "paper",
            "xanchor": "left",
            "xshift": 4,
            "y": y,
            "yshift": placed - wish,
            "showarrow": False,
            "align": "left",
            "font": {"size": _SIZE, "color": theme.text},
        }
        for (mark, colour, _, y), text, wish, placed in zip(
            lines, texts, wanted, apart(wanted, heights, ceiling), strict=True
        )
    ]
    return {
        "annotations": annotations,
        "margin": {"r": int(_LETTER * (longest + 2)) + 20},
        "range": [low, high],
    }


def apart(
    wanted: Sequence[float], heights: Sequence[float], ceiling: float = math.inf
) -> list[float]:
    """Return middles near those wanted, in their order, so that nothing lies on another.

    Of equal ones the first is the highest; what is highest of all ends below the ceiling.
    """
    order = sorted(range(len(wanted)), key=lambda at: (wanted[at], -at))
    between = ((heights[one] + heights[other]) / 2 for one, other in pairwise(order))
    steps = list(accumulate(between, initial=0.0))
    # Less the steps, they must not fall: the nearest such are means of neighbours that fell.
    groups: list[tuple[float, int]] = []
    for at, step in zip(order, steps, strict=False):  # nothing has one step, too
        mean, size = wanted[at] - step, 1
        while groups and groups[-1][0] > mean:
            other, more = groups.pop()
            mean, size = (mean * size + other * more) / (size + more), size + more
        groups.append((mean, size))
    levels = [mean for mean, size in groups for _ in range(size)]
    placed = [0.0] * len(wanted)
    for at, step, level in zip(order, steps, levels, strict=False):
        placed[at] = step + min(level, ceiling - heights[order[-1]] / 2 - steps[-1])
    return placed


# Readable on light and dark paper.
COLOURS = ("#0a84c6", "#e0601a", "#0f9d75", "#c76aa0", "#c98a00", "#7a6ff0", "#7d8590")
_DASHES = (
    ("solid", "\N{BLACK RECTANGLE}"),
    ("dash", "\N{BOX DRAWINGS HEAVY DOUBLE DASH HORIZONTAL}"),
    ("dot", "\N{BOX DRAWINGS HEAVY QUADRUPLE DASH HORIZONTAL}"),
)
_HEIGHT = 330  # pixels, unless the names take more


@dataclass(frozen=True)
class Line:
    """A line through some points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Axes:
    """What the axes of a figure of lines say.

    Attributes
    ----------
    logarithmic : bool
        Of x, which then has ticks where there are points.
    share_x, share_y : bool
        Whether values are shares, shown in percent.
    y_range : tuple of float or None
        Lowest and highest; by default those drawn.
    """

    x: str
    y: str
    logarithmic: bool = False
    share_x: bool = False
    share_y: bool = False
    y_range: tuple[float, float] | None = None


def line_style(place: int) -> dict[str, Any]:
    """Return how the line at a place is drawn: colours first, then dashes."""
    dash = _DASHES[place // len(COLOURS) % len(_DASHES)][0]
    return {"color": COLOURS[place % len(COLOURS)], "width": 2.2, "dash": dash}


def mark(place: int) -> tuple[str, str]:
    """Return what stands for such a line in a text, and its colour."""
    return _DASHES[place // len(COLOURS) % len(_DASHES)][1], COLOURS[place % len(COLOURS)]


def line_figure(
    lines: Sequence[Line],
    axes: Axes,
    head: Head,
    *,
    names: Literal["ends", "list"] = "ends",
    points: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Draw lines.

    Parameters
    ----------
    names : {"ends", "list"}
        Where the lines are named: where they end, or from the top on, where all end alike.
    points : bool
        Whether the points are marked.
    """
    theme = theme_for(dark)
    values = [value for line in lines for value in line.y if math.isfinite(value)] or [0.0]
    low, high = axes.y_range or (min(values), max(values))
    ends = [high if names == "list" else _end(line, low) for line in lines]
    named = [
        (*mark(at), line.name, end) for at, (line, end) in enumerate(zip(lines, ends, strict=True))
    ]
    tallest = max(wrapped(line.name).count("<br>") + 1 for line in lines)
    height = max(_HEIGHT, _BELOW + LINE * tallest * len(lines))
    beside = line_names(named, (low, high), height, theme)
    mode = "lines+markers" if points else "lines"
    return finish(
        [_trace(line, at, mode) for at, line in enumerate(lines)],
        theme,
        head,
        height=height,
        layout={
            "annotations": beside["annotations"],
            "margin": beside["margin"],
            "xaxis": _x_axis(lines, axes, theme),
            "yaxis": {**_common(theme, axes.y, share=axes.share_y), "range": beside["range"]},
        },
    )


def _end(line: Line, otherwise: float) -> float:
    """Return how high the last point lies that there is."""
    return next((value for value in reversed(line.y) if math.isfinite(value)), otherwise)


def _trace(line: Line, at: int, mode: str) -> dict[str, Any]:
    style = line_style(at)
    return {
        "type": "scatter",
        "mode": mode,
        "name": line.name,
        "x": list(line.x),
        "y": list(line.y),
        "line": style,
        "marker": {"size": 6, "color": style["color"]},
    }


def _x_axis(lines: Sequence[Line], axes: Axes, theme: Theme) -> dict[str, Any]:
    axis = _common(theme, axes.x, share=axes.share_x)
    if not axes.logarithmic:
        return axis
    ticks = sorted({value for line in lines for value in line.x})
    return axis | {
        "type": "log",
        "tickvals": ticks,
        "ticktext": [number(tick, ",") for tick in ticks],
    }


def _common(theme: Theme, title: str, *, share: bool) -> dict[str, Any]:
    return {
        **plain_axis(theme),
        "title": axis_title(title, theme),
        **({"tickformat": ".0%"} if share else {}),
    }
