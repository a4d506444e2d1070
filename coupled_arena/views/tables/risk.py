"""A ranking by risk as tables, and as JSON with every matrix of its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.analysis.risk.result import RiskReport, RiskView
from coupled_arena.core.language import N_
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.dominance_tests import Dominance, PairTests
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.views.tables.table import Column, Table, table_of
from coupled_arena.views.words.risk import risk_warnings

_ORDERS = {Order.FIRST: "first", Order.SECOND: "second"}
_AGGREGATED = "rank_all_metrics"
# By the keys of `RiskView.ranks`, in the order in which people read them.
_RANKS = {
    "order2": (N_("2nd\norder"), "Rank by second order dominance"),
    "order1": (N_("1st\norder"), "Rank by first order dominance"),
    "absolute2": (
        N_("Absolute,\n2nd order"),
        "Rank by the absolute test of second order dominance",
    ),
    "absolute1": (N_("Absolute,\n1st order"), "Rank by the absolute test of first order dominance"),
    "mean_win_rate": (N_("Mean\nwin rate"), "Rank by the share of models with a lower mean score"),
    "sample_win_rate": (
        N_("Alone\nbest"),
        "Rank by the share of replies with which it is alone best",
    ),
    Risk.DEVIATION.value: (N_("Standard\ndeviation"), "Rank by mean less standard deviation"),
    Risk.SEMIDEVIATION.value: (N_("Below\nthe mean"), "Rank by mean less absolute semideviation"),
    Risk.TAIL.value: (N_("Tail"), "Rank by mean less negative tail value at risk"),
    Risk.TAIL_GAP.value: (N_("Mean\nto tail"), "Rank by mean less the distance to the tail"),
    Risk.GINI.value: (N_("Gini\ntail"), "Rank by mean less half the mean distance of two scores"),
}


@dataclass(frozen=True, eq=False)
class RankedModel:
    """A model's rank by each way of ranking, by the keys of `RiskView.ranks`."""

    model: str
    ranks: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class RiskModel(RankedModel):
    """The same, with what the ranks rest on; `rank_all_metrics` is None where there is one."""

    rank_all_metrics: Any
    violation_order1: float
    violation_order2: float
    mean: float
    tail_mean: float


def _rank(key: str) -> Callable[[RankedModel], Any]:
    return lambda row: row.ranks[key]


MODELS: tuple[Column[Any], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    *(
        Column(f"rank_{key}", int, meaning, _rank(key), heading, strong=key == "order2")
        for key, (heading, meaning) in _RANKS.items()
    ),
    Column(
        _AGGREGATED,
        int,
        "Rank in the ranking nearest to those of all metrics by the second order",
        heading=N_("2nd order,\nall metrics"),
    ),
    *(
        Column(
            f"violation_order{order}",
            float,
            f"Mean violation ratio over the other models, {_ORDERS[order]} order: 0 dominates",
            heading=heading,
            text=".3f",
        )
        for order, heading in (
            (Order.SECOND, N_("Violation,\n2nd order")),
            (Order.FIRST, N_("Violation,\n1st order")),
        )
    ),
    Column("mean", float, "Mean score, higher is better", heading=N_("Mean"), text=".4g"),
    Column(
        "tail_mean",
        float,
        "Mean of the worst share of scores",
        heading=N_("Worst\n{tail}"),
        text=".4g",
    ),
)


def risk_models(report: RiskReport, view: RiskView) -> Table[RiskModel]:
    """Return a row for each model, best first by second order dominance."""
    aggregated = report.aggregated.get("order2") if view is report.view else None
    found = view.dominance
    rows = (
        RiskModel(
            view.models[at],
            {key: ranks[at] for key, ranks in view.ranks.items()},
            rank_all_metrics=aggregated.ranks[at] if aggregated else None,
            violation_order1=found[Order.FIRST].one_vs_all[at],
            violation_order2=found[Order.SECOND].one_vs_all[at],
            mean=view.mean_risks[at].mean,
            tail_mean=0.0 - view.mean_risks[at].risks[Risk.TAIL],
        )
        for at in found[Order.SECOND].ranking
    )
    alone = view.sample_win_rates is None
    tail = f"{100 * report.settings.tail_p:.3g} %"
    leave = {*(["rank_sample_win_rate"] if alone else []), *([] if aggregated else [_AGGREGATED])}
    return table_of((column for column in MODELS if column.name not in leave), rows, tail=tail)


def with_battles(table: Table[RiskModel], counts: Mapping[str, int]) -> Table[RiskModel]:
    """Return the models with how many battles they have answered."""
    return table.joined(
        [
            Column(
                "battles",
                int,
                "Battles that the model has answered, also those without all of these scores",
                lambda row: counts.get(row.model),
                N_("Battles\nhere"),
            )
        ]
    )


@dataclass(frozen=True)
class PairTest:
    """The relative test of a model over an opponent."""

    model: str
    opponent: str
    violation: float
    p_value: float
    adjusted: float
    standard_error: float
    ahead: bool


PAIRS: tuple[Column[PairTest], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column("opponent", str, "Name of the other model", heading=N_("Over")),
    Column(
        "violation",
        float,
        "Violation ratio: 0 where the model dominates, 1 where the other does",
        heading=N_("Violation"),
        text=".3f",
    ),
    Column("p_value", float, "That the model is not ahead", heading=N_("p"), text=".2g"),
    Column(
        "adjusted", float, "The same, corrected for all pairs", heading=N_("Adjusted"), text=".2g"
    ),
    Column("standard_error", float, "Of what the test looks at, over the bootstrap"),
    Column("ahead", bool, "Whether the test ranks the model ahead", heading=N_("Ahead")),
)


def risk_pairs(view: RiskView, order: Order) -> Table[PairTest]:
    """Return the relative test of each ordered pair of models, best first."""
    found = view.dominance[order]
    tests = found.relative
    best = view.dominance[Order.SECOND].ranking
    rows = (
        PairTest(
            view.models[i],
            view.models[j],
            violation=found.violation[i, j],
            p_value=tests.p_values[i, j],
            adjusted=tests.adjusted[i, j],
            standard_error=tests.deviation[i, j],
            ahead=tests.wins[i, j],
        )
        for i in best
        for j in best
        if i != j
    )
    return table_of(PAIRS, rows)


@dataclass(frozen=True)
class MeanAndRisk:
    """A model's mean score against one measure of its risk."""

    model: str
    measure: Risk
    mean: float
    risk: float
    score: float
    rank: int


MEAN_RISKS: tuple[Column[MeanAndRisk], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column("measure", str, "How the risk is measured", heading=N_("Measure")),
    Column("mean", float, "Mean score", heading=N_("Mean"), text=".4g"),
    Column("risk", float, "The risk, in the unit of the scores", heading=N_("Risk"), text=".4g"),
    Column("score", float, "Mean minus risk", heading=N_("Mean minus risk"), text=".4g"),
    Column("rank", int, "By that score, 1 is best", heading=N_("Rank")),
)


def mean_risks(view: RiskView) -> Table[MeanAndRisk]:
    """Return a row for each model and each risk."""
    rows = (
        MeanAndRisk(
            *(model, risk, each.mean, each.risks[risk], each.score(risk)),
            rank=view.ranks[risk.value][at],
        )
        for at, (model, each) in enumerate(zip(view.models, view.mean_risks, strict=True))
        for risk in Risk
    )
    return table_of(MEAN_RISKS, rows)


@dataclass(frozen=True)
class CurvePoint:
    """What a share of a model's worst replies does not exceed, and its mean."""

    model: str
    share: float
    quantile: float
    tail_value: float


CURVES: tuple[Column[CurvePoint], ...] = (
    Column("model", str, "Name of the model"),
    Column("share", float, "Share of the worst replies, 0 to 1"),
    Column("quantile", float, "Score that this share does not exceed"),
    Column("tail_value", float, "Mean of this share's scores"),
)


def curve_table(view: RiskView) -> Table[CurvePoint]:
    """Return each model's quantiles and tail values."""
    rows = (
        CurvePoint(model, *point)
        for model, *curves in zip(view.models, view.quantile_curves, view.tail_curves, strict=True)
        for point in zip(view.places, *curves, strict=True)
    )
    return table_of(CURVES, rows)


def aggregated_ranks(report: RiskReport) -> Table[RankedModel]:
    """Return the rankings nearest to those of all metrics."""
    found = report.aggregated
    rows = (
        RankedModel(model, {key: each.ranks[at] for key, each in found.items()})
        for at, model in enumerate(report.models)
    )
    known = {"model", *(f"rank_{key}" for key in found)}
    return table_of((column for column in MODELS if column.name in known), rows)


def risk_text(report: RiskReport) -> str:
    """Return a ranking for a terminal."""
    parts = [f"Ranks by {view.name}\n{risk_models(report, view).text()}\n" for view in report.views]
    if report.aggregated:
        title = f"Ranks nearest to those by all metrics ({report.settings.distance} distance)"
        parts.append(f"{title}\n{aggregated_ranks(report).text()}\n")
    parts.append("Rank 1 is best, equal ranks are ties. A violation ratio of 0 is dominance.")
    return "\n".join([*parts, *risk_warnings(report)])


def risk_answer(report: RiskReport) -> dict[str, Any]:
    """Return a report as JSON values."""
    settings, scores = report.settings, report.scores
    answer: dict[str, Any] = {
        "models": list(report.models),
        "metrics": list(scores.metrics),
        "lower_is_better": sorted(scores.lower_is_better),
        "unjudged": sorted(scores.unjudged),
        "repetitions": scores.repetitions,
        "prompts": [len(prompts) for prompts in scores.prompts],
        "paired": report.paired,
        "bootstraps": settings.bootstraps,
        "alpha": settings.alpha,
        "p_values": settings.p_values.value,
        "correction": settings.correction.value,
        "portfolio": settings.copula.value,
        "weights": list(report.weights),
        "seed": settings.seed,
    }
    if report.view:
        answer.update(_view(report, report.view))
    if report.by_metric:
        answer["by_metric"] = {name: _view(report, view) for name, view in report.by_metric.items()}
    if report.aggregated:
        answer["aggregated"] = {
            "distance": settings.distance.value,
            "ranks": {key: found.ranks.tolist() for key, found in report.aggregated.items()},
        }
    return {**answer, "warnings": list(risk_warnings(report))}


def _view(report: RiskReport, view: RiskView) -> dict[str, Any]:
    rates = view.sample_win_rates
    return {
        "table": risk_models(report, view).records(),
        "order1": _order(view, view.dominance[Order.FIRST]),
        "order2": _order(view, view.dominance[Order.SECOND]),
        "mean_risk": {
            "tail_p": view.mean_risks[0].tail_p,
            "mean": [each.mean for each in view.mean_risks],
            "models": {
                risk.value: {
                    "risk": [each.risks[risk] for each in view.mean_risks],
                    "score": view.risk_scores(risk).tolist(),
                    "ranks": view.ranks[risk.value].tolist(),
                    "ranking": _best_first(view, -view.risk_scores(risk)),
                }
                for risk in Risk
            },
        },
        "mean_win_rate": {
            "model": view.mean_win_rates.tolist(),
            "sample": None if rates is None else rates.tolist(),
        },
    }


def _order(view: RiskView, found: Dominance) -> dict[str, Any]:
    return {
        "violation": found.violation.tolist(),
        "one_vs_all": found.one_vs_all.tolist(),
        "ranking": [view.models[at] for at in found.ranking],
        "ranks": found.relative.ranks.tolist(),
        "relative": _tests(found.relative),
        "absolute": {
            **_tests(found.absolute),
            "ranking": _best_first(view, found.absolute.ranks),
            "ranks": found.absolute.ranks.tolist(),
        },
    }


def _tests(tests: PairTests) -> dict[str, Any]:
    return {
        "wins": tests.borda.tolist(),
        "p_values": tests.p_values.tolist(),
        "adjusted": tests.adjusted.tolist(),
        "standard_error": tests.deviation.tolist(),
    }


def _best_first(view: RiskView, keys: FloatArray | IntArray) -> list[str]:
    return [view.models[at] for at in np.argsort(keys, kind="stable")]
