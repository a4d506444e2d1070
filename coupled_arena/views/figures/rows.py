"""Figures with a line for each model: win rates, rank-sets, and what changes them.

Names and numbers stand above the marks rather than beside the axis, so that the marks keep the
whole width of a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from coupled_arena.analysis.leaderboard.read import BoardSource
from coupled_arena.analysis.leaderboard.result import Leaderboard, Place, Standing
from coupled_arena.views.figures.caption import caption
from coupled_arena.views.figures.theme import Head, Theme, finish, key, shortened, theme_for
from coupled_arena.views.tables.leaderboard import rank_range, rank_set_sizes, standings
from coupled_arena.views.tables.table import Table

DASH = "\N{EN DASH}"
_ROW = 48  # pixels: a line of text, and the mark under it
_TIGHT_ROW = 38
_MANY = 12  # models above which rows move together
_DOT = "\N{BLACK CIRCLE}"
_BAR = "\N{BLACK RECTANGLE}"


@dataclass(frozen=True)
class FigureRow:
    """A line of text: a model, and what stands beside it in plotly's markup."""

    model: str
    text: str
    known: bool = True


def win_rate_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw each model's win rate as a dot on its interval, best on top.

    A model without votes has its line, but no dot.
    """
    theme = theme_for(dark)
    known = _known(board.standings)
    dots = interval_dots(
        [(row, place.likely_rate, place.low, place.high) for row, _, place in known],
        theme,
    )
    dots["hovertext"] = [_describe(standing, place) for _, standing, place in known]
    level = f"{100 * (1 - board.alpha):.4g}%"
    head = Head(
        file="win-rates",
        title="Win rates",
        lines=(
            *caption(board),
            key((_DOT, theme.accent, "win rate"), (_BAR, theme.pale, f"{level} interval")),
        ),
        numbers=_placed(board).only(
            "model", "win_rate", "standard_error", "low", "high", "comparisons"
        ),
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
    dots = {
        **marks([place.rank for _, _, place in known], rows, theme.accent),
        "hovertext": [_describe(standing, place) for _, standing, place in known],
    }
    head = Head(
        file="rank-sets",
        title="Rank-sets",
        lines=(
            *caption(board),
            key((_DOT, theme.accent, "rank"), (_BAR, theme.pale, "ranks still possible")),
        ),
        numbers=_placed(board).only("model", "rank", "rank_low", "rank_high"),
    )
    labels = [
        FigureRow(
            s.model, f"<b>{rank_range(s.place)}</b>" if s.place else "<i>no rank</i>", bool(s.place)
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
        title="Size of rank-sets",
        lines=(
            *caption(board),
            key(
                (_BAR, theme.other, "people alone"),
                (_BAR, theme.accent, "prediction-powered"),
            ),
        ),
        numbers=rank_set_sizes(board),
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
    axis["title"] = axis_title("Ranks still possible", theme)
    return row_figure(lines, labels, theme, head, axis)


def row_figure(
    traces: list[dict[str, Any]],
    rows: Sequence[FigureRow],
    theme: Theme,
    head: Head,
    axis: dict[str, Any],
) -> go.Figure:
    """Return a figure of traces whose y is the number of a row, from above."""
    tall = _ROW if len(rows) <= _MANY else _TIGHT_ROW
    layout = {
        "xaxis": {"automargin": True, "zeroline": False, "gridcolor": theme.grid, **axis},
        "yaxis": {"range": [len(rows) - 0.6, -0.75], "visible": False},
        "annotations": [
            each for row, label in enumerate(rows) for each in _annotations(row, label, theme)
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
        "title": axis_title("Win rate", theme),
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
        "title": axis_title("Rank, 1 is best", theme),
    }


def _known(standings: Sequence[Standing]) -> list[tuple[int, Standing, Place]]:
    return [(row, s, s.place) for row, s in enumerate(standings) if s.place]


def _placed(board: Leaderboard) -> Table[Standing]:
    table = standings(board)
    return Table(table.columns, tuple(row for row in table.rows if row.place))


def _size(board: Leaderboard, standing: Standing) -> int:
    return standing.judge_verdicts if board.source is BoardSource.JUDGE else standing.comparisons


def _rate_label(board: Leaderboard, standing: Standing, theme: Theme) -> FigureRow:
    size = f'<span style="color:{theme.faint}">n = {_size(board, standing):,}</span>'
    if standing.place is None:
        return FigureRow(standing.model, f"<i>no win rate</i>  {size}", known=False)
    return FigureRow(standing.model, f"<b>{standing.place.likely_rate:.0%}</b>  {size}")


def _annotations(row: int, label: FigureRow, theme: Theme) -> list[dict[str, Any]]:
    place: dict[str, Any] = {
        "y": row,
        "yshift": 17,
        "showarrow": False,
        "xref": "paper",
        "font": {"color": theme.text if label.known else theme.faint},
    }
    return [
        {**place, "text": shortened(label.model), "x": 0, "xanchor": "left"},
        {**place, "text": label.text, "x": 1, "xanchor": "right"},
    ]


def _describe(standing: Standing, place: Place) -> str:
    return (
        f"<b>{escape(standing.model)}</b><br>"
        f"{place.likely_rate:.1%}, between {place.low:.1%} and {place.high:.1%}<br>"
        f"Rank {place.rank}, possible: {rank_range(place)}<br>"
        f"{standing.wins} won, {standing.losses} lost, {standing.ties} tied, "
        f"{standing.both_bad} both bad<br>"
        f"{standing.identical} identical replies, which nobody was asked about"
    )
