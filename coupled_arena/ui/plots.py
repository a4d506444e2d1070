"""The leaderboard's pictures: plotly figures for pages of any width, light or dark.

The figures have no width and no background of their own: the page gives both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from textwrap import wrap

import plotly.graph_objects as go

from coupled_arena.leaderboard import HeadToHead, Leaderboard, Standing
from coupled_arena.records import Mode

_DASH = "\N{EN DASH}"
_ROW_HEIGHT = 48  # pixels: a line of text, and the dot with its interval under it
_LINE = 16  # pixels of a line in a cell or beside it
_LONGEST_NAME = 26  # characters of a name that a phone has room for beside the numbers
_NAME_LINE = 14  # characters of a name on one line beside the heatmap
_CROWDED = 5  # models above which a phone's cells have no room for the counts

_MODES = {
    Mode.COUPLED: "coupled battles",
    Mode.INDEPENDENT: "independent battles",
    Mode.UNKNOWN: "imported battles",
    None: "all battles",
}


@dataclass(frozen=True)
class _Theme:
    """Colours that suit a background."""

    text: str
    faint: str
    grid: str
    accent: str
    # From vermilion to blue, which look different to every kind of colour blindness.
    diverging: tuple[str, str, str]


_LIGHT = _Theme(
    text="#27272a",
    faint="#71717a",
    grid="rgba(113,113,122,.2)",
    accent="#0072b2",
    diverging=("#d55e00", "#f1f1f3", "#0072b2"),
)
_DARK = _Theme(
    text="#e4e4e7",
    faint="#a1a1aa",
    grid="rgba(161,161,170,.25)",
    accent="#56b4e9",
    diverging=("#bf5200", "#3f3f46", "#0a75b5"),
)

# The server does not know a page's theme unless it asks: these greys are legible on both.
_EITHER = _Theme(
    text="#7a7a84",
    faint="#7a7a84",
    grid="rgba(128,128,138,.25)",
    accent="#2388cc",
    diverging=("#d55e00", "#ededf0", "#0072b2"),
)
_THEMES = {None: _EITHER, False: _LIGHT, True: _DARK}


def win_rate_figure(board: Leaderboard, *, dark: bool | None = None) -> go.Figure:
    """Draw each model's win rate as a dot on its interval, best on top.

    Names and numbers stand above the dots rather than beside the axis, so that the intervals
    keep the whole width of a phone. A model with too few votes has its line, but no dot.

    Parameters
    ----------
    board : Leaderboard
    dark : bool, optional
        Whether the page has a dark background; None: either.
    """
    theme = _THEMES[dark]
    if not board.standings:
        return _empty(theme)
    figure = go.Figure(_dots(board.standings, theme))
    for row, standing in enumerate(board.standings):
        _label(figure, row, standing, theme)
    figure.update_xaxes(
        range=[0, 1],
        tickvals=[0, 0.25, 0.5, 0.75, 1],
        tickformat=".0%",
        gridcolor=theme.grid,
        zeroline=False,
        title={
            "text": "Win rate, each opponent weighing the same",
            "font": {"size": 12, "color": theme.faint},
            "standoff": 8,
        },
        automargin=True,
    )
    figure.update_yaxes(range=[len(board.standings) - 0.6, -0.75], visible=False)
    return _finish(
        figure,
        theme,
        title=f"Win rates in {_MODES[board.mode]}",
        subtitle="Comparisons won; a tie is won by neither<br>"
        f"Bars: {100 * (1 - board.alpha):.4g}% intervals (alpha {board.alpha:g}). n: comparisons",
        height=_ROW_HEIGHT * len(board.standings) + 150,
    )


def pair_heatmap(board: Leaderboard, *, dark: bool | None = None) -> go.Figure:
    """Draw how often each model, in a row, beat each other, in a column.

    Cells say "62%" and "13 of 21", or only "62" where there are more than five models; all of it
    is in the hover text. The colour counts ties half, so that it is neutral where two
    models are even, however often they tied.

    Parameters
    ----------
    board : Leaderboard
    dark : bool, optional
        Whether the page has a dark background; None: either.
    """
    theme = _THEMES[dark]
    if not any(pair.comparisons for row in board.head_to_head for pair in row):
        return _empty(theme)
    figure = go.Figure(_cells(board, theme))
    _mark_unmet(figure, board, theme)
    names = [standing.model for standing in board.standings]
    wrapped = [_wrapped(name) for name in names]
    crowded = len(names) > _CROWDED
    _name(figure.update_xaxes, [escape(name) for name in names] if crowded else wrapped)
    figure.update_xaxes(tickangle=-90 if crowded else None, autotickangles=[0, -90])
    _name(figure.update_yaxes, wrapped)
    figure.update_yaxes(autorange="reversed")
    lines = max(2 if crowded else 3, *(name.count("<br>") + 1 for name in wrapped))
    return _finish(
        figure,
        theme,
        title=f"Who beats whom in {_MODES[board.mode]}",
        subtitle=f"{'Percent won by the row' if crowded else 'How often the row beat the column'}"
        "<br>Blue: the row is ahead of the column. Orange: behind it",
        height=(lines * _LINE + 6) * len(names) + 170,
    )


def _dots(standings: tuple[Standing, ...], theme: _Theme) -> go.Scatter:
    known = [(row, s) for row, s in enumerate(standings) if s.win_rate is not None]
    return go.Scatter(
        x=[s.win_rate for _, s in known],
        y=[row for row, _ in known],
        error_x={
            "type": "data",
            "array": [(s.high or 0) - (s.win_rate or 0) for _, s in known],
            "arrayminus": [(s.win_rate or 0) - (s.low or 0) for _, s in known],
            "thickness": 4,
            "width": 0,
            "color": theme.accent,
        },
        mode="markers",
        cliponaxis=False,
        marker={"size": 11, "color": theme.accent},
        hovertext=[_describe_standing(s) for _, s in known],
        hoverinfo="text",
    )


def _label(figure: go.Figure, row: int, standing: Standing, theme: _Theme) -> None:
    known = standing.win_rate is not None
    said = f"<b>{standing.win_rate:.0%}</b>" if known else "<i>too few votes</i>"
    colour = theme.text if known else theme.faint
    place = {"y": row, "yshift": 17, "showarrow": False, "font": {"color": colour}}
    figure.add_annotation(
        text=_shortened(standing.model), x=0, xref="paper", xanchor="left", **place
    )
    figure.add_annotation(
        text=f'{said}  <span style="color:{theme.faint}">n = {standing.comparisons}</span>',
        x=1,
        xref="paper",
        xanchor="right",
        **place,
    )


def _cells(board: Leaderboard, theme: _Theme) -> go.Heatmap:
    crowded = len(board.standings) > _CROWDED
    return go.Heatmap(
        z=[[pair.score for pair in row] for row in board.head_to_head],
        text=[[_cell_text(pair, crowded) for pair in row] for row in board.head_to_head],
        texttemplate="%{text}",
        hovertext=[
            [
                _describe_pair(this.model, that.model, pair)
                for that, pair in zip(board.standings, row, strict=True)
            ]
            for this, row in zip(board.standings, board.head_to_head, strict=True)
        ],
        hoverinfo="text",
        zmin=0,
        zmid=0.5,
        zmax=1,
        colorscale=list(zip((0, 0.5, 1), theme.diverging, strict=True)),
        showscale=False,
        xgap=3,
        ygap=3,
    )


def _name(update: Callable[..., object], names: list[str]) -> None:
    update(
        tickvals=list(range(len(names))),
        ticktext=names,
        tickfont={"size": 12},
        ticks="",
        showgrid=False,
        zeroline=False,
        automargin=True,
    )


def _mark_unmet(figure: go.Figure, board: Leaderboard, theme: _Theme) -> None:
    """Write a dash where two models never met; plotly writes nothing into cells without value."""
    for i, row in enumerate(board.head_to_head):
        for j, pair in enumerate(row):
            if i != j and not pair.comparisons:
                figure.add_annotation(
                    text=_DASH, x=j, y=i, showarrow=False, font={"color": theme.faint}
                )


def _cell_text(pair: HeadToHead, crowded: bool) -> str:
    if pair.win_rate is None:
        return ""
    if crowded:
        return f"{100 * pair.win_rate:.0f}"
    return f"{pair.win_rate:.0%}<br>{pair.wins} of {pair.comparisons}"


def _describe_standing(standing: Standing) -> str:
    return (
        f"<b>{escape(standing.model)}</b><br>"
        f"{standing.win_rate:.1%}, between {standing.low:.1%} and {standing.high:.1%}, "
        f"rank {standing.rank_low} to {standing.rank_high}<br>"
        f"{standing.wins} won, {standing.losses} lost, {standing.ties} tied, "
        f"{standing.both_bad} both bad<br>"
        f"{standing.identical} identical replies, which nobody was asked about"
    )


def _describe_pair(this: str, that: str, pair: HeadToHead) -> str:
    return (
        f"<b>{escape(this)}</b> against <b>{escape(that)}</b><br>"
        f"{pair.wins} won, {pair.losses} lost, {pair.ties} tied or both bad"
    )


def _shortened(name: str) -> str:
    """Cut the middle: models of one family differ at the end of their names."""
    if len(name) > _LONGEST_NAME:
        half = (_LONGEST_NAME - 1) // 2
        name = f"{name[:half]}\N{HORIZONTAL ELLIPSIS}{name[-half:]}"
    return escape(name)


def _wrapped(name: str) -> str:
    lines = wrap(name, _NAME_LINE)
    return "<br>".join(escape(line) for line in lines)


def _empty(theme: _Theme) -> go.Figure:
    figure = go.Figure()
    figure.add_annotation(
        text="No votes yet",
        x=0.5,
        y=0.5,
        xref="paper",
        yref="paper",
        showarrow=False,
        font={"size": 16, "color": theme.faint},
    )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return _finish(figure, theme, height=240)


def _finish(
    figure: go.Figure, theme: _Theme, *, title: str = "", subtitle: str = "", height: int
) -> go.Figure:
    return figure.update_layout(
        title={
            "text": title,
            "subtitle": {"text": subtitle, "font": {"size": 12, "color": theme.faint}},
            "font": {"size": 16},
            "x": 0,
            "y": 1,
            "xanchor": "left",
            "yanchor": "top",
            "pad": {"l": 18, "t": 14},
        },
        font={"color": theme.text, "size": 13},
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 18, "r": 18, "t": 84, "b": 14},
        height=height,
        dragmode=False,  # a finger on a phone scrolls the page
        showlegend=False,
    )
