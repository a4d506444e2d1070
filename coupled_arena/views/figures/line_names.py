"""Names at the ends of lines, so that nobody has to look them up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from coupled_arena.views.figures.theme import LINE, Theme, wrapped

_LETTER = 6.8  # pixels
_SIZE = 12
_BELOW = 62  # pixels of a figure's height that its lower axis takes

NamedLine = tuple[str, str, str, float]
"""Mark, its colour, the line's name, and how high it ends."""


def line_names(
    lines: Sequence[NamedLine], ends: tuple[float, float], height: int, theme: Theme
) -> dict[str, Any]:
    """Return the part of a layout that names each line on its right.

    Parameters
    ----------
    lines : sequence of NamedLine
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
