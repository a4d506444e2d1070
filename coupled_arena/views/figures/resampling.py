"""Figures of which ranks models get: figures 3, 4, 9 to 15 of the ranking paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from coupled_arena.core.language import _
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.views.figures.rankings import (
    ALL,
    Ranked,
    Results,
    any_of,
    best_first,
    finished,
    key_of,
    ranked,
    settings_line,
    usual_alpha,
)
from coupled_arena.views.figures.registry import DRAWN_RANK_SETS, POSITIONS
from coupled_arena.views.figures.theme import shortened, theme_for

_BAR = "\N{BLACK RECTANGLE}"
_ROW, _CROWDED = 30, 12  # pixels of a model, and models above which not all positions are named
_LARGEST_DOT = 22  # pixels, of probability 1
_MOST_SETS = 6  # rank-sets of one model that are shown
_COLUMNS = 2  # a phone has room for no more
_SIDE_BY_SIDE = (Ranking.BASELINE, Ranking.JUDGE, Ranking.PPR)


def position_figure(
    results: Results, votes: int, shown: Sequence[Ranking] = ALL, *, dark: bool = False
) -> go.Figure:
    """Draw how often each position is in a model's rank-set, as a dot's size (figures 3, 9)."""
    result = any_of(results)
    index, alpha = usual_alpha(result)
    theme = theme_for(dark)
    panels = ranked(results, votes, shown)
    rows, k = -(-len(panels) // _COLUMNS), len(result.models)
    figure = make_subplots(
        rows,
        _COLUMNS,
        shared_yaxes=True,
        subplot_titles=[one.name for one in panels],
        horizontal_spacing=0.04,
        vertical_spacing=min(70 / (_ROW * rows * k + 170), 0.9 / max(rows - 1, 1)),
    )
    order = best_first(result, index)
    for panel, one in enumerate(panels):
        dots = _places(one.run.positions[index][order], [result.models[i] for i in order], one)
        figure.add_trace(dots, row=panel // _COLUMNS + 1, col=panel % _COLUMNS + 1)
    names = [shortened(result.models[i], 16) for i in order]
    figure.update_xaxes(
        dtick=1 if k <= _CROWDED else 5,
        tick0=1 if k <= _CROWDED else 0,
        gridcolor=theme.grid,
        zeroline=False,
        range=[0.4, k + 0.6],
    )
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[k - 0.4, -0.6],
        gridcolor=theme.grid,
        zeroline=False,
        automargin=True,
    )
    return finished(
        figure,
        _(POSITIONS.title),
        "; ".join([_("The larger a dot, the more often"), settings_line(result, votes, alpha)]),
        theme,
        height=_ROW * rows * k + 170,
    )


def _places(share: FloatArray, names: list[str], one: Ranked) -> go.Scatter:
    """Return a dot for each position that a model's rank-set has in some repeats."""
    row, place = (share > 0).nonzero()
    return go.Scatter(
        x=place + 1,
        y=row,
        mode="markers",
        marker={"size": _LARGEST_DOT * share[row, place] ** 0.5, "color": one.colour},
        hovertext=[
            _("{model}: position {position} in {share:.0%}").format(
                model=escape(names[r]), position=p + 1, share=share[r, p]
            )
            for r, p in zip(row, place, strict=True)
        ],
        hoverinfo="text",
    )


def rank_set_figure(
    results: Results, votes: int, shown: Sequence[Ranking] = _SIDE_BY_SIDE, *, dark: bool = False
) -> go.Figure:
    """Draw how often each model got each rank-set (figures 4, 10 to 15)."""
    result = any_of(results)
    index, alpha = usual_alpha(result)
    theme = theme_for(dark)
    beside = ranked(results, votes, shown)
    order = best_first(result, index)
    rows = -(-len(order) // _COLUMNS)
    figure = make_subplots(
        rows,
        _COLUMNS,
        subplot_titles=[shortened(result.models[i]) for i in order],
        shared_yaxes=True,
        vertical_spacing=0.32 / rows,
        horizontal_spacing=0.06,
    )
    for panel, model in enumerate(order):
        shares = [one.run.sets(index, model) for one in beside]
        sets = _most_frequent(shares)
        names = [_span(*each) for each in sets]
        more = any(set(share).difference(sets) for share in shares)
        for one, share in zip(beside, shares, strict=True):
            heights = [share.get(each, 0.0) for each in sets]
            figure.add_bar(
                x=[*names, *[_("others")] * more],
                y=[*heights, *[sum(share.values()) - sum(heights)] * more],
                name=one.name,
                marker={"color": one.colour, "opacity": one.opacity},
                hovertemplate="%{x}: %{y:.0%}",
                row=panel // _COLUMNS + 1,
                col=panel % _COLUMNS + 1,
            )
    figure.update_xaxes(type="category")
    figure.update_yaxes(
        range=[0, 1], tickformat=".0%", gridcolor=theme.grid, zeroline=False, automargin=True
    )
    return finished(
        figure,
        _(DRAWN_RANK_SETS.title),
        settings_line(result, votes, alpha),
        theme,
        height=190 * rows + 150,
        marks=key_of(_BAR, beside),
    )


def _span(low: int, high: int) -> str:
    return _("{low} to {high}").format(low=low, high=high) if high > low else f"{low}"


def _most_frequent(shares: Iterable[Mapping[tuple[int, int], float]]) -> list[tuple[int, int]]:
    """Return the rank-sets that are frequent in any ranking, in order of position."""
    best: dict[tuple[int, int], float] = {}
    for share in shares:
        for one, value in share.items():
            best[one] = max(best.get(one, 0.0), value)
    return sorted(sorted(best, key=lambda one: -best[one])[:_MOST_SETS])
