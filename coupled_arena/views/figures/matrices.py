"""Figures with a cell for each pair of models."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.leaderboard.pairs import HeadToHead
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.core.language import _
from coupled_arena.stats.coupling.modes import ModeComparison, stars
from coupled_arena.views.figures.caption import caption, mode_caption, mode_method
from coupled_arena.views.figures.rows import DASH
from coupled_arena.views.figures.theme import (
    LINE,
    Head,
    Theme,
    finish,
    key,
    shortened,
    theme_for,
    wrapped,
)
from coupled_arena.views.tables.leaderboard import head_to_head, mode_pairs

_CROWDED = 5  # models above which a phone's cells have room for one number only
FULL = 32  # models above which they have room for none
_FIXED = 8  # models above which cells keep their width, and a phone moves the figure sideways
_COLUMN_LINES = 3  # of a name that stands on end below a phone's column
_CELL, _BESIDE = 38, 214  # pixels of such a cell, and of the names beside all of them
_SQUARE = "\N{BLACK SQUARE}"


def pair_heatmap(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw how often each model, in a row, beat each other, in a column.

    Cells say "62%" and "13/21", or only "62" where there are more than five models; all of it
    is in the hover text. The colour counts ties half, so that it is neutral where two
    models are even, however often they tied.
    """
    theme = theme_for(dark)
    names = [standing.model for standing in board.standings]
    pairs = board.head_to_head
    cells = {
        "z": [[pair.score for pair in row] for row in pairs],
        "text": [[_cell_text(pair, len(names)) for pair in row] for row in pairs],
        "hovertext": [
            [_describe(this, that, pair) for that, pair in zip(names, row, strict=True)]
            for this, row in zip(names, pairs, strict=True)
        ],
        "zmin": 0,
        "zmid": 0.5,
        "zmax": 1,
    }
    unmet = [
        (i, j)
        for i, row in enumerate(pairs)
        for j, pair in enumerate(row)
        if i != j and not pair.comparisons
    ]
    head = Head(
        file="pairs",
        title=_("Who beats whom"),
        lines=(
            *caption(board),
            key(
                (_SQUARE, theme.ahead, _("row ahead of column")),
                (_SQUARE, theme.behind, _("row behind")),
            ),
        ),
        numbers=head_to_head(board),
    )
    return matrix_figure(names, cells, unmet, theme, head)


def mode_pairs_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw how coupling changes each pair's win rate; for a board that compares the modes."""
    theme = theme_for(dark)
    modes = board.estimates.modes
    assert modes is not None, "the board does not compare the modes"
    names = [standing.model for standing in board.standings]
    order = [modes.models.index(name) for name in names]
    change = modes.pairs.difference[np.ix_(order, order)]
    p = modes.pairs.p_value
    met = np.isfinite(change)
    largest = float(np.abs(change[met]).max(initial=0.01))
    grid = [[(i, j) for j in order] for i in order]
    cells = {
        "z": [[number(value) for value in row] for row in change],
        "text": [[_change_text(modes, p[at], *at, len(names)) for at in row] for row in grid],
        "hovertext": [[_describe_change(modes, p[at], *at) for at in row] for row in grid],
        "zmin": -largest,
        "zmid": 0,
        "zmax": largest,
    }
    k = len(names)
    unmet = [(i, j) for i in range(k) for j in range(k) if i != j and not met[i, j]]
    head = Head(
        file="modes-pairs",
        title=_("Pairs by mode"),
        lines=(
            *mode_caption(board),
            _("Percent won by the row: coupled | independent"),
            key(
                (_SQUARE, theme.ahead, _("more when coupled")),
                (_SQUARE, theme.behind, _("less when coupled")),
            ),
        ),
        numbers=mode_pairs(modes),
        method=mode_method(board),
    )
    return matrix_figure(names, cells, unmet, theme, head)


def number(value: float) -> float | None:
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
    heatmap = {
        "type": "heatmap",
        "texttemplate": "%{text}",
        "hoverinfo": "text",
        "colorscale": [[0, theme.behind], [0.5, theme.even], [1, theme.ahead]],
        "showscale": False,
        **({"textfont": {"size": 12}} if k > _FIXED else {}),
        "xgap": 3 if k <= FULL else 1,
        "ygap": 3 if k <= FULL else 1,
        **cells,
    }
    dashes = {  # plotly writes nothing into cells without a value
        "type": "scatter",
        "mode": "text",
        "x": [j for _, j in unmet],
        "y": [i for i, _ in unmet],
        "text": [DASH] * len(unmet),
        "textfont": {"color": theme.faint},
        "hoverinfo": "skip",
    }
    rows = [(wrapped if k <= _FIXED else shortened)(name) for name in names]
    columns = [_below(name, row, k) for name, row in zip(names, rows, strict=True)]
    if k > FULL:  # columns are too narrow for names: numbers stand for them, some of them
        rows = [f"{place}. {shortened(name)}" for place, name in enumerate(names, 1)]
        columns = ["" if place > 1 and place % 5 else f"{place}" for place in range(1, k + 1)]
    least = 3 if k <= _CROWDED else 2 if k <= FULL else 1
    lines = max(least, *(row.count("<br>") + 1 for row in rows))
    layout = {
        "xaxis": {
            **_names(columns),
            "range": [-0.5, k - 0.5],
            **({"tickangle": -90} if _CROWDED < k <= FULL else {"autotickangles": [0, -90]}),
        },
        "yaxis": {**_names(rows), "range": [k - 0.5, -0.5]},
        **({"width": _BESIDE + _CELL * k} if _FIXED < k <= FULL else {}),
    }
    return finish([heatmap, dashes], theme, head, height=(lines * LINE + 6) * k + 86, layout=layout)


def _below(name: str, row: str, k: int) -> str:
    """Return a name for beneath a column; `row` is what it is beside a row."""
    fits = k <= _CROWDED and row.count("<br>") < _COLUMN_LINES
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


def _cell_text(pair: HeadToHead, k: int) -> str:
    if pair.win_rate is None or k > FULL:
        return ""
    if k > _CROWDED:
        return f"{100 * pair.win_rate:.0f}"
    return f"{pair.win_rate:.0%}<br>{pair.wins}/{pair.comparisons}"


def _describe(this: str, that: str, pair: HeadToHead) -> str:
    return _(
        "<b>{model}</b> against <b>{other}</b><br>{wins} won, {losses} lost, "
        "{ties} tied or both bad"
    ).format(
        model=escape(this),
        other=escape(that),
        wins=pair.wins,
        losses=pair.losses,
        ties=pair.ties,
    )


def _change_text(modes: ModeComparison, p: float, i: int, j: int, k: int) -> str:
    pairs = modes.pairs
    if not _met(modes, i, j) or k > FULL:
        return ""
    starred = stars(p)
    if k > _CROWDED:
        return f"{100 * (pairs.coupled[i, j] - pairs.independent[i, j]):+.0f}<br>{starred}"
    both = f"{100 * pairs.coupled[i, j]:.0f} | {100 * pairs.independent[i, j]:.0f}"
    return f"{both}<br>{starred}"


def _describe_change(modes: ModeComparison, p: float, i: int, j: int) -> str:
    pairs = modes.pairs
    if not _met(modes, i, j):
        return ""
    described = _(
        "<b>{model}</b> against <b>{other}</b><br>"
        "coupled {coupled:.1%}, independent {independent:.1%}<br>"
        "ties: coupled {coupled_ties:.1%}, independent {independent_ties:.1%}<br>"
    ).format(
        model=escape(modes.models[i]),
        other=escape(modes.models[j]),
        coupled=pairs.coupled[i, j],
        independent=pairs.independent[i, j],
        coupled_ties=modes.coupled_ties[i, j],
        independent_ties=modes.independent_ties[i, j],
    )
    return described + (f"p = {p:.2g}" if np.isfinite(p) else _("too few votes for a test"))


def _met(modes: ModeComparison, i: int, j: int) -> bool:
    return bool(np.isfinite(modes.pairs.coupled[i, j] - modes.pairs.independent[i, j]))
