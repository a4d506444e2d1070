"""Tables 2 and 4 to 7, figures 2, 9 and 10: models ranked in every way, and how stable that is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.risk.result import risk_report
from coupled_arena.core.choices import Copula
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.process import Track
from coupled_arena.papers.item import Made
from coupled_arena.papers.risk import published
from coupled_arena.papers.risk.curves import is_papers_own, published_taus
from coupled_arena.papers.risk.published import copulas_name, metric_name, rank_name, tau_name
from coupled_arena.papers.risk.scores import (
    ALL,
    JudgedScores,
    read_judged_scores,
    read_scenarios,
)
from coupled_arena.papers.risk.ways import (
    agreements,
    kendall,
    named,
    ranking_rows,
    rankings,
    rankings_by_estimates,
    rankings_by_tests,
    settings_of,
)
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import IntArray
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.views.figures.lines import Axes, Line, line_figure
from coupled_arena.views.figures.matrices import FULL, matrix_figure
from coupled_arena.views.figures.theme import LIGHT, Head
from coupled_arena.views.tables.table import Column, Table, table_of

_Row = dict[str, Any]
_TESTED = (
    "Ranks are wins in tests of all pairs, so models that no test tells apart share one; the "
    "paper's tests divide the bootstrap's deviation once too often, and nearly always decide."
)
_SIZES = (40_000, 20_000)  # of figures 9 and 10
_WAYS = {
    "mu - sigma": Risk.DEVIATION.value,
    "mu - Gini": Risk.GINI.value,
    "mu - nTVaR": Risk.TAIL.value,
    "R-SSD": "order2",
}


def all_rankings(source: PaperSource) -> Made:
    """Return the models' ranks by every way, and how far the ways agree."""
    given = read_judged_scores(source)
    found = rankings_by_tests(given, settings_of(source, given.scores), track=source.track)
    by_name = named(found)
    taus = [
        {"ranking": one, "other": other, "kendall_tau": kendall(by_name[one], by_name[other])}
        for one, other in combinations(by_name, 2)
    ]
    table = agreements(taus)
    return Made(
        tables={
            "ranks": _short(rankings(ranking_rows(given.scores.models, found))),
            "agreement": table,
        },
        figures={"agreement": _agreement_figure(list(by_name), table)},
        values=_instructed_values(given, by_name, taus),
        notes=(*given.scores.notes, _TESTED),
    )


def _instructed_values(
    given: JudgedScores, by_name: Mapping[str, IntArray], taus: Iterable[_Row]
) -> dict[str, float]:
    """Return what tables 4 and 5 state of their own models and prompts; of others nothing."""
    models = published.instructed(given.scores.models, given.scores.size)
    if not models:
        return {}
    values = {**_rank_values(models, given.scores.models, by_name), **_taus(taus)}
    if published.judged_as_in_the_paper(given.judge_name):
        return values
    return {what: value for what, value in values.items() if "@judge" not in what}


def _taus(rows: Iterable[_Row]) -> dict[str, float]:
    """Return what is known of the agreement of two rankings, whichever is named first."""
    return {
        tau_name(*pair): row["kendall_tau"]
        for row in rows
        for pair in ((row["ranking"], row["other"]), (row["other"], row["ranking"]))
        if math.isfinite(row["kendall_tau"])
    }


def _short(table: Table[_Row]) -> Table[_Row]:
    """Return what a terminal has room for: not the empirical copula, nor what table 5 adds."""
    places = ("_metrics", "_portfolio", "_judge")
    kinds = ("rank_mean_win_rate", "rank_order1", "rank_order2", "rank_risks")
    names = [column.name for column in table.columns]
    shown = [name for name in names if name.startswith(kinds) and name.endswith(places)]
    return table.showing("model", *shown)


def _rank_values(
    names: Mapping[str, str],
    models: tuple[str, ...],
    by_name: Mapping[str, IntArray],
    where: str = "",
) -> dict[str, float]:
    """Return ranks by the paper's names of its models."""
    return {
        rank_name(way, names[model], where): float(ranks[at])
        for way, ranks in by_name.items()
        for at, model in enumerate(models)
    }


def _agreement_figure(ways: list[str], table: Table[_Row]) -> Any:
    taus = {(row["ranking"], row["other"]): row["kendall_tau"] for row in table.records()}
    taus |= {(other, one): tau for (one, other), tau in taus.items()}
    grid = [[taus.get((one, other)) for other in ways] for one in ways]
    few = len(ways) <= FULL
    cells = {
        "z": grid,
        "text": [["" if t is None or not few else f"{100 * t:.0f}" for t in row] for row in grid],
        "hovertext": [["" if t is None else f"{t:.3f}" for t in row] for row in grid],
        "zmin": -1,
        "zmid": 0,
        "zmax": 1,
        "textfont": {"size": 11},
    }
    head = Head(
        "agreement",
        "How far rankings agree",
        ("Kendall's tau in percent", "100: the same ranking"),
        table,
    )
    return matrix_figure(ways, cells, [(i, i) for i in range(len(ways))], LIGHT, head)


def scenario_rankings(source: PaperSource) -> Made:
    """Return the ranks by portfolio and by all metrics, on each category of prompts and on all."""
    rows: list[_Row] = []
    taus: list[_Row] = []
    values: dict[str, float] = {}
    notes: list[str] = []
    scenarios = read_scenarios(source)
    names = published.scenario_names(set(scenarios) - {ALL}, ALL)
    for scenario, given in scenarios.items():
        found = rankings_by_tests(
            JudgedScores(given.scores), settings_of(source, given.scores), (), source.track
        )
        wanted = {
            f"order{order}_{place}": found[f"order{order}_{place}"]
            for order in (1, 2)
            for place in ("metrics", "portfolio", "copula")
        }
        rows += ranking_rows(given.scores.models, wanted, scenario=scenario)
        by_name = named(wanted)
        models = published.COMPLETING.all_of(given.scores.models)
        if models and scenario in names:
            values |= _rank_values(models, given.scores.models, by_name, names[scenario])
        taus += [
            {
                "scenario": scenario,
                "ranking": one,
                "other": other,
                "kendall_tau": kendall(by_name[one], by_name[other]),
            }
            for one, other in combinations(by_name, 2)
        ]
        notes += [f"{scenario}: {note}" for note in given.scores.notes]
    tables = {"ranks": rankings(rows), "agreement": agreements(taus)}
    return Made(tables, values=values, notes=(*notes, _TESTED))


def metric_rankings(source: PaperSource) -> Made:
    """Return the ranks by each metric: mean less deviation beside what fears bad outcomes."""
    scores = read_judged_scores(source).scores
    settings = replace(settings_of(source, scores), copula=Copula.NONE)
    report = risk_report(scores, settings, track=source.track)
    rows: list[_Row] = []
    taus: list[_Row] = []
    values: dict[str, float] = {}
    for view in report.views:
        found = {key: view.ranks[key] for key in _WAYS.values()}
        rows += ranking_rows(scores.models, found, metric=view.name)
        by_name = {way: found[key] for way, key in _WAYS.items()}
        models, metric = published.COMPLETING.all_of(scores.models), metric_name(view.name)
        if models and metric:
            values |= _rank_values(models, scores.models, by_name, metric)
        taus += [
            {
                "metric": view.name,
                "ranking": way,
                "other": "R-SSD",
                "kendall_tau": kendall(ranks, by_name["R-SSD"]),
            }
            for way, ranks in by_name.items()
            if way != "R-SSD"
        ]
    tables = {"ranks": rankings(rows), "agreement": agreements(taus)}
    return Made(tables, values=values, notes=(*scores.notes, _TESTED))


def copula_rankings(source: PaperSource) -> Made:
    """Return the ranks of both portfolios, from all prompts or as many as are asked for."""
    scores = read_judged_scores(source).scores
    sizes = sorted({min(size, scores.size) for size in source.settings.sizes or _SIZES})
    rng = np.random.default_rng(source.settings.seed)
    rows: list[_Row] = []
    taus: list[_Row] = []
    figures: dict[str, Any] = {}
    values: dict[str, float] = {}
    for size in sizes:
        drawn = scores if size == scores.size else scores.drawn(size, rng)
        settings = settings_of(source, drawn)
        found = {
            key: risk_report(
                drawn, replace(settings, copula=copula), by_metric=False, track=source.track
            )
            .views[0]
            .ranks["order2"]
            for key, copula in (
                ("order2_portfolio", Copula.INDEPENDENT),
                ("order2_copula", Copula.EMPIRICAL),
            )
        }
        own = ranking_rows(scores.models, found, size=size)
        tau = kendall(*found.values())
        one, other = named(found)
        rows += own
        taus.append({"size": size, "ranking": one, "other": other, "kendall_tau": tau})
        figures[f"{size}-prompts"] = _slopes(own, rankings(own), size)
        if math.isfinite(tau) and published.COMPLETING.all_of(scores.models):
            values[copulas_name(size)] = tau
    tables = {"ranks": rankings(rows), "agreement": agreements(taus)}
    return Made(tables, figures, values, (*scores.notes, _TESTED))


def _apart(ranks: Sequence[int]) -> list[float]:
    """Return how high lines end: models that share a rank lie around it, each by itself."""
    sharing = {rank: [at for at, each in enumerate(ranks) if each == rank] for rank in ranks}
    found = [0.0] * len(ranks)
    for rank, places in sharing.items():
        step = min(0.2, 0.8 / len(places))
        for place, at in enumerate(places):
            found[at] = -rank - step * (place - (len(places) - 1) / 2)
    return found


def _slopes(rows: list[_Row], table: Table[_Row], size: int) -> Any:
    ends = [
        _apart([row[f"rank_order2_{place}"] for row in rows]) for place in ("portfolio", "copula")
    ]
    lines = [Line(row["model"], (0, 1), pair) for row, *pair in zip(rows, *ends, strict=True)]
    head = Head(
        "copulas",
        "Ranks by both copulas",
        (f"{size:,} prompts of each model; rank 1 is best",),
        table,
    )
    figure = line_figure(lines, Axes("", "Rank of the portfolio"), head, points=True)
    ranks = list(range(1, len(rows) + 1))
    figure.update_xaxes(
        tickvals=[0, 1], ticktext=["independent copula", "empirical copula"], range=[-0.2, 1.2]
    )
    figure.update_yaxes(tickvals=[-rank for rank in ranks], ticktext=[str(rank) for rank in ranks])
    return figure


# Figure 2: how soon each ranking stands still, and how near it comes to the judge's.

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
        Repeats with a ranking that ties all models, of which there is no tau.
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


_SAMPLE_SIZES = (100, 200, 500, 1000, 2000, 5000)
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
        "Repeats with a ranking that ties all models: it has no tau, and is in no mean",
        heading="tied\nrepeats",
    ),
)


def stability(source: PaperSource) -> Made:
    """Return Kendall's tau with the rankings from all prompts, for samples of some."""
    chosen = source.settings
    given = read_judged_scores(source)
    found = stabilities(
        given, chosen.sizes or _SAMPLE_SIZES, chosen.repeats or _REPEATS, chosen.seed, source.track
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
