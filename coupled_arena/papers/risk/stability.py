"""Figure 2: how soon each ranking stands still, and how near it comes to the judge's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from coupled_arena.core.errors import ScoreError
from coupled_arena.papers.item import Made
from coupled_arena.papers.risk.curves import is_papers_own, published_taus
from coupled_arena.papers.risk.published import tau_name
from coupled_arena.papers.risk.scores import JudgedScores, read_judged_scores
from coupled_arena.papers.risk.ways import kendall, named, rankings_by_estimates
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import IntArray
from coupled_arena.stats.progress import Track
from coupled_arena.views.figures.lines import Axes, Line, line_figure
from coupled_arena.views.figures.theme import Head
from coupled_arena.views.tables.table import Column, table_of

JUDGE_WAY = "R-SSD @judge"


@dataclass(frozen=True)
class Stability:
    """How far a ranking from some prompts agrees with those from all.

    Attributes
    ----------
    ranking : str
        By the name of its `coupled_arena.papers.risk.ways.Way`.
    size : int
        Prompts drawn.
    tau, tau_deviation : float
        Kendall's tau with the same way's ranking from all prompts: mean and standard deviation
        over the repeats that have one; NaN where none has.
    judge_tau, judge_deviation : float
        With the judge's ranking from all prompts; NaN without a judge.
    tied : int
        Repeats whose ranking ties all models, of which there is no tau.
    """

    ranking: str
    size: int
    tau: float
    tau_deviation: float
    judge_tau: float
    judge_deviation: float
    tied: int = 0


def stabilities(
    given: JudgedScores, sizes: Sequence[int], repeats: int, seed: int, track: Track = iter
) -> list[Stability]:
    """Return how stable each ranking is, on subsets of the prompts drawn without replacement.

    All prompts are the last size. Rankings are those of estimates: tests of few prompts tie most
    models, which says something of their power and nothing of the ranking.

    Parameters
    ----------
    sizes : sequence of int
        Prompts of each model; those it has not got are left out.
    track : callable
        Goes through the repeats of all sizes.

    Raises
    ------
    ScoreError
        There is no size between 2 and the number of prompts.
    """
    most = given.scores.size
    fitting = sorted({size for size in sizes if 2 <= size < most})
    if not fitting:
        raise ScoreError(
            f"There are {most:,} prompts: give --sizes of 2 at least and fewer than that."
        )
    rng = np.random.default_rng(seed)
    whole = _rankings(given)
    found: dict[tuple[int, str], list[IntArray]] = {}
    for number in track(range(len(fitting) * repeats)):
        size = fitting[number // repeats]
        for way, ranks in _rankings(given.drawn(size, rng)).items():
            found.setdefault((size, way), []).append(ranks)
    for way, ranks in whole.items():
        found[most, way] = [ranks]
    return [_stability(way, size, drawn, whole) for (size, way), drawn in found.items()]


def _stability(way: str, size: int, drawn: list[IntArray], whole: dict[str, IntArray]) -> Stability:
    untied = [ranks for ranks in drawn if len(set(ranks.tolist())) > 1]
    own = _over(untied, whole[way])
    judge = _over(untied, whole.get(JUDGE_WAY))
    return Stability(way, size, *own, *judge, tied=len(drawn) - len(untied))


def _over(drawn: list[IntArray], other: IntArray | None) -> tuple[float, float]:
    """Return the mean and standard deviation of the rankings' taus with another."""
    if other is None or not drawn:
        return float("nan"), float("nan")
    taus = [kendall(ranks, other) for ranks in drawn]
    return float(np.mean(taus)), float(np.std(taus))


def _rankings(given: JudgedScores) -> dict[str, IntArray]:
    judge = None if given.judge is None else [sample[:, 0] for sample in given.judge.oriented()]
    return named(rankings_by_estimates(given.scores.oriented(), judge))


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


STABILITY: tuple[Column[Stability], ...] = (
    Column("ranking", str, "A way to rank models", heading="ranking"),
    Column("size", int, "Prompts drawn, the same for all models", heading="prompts"),
    *(
        Column(name, float, meaning, heading=heading, text=".3f")
        for name, meaning, heading in (
            (
                "tau",
                "Kendall's tau with the same way's ranking from all prompts, mean of the repeats",
                "tau to\nall prompts",
            ),
            ("tau_deviation", "Its standard deviation over the repeats", "deviation"),
            (
                "judge_tau",
                "Kendall's tau with the judge's ranking from all prompts, mean of the repeats",
                "tau to\njudge",
            ),
            ("judge_deviation", "Its standard deviation over the repeats", "deviation"),
        )
    ),
    Column(
        "tied",
        int,
        "Repeats whose ranking ties all models: it has no tau, and is in no mean",
        heading="tied\nrepeats",
    ),
)


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
        if is_papers_own(given):
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
