"""What coupling saves by temperature and top-p: an item of our own, beside those of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.coupling.sweep import Sweep, SweptPair, read_sweep
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.coupled_generation.sampling_figure import sweep_figure
from coupled_arena.papers.item import Made
from coupled_arena.papers.source import PaperSource
from coupled_arena.views.tables.sweep import sweep_table, sweep_warnings

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
        "The paper has no such figure: its benchmarks are at temperature 0.7, over the whole "
        "vocabulary.",
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
