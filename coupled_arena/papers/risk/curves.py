"""Figures 1, 3, 4, 7, 8 and 11 to 13: how scores are distributed; risks of the portfolio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.risk.result import RiskReport, RiskView, risk_report
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.errors import ScoreError
from coupled_arena.papers.densities import densities
from coupled_arena.papers.item import Made
from coupled_arena.papers.risk.published import (
    INSTRUCTIONS,
    instructed,
    judged_as_in_the_paper,
    tau_name,
)
from coupled_arena.papers.risk.scores import JudgedScores, read_judged_scores
from coupled_arena.papers.risk.violation_ratios import cdf_ratios, limit_deviations
from coupled_arena.papers.risk.ways import (
    DENSITIES,
    RATIOS,
    kendall,
    named,
    ranking_rows,
    rankings,
    settings_of,
)
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.views.figures.lines import Axes, Line, line_figure
from coupled_arena.views.figures.risk import radar_figure
from coupled_arena.views.figures.theme import Head
from coupled_arena.views.tables.risk import curve_table, mean_risks
from coupled_arena.views.tables.table import Table, table_of

_Row = dict[str, Any]
_BRIEF = ("R-FSD @P(IC)", "R-SSD @P(IC)", "R-FSD @judge", "R-SSD @judge", "MWR @P(IC)")


def published_taus() -> dict[str, float]:
    """Return how far the paper's own rankings of figure 1 agree, by the ranks of its table 4."""
    ranks = {way: np.array(INSTRUCTIONS[way].split(), dtype=np.int64) for way in _BRIEF}
    return {
        tau_name(way, "R-SSD @judge"): kendall(ranks[way], ranks["R-SSD @judge"])
        for way in _BRIEF
        if way != "R-SSD @judge"
    }


def is_papers_own(given: JudgedScores) -> bool:
    """Tell whether models, prompts and judge are those of figures 1 and 2."""
    return bool(
        instructed(given.scores.models, given.scores.size)
        and judged_as_in_the_paper(given.judge_name)
    )


def quantiles_and_tails(source: PaperSource) -> Made:
    """Return the portfolio's quantiles and tail values, and rankings beside the judge's."""
    given = read_judged_scores(source)
    settings = settings_of(source, given.scores)
    report = risk_report(given.scores, settings, by_metric=False, track=source.track)
    view = report.views[0]
    found = {
        "order1_portfolio": view.ranks["order1"],
        "order2_portfolio": view.ranks["order2"],
        "mean_win_rate_portfolio": view.ranks["mean_win_rate"],
    }
    values: dict[str, float] = {}
    if given.judge is not None:
        judged = risk_report(given.judge, settings, by_metric=False, track=source.track).views[0]
        found |= {f"order{order}_judge": judged.ranks[f"order{order}"] for order in Order}
        by_name = named(found)
        taus = {way: kendall(by_name[way], by_name["R-SSD @judge"]) for way in _BRIEF}
        if is_papers_own(given):
            values = {
                tau_name(way, "R-SSD @judge"): tau
                for way, tau in taus.items()
                if math.isfinite(tau)
            }
    return Made(
        tables={
            "ranks": rankings(ranking_rows(view.models, found)),
            "curves": curve_table(view),
            "pairs": pair_table(report, view),
        },
        figures={
            "quantiles": _curve_figure(view, view.quantile_curves, "Quantiles", "Portfolio"),
            "tails": _tails(view),
        },
        values=values,
        notes=given.scores.notes,
    )


def _tails(view: RiskView) -> go.Figure:
    title = "Tail value at risk"
    return _curve_figure(view, view.tail_curves, title, "Mean of the worst share")


def _curve_figure(view: RiskView, curves: Any, title: str, axis: str) -> go.Figure:
    lines = [
        Line(view.models[at], view.places.tolist(), curves[at].tolist()) for at in _order(view)
    ]
    note = "Higher is better; models in their order by second order dominance"
    head = Head("curves", title, (note,), curve_table(view))
    axes = Axes("Share of the worst replies", axis, share_x=True)
    return line_figure(lines, axes, head, names="list")


def _order(view: RiskView) -> Sequence[int]:
    return view.dominance[Order.SECOND].ranking


def distribution_and_tails(source: PaperSource) -> Made:
    """Return the portfolio's distribution functions and tail values."""
    report = _portfolio(source)
    view = report.views[0]
    lines = [
        Line(view.models[at], view.quantile_curves[at].tolist(), view.places.tolist())
        for at in _order(view)
    ]
    head = Head(
        "distributions",
        "Distribution functions",
        ("The further to the right, the better",),
        curve_table(view),
    )
    axes = Axes("Portfolio", "Share of replies up to it", share_y=True, y_range=(0.0, 1.0))
    figures = {
        "distributions": line_figure(lines, axes, head, names="list"),
        "tails": _tails(view),
    }
    return Made({"curves": curve_table(view)}, figures, notes=report.scores.notes)


def radar(source: PaperSource) -> Made:
    """Return mean less each risk of the portfolio, of all models."""
    report = _portfolio(source)
    view = report.views[0]
    return Made(
        tables={"mean-risk": mean_risks(view)},
        figures={"radar": radar_figure(report, view, most=len(view.models))},
        notes=report.scores.notes,
    )


def _portfolio(source: PaperSource) -> RiskReport:
    scores = read_judged_scores(source).scores
    settings = settings_of(source, scores)
    return risk_report(scores, settings, by_metric=False, track=source.track)


def pair_table(report: RiskReport, view: RiskView) -> Table[_Row]:
    """Return all violation ratios, with deviations from bootstrap and theory, and by CDFs."""
    limits = limit_deviations(
        view.samples, paired=report.paired, repetitions=report.scores.repetitions
    )
    squares, areas = cdf_ratios(view.samples), cdf_ratios(view.samples, power=1)
    return table_of(
        RATIOS,
        (
            {
                "order": order,
                "model": view.models[i],
                "opponent": view.models[j],
                "violation": found.violation[i, j],
                "deviation": found.absolute.deviation[i, j],
                "deviation_limit": limits.absolute[order - 1, i, j],
                "gap": found.relative.statistic[i, j],
                "gap_deviation": found.relative.deviation[i, j],
                "gap_deviation_limit": limits.relative[order - 1, i, j],
                "violation_cdf": squares[order - 1, i, j],
                "violation_area": areas[order - 1, i, j],
            }
            for order, found in view.dominance.items()
            for i, j in permutations(_order(view), 2)
        ),
    )


# Figures 3 and 11 to 13: how scores are distributed.

_ScoreRow = dict[str, Any]


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
    rows: dict[str, list[_ScoreRow]] = {}
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
        note = f"{'Negated: higher' if turned else 'Higher'} is better"
        note += f"; Gaussian kernel of width {width:.3g}"
        head = Head("density", metric, (note,), table_of(DENSITIES, rows[metric]))
        axes = Axes(f"{metric}, negated" if turned else metric, "Density")
        figures[metric] = line_figure(lines, axes, head, names="list")
    if not rows:
        raise ScoreError("All scores are the same: there is no distribution to draw.")
    left = [name for name in scores.metrics if name not in rows]
    notes = [f"All scores by {name} are the same: not drawn." for name in left]
    table = table_of(DENSITIES, [row for each in rows.values() for row in each])
    return Made({"densities": table}, figures, notes=(*scores.notes, *notes))
