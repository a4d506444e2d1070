"""Figures of a ranking by risk: curves, violation ratios, and mean less risk."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.risk.result import RiskReport, RiskView
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.views.figures.caption import dominance_caption, risk_caption
from coupled_arena.views.figures.matrices import FULL, matrix_figure
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import Head, Theme, finish, key, shortened, theme_for
from coupled_arena.views.tables.risk import curve_table, mean_risks, risk_pairs

_MOST_LINES = 12
_LONGEST = 46  # characters of a line of names
_SOLID, _DASHED = "\N{BLACK RECTANGLE}", "\N{BOX DRAWINGS HEAVY TRIPLE DASH HORIZONTAL}"
_SQUARE = "\N{BLACK SQUARE}"
# Readable on light and dark paper; told apart by hue and, after these, by dashes.
_COLOURS = ("#0a84c6", "#e0601a", "#0f9d75", "#c76aa0", "#c98a00", "#7a6ff0", "#7d8590")
_ORDERS = {Order.FIRST: "first", Order.SECOND: "second"}
_RISKS = {
    Risk.DEVIATION: "standard<br>deviation",
    Risk.SEMIDEVIATION: "below<br>the mean",
    Risk.TAIL: "tail",
    Risk.TAIL_GAP: "mean<br>to tail",
    Risk.GINI: "Gini tail",
}


def quantile_figure(report: RiskReport, view: RiskView, *, dark: bool = False) -> go.Figure:
    """Draw each model's quantiles: the higher everywhere, the better."""
    curves = view.quantile_curves
    return _curves(
        report, view, curves, ("quantiles", "Quantiles", "Score", "quantile"), theme_for(dark)
    )


def tail_figure(report: RiskReport, view: RiskView, *, dark: bool = False) -> go.Figure:
    """Draw the mean of each model's worst scores: dominance in the second order, by eye."""
    names = (
        *("tail-value-at-risk", "Tail value at risk", "Mean of the worst share"),
        "tail_value",
    )
    return _curves(report, view, view.tail_curves, names, theme_for(dark))


def violation_figure(
    report: RiskReport, view: RiskView, order: Order, *, dark: bool = False
) -> go.Figure:
    """Draw how far each model, in a row, is from dominating each other; bold where it wins."""
    theme, found = theme_for(dark), view.dominance[order]
    best = list(view.dominance[Order.SECOND].ranking)
    names, k = [view.models[at] for at in best], len(best)
    ratios = found.violation[np.ix_(best, best)]
    wins = found.relative.wins[np.ix_(best, best)]
    p_values = found.relative.p_values[np.ix_(best, best)]
    pairs = [[(i, j) for j in range(k)] for i in range(k)]
    cells = {
        "z": [[None if i == j else 1 - float(ratios[i, j]) for i, j in row] for row in pairs],
        "text": [[_ratio(ratios[at], bool(wins[at]), at, k) for at in row] for row in pairs],
        "hovertext": [
            [
                f"<b>{escape(names[i])}</b> over <b>{escape(names[j])}</b><br>"
                f"violation ratio {ratios[i, j]:.4f}<br>"
                f"p = {p_values[i, j]:.2g} before the correction"
                for i, j in row
            ]
            for row in pairs
        ],
        "zmin": 0,
        "zmid": 0.5,
        "zmax": 1,
        "textfont": {"size": 13 if k <= 12 else 10},  # its own choice counts the marks of bold
    }
    head = Head(
        file=f"violation-ratios-{order}",
        title=f"Who dominates, {_ORDERS[order]} order",
        lines=(
            *dominance_caption(report, view),
            "In percent; 0: the row dominates",
            "Bold: tests rank the row ahead",
            key(
                (_SQUARE, theme.ahead, "row nearer to dominance"),
                (_SQUARE, theme.behind, "column nearer"),
            ),
        ),
        numbers=risk_pairs(view, order).only("model", "opponent", "violation", "p_value", "ahead"),
    )
    return matrix_figure(names, cells, [(i, i) for i in range(k)], theme, head)


def radar_figure(report: RiskReport, view: RiskView, *, dark: bool = False) -> go.Figure:
    """Draw mean less risk by all five risks, each from the worst model to the best."""
    theme, shown = theme_for(dark), _shown(view)
    head = Head(
        file="mean-risk",
        title="Mean less risk",
        lines=(
            *risk_caption(report, view),
            f"tails: the worst {100 * report.settings.tail_p:.3g} %; outer is better",
            *_names(view, shown),
        ),
        numbers=mean_risks(view),
    )
    traces = _polygons(view, shown)
    return finish(traces, theme, head, height=390, layout={"polar": _axes_of_risks(theme)})


_ANGLES = [360 / len(Risk) * at for at in range(len(Risk))]


def _polygons(view: RiskView, shown: Sequence[int]) -> list[dict[str, Any]]:
    """Return a closed line for each model shown, through its place between worst and best."""
    scores = np.stack([view.risk_scores(risk) for risk in Risk])
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    share = np.divide(scores - low, high - low, out=np.ones_like(scores), where=high > low)
    return [
        {
            "type": "scatterpolar",
            "r": [*share[:, at].tolist(), float(share[0, at])],
            "theta": [*_ANGLES, 0],
            "mode": "lines+markers",
            "line": _line(place),
            "marker": {"size": 6},
            "hoverinfo": "text",
            "hovertext": [
                f"<b>{escape(view.models[at])}</b><br>{_RISKS[risk].replace('<br>', ' ')}: "
                f"{view.mean_risks[at].mean:.4g} - {view.mean_risks[at].risks[risk]:.4g}"
                for risk in (*Risk, *list(Risk)[:1])
            ],
        }
        for place, at in enumerate(shown)
    ]


def _axes_of_risks(theme: Theme) -> dict[str, Any]:
    ring = {"gridcolor": theme.grid, "linecolor": theme.grid}
    return {
        "bgcolor": "rgba(0,0,0,0)",
        # plotly leaves no room for the names of the axes
        "domain": {"x": [0.16, 0.84], "y": [0.1, 0.9]},
        "radialaxis": {**ring, "range": [0, 1.08], "showticklabels": False, "ticks": ""},
        "angularaxis": {
            **ring,
            "tickvals": _ANGLES,
            "ticktext": list(_RISKS.values()),
            "rotation": 90,
            "direction": "clockwise",
        },
    }


def _curves(
    report: RiskReport,
    view: RiskView,
    curves: FloatArray,
    names: tuple[str, str, str, str],
    theme: Theme,
) -> go.Figure:
    file, title, axis, value = names
    shown = _shown(view)
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": view.places.tolist(),
            "y": curves[at].tolist(),
            "line": {**_line(place), "shape": "vh" if file == "quantiles" else "linear"},
            "hovertemplate": (
                f"<b>{escape(view.models[at])}</b><br>worst %{{x:.1%}}: %{{y:.4g}}<extra></extra>"
            ),
        }
        for place, at in enumerate(shown)
    ]
    head = Head(
        file=file,
        title=title,
        lines=(*risk_caption(report, view), *_names(view, shown)),
        numbers=curve_table(view).only("model", "share", value),
    )
    common = {"automargin": True, "zeroline": False, "gridcolor": theme.grid}
    layout = {
        "xaxis": {
            **common,
            "range": [0, 1],
            "tickformat": ".0%",
            "title": axis_title("Share of the worst replies", theme),
        },
        "yaxis": {**common, "title": axis_title(axis, theme)},
    }
    return finish(traces, theme, head, height=330, layout=layout)


def _shown(view: RiskView) -> list[int]:
    """Return the models that are drawn as lines: the best by the second order."""
    return list(view.dominance[Order.SECOND].ranking[:_MOST_LINES])


def _line(place: int) -> dict[str, Any]:
    dash = "solid" if place < len(_COLOURS) else "dot"
    return {"color": _COLOURS[place % len(_COLOURS)], "width": 2.2, "dash": dash}


def _names(view: RiskView, shown: list[int]) -> list[str]:
    """Return the models' colours, as many to a line as a phone has room for."""
    lines: list[list[tuple[str, str, str]]] = [[]]
    width = 0
    for place, at in enumerate(shown):
        name = shortened(view.models[at])
        if lines[-1] and width + len(name) + 5 > _LONGEST:
            lines.append([])
            width = 0
        mark = _SOLID if place < len(_COLOURS) else _DASHED
        lines[-1].append((mark, _COLOURS[place % len(_COLOURS)], name))
        width += len(name) + 5
    named = [key(*line) for line in lines]
    left = len(view.models) - len(shown)
    return [*named, *([f"and {left} more, which rank behind"] if left else [])]


def _ratio(ratio: float, win: bool, at: tuple[int, int], k: int) -> str:
    if at[0] == at[1] or k > FULL:
        return ""
    percent = f"{100 * ratio:.0f}"
    return f"<b>{percent}</b>" if win else percent
