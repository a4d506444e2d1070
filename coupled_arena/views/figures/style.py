"""What length and Markdown do to votes, as a figure."""

from __future__ import annotations

import plotly.graph_objects as go

from coupled_arena.analysis.style.result import StyleBoard
from coupled_arena.core.language import _
from coupled_arena.views.figures.row_labels import FigureRow
from coupled_arena.views.figures.rows import axis_title, interval_dots, row_figure
from coupled_arena.views.figures.theme import Head, key, theme_for
from coupled_arena.views.tables.style import TRAITS, style_effects
from coupled_arena.views.words.names import level, verdicts_counted, votes_counted

_DOT = "\N{BLACK CIRCLE}"
_BAR = "\N{BLACK RECTANGLE}"


def style_figure(board: StyleBoard, *, dark: bool = False) -> go.Figure:
    """Draw how often the reply with a standard deviation more of a trait wins, all else equal."""
    theme = theme_for(dark)
    effects = board.effects
    dots = interval_dots(
        [(at, e.typical.rate, e.typical.low, e.typical.high) for at, e in enumerate(effects)], theme
    )
    dots["hovertext"] = [
        _("coefficient {value:+.3f}").format(value=effect.coefficient) for effect in effects
    ]
    ends = [abs(end - 0.5) for e in effects for end in (e.typical.low, e.typical.high)]
    reach = 1.1 * max([0.05, *ends])
    rule = {
        "type": "scatter",
        "mode": "lines",
        "x": [0.5, 0.5],
        "y": [-0.6, len(effects) - 0.6],
        "line": {"width": 1, "color": theme.faint, "dash": "dot"},
        "hoverinfo": "skip",
    }
    counted = verdicts_counted if board.estimates.by_judge else votes_counted
    interval = _("{level} interval").format(level=level(board.alpha))
    head = Head(
        file="style",
        title=_("What style does"),
        lines=(
            counted(board.comparisons),
            key((_DOT, theme.accent, _("wins")), (_BAR, theme.pale, interval)),
        ),
        numbers=style_effects(board),
        method=(_("alpha {alpha:g}").format(alpha=board.alpha), _("ties as half a win")),
    )
    labels = [
        FigureRow(_(TRAITS[effect.trait]), f"<b>{effect.typical.rate:.1%}</b>")
        for effect in effects
    ]
    axis = {
        "range": [0.5 - reach, 0.5 + reach],
        "tickformat": ".0%",
        "title": axis_title(_("Wins of the reply with a standard deviation more"), theme),
    }
    return row_figure([rule, dots], labels, theme, head, axis)
