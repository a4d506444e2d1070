"""Figures with a line for each model: win rates, rank-sets, and what changes them.

Names and numbers stand above the marks rather than beside the axis, so that the marks keep the
whole width of a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import plotly.graph_objects as go

from coupled_arena.analysis.leaderboard.result import Leaderboard, Place, Standing
from coupled_arena.core.choices import BoardSource, Scope
from coupled_arena.core.language import _
from coupled_arena.views.figures.caption import board_method, caption
from coupled_arena.views.figures.row_labels import (
    FigureRow,
    Lacking,
    idle_lines,
    italic,
    row_label,
    split_idle,
)
from coupled_arena.views.figures.theme import Head, Theme, finish, key, theme_for
from coupled_arena.views.tables.leaderboard import rank_range, rank_set_sizes, standings
from coupled_arena.views.tables.table import Table
from coupled_arena.views.words.names import without_data

DASH = "\N{EN DASH}"
_ROW = 48  # pixels: a line of text, and the mark under it
_TIGHT_ROW = 38
_MANY = 12  # models above which rows move together
_DOT = "\N{BLACK CIRCLE}"
_BAR = "\N{BLACK RECTANGLE}"


def win_rate_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw each model's win rate as a dot on its interval, best on top.

    A model without votes has its line, but no dot.
    """
    theme = theme_for(dark)
    known = _known(board.standings)
    dots = interval_dots(
        [(row, place.likely_rate, place.low, place.high) for row, _, place in known], theme
    )
    dots["hovertext"] = [_describe(standing, place) for _, standing, place in known]
    level = f"{100 * (1 - board.alpha):.4g}%"
    head = Head(
        file="win-rates",
        title=_("Win rates"),
        lines=(
            *caption(board),
            *_size_words(board),
            key(
                (_DOT, theme.accent, _("win rate")),
                (_BAR, theme.pale, _("{level} interval").format(level=level)),
            ),
        ),
        numbers=_placed(board).only(
            "model", "win_rate", "standard_error", "low", "high", "comparisons"
        ),
        method=board_method(board),
    )
    labels = [_rate_label(board, standing, theme) for standing in board.standings]
    return row_figure([dots], labels, theme, head, rate_axis(theme))


def rank_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw each model's rank-set as a bar over the ranks, its rank by the estimates as a dot."""
    theme = theme_for(dark)
    known = _known(board.standings)
    rows = [row for row, _, _ in known]
    bars = {
        **bar_lines([(row, p.rank_low, p.rank_high) for row, _, p in known], theme.pale, 12),
    }
    possible = _("still possible, at {level}")
    if board.scope is Scope.MARGINAL:
        possible = _("still possible, at {level}, each model alone")
    possible = possible.format(level=f"{100 * (1 - board.alpha):.4g}%")
    dots = {
        **marks([place.rank for _, _, place in known], rows, theme.accent),
        "hovertext": [_describe(standing, place) for _, standing, place in known],
    }
    head = Head(
        file="rank-sets",
        title=_("Ranks still possible"),
        lines=(
            *caption(board),
            key(
                (_DOT, theme.accent, _("rank")),
                (_BAR, theme.pale, possible),
            ),
        ),
        numbers=_placed(board).only("model", "rank", "rank_low", "rank_high"),
        method=board_method(board),
    )
    labels = [
        FigureRow(
            s.model,
            f"<b>{rank_range(s.place)}</b>" if s.place else italic(_("no rank")),
            bool(s.place),
        )
        for s in board.standings
    ]
    return row_figure([bars, dots], labels, theme, head, _rank_axis(len(known), theme))


def size_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw the size of each rank-set, from people's votes alone and with the judge.

    Only for estimates that has both estimates.
    """
    theme = theme_for(dark)
    human, powered = (board.sizes(source) for source in (BoardSource.HUMAN, BoardSource.PPR))
    models = [s.model for s in board.standings if s.model in human or s.model in powered]
    lines = [
        bar_lines(
            [(row + shift, 0, of[model]) for row, model in enumerate(models) if model in of],
            colour,
            7,
            round_ends=False,
        )
        for of, shift, colour in ((human, -0.09, theme.other), (powered, 0.13, theme.accent))
    ]
    head = Head(
        file="rank-set-sizes",
        title=_("Size of rank-sets"),
        lines=(
            *caption(board),
            key(
                (_BAR, theme.other, _("people alone")),
                (_BAR, theme.accent, _("with the judge")),
            ),
        ),
        numbers=rank_set_sizes(board),
        method=board_method(board),
    )
    labels = [
        FigureRow(
            model,
            f"<b>{human.get(model, DASH)} \N{RIGHTWARDS ARROW} {powered.get(model, DASH)}</b>",
        )
        for model in models
    ]
    axis = {**_rank_axis(max([*human.values(), *powered.values()], default=1), theme)}
    axis["range"] = [0, axis["range"][1]]
    axis["title"] = axis_title(_("Ranks still possible"), theme)
    return row_figure(lines, labels, theme, head, axis)


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
        "xaxis": {"automargin": True, "zeroline": False, "gridcolor": theme.grid, **axis},
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


def axis_title(text: str, theme: Theme) -> dict[str, Any]:
    """Return a small title."""
    return {"text": text, "font": {"size": 12, "color": theme.faint}, "standoff": 8}


def _rank_axis(k: int, theme: Theme) -> dict[str, Any]:
    step = 1 if k <= 10 else 5
    ticks = [1, *range(step if step > 1 else 2, k + 1, step)]
    return {
        "range": [0.6, max(k, 2) + 0.4],
        "tickvals": ticks,
        "title": axis_title(_("Rank, 1 is best"), theme),
    }


def _known(standings: Sequence[Standing]) -> list[tuple[int, Standing, Place]]:
    return [(row, s, s.place) for row, s in enumerate(standings) if s.place]


def _placed(board: Leaderboard) -> Table[Standing]:
    table = standings(board)
    return Table(table.columns, tuple(row for row in table.rows if row.place))


def _size(board: Leaderboard, standing: Standing) -> str:
    """Return the numbers that the table has: identical replies are no votes."""
    if board.source is BoardSource.JUDGE:
        return f"{standing.judge_verdicts:,}"
    identical = f" + {standing.identical:,}" if standing.identical else ""
    return f"{standing.human_votes:,}{identical}"


def _size_words(board: Leaderboard) -> tuple[str, ...]:
    added = board.source is not BoardSource.JUDGE and any(s.identical for s in board.standings)
    return (_("n: votes + identical replies"),) if added else ()


def _rate_label(board: Leaderboard, standing: Standing, theme: Theme) -> FigureRow:
    size = f'<span style="color:{theme.faint}">n = {_size(board, standing)}</span>'
    if standing.place is None:
        none = italic(_("no win rate"))
        return FigureRow(standing.model, f"{none}  {size}", known=False)
    return FigureRow(standing.model, f"<b>{standing.place.likely_rate:.0%}</b>  {size}")


def _describe(standing: Standing, place: Place) -> str:
    return _(
        "<b>{model}</b><br>{rate:.1%}, between {low:.1%} and {high:.1%}<br>"
        "Rank {rank}, possible: {ranks}<br>"
        "{wins} won, {losses} lost, {ties} tied, {both_bad} both bad<br>"
        "{identical} identical replies, which nobody was asked about"
    ).format(
        model=escape(standing.model),
        rate=place.likely_rate,
        low=place.low,
        high=place.high,
        rank=place.rank,
        ranks=rank_range(place),
        wins=standing.wins,
        losses=standing.losses,
        ties=standing.ties,
        both_bad=standing.both_bad,
        identical=standing.identical,
    )
