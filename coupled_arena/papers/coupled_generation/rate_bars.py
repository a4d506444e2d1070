"""Win-rates of every model against each other one, under both protocols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from coupled_arena.core.records import Mode
from coupled_arena.papers.coupled_generation.rates import (
    PROTOCOLS,
    PairRate,
    ProtocolRates,
    rates_table,
)
from coupled_arena.stats.coupling.modes import stars
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import (
    Head,
    Theme,
    finish,
    key,
    shortened,
    theme_for,
    wrapped,
)

_WIDTH, _PANEL, _GAP = 1080, 250, 50  # pixels: a figure, a panel, and between two beside names
_ACROSS = 2
_LABEL = 30  # pixels of a panel's name
_LINES = 2  # of an opponent's name, which is never cut: more would lie on the next one's
_LETTER, _LINE_OF_NAME = 6, 14  # pixels
_ANGLE = -40  # degrees: a name ends under its bar, and none leaves the figure on the right
_BAR = "\N{BLACK RECTANGLE}"


def rates_figure(found: ProtocolRates, *, dark: bool = False) -> go.Figure:
    """Draw a panel a model: how often it beats each other one, with intervals and stars."""
    theme = theme_for(dark)
    models = [place.model for place in found.places]
    gap = _GAP + _depth(models)
    height = math.ceil(len(models) / _ACROSS) * (_PANEL + gap)
    highest = max((_top(pair) for pair in found.pairs), default=1.0)
    traces: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"width": _WIDTH, "barmode": "group", "bargap": 0.35}
    for number, model in enumerate(models):
        row, column = divmod(number, _ACROSS)
        top = 1 - (row * (_PANEL + gap) + _LABEL) / height
        left, right = column / _ACROSS + 0.09, (column + 1) / _ACROSS - 0.01
        pairs = [pair for pair in found.pairs if pair.model == model]
        axes = {"xaxis": f"x{number + 1}", "yaxis": f"y{number + 1}"}
        for mode, colour in zip(PROTOCOLS, (theme.accent, theme.other), strict=True):
            traces.append({**_bars(pairs, mode, colour, theme.text), **axes})
        notes += [_name(model, left, top), *_stars(pairs, axes)]
        layout[f"xaxis{number + 1}"] = {
            "domain": [left, right],
            "anchor": axes["yaxis"],
            "tickvals": list(range(len(pairs))),
            "tickmode": "array",
            "ticktext": [_name_under(pair.opponent) for pair in pairs],
            "tickangle": _ANGLE,
            "tickfont": {"size": 11},
        }
        layout[f"yaxis{number + 1}"] = {
            "domain": [top - (_PANEL - _LABEL) / height, top],
            "anchor": axes["xaxis"],
            "range": [0, 1.12 * highest],
            "tickformat": ".0%",
            "gridcolor": theme.grid,
            "zeroline": False,
            "title": axis_title("Win rate", theme),
        }
    layout |= {"annotations": notes, "margin": {"l": 20, "r": 20, "b": 20}}
    return finish(traces, theme, _head(found, theme), height=height, layout=layout)


def _name_under(model: str) -> str:
    """Return a name on as few characters a line as so many lines allow."""
    widths = range(math.ceil(len(model) / _LINES), len(model) + 1)
    tries = (wrapped(model, width) for width in widths)
    return next((text for text in tries if text.count("<br>") < _LINES), wrapped(model))


def _depth(models: Sequence[str]) -> int:
    """Return how many pixels the names under a panel reach down."""
    slope = math.radians(-_ANGLE)
    names = [_name_under(model).split("<br>") for model in models]
    depths = (
        _LETTER * max(map(len, lines)) * math.sin(slope)
        + _LINE_OF_NAME * len(lines) * math.cos(slope)
        for lines in names
    )
    return int(max(depths, default=0))


def _head(found: ProtocolRates, theme: Theme) -> Head:
    who = f"verdicts of {shortened(found.judge)}" if found.judge else "people's votes"
    return Head(
        file="win-rates-by-protocol",
        title="Win rates of each model against each other one",
        lines=(
            f"{who}; bars: {100 * (1 - found.alpha):.4g}% intervals, clustered by prompt",
            "stars: coupled and independent differ at .05, .01, .001, .0001",
            key((_BAR, theme.accent, "coupled"), (_BAR, theme.other, "independent")),
        ),
        numbers=rates_table(found),
    )


def _name(model: str, left: float, top: float) -> dict[str, Any]:
    return {
        "text": f"<b>{shortened(model, 44)}</b>",
        "x": left,
        "xref": "paper",
        "xanchor": "left",
        "y": top,
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 4,
        "showarrow": False,
    }


def _stars(pairs: list[PairRate], axes: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "text": f"<b>{stars(pair.p_value)}</b>",
            "x": at,
            "xref": axes["xaxis"],
            "y": _top(pair),
            "yref": axes["yaxis"],
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 14},
        }
        for at, pair in enumerate(pairs)
        if stars(pair.p_value)
    ]


def _bars(pairs: list[PairRate], mode: Mode, colour: str, ink: str) -> dict[str, Any]:
    rates = [pair.rates[mode] for pair in pairs]
    return {
        "type": "bar",
        "x": list(range(len(pairs))),
        "y": [_known(rate.rate) for rate in rates],
        "marker": {"color": colour},
        "error_y": {
            "type": "data",
            "array": [_known(rate.high - rate.rate) for rate in rates],
            "arrayminus": [_known(rate.rate - rate.low) for rate in rates],
            "thickness": 1.2,
            "width": 3,
            "color": ink,
        },
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _top(pair: PairRate) -> float:
    """Return where the higher one of a pair's intervals ends."""
    return max((r.high for r in pair.rates.values() if math.isfinite(r.high)), default=0.0)
