"""Figures of what coupled generation saves on a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.coupling.savings import Coupling, StoredScores
from coupled_arena.core.language import _, number
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.coupling.error_curves import ErrorCurves
from coupled_arena.stats.coupling.score_tables import PairSavings
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.lines import line_names
from coupled_arena.views.figures.matrices import FULL, matrix_figure
from coupled_arena.views.figures.rows import axis_title, plain_axis
from coupled_arena.views.figures.theme import (
    Theme,
    finish,
    head_of,
    key,
    shortened,
    theme_for,
)
from coupled_arena.views.levels import level
from coupled_arena.views.tables.coupling import coupling_pairs, curve_table, prompt_table

_SQUARE, _BAR = "\N{BLACK SQUARE}", "\N{BLACK RECTANGLE}"
_BINS = 16
_HEIGHT = 300  # pixels


def savings_figure(result: Coupling, *, dark: bool = False) -> go.Figure:
    """Draw the share of samples that coupling saves for each pair of models.

    Bold where the interval does not reach zero.
    """
    theme, models, pairs = theme_for(dark), list(result.models), result.pairs
    found = {(pair.model_a, pair.model_b): pair for pair in pairs}
    found |= {(pair.model_b, pair.model_a): pair for pair in pairs}
    grid = [[found.get((a, b)) for b in models] for a in models]
    largest = max([0.05, *(abs(p.savings) for p in pairs if math.isfinite(p.savings))])
    cells = {
        "z": [[_number(pair and pair.savings) for pair in row] for row in grid],
        "text": [[_share(pair, len(models)) for pair in row] for row in grid],
        "hovertext": [["" if pair is None else _described(pair) for pair in row] for row in grid],
        "zmin": -largest,
        "zmid": 0,
        "zmax": largest,
        "textfont": {"size": 13 if len(models) <= 12 else 12},
    }
    head = head_of(
        registry.SAVINGS,
        lines=(
            *_caption(result.scores),
            _("In percent; bold: the {level} interval misses 0").format(level=level(result.alpha)),
            key(
                (_SQUARE, theme.ahead, _("saves samples")),
                (_SQUARE, theme.behind, _("costs samples")),
            ),
        ),
        numbers=coupling_pairs(result).only(
            "model_a", "model_b", "savings", "savings_low", "savings_high", "mean_covariance"
        ),
    )
    unmet = [(i, j) for i, row in enumerate(grid) for j, pair in enumerate(row) if _unknown(pair)]
    return matrix_figure(models, cells, unmet, theme, head)


def variance_figure(pair: PairSavings, *, dark: bool = False) -> go.Figure:
    """Draw how the variance of the score difference is spread over prompts, by protocol."""
    theme = theme_for(dark)
    spreads = (
        (_("coupled"), pair.variances_coupled, theme.accent),
        (_("independent"), pair.variances_independent, theme.other),
    )
    mean = _("{protocol}, mean {value:.3f}")
    head = head_of(
        registry.VARIANCE,
        lines=(
            *_names(pair),
            _("within each of {prompts:,} prompts, {answers} answers each").format(
                prompts=len(pair.covariances), answers=pair.repetitions
            ),
            *(
                key((_BAR, colour, mean.format(protocol=name, value=values.mean())))
                for name, values, colour in spreads
            ),
        ),
        numbers=prompt_table(pair).only("prompt", "variance_coupled", "variance_independent"),
    )
    edges = _edges(np.concatenate([values for _name, values, _colour in spreads]))
    traces = [_histogram(values, edges, colour, name) for name, values, colour in spreads]
    return finish(traces, theme, head, height=_HEIGHT, layout=_bars(_("Variance"), theme))


def covariance_figure(pair: PairSavings, *, dark: bool = False) -> go.Figure:
    """Draw how the covariance of the two scores under coupling is spread over prompts."""
    theme = theme_for(dark)
    head = head_of(
        registry.COVARIANCE,
        lines=(
            *_names(pair),
            _("mean {mean:+.4f} ± {error:.4f} (standard error)").format(
                mean=pair.mean_covariance, error=pair.mean_covariance_error
            ),
            _("independent {mean:+.4f}: chance alone").format(
                mean=pair.mean_covariance_independent
            ),
        ),
        numbers=prompt_table(pair).only("prompt", "covariance"),
    )
    traces = [
        _histogram(pair.covariances, _edges(pair.covariances), theme.accent, _("coupled")),
        {
            "type": "scatter",
            "mode": "lines",
            "x": [pair.mean_covariance] * 2,
            "y": [0, 1],
            "yaxis": "y2",
            "line": {"color": theme.text, "width": 1.5, "dash": "dot"},
            "hoverinfo": "skip",
        },
    ]
    layout = _bars(_("Covariance"), theme)
    layout["yaxis2"] = {"overlaying": "y", "range": [0, 1], "visible": False}
    return finish(traces, theme, head, height=_HEIGHT, layout=layout)


def curve_figure(curves: ErrorCurves, pair_index: int, *, dark: bool = False) -> go.Figure:
    """Draw how the error of the score difference falls with the number of samples."""
    theme = theme_for(dark)
    a, b = curves.pairs[pair_index]
    sizes = curves.sizes.tolist()
    traces: list[dict[str, Any]] = []
    bands = (curves.low, curves.mean, curves.high)
    protocols = ((1, _("independent"), theme.other), (0, _("coupled"), theme.accent))
    for at, name, colour in protocols:
        traces += _band(sizes, [values[at, pair_index] for values in bands], colour, name)
    head = head_of(
        registry.CURVES,
        lines=(*_against(a, b), _("mean error; bands: 95% of sub-samplings")),
        numbers=curve_table(curves, pair_index),
    )
    common = plain_axis(theme)
    named = line_names(
        [(_BAR, c, name, float(curves.mean[at, pair_index][-1])) for at, name, c in protocols],
        (0, float(curves.high[:, pair_index].max())),
        _HEIGHT,
        theme,
    )
    layout = {
        "annotations": named["annotations"],
        "margin": named["margin"],
        "xaxis": {**common, "title": axis_title(_("Samples of each model"), theme)},
        "yaxis": {
            **common,
            "title": axis_title(_("Absolute error"), theme),
            "range": [0, named["range"][1]],
        },
    }
    return finish(traces, theme, head, height=_HEIGHT, layout=layout)


def _band(
    sizes: list[int], band: Sequence[FloatArray], colour: str, name: str
) -> list[dict[str, Any]]:
    """Return a line with a band around it, and edges: two bands may lie on each other."""
    low, mean, high = (values.tolist() for values in band)
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [*sizes, *sizes[::-1]],
            "y": [*high, *low[::-1]],
            "fill": "toself",
            "fillcolor": colour,
            "opacity": 0.06,
            "line": {"width": 0},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "x": [*sizes, None, *sizes],
            "y": [*high, None, *low],
            "opacity": 0.7,
            "line": {"color": colour, "width": 1},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "x": sizes,
            "y": mean,
            "line": {"color": colour, "width": 2.2},
            "hovertemplate": _("{protocol}: {x} samples, error {y}").format(
                protocol=name, x="%{x:,}", y="%{y:.4f}"
            )
            + "<extra></extra>",
        },
    ]


def _caption(stored: StoredScores) -> tuple[str, ...]:
    prompts, seeds, _models = stored.table.coupled.shape
    counted = {"metric": escape(stored.metric), "prompts": prompts, "answers": seeds}
    if not stored.category:
        return (_("{metric}: {prompts:,} prompts, {answers} answers each").format(**counted),)
    text = _("{metric}: {prompts:,} prompts, {answers} answers each, category {category}")
    return (text.format(**counted, category=escape(stored.category)),)


def _names(pair: PairSavings) -> tuple[str, str]:
    return _against(pair.model_a, pair.model_b)


def _against(model: str, other: str) -> tuple[str, str]:
    return _("{model} against").format(model=shortened(model)), shortened(other)


def _described(pair: PairSavings) -> str:
    return _(
        "<b>{model}</b> and <b>{other}</b><br>saves {savings} ({low} to {high})<br>"
        "covariance {covariance:+.4f}"
    ).format(
        model=escape(pair.model_a),
        other=escape(pair.model_b),
        savings=_percent(pair.savings),
        low=_percent(pair.savings_low),
        high=_percent(pair.savings_high),
        covariance=pair.mean_covariance,
    )


def _share(pair: PairSavings | None, k: int) -> str:
    if pair is None or _unknown(pair) or k > FULL:
        return ""
    text = number(100 * pair.savings, "z.0f")  # without a sign before nothing
    return f"<b>{text}</b>" if pair.savings_low > 0 or pair.savings_high < 0 else text


def _unknown(pair: PairSavings | None) -> bool:
    return pair is None or not math.isfinite(pair.savings)


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _percent(value: float) -> str:
    return number(value, ".1%") if math.isfinite(value) else _("unknown")


def _edges(values: FloatArray) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, _BINS + 1)


def _histogram(values: FloatArray, edges: FloatArray, colour: str, name: str) -> dict[str, Any]:
    counts = np.histogram(values, edges)[0]
    return {
        "type": "bar",
        "x": ((edges[:-1] + edges[1:]) / 2).tolist(),
        "y": (counts / len(values)).tolist(),
        "marker": {"color": colour},
        "hovertemplate": _("{protocol}: {share} of prompts near {value}").format(
            protocol=name, share="%{y:.1%}", value="%{x:.3f}"
        )
        + "<extra></extra>",
    }


def _bars(title: str, theme: Theme) -> dict[str, Any]:
    common = plain_axis(theme)
    return {
        "barmode": "group",
        "bargap": 0.12,
        "xaxis": {**common, "title": axis_title(title, theme)},
        "yaxis": {**common, "tickformat": ".0%", "title": axis_title(_("Prompts"), theme)},
    }
