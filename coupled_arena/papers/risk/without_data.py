"""Tables 1 and 3, figures 4 to 6: what can be said without anybody's data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.special import ndtri

from coupled_arena.analysis.risk.result import RiskView, risk_report
from coupled_arena.core.choices import PValues
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.papers.item import Made
from coupled_arena.papers.risk.curves import pair_table
from coupled_arena.papers.risk.power import Law, SizePower, consistencies, law_ratios, powers
from coupled_arena.papers.risk.scores import read_judged_scores
from coupled_arena.papers.risk.violation_ratios import cdf_ratios
from coupled_arena.papers.risk.ways import CONSISTENCY, POWER, RATIOS, settings_of
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.dominance_tests import DominancePlan
from coupled_arena.stats.risk.mean_risk import quantiles, tail_values
from coupled_arena.views.figures.lines import Axes, Line, line_figure
from coupled_arena.views.figures.theme import Head
from coupled_arena.views.tables.table import Table, table_of

NORMAL = (Law(0.5, 2.0), Law(0.0, 1.0))
"""The one that is nearer to dominating, and the other."""
LOGNORMAL = (Law(0.5, 2.0, exponential=True), Law(0.0, 1.0, exponential=True))

_SIZES = (20, 50, 100, 200, 500, 1000, 2000)
_REPEATS = 1000
_BOOTSTRAPS = 1000
_THRESHOLD = 0.45
_ALPHA = 0.05
_PAIRS = 5_000
_NAMES = {
    (Order.FIRST, True): "relative, 1st",
    (Order.SECOND, True): "relative, 2nd",
    (Order.FIRST, False): "absolute, 1st",
    (Order.SECOND, False): "absolute, 2nd",
}
_PRINTED = (
    "As printed, the test divides the bootstrap's deviation, which is already the estimate's, by "
    "the root of the number of scores once more: it finds dominance about as often as the estimate "
    "is below the threshold, also where there is none."
)


def consistent_risks(source: PaperSource) -> Made:
    """Return how often mean less each risk contradicts dominance in the second order."""
    chosen = source.settings
    found = consistencies(chosen.repeats or _PAIRS, chosen.seed, source.track)
    return Made(
        {"consistency": table_of(CONSISTENCY, found)},
        values={f"pairs that contradict {each.risk}": each.contradictions for each in found},
        notes=("The paper proves it; here pairs of small samples are drawn and looked at.",),
    )


def power_of_normal(source: PaperSource) -> Made:
    """Return the power of the tests between the two normal laws of the paper."""
    return _power(source, NORMAL)


def power_of_lognormal(source: PaperSource) -> Made:
    """Return the power of the tests between two lognormal laws."""
    made = _power(source, LOGNORMAL)
    note = "The paper states no parameters: these are the exponentials of figure 5's laws."
    return Made(made.tables, made.figures, made.values, (*made.notes, note))


def law_values(laws: tuple[Law, Law]) -> dict[str, float]:
    """Return the violation ratios of the first law over the second."""
    first, second = law_ratios(*laws)
    return {
        "violation ratio, first order": first,
        "violation ratio, second order": second,
    }


def _power(source: PaperSource, laws: tuple[Law, Law]) -> Made:
    chosen = source.settings
    sizes = chosen.sizes or _SIZES
    if min(sizes) < 2:
        raise ArenaError("Tests need two scores at least: give --sizes of 2 and more.")
    repeats = chosen.repeats or _REPEATS
    plan = DominancePlan(
        paired=False,
        bootstraps=_BOOTSTRAPS,
        alpha=chosen.alpha[0] if chosen.alpha else _ALPHA,
        threshold=_THRESHOLD,
        p_values=PValues.PERCENTILE,
        seed=chosen.seed,
    )
    found = powers(laws, sizes, repeats, plan, source.track)
    table = table_of(POWER, found)
    ratios = law_values(laws)
    notes = (
        f"True ratios {ratios['violation ratio, first order']:.3g} and "
        f"{ratios['violation ratio, second order']:.3g}; absolute: below {_THRESHOLD:g}",
        f"{repeats:,} repeats; alpha {plan.alpha:g}, corrected as for all pairs",
    )
    figures = {
        name: _figure(found, name, title, notes, table)
        for name, title in (
            ("percentile", "Power of the tests"),
            ("normal", "Power of the tests by theory"),
            ("published", "What the tests as printed find"),
        )
    }
    return Made({"power": table}, figures, ratios, (_PRINTED,))


def _figure(
    found: list[SizePower], kind: str, title: str, notes: tuple[str, ...], table: Table[SizePower]
) -> go.Figure:
    lines = [
        Line(
            name,
            [row.size for row in found if (row.order, row.relative) == key],
            [getattr(row, kind) for row in found if (row.order, row.relative) == key],
        )
        for key, name in _NAMES.items()
    ]
    axes = Axes(
        "Scores of each law",
        "Share that finds dominance",
        logarithmic=True,
        share_y=True,
        y_range=(0.0, 1.0),
    )
    return line_figure(lines, axes, Head("power", title, notes, table), points=True)


# Figure 4: where dominance is violated, and by how much.


_POINTS = 400  # of a curve
_GRID = 20_000  # quantiles that stand for a law
_ORDERS = {Order.FIRST: "first", Order.SECOND: "second"}


@dataclass(frozen=True, eq=False)
class _Pair:
    names: tuple[str, str]
    curves: dict[Order, FloatArray]  # of shape (2, points)
    table: Table[Any]


def violation_areas(source: PaperSource) -> Made:
    """Return two models' quantiles and their integrals, the violation of dominance hatched.

    Of the first two of --models in a table of scores, or of those that cross the most. Without a
    table, of the normal laws of figure 5.
    """
    values: dict[str, float] = {}
    if source.scores:
        pair, notes = _of_scores(source)
    else:
        pair, values = _of_laws(), law_values(NORMAL)
        notes = ("Of two normal laws; --scores and --models A,B draw two models instead.",)
    figures = {f"{ordinal}-order": _areas(pair, order) for order, ordinal in _ORDERS.items()}
    return Made({"ratios": pair.table}, figures, values, notes)


def _of_laws() -> _Pair:
    one, other = NORMAL
    z = ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
    samples = [
        np.array([law.quantile(each) for each in ndtri((np.arange(_GRID) + 0.5) / _GRID)])
        for law in NORMAL
    ]
    squares, areas = cdf_ratios(samples), cdf_ratios(samples, power=1)
    names = tuple(f"normal({law.mean:g}, {law.deviation:g})" for law in NORMAL)
    rows = [
        {
            **dict.fromkeys((column.name for column in RATIOS), None),
            "order": order,
            "model": names[0],
            "opponent": names[1],
            "violation": ratio,
            "violation_cdf": squares[order - 1, 0, 1],
            "violation_area": areas[order - 1, 0, 1],
        }
        for order, ratio in zip(Order, law_ratios(one, other), strict=True)
    ]
    curves = {
        Order.FIRST: np.array([[law.quantile(each) for each in z] for law in NORMAL]),
        Order.SECOND: np.array([[law.integral(each) for each in z] for law in NORMAL]),
    }
    return _Pair((names[0], names[1]), curves, table_of(RATIOS, rows))


def _of_scores(source: PaperSource) -> tuple[_Pair, tuple[str, ...]]:
    scores = read_judged_scores(source).scores
    report = risk_report(scores, settings_of(source, scores), by_metric=False, track=source.track)
    view = report.views[0]
    chosen = source.settings.models or _crossing(view)
    if len(chosen) < 2:
        raise ScoreError("Figure 4 shows two models: name both by --models A,B.")
    names = (chosen[0], chosen[1])
    samples = [view.samples[view.models.index(name)] for name in names]
    places = (np.arange(_POINTS) + 1) / _POINTS
    curves = {
        Order.FIRST: np.array([quantiles(sample, places) for sample in samples]),
        Order.SECOND: np.array([places * tail_values(sample, places) for sample in samples]),
    }
    found = pair_table(report, view)
    rows = [row for row in found.rows if (row["model"], row["opponent"]) == names]
    return _Pair(names, curves, table_of(found.columns, rows)), scores.notes


def _crossing(view: RiskView) -> tuple[str, str]:
    """Return the two models of which neither is near to dominating, the better one first."""
    ratios = view.dominance[Order.SECOND].violation
    first = view.dominance[Order.FIRST].violation
    pairs = [
        (min(first[i, j], 1 - first[i, j]) + ratios[i, j], view.models[i], view.models[j])
        for i, j in permutations(range(len(view.models)), 2)
        if ratios[i, j] < 0.5
    ]
    if not pairs:
        raise ScoreError("All models have the same scores: no dominance is violated.")
    return max(pairs)[1:]


def _areas(pair: _Pair, order: Order) -> go.Figure:
    places = ((np.arange(_POINTS) + 0.5) / _POINTS).tolist()
    one, other = pair.curves[order]
    row = next(row for row in pair.table.records() if row["order"] == order)
    head = Head(
        "violation",
        f"Dominance of the {_ORDERS[order]} order",
        (
            f"Hatched: where {pair.names[1]} is above {pair.names[0]}",
            f"Violation ratio {row['violation']:.3f}",
        ),
        pair.table,
    )
    what = "Quantile" if order is Order.FIRST else "Integral of the quantiles"
    lines = [
        Line(name, places, curve.tolist())
        for name, curve in zip(pair.names, (one, other), strict=True)
    ]
    figure = line_figure(lines, Axes("Share of the worst replies", what, share_x=True), head)
    hidden = {"x": places, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    figure.add_scatter(y=one.tolist(), **hidden)
    figure.add_scatter(
        y=np.maximum(one, other).tolist(),
        fill="tonexty",
        fillcolor="rgba(224,96,26,.12)",
        fillpattern={"shape": "/", "fgcolor": "#e0601a", "size": 7, "solidity": 0.25},
        **hidden,
    )
    return figure
