"""Quality against cost: the difference of each model from the base over the memory it takes."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

from coupled_arena.analysis.gate.result import GateReport
from coupled_arena.core.language import _, filled, number
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.rows import axis_title, marks, plain_axis
from coupled_arena.views.figures.theme import (
    Head,
    Theme,
    finish,
    head_of,
    key,
    shortened,
    theme_for,
)
from coupled_arena.views.tables.gate_costs import Costing, cost_table, costings, size_of
from coupled_arena.views.tables.table import span

_HEIGHT = 360  # pixels
_DOT, _DASH = "\N{BLACK CIRCLE}", "\N{BOX DRAWINGS HEAVY DOUBLE DASH HORIZONTAL}"
_MB = 1e6


def can_be_drawn(found: GateReport) -> bool:
    """Tell whether the base and a candidate have a size, in one unit."""
    rows = costings(found)
    return _in_memory(rows) or (bool(rows) and all(row.cost.bytes_per_weight for row in rows))


def _in_memory(rows: tuple[Costing, ...]) -> bool:
    return bool(rows) and all(row.cost.memory for row in rows)


def costs_figure(found: GateReport, *, dark: bool = False) -> go.Figure:
    """Draw quality over cost; a model that is surely behind another is pale."""
    theme, rows, margin = theme_for(dark), costings(found), -found.settings.margin
    unit = _MB if _in_memory(rows) else 1.0
    sizes = [(size_of(row) or 0.0) / unit for row in rows]
    ends = min(margin, *(row.low for row in rows)), max(0.0, *(row.high for row in rows))
    beyond = 0.12 * (ends[1] - ends[0])
    widest = max(sizes) * 1.15
    lines = [
        {
            **{"type": "scatter", "mode": "lines", "x": [0, widest], "y": [y, y]},
            **{"line": {"color": colour, "width": 1.5, "dash": dash}, "hoverinfo": "skip"},
        }
        for y, colour, dash in ((margin, theme.other, "dash"), (0.0, theme.faint, "dot"))
    ]
    common = plain_axis(theme)
    size = _("Memory, MB") if unit == _MB else _("Bytes per weight")
    layout = {
        "xaxis": {**common, "title": axis_title(size, theme), "range": [0, widest]},
        "yaxis": {
            **common,
            "title": axis_title(_("Difference (candidate \N{MINUS SIGN} base)"), theme),
            "range": [ends[0] - beyond, ends[1] + beyond],
        },
    }
    room = 0.35 * widest, 0.07 * (ends[1] - ends[0] + 2 * beyond)
    dots = _dots(rows, sizes, _named(rows, sizes, room), theme)
    head = _head(found, theme, behind=any(row.behind for row in rows))
    return finish([*lines, dots], theme, head, height=_HEIGHT, layout=layout)


def _head(found: GateReport, theme: Theme, *, behind: bool) -> Head:
    pale = ((_DOT, theme.faint, _("another is better and no larger")),) if behind else ()
    return head_of(
        registry.GATE_COSTS,
        lines=(
            filled(
                _("{metric}, against {base}"),
                metric=escape(found.metric),
                base=shortened(found.base),
            ),
            key((_DASH, theme.other, _("margin")), *pale),
        ),
        numbers=cost_table(found),
        method=(
            filled(
                _("margin {margin:g}, alpha {alpha:g}"),
                margin=found.settings.margin,
                alpha=found.settings.alpha,
            ),
        ),
    )


def _named(rows: tuple[Costing, ...], sizes: list[float], room: tuple[float, float]) -> list[bool]:
    """Return which models are named: none beside one that is named already, whatever hover says."""
    named: list[bool] = []
    for at, row in enumerate(rows):
        near = (
            abs(sizes[at] - sizes[other]) < room[0]
            and abs(row.difference - rows[other].difference) < room[1]
            for other in range(at)
            if named[other]
        )
        named.append(not any(near))
    return named


def _beside(row: Costing, inward: str) -> str:
    """Return where a name stands: beside the interval, and away from the name of the base."""
    return f"{'bottom' if row.difference < 0 else 'top'} {inward}"


def _dots(
    rows: tuple[Costing, ...], sizes: list[float], named: list[bool], theme: Theme
) -> dict[str, object]:
    colours = [theme.faint if row.behind else theme.accent for row in rows]
    return {
        **marks(sizes, [row.difference for row in rows], theme.accent),
        "mode": "markers+text",
        "marker": {"size": 11, "color": colours},
        "text": [
            shortened(row.model, 24) if one else "" for row, one in zip(rows, named, strict=True)
        ],
        "textposition": [
            _beside(row, inward="right" if x < max(sizes) / 2 else "left")
            for row, x in zip(rows, sizes, strict=True)
        ],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [row.high - row.difference for row in rows],
            "arrayminus": [row.difference - row.low for row in rows],
            "color": theme.accent,
            "thickness": 2,
            "width": 0,
        },
        "hovertext": [
            f"{escape(row.model)}: {number(row.difference, '+.4f')} "
            f"({span(row.low, row.high, '+.4f')})"
            for row in rows
        ],
    }
