"""Coupled beside independent answers in three panels a row: covariance, variances, error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.papers.coupled_generation.pairs import PairPanels, drawn_sizes, panel_table
from coupled_arena.papers.densities import density_of, joint_density_of
from coupled_arena.stats.coupling.error_curves import TOLERANCE
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import Head, Theme, finish, key, shortened, theme_for

_WIDTH, _ROW, _GAP = 1080, 250, 78  # pixels: a figure, a row of panels, between two rows
_COLUMNS = ((0.05, 0.3), (0.385, 0.64), (0.725, 1.0))  # where panels begin and end, of the width
_LEVELS = 9
_NORMAL = 1.96  # standard errors of a 95% interval
_BAR, _DOT = "\N{BLACK RECTANGLE}", "\N{BLACK HEXAGON}"


def panels_figure(panels: Sequence[PairPanels], what: str, *, dark: bool = False) -> go.Figure:
    """Draw a row of three panels for each pair of models, or each subject.

    Parameters
    ----------
    what : str
        Of what the scores are, for the head.
    """
    theme = theme_for(dark)
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"width": _WIDTH, "annotations": [], "shapes": []}
    height = len(panels) * (_ROW + _GAP)
    for row, panel in enumerate(panels):
        top = 1 - (row * (_ROW + _GAP) + _GAP / 2) / height
        ends = (top - _ROW / height, top)
        for column, draw in enumerate((_covariances, _variances, _errors)):
            number = 3 * row + column + 1
            drawn, axes = draw(panel, theme)
            names = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
            traces += [{**trace, **names} for trace in drawn]
            x, y = axes
            common: dict[str, Any] = {
                "automargin": False,
                "zeroline": False,
                "gridcolor": theme.grid,
            }
            common["tickfont"] = {"size": 11}
            layout[f"xaxis{number}"] = {
                **common,
                "domain": list(_COLUMNS[column]),
                "anchor": f"y{number}",
                **x,
            }
            layout[f"yaxis{number}"] = {**common, "domain": ends, "anchor": f"x{number}", **y}
        layout["annotations"].append(_label(panel, ends[1]))
        layout["annotations"] += _notes(panel, ends[1], theme)
    head = _head(panels, what, theme)
    layout["margin"] = {"l": 20, "r": 20, "b": 20}
    return finish(traces, theme, head, height=height, layout=layout)


def _head(panels: Sequence[PairPanels], what: str, theme: Theme) -> Head:
    return Head(
        file="coupled-and-independent",
        title=f"Coupled and independent: {shortened(what, 60)}",
        lines=(
            "left: density of the covariance of both scores by question, its mean dashed; "
            "middle: of the two variances of their difference, with their medians and y = x",
            "right: absolute error of the mean difference, with 95% intervals of its mean; dotted: "
            f"where both errors agree within {TOLERANCE:.0%} and the saving is largest",
            key(
                (_BAR, theme.accent, "coupled"),
                (_BAR, theme.other, "independent"),
                (_DOT, theme.text, "median"),
            ),
        ),
        numbers=panel_table(panels),
    )


def _label(panel: PairPanels, top: float) -> dict[str, Any]:
    names = (
        f"<b>{shortened(panel.pair.model_a, 44)} against {shortened(panel.pair.model_b, 44)}</b>"
    )
    return {
        "text": f"{names}, {shortened(panel.subject, 60)}" if panel.subject else names,
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": top,
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
        "font": {"size": 13},
    }


def _covariances(panel: PairPanels, theme: Theme) -> tuple[list[dict[str, Any]], tuple[Any, Any]]:
    values, mean = panel.pair.covariances, panel.pair.mean_covariance
    x, density = density_of(values)
    at_mean = float(np.interp(mean, x, density)) if density.any() else 1.0
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": x.tolist(),
            "y": density.tolist(),
            "fill": "tozeroy",
            "fillcolor": theme.pale,
            "line": {"color": theme.accent, "width": 2},
        },
        {
            "type": "scatter",
            "mode": "lines",
            "x": [mean, mean],
            "y": [0, at_mean],
            "line": {"color": theme.text, "width": 2, "dash": "dash"},
        },
    ]
    axes = (
        {"title": axis_title("Covariance (coupled)", theme)},
        {"title": axis_title("Density", theme), "rangemode": "tozero"},
    )
    return traces, axes


def _variances(panel: PairPanels, theme: Theme) -> tuple[list[dict[str, Any]], tuple[Any, Any]]:
    a, b = panel.pair.variances_coupled, panel.pair.variances_independent
    drawn = joint_density_of(a, b)
    if drawn is None:
        ends = [min(0.0, a.min(), b.min()), 1.1 * max(a.max(), b.max()) or 1.0]
        cloud = {
            "type": "scatter",
            "mode": "markers",
            "x": a.tolist(),
            "y": b.tolist(),
            "marker": {"color": theme.pale, "size": 6},
        }
    else:
        axis, density = drawn
        ends, top = [float(axis[0]), float(axis[-1])], float(density.max())
        step = 0.95 * top / _LEVELS
        cloud = {
            "type": "contour",
            "x": axis.tolist(),
            "y": axis.tolist(),
            "z": np.round(density / top, 5).tolist(),
            "contours": {"start": 0.05, "end": 0.95, "size": step / top, "coloring": "fill"},
            "colorscale": [[0, "rgba(0,0,0,0)"], [1e-3, theme.pale], [1, theme.accent]],
            "line": {"width": 0.4, "color": theme.accent},
            "showscale": False,
            "zmin": 0.05,
            "zmax": 1,
        }
    line = {"color": theme.faint, "width": 1.5, "dash": "dash"}
    traces = [
        cloud,
        {"type": "scatter", "mode": "lines", "x": ends, "y": ends, "line": line},
        {
            "type": "scatter",
            "mode": "markers",
            "x": [float(np.median(a))],
            "y": [float(np.median(b))],
            "marker": {"symbol": "hexagon", "size": 11, "color": theme.text},
        },
    ]
    titles = ("Variance (coupled)", "Variance (independent)")
    x, y = ({"title": axis_title(title, theme), "range": ends} for title in titles)
    return traces, (x, y)


def _errors(panel: PairPanels, theme: Theme) -> tuple[list[dict[str, Any]], tuple[Any, Any]]:
    at = drawn_sizes(panel)
    sizes = panel.sizes[at].tolist()
    traces: list[dict[str, Any]] = []
    for mode, colour in ((1, theme.other), (0, theme.accent)):
        mean, half = panel.mean[mode, at], _NORMAL * panel.mean_error[mode, at]
        traces += [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [*sizes, *sizes[::-1]],
                "y": [*(mean + half), *(mean - half)[::-1]],
                "fill": "toself",
                "fillcolor": colour,
                "opacity": 0.25,
                "line": {"width": 0},
            },
            {
                "type": "scatter",
                "mode": "lines",
                "x": sizes,
                "y": mean.tolist(),
                "line": {"color": colour, "width": 2},
            },
        ]
    gain = panel.gains[TOLERANCE]
    if gain.coupled is not None:
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [gain.coupled, gain.coupled, gain.independent, gain.independent],
                "y": [0, gain.error, gain.error, 0],
                "line": {"color": theme.faint, "width": 1.5, "dash": "dot"},
            }
        )
    axes = (
        {
            "title": axis_title("Samples of each model", theme),
            "type": "log",
            **_ticks(sizes[0], sizes[-1]),
        },
        {"title": axis_title("Absolute error", theme), "rangemode": "tozero"},
    )
    return traces, axes


def _beside_zero(low: int, high: int) -> list[float]:
    """Return the range of a logarithmic axis: the first number stands apart from the other's 0."""
    first, last = math.log10(low), math.log10(high)
    return [first - 0.06 * (last - first or 1), last + 0.01 * (last - first or 1)]


def _ticks(low: int, high: int) -> dict[str, Any]:
    """Return numbers in full: plotly's own between powers of ten are single digits."""
    steps = (1, 2, 5) if high < 100 * low else (1,)
    ticks = [step * 10**power for power in range(len(str(high))) for step in steps]
    there = [tick for tick in ticks if low <= tick <= high]
    return {
        "tickvals": there,
        "ticktext": [f"{tick:,}" for tick in there],
        "range": _beside_zero(low, high),
    }


def _notes(panel: PairPanels, top: float, theme: Theme) -> list[dict[str, Any]]:
    """Return what mean and gain are, in upper right corners, where densities and curves are not."""
    gain = panel.gains[TOLERANCE]
    if gain.coupled is None:
        saved = "no sizes at which coupling saves"
    else:
        saved = (
            f"{gain.coupled:,} coupled against {gain.independent:,}<br>"
            f"independent at {gain.error:.4f}: {gain.gain:.0%}"
        )
    mean = f"mean {panel.pair.mean_covariance:+.4f}"
    return [
        {
            "text": text,
            "x": right,
            "xref": "paper",
            "xanchor": "right",
            "y": top,
            "yref": "paper",
            "yanchor": "top",
            "align": "right",
            "showarrow": False,
            "font": {"size": 12, "color": theme.text},
        }
        for (_left, right), text in zip((_COLUMNS[0], _COLUMNS[2]), (mean, saved), strict=True)
    ]
