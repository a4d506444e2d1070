"""Figures of a ranking by risk: curves, violation ratios, and mean less risk."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.risk.result import RiskReport, RiskView
from coupled_arena.core.language import N_, _, number
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.caption import dominance_method, risk_caption, risk_method
from coupled_arena.views.figures.lines import COLOURS, line_names, line_style, mark
from coupled_arena.views.figures.matrices import FULL, matrix_figure
from coupled_arena.views.figures.registry import Figure
from coupled_arena.views.figures.rows import axis_title, plain_axis
from coupled_arena.views.figures.theme import (
    Theme,
    finish,
    head_of,
    key,
    shortened,
    theme_for,
)
from coupled_arena.views.tables.risk import curve_table, mean_risks, risk_pairs

_HEIGHT = 330  # pixels
_LONGEST = 46  # characters of a line of names
_SQUARE = "\N{BLACK SQUARE}"
_MOST = len(COLOURS)  # models that are drawn, so that no two lines have one colour
_RISKS = {
    Risk.DEVIATION: N_("standard<br>deviation"),
    Risk.SEMIDEVIATION: N_("below<br>the mean"),
    Risk.TAIL: N_("tail"),
    Risk.TAIL_GAP: N_("mean<br>to tail"),
    Risk.GINI: N_("Gini tail"),
}


def quantile_figure(report: RiskReport, view: RiskView, *, dark: bool = False) -> go.Figure:
    """Draw each model's quantiles: the higher everywhere, the better."""
    curves = view.quantile_curves
    axis = _("Score"), "quantile"
    return _curves(report, view, curves, registry.QUANTILES, axis, theme_for(dark))


def tail_figure(report: RiskReport, view: RiskView, *, dark: bool = False) -> go.Figure:
    """Draw the mean of each model's worst scores: dominance in the second order, by eye."""
    axis = _("Mean of the worst share"), "tail_value"
    return _curves(report, view, view.tail_curves, registry.TAILS, axis, theme_for(dark))


def violation_figure(
    report: RiskReport, view: RiskView, order: Order, *, dark: bool = False
) -> go.Figure:
    """Draw how far each model, in a row, is from dominating each other; bold where it wins."""
    theme, found = theme_for(dark), view.dominance[order]
    best = list(view.dominance[Order.SECOND].ranking)
    models, k = [view.models[at] for at in best], len(best)
    ratios = found.violation[np.ix_(best, best)]
    wins = found.relative.wins[np.ix_(best, best)]
    p_values = found.relative.p_values[np.ix_(best, best)]
    pairs = [[(i, j) for j in range(k)] for i in range(k)]
    cells = {
        "z": [[None if i == j else 1 - float(ratios[i, j]) for i, j in row] for row in pairs],
        "text": [[_ratio(ratios[at], bool(wins[at]), at, k) for at in row] for row in pairs],
        "hovertext": [
            [_described(models[i], models[j], ratios[i, j], p_values[i, j]) for i, j in row]
            for row in pairs
        ],
        "zmin": 0,
        "zmid": 0.5,
        "zmax": 1,
        "textfont": {"size": 13 if k <= 12 else 12},  # its own choice counts the marks of bold
    }
    head = head_of(
        registry.FIRST_ORDER if order is Order.FIRST else registry.SECOND_ORDER,
        lines=(
            *risk_caption(report, view),
            _("In percent; 0: the row dominates"),
            _("Bold: tests rank the row ahead"),
            key(
                (_SQUARE, theme.ahead, _("row nearer to dominance")),
                (_SQUARE, theme.behind, _("column nearer")),
            ),
        ),
        numbers=risk_pairs(view, order).only("model", "opponent", "violation", "p_value", "ahead"),
        method=dominance_method(report, view),
    )
    return matrix_figure(models, cells, [(i, i) for i in range(k)], theme, head)


def _described(model: str, other: str, ratio: float, p: float) -> str:
    return _(
        "<b>{model}</b> over <b>{other}</b><br>violation ratio {ratio:.4f}<br>"
        "p = {p:.2g} before the correction"
    ).format(model=escape(model), other=escape(other), ratio=ratio, p=p)


def radar_figure(
    report: RiskReport, view: RiskView, *, dark: bool = False, most: int = _MOST
) -> go.Figure:
    """Draw mean less risk of the first models by all five risks, each from worst to best.

    Parameters
    ----------
    most : int
        Models that are drawn, the best by the second order.
    """
    theme, shown = theme_for(dark), _shown(view, most)
    head = head_of(
        registry.MEAN_RISK,
        lines=(
            *risk_caption(report, view),
            _("tails: the worst {share:.3g} %; outer is better").format(
                share=100 * report.settings.tail_p
            ),
            _("each axis from the worst model's value to the best one's"),
            *_names(view, shown),
        ),
        numbers=mean_risks(view),
        method=risk_method(report, view),
    )
    traces = _polygons(view, shown)
    return finish(traces, theme, head, height=390, layout={"polar": _axes_of_risks(view, theme)})


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
            "cliponaxis": False,
            "line": line_style(place),
            "marker": {"size": 6},
            "hoverinfo": "text",
            "hovertext": [
                f"<b>{escape(view.models[at])}</b><br>{_(_RISKS[risk]).replace('<br>', ' ')}: "
                f"{number(view.mean_risks[at].mean, '.4g')} - "
                f"{number(view.mean_risks[at].risks[risk], '.4g')}"
                for risk in (*Risk, *list(Risk)[:1])
            ],
        }
        for place, at in enumerate(shown)
    ]


def _axis_name(view: RiskView, risk: Risk) -> str:
    """Return a risk with the values between which its axis runs."""
    scores = view.risk_scores(risk)
    ends = _("{low} to {high}").format(
        low=number(scores.min(), ".2g"), high=number(scores.max(), ".2g")
    )
    return f"{_(_RISKS[risk])}<br>{ends}"


def _axes_of_risks(view: RiskView, theme: Theme) -> dict[str, Any]:
    ring = {"gridcolor": theme.grid, "linecolor": theme.grid}
    return {
        "bgcolor": "rgba(0,0,0,0)",
        # plotly leaves no room for the names of the axes
        "domain": {"x": [0.19, 0.81], "y": [0.1, 0.9]},
        "radialaxis": {**ring, "range": [0, 1], "showticklabels": False, "ticks": ""},
        "angularaxis": {
            **ring,
            "tickvals": _ANGLES,
            "ticktext": [_axis_name(view, risk) for risk in _RISKS],
            "rotation": 90,
            "direction": "clockwise",
        },
    }


def _curves(
    report: RiskReport,
    view: RiskView,
    curves: FloatArray,
    figure: Figure,
    axis: tuple[str, str],
    theme: Theme,
) -> go.Figure:
    title, value = axis
    shown = _shown(view, _MOST)
    shape = "vh" if figure is registry.QUANTILES else "linear"
    traces = [
        _curve(view, curves[at], at, line_style(place) | {"shape": shape})
        for place, at in enumerate(shown)
    ]
    head = head_of(
        figure,
        lines=(*risk_caption(report, view), *_others(view, shown)),
        numbers=curve_table(view).only("model", "share", value),
        method=risk_method(report, view),
    )
    common = plain_axis(theme)
    named = line_names(
        [(*mark(place), view.models[at], float(curves[at][-1])) for place, at in enumerate(shown)],
        (float(curves[shown].min()), float(curves[shown].max())),
        _HEIGHT,
        theme,
    )
    layout = {
        "annotations": named["annotations"],
        "margin": named["margin"],
        "xaxis": {
            **common,
            "range": [0, 1],
            "tickformat": ".0%",
            "title": axis_title(_("Share of the worst replies"), theme),
        },
        "yaxis": {**common, "range": named["range"], "title": axis_title(title, theme)},
    }
    return finish(traces, theme, head, height=_HEIGHT, layout=layout)


def _curve(view: RiskView, curve: FloatArray, at: int, line: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": view.places.tolist(),
        "y": curve.tolist(),
        "line": line,
        "hovertemplate": (
            f"<b>{escape(view.models[at])}</b><br>"
            + _("worst {share}: {score}").format(share="%{x:.1%}", score="%{y:.4g}")
            + "<extra></extra>"
        ),
    }


def _shown(view: RiskView, most: int) -> list[int]:
    """Return the models that are drawn as lines: the best by the second order."""
    return list(view.dominance[Order.SECOND].ranking[:most])


def _names(view: RiskView, shown: list[int]) -> list[str]:
    """Return the models' colours, as many to a line as a phone has room for."""
    lines: list[list[tuple[str, str, str]]] = [[]]
    width = 0
    for place, at in enumerate(shown):
        name = shortened(view.models[at])
        if lines[-1] and width + len(name) + 5 > _LONGEST:
            lines.append([])
            width = 0
        lines[-1].append((*mark(place), name))
        width += len(name) + 5
    return [*(key(*line) for line in lines), *_others(view, shown)]


def _others(view: RiskView, shown: list[int]) -> list[str]:
    left = len(view.models) - len(shown)
    text = _("The first {shown}; {left} more rank behind").format(shown=len(shown), left=left)
    return [text] if left else []


def _ratio(ratio: float, win: bool, at: tuple[int, int], k: int) -> str:
    if at[0] == at[1] or k > FULL:
        return ""
    percent = number(100 * ratio, ".0f")
    return f"<b>{percent}</b>" if win else percent
