"""A ranking by risk as JSON: its tables, and every matrix of its tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from coupled_arena.analysis.risk.result import RiskReport, RiskView
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.dominance_tests import Dominance, PairTests
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.views.tables.risk import risk_models
from coupled_arena.views.words.risk import risk_warnings


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
