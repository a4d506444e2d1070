"""Figures 3 and 11 to 13: how scores are distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.errors import ScoreError
from coupled_arena.papers.densities import densities
from coupled_arena.papers.item import Made
from coupled_arena.papers.risk.scores import read_judged_scores
from coupled_arena.papers.risk.tables import DENSITIES
from coupled_arena.papers.source import PaperSource
from coupled_arena.views.figures.lines import Axes, Line, line_figure
from coupled_arena.views.figures.theme import Head
from coupled_arena.views.tables.table import table_of

_Row = dict[str, Any]


def judge_densities(source: PaperSource) -> Made:
    """Return the density of a judge's scores, by model."""
    given = read_judged_scores(source)
    if given.judge is None:
        raise ScoreError(
            "This shows a judge's scores: name their column, or the store's judge, by --judge."
        )
    return _made(given.judge)


def metric_densities(source: PaperSource) -> Made:
    """Return the density of the scores by each metric, by model."""
    return _made(read_judged_scores(source).scores)


def _made(scores: RiskScores) -> Made:
    rows: dict[str, list[_Row]] = {}
    figures: dict[str, go.Figure] = {}
    for at, metric in enumerate(scores.metrics):
        samples = [values[:, at] for values in scores.oriented()]
        if not np.concatenate(samples).std() > 0:  # all the same, or too near for a number
            continue
        points, curves, width = densities(samples)
        rows[metric] = [
            {"metric": metric, "model": model, "score": score, "density": density}
            for model, curve in zip(scores.models, curves, strict=True)
            for score, density in zip(points.tolist(), curve.tolist(), strict=True)
        ]
        lines = [
            Line(model, points.tolist(), curve.tolist())
            for model, curve in zip(scores.models, curves, strict=True)
        ]
        turned = metric in scores.lower_is_better
        said = f"{'Negated: higher' if turned else 'Higher'} is better"
        said += f"; Gaussian kernel of width {width:.3g}"
        head = Head("density", metric, (said,), table_of(DENSITIES, rows[metric]))
        axes = Axes(f"{metric}, negated" if turned else metric, "Density")
        figures[metric] = line_figure(lines, axes, head, names="list")
    if not rows:
        raise ScoreError("All scores are the same: there is no distribution to draw.")
    left = [name for name in scores.metrics if name not in rows]
    notes = [f"All scores by {name} are the same: not drawn." for name in left]
    table = table_of(DENSITIES, [row for each in rows.values() for row in each])
    return Made({"densities": table}, figures, notes=(*scores.notes, *notes))
