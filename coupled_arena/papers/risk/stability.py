"""Figure 2: how soon each ranking stands still, and how near it comes to the judge's."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from coupled_arena.papers.item import Made
from coupled_arena.papers.risk.curves import published_taus
from coupled_arena.papers.risk.drawn_prompts import Stability, stabilities
from coupled_arena.papers.risk.published import tau_name
from coupled_arena.papers.risk.scores import read_judged_scores
from coupled_arena.papers.risk.tables import STABILITY
from coupled_arena.papers.source import PaperSource
from coupled_arena.views.figures.lines import Axes, Line, line_figure
from coupled_arena.views.figures.theme import Head
from coupled_arena.views.tables.table import table_of

_SIZES = (100, 200, 500, 1000, 2000, 5000)
_REPEATS = 5
_DRAWN = (
    *("R-SSD @P(IC)", "R-SSD @P(EC)", "RA(R-SSD @M)", "RA(mu - r) @P(IC)", "RA(mu - r) @P(EC)"),
    *("RA(MWR @M)", "MWR @P(IC)", "MWR @P(EC)", "R-FSD @P(IC)", "R-SSD @judge"),
)
PUBLISHED = {
    f"{what}, all prompts": tau
    for what, tau in published_taus().items()
    if not what.startswith(tau_name("R-FSD @judge", ""))
}


def stability(source: PaperSource) -> Made:
    """Return Kendall's tau with the rankings from all prompts, for samples of some."""
    chosen = source.settings
    given = read_judged_scores(source)
    found = stabilities(
        given, chosen.sizes or _SIZES, chosen.repeats or _REPEATS, chosen.seed, source.track
    )
    figures = {"own": _figure(found, "tau", "Stability of the rankings")}
    notes = [*given.scores.notes, "Rankings are those of estimates: nothing is tested."]
    if any(row.tied for row in found):
        notes.append("Draws that tie all models have no tau: the mean is of the others.")
    values: dict[str, float] = {}
    if given.judge is None:
        notes.append("The second panel needs a judge's scores: name their column by --judge.")
    else:
        title = "Agreement with the judge's ranking"
        figures["judge"] = _figure(found, "judge_tau", title)
        last = max(row.size for row in found)
        values = {
            f"{tau_name(row.ranking, 'R-SSD @judge')}, all prompts": row.judge_tau
            for row in found
            if row.size == last and math.isfinite(row.judge_tau)
        }
    return Made({"stability": table_of(STABILITY, found)}, figures, values, tuple(notes))


def _figure(found: list[Stability], value: str, title: str) -> go.Figure:
    lines = [
        Line(
            way,
            [row.size for row in rows],
            [getattr(row, value) for row in rows],
        )
        for way in _DRAWN
        if (rows := [row for row in found if row.ranking == way])
    ]
    head = Head(
        "stability",
        title,
        ("Kendall's tau, mean of the repeats",),
        table_of(STABILITY, found),
    )
    axes = Axes("Prompts", "Kendall's tau", logarithmic=True)
    return line_figure(lines, axes, head, names="list", points=True)
