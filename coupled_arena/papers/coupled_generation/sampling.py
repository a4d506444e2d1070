"""What coupling saves by temperature and top-p: an item of our own, beside those of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.coupling.savings import Sweep, SweptPair, read_sweep
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.item import Made
from coupled_arena.papers.source import PaperSource
from coupled_arena.views.figures.lines import Axes, Line, line_figure, line_style
from coupled_arena.views.figures.theme import Head
from coupled_arena.views.levels import level
from coupled_arena.views.tables.coupling import sweep_table, sweep_warnings
from coupled_arena.views.tables.table import BETWEEN

_AXES = {"temperature": "Temperature", "top_p": "Top-p"}
_APART = 0.012  # of the axis, between the intervals of two pairs
_WIDEST = 0.15  # of the axis, for those of all
_ZERO = {"width": 1, "color": "#8a8f98"}


def sweep_figure(
    found: Sweep, by: Literal["temperature", "top_p"], rows: Sequence[SweptPair], where: str
) -> go.Figure:
    """Draw the savings under some samplings that differ in one thing, with their intervals.

    Parameters
    ----------
    by : {"temperature", "top_p"}
        What they differ in.
    rows : sequence of SweptPair
        All of them finite.
    where : str
        What they have in common.
    """
    own: dict[str, list[SweptPair]] = {}
    for row in rows:
        own.setdefault(BETWEEN.join((row.pair.model_a, row.pair.model_b)), []).append(row)
    values = sorted({getattr(row.drawn, by) for row in rows})
    apart = min(_APART, _WIDEST / len(own)) * (values[-1] - values[0])
    lines = [
        Line(
            name,
            [getattr(row.drawn, by) + (at - (len(own) - 1) / 2) * apart for row in swept],
            [row.pair.savings for row in swept],
        )
        for at, (name, swept) in enumerate(own.items())
    ]
    bounds = [end for row in rows for end in (row.pair.savings_low, row.pair.savings_high)]
    y_range = min(0.0, *bounds), max(0.0, *bounds)
    head = Head(
        "savings",
        f"What coupling saves by {_AXES[by].lower()}",
        (f"{found.metric}; {where}", f"Bars: {level(found.alpha)} intervals"),
        sweep_table(found),
    )
    axes = Axes(_AXES[by], "Samples saved", share_y=True, y_range=y_range)
    figure = line_figure(lines, axes, head, points=True)
    for at, swept in enumerate(own.values()):
        figure.update_traces(error_y=_bars(swept, line_style(at)), selector=at)
    figure.update_xaxes(tickvals=values, ticktext=[f"{value:g}" for value in values])
    return figure.add_hline(y=0, line=_ZERO)


def _bars(rows: Sequence[SweptPair], style: Mapping[str, Any]) -> dict[str, Any]:
    pairs = [row.pair for row in rows]
    return {
        "array": [pair.savings_high - pair.savings for pair in pairs],
        "arrayminus": [pair.savings - pair.savings_low for pair in pairs],
        "color": style["color"],
        "thickness": 1.2,
        "width": 3,
    }


_ALPHA = 0.05
_NAMES: dict[Literal["temperature", "top_p"], str] = {
    "temperature": "temperature",
    "top_p": "top-p",
}


def savings_by_sampling(source: PaperSource) -> Made:
    """Return what coupling saves under each sampling of a benchmark, with intervals."""
    chosen = source.settings
    if source.scores:
        raise ArenaError("A table of scores does not say how answers were drawn: name a store.")
    if len(chosen.metrics) > 1:
        raise ArenaError("This is made of one metric: name one with --metrics.")
    found = read_sweep(
        source.store,
        chosen.metrics[0] if chosen.metrics else None,
        chosen.models,
        chosen.category,
        alpha=chosen.alpha[0] if chosen.alpha else _ALPHA,
    )
    figures = dict(_figures(found))
    if not figures:
        raise ArenaError(
            "All answers were drawn at one temperature and top-p, or saved nothing that could be "
            "told: run `benchmark --temperature 0.3,0.7,1`, or with several --top-p."
        )
    notes = (
        "The paper has no such figure. It draws benchmarks at temperature 0.7 and answers at 1 for "
        "pairwise comparisons, over the whole vocabulary. Its authors' repository has scores at "
        "0.5, at 0.9, and at 0.7 with top-p 0.9 of one subject of MMLU.",
        *sweep_warnings(found),
    )
    return Made({"savings": sweep_table(found)}, figures, notes=notes)


def _figures(found: Sweep) -> Iterator[tuple[str, go.Figure]]:
    """Yield a figure for each set of samplings that differ in one thing alone."""
    rows = [row for row in found.rows if np.isfinite(row.pair.savings_high)]
    for by, name in _NAMES.items():
        other = "top_p" if by == "temperature" else "temperature"
        alike: dict[tuple[float, str], list[SweptPair]] = {}
        for row in rows:
            alike.setdefault((getattr(row.drawn, other), str(row.drawn.sampler)), []).append(row)
        for (value, sampler), part in alike.items():
            if len({getattr(row.drawn, by) for row in part}) > 1:
                where = f"{_NAMES[other]} {value:g}, {sampler}"
                yield f"by {name}, {where}", sweep_figure(found, by, part, where)
