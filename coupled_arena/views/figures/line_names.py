"""Names at the ends of lines, so that nobody has to look them up."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    tallest = max((text.count("<br>") + 1 for text in texts), default=1)
    # Above the plot is the figure's head; below it, beside the axis, there is room.
    ceiling = height - _BELOW
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
            lines, texts, wanted, apart(wanted, LINE * tallest, ceiling), strict=True
        )
    ]
    return {
        "annotations": annotations,
        "margin": {"r": int(_LETTER * (longest + 2)) + 14},
        "range": [low, high],
    }


def apart(wanted: Sequence[float], least: float, ceiling: float = math.inf) -> list[float]:
    """Return places near those wanted, in their order, each so far from the next, none too high."""
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    groups: list[tuple[list[int], float]] = []  # members from below, and the lowest one's place
    for at in order:
        members, start = [at], wanted[at]
        while groups and groups[-1][1] + least * len(groups[-1][0]) > start:
            members = groups.pop()[0] + members
            middle = sum(wanted[one] for one in members) / len(members)
            start = middle - least * (len(members) - 1) / 2
        groups.append((members, start))
    placed = [0.0] * len(wanted)
    for members, start in groups:
        for step, at in enumerate(members):
            placed[at] = start + least * step
    for steps, at in enumerate(reversed(order)):
        placed[at] = min(placed[at], ceiling - least * steps)
    return placed
