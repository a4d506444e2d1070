"""Quality against memory: the win rate of each model of a board over the size of its weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import product
from typing import Any

import plotly.graph_objects as go

from coupled_arena.analysis.leaderboard.memory import QualityAgainstMemory, SizedModel
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.core.language import _, ngettext, number
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.caption import board_method, caption
from coupled_arena.views.figures.rows import axis_title, marks, plain_axis
from coupled_arena.views.figures.theme import (
    Head,
    Theme,
    cut,
    finish,
    head_of,
    key,
    shortened,
    theme_for,
)
from coupled_arena.views.levels import interval_at
from coupled_arena.views.model_sizes import memory_words
from coupled_arena.views.tables.memory import memory_table
from coupled_arena.views.words.names import rank_range

_DOT, _BAR = "\N{BLACK CIRCLE}", "\N{BLACK RECTANGLE}"
_LINE = "\N{BOX DRAWINGS HEAVY HORIZONTAL}"
_HEIGHT = 380  # pixels
_GIGA = 1e9
_ROOM = 0.12  # of the spread of the sizes, beside the smallest and the largest
_LEAST_SPREAD = 0.35  # decades: sizes that are nearly the same do not fill the axis
_STEPS = (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)  # ticks of a decade

# A name stands where it covers nothing on the narrowest page: on a wider one all is further apart.
_PLOT = 270.0, 300.0  # pixels of the marks there
_LETTER, _LINE_HEIGHT = 7.0, 16.0  # pixels of a name
_LONGEST = 22  # characters of a name
_AROUND = 8.0  # pixels around a mark
_PLACES = tuple(product(("middle", "top", "bottom"), ("right", "left")))

Box = tuple[float, float, float, float]  # left, right, lower, upper


def memory_figure(
    board: Leaderboard, found: QualityAgainstMemory, *, dark: bool = False
) -> go.Figure:
    """Draw win rates over sizes; a model that is surely behind a smaller one is pale."""
    theme = theme_for(dark)
    rows, sizes = found.models, _sizes(found)
    across, up = _ends(sizes), _heights(rows)
    front = sorted((size, row) for size, row in zip(sizes, rows, strict=True) if row.front)
    lines = [_front_line(front, theme)] if len(front) > 1 else []
    common = plain_axis(theme)
    ticks = _ticks(*across)
    unit = _("Memory of the weights, GB") if found.unit == "memory" else _("Bytes per weight")
    layout = {
        "xaxis": {
            **{**common, "type": "log", "range": [math.log10(end) for end in across]},
            "tickvals": ticks,
            "ticktext": [number(tick, "g") for tick in ticks],
            "title": axis_title(unit, theme),
        },
        "yaxis": {
            **{**common, "range": list(up), "tickformat": ".0%"},
            "title": axis_title(_("Win rate"), theme),
        },
    }
    dots = _dots(found, sizes, theme, _named(rows, sizes, across, up))
    return finish([*lines, dots], theme, _head(board, found, theme), height=_HEIGHT, layout=layout)


def _sizes(found: QualityAgainstMemory) -> list[float]:
    unit = _GIGA if found.unit == "memory" else 1.0
    return [row.large / unit for row in found.models]


def _ends(sizes: Sequence[float]) -> tuple[float, float]:
    low, high = math.log10(min(sizes)), math.log10(max(sizes))
    beyond = _ROOM * max(high - low, _LEAST_SPREAD)
    short = max(_LEAST_SPREAD - (high - low), 0) / 2
    return 10 ** (low - beyond - short), 10 ** (high + beyond + short)


def _heights(rows: Sequence[SizedModel]) -> tuple[float, float]:
    low, high = min(row.place.low for row in rows), max(row.place.high for row in rows)
    beyond = 0.08 * max(high - low, 0.05)
    return max(low - beyond, -0.02), min(high + beyond, 1.02)


def _ticks(low: float, high: float) -> list[float]:
    """Return round sizes between two, more in a decade where that would be few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for steps in _STEPS:
        ticks = [float(f"{step}e{at}") for at in decades for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) > 2:
            break
    return ticks


def _front_line(front: Sequence[tuple[float, SizedModel]], theme: Theme) -> dict[str, Any]:
    """Return steps from each model of the front to the next larger one, which is better."""
    return {
        **{"type": "scatter", "mode": "lines", "hoverinfo": "skip"},
        "x": [size for size, _row in front],
        "y": [row.place.likely_rate for _size, row in front],
        "line": {"shape": "hv", "width": 2, "color": theme.pale},
    }


def _dots(
    found: QualityAgainstMemory,
    sizes: Sequence[float],
    theme: Theme,
    named: Sequence[tuple[str, str] | None],
) -> dict[str, Any]:
    rows = found.models
    rates = [row.place.likely_rate for row in rows]
    return {
        **marks(sizes, rates, theme.accent),
        "mode": "markers+text",
        "marker": {
            "size": 11,
            "color": [theme.faint if row.behind else theme.accent for row in rows],
        },
        "text": [
            shortened(row.model, _LONGEST) if place else ""
            for row, place in zip(rows, named, strict=True)
        ],
        "textposition": [" ".join(place or _PLACES[0]) for place in named],
        "textfont": {"color": theme.text, "size": 12},
        "error_y": {
            **{"type": "data", "symmetric": False, "thickness": 5, "width": 0},
            "array": [max(row.place.high - rate, 0) for row, rate in zip(rows, rates, strict=True)],
            "arrayminus": [
                max(rate - row.place.low, 0) for row, rate in zip(rows, rates, strict=True)
            ],
            "color": theme.pale,
        },
        "hovertext": [_describe(row) for row in rows],
    }


def _describe(row: SizedModel) -> str:
    large = (
        _("{each:.2f} bytes per weight").format(each=row.large)
        if row.size.memory is None
        else memory_words(row.size.memory)
    )
    return _(
        "<b>{model}</b><br>{rate:.1%}, between {low:.1%} and {high:.1%}<br>"
        "Ranks still possible: {ranks}<br>{size}"
    ).format(
        model=escape(row.model),
        rate=row.place.likely_rate,
        low=row.place.low,
        high=row.place.high,
        ranks=rank_range(row.place),
        size=large,
    )


def _head(board: Leaderboard, found: QualityAgainstMemory, theme: Theme) -> Head:
    pale = (_DOT, theme.faint, _("another is better and no larger"))
    steps = (_LINE, theme.pale, _("no model as small is as good"))
    shown = [
        *([pale] if any(row.behind for row in found.models) else []),
        *([steps] if sum(row.front for row in found.models) > 1 else []),
    ]
    interval = key(
        (_DOT, theme.accent, _("win rate")), (_BAR, theme.pale, interval_at(board.alpha))
    )
    lines = [*caption(board), interval, *([key(*shown)] if shown else [])]
    if n := len(found.unknown):
        lines.append(
            ngettext(
                "{n} model of unknown size is left out",
                "{n} models of unknown size are left out",
                n,
            ).format(n=n)
        )
    return head_of(
        registry.BOARD_MEMORY,
        lines=tuple(lines),
        numbers=memory_table(board),
        method=board_method(board),
    )


# Where names stand.


def _named(
    rows: Sequence[SizedModel],
    sizes: Sequence[float],
    across: tuple[float, float],
    up: tuple[float, float],
) -> list[tuple[str, str] | None]:
    """Return where each name stands beside its mark; None where it would cover another one."""
    left, width = math.log10(across[0]), math.log10(across[1] / across[0])

    def height(value: float) -> float:
        return _PLOT[1] * (value - up[0]) / (up[1] - up[0])

    taken: list[Box] = []
    middles: list[tuple[float, float]] = []
    for size, row in zip(sizes, rows, strict=True):
        x, y = _PLOT[0] * (math.log10(size) - left) / width, height(row.place.likely_rate)
        middles.append((x, y))
        low, high = height(row.place.low), height(row.place.high)
        taken += [(x - _AROUND, x + _AROUND, y - _AROUND, y + _AROUND), (x - 3, x + 3, low, high)]
    found: list[tuple[str, str] | None] = []
    for row, middle in zip(rows, middles, strict=True):
        boxes = {place: _box(row.model, middle, *place) for place in _PLACES}
        free = (place for place, box in boxes.items() if _is_free(box, taken))
        place = next(free, None)
        found.append(place)
        if place:
            taken.append(boxes[place])
    return found


def _box(name: str, middle: tuple[float, float], beside: str, side: str) -> Box:
    wide, (x, y) = _LETTER * len(cut(name, _LONGEST)), middle
    y += {"middle": 0.0, "top": _LINE_HEIGHT, "bottom": -_LINE_HEIGHT}[beside]
    start = x + _AROUND + 1 if side == "right" else x - _AROUND - 1 - wide
    return start, start + wide, y - _LINE_HEIGHT / 2, y + _LINE_HEIGHT / 2


def _is_free(box: Box, taken: Sequence[Box]) -> bool:
    left, right, lower, upper = box
    if left < 0 or right > _PLOT[0]:
        return False
    return all(
        right <= other[0] or left >= other[1] or upper <= other[2] or lower >= other[3]
        for other in taken
    )
