"""Tables 1 and 3, figures 5 and 6: what can be said without anybody's data."""

from __future__ import annotations

import plotly.graph_objects as go

from coupled_arena.core.choices import PValues
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.item import Made
from coupled_arena.papers.risk.power import Law, SizePower, consistencies, law_ratios, powers
from coupled_arena.papers.risk.tables import CONSISTENCY, POWER
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.dominance_tests import DominancePlan
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
    said = (
        f"True ratios {ratios['violation ratio, first order']:.3g} and "
        f"{ratios['violation ratio, second order']:.3g}; absolute: below {_THRESHOLD:g}",
        f"{repeats:,} repeats; alpha {plan.alpha:g}, corrected as for all pairs",
    )
    figures = {
        name: _figure(found, name, title, said, table)
        for name, title in (
            ("percentile", "Power of the tests"),
            ("normal", "Power of the tests by theory"),
            ("published", "What the tests as printed find"),
        )
    }
    return Made({"power": table}, figures, ratios, (_PRINTED,))


def _figure(
    found: list[SizePower], kind: str, title: str, said: tuple[str, ...], table: Table[SizePower]
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
    return line_figure(lines, axes, Head("power", title, said, table), points=True)
