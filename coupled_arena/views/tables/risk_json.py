"""A ranking by risk as JSON and as text, for the command line."""

from __future__ import annotations

from typing import Any

import numpy as np

from coupled_arena.analysis.risk.result import RiskReport, RiskView
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.dominance_tests import Dominance, PairTests
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.views.words.risk import risk_warnings

_COLUMNS = {
    "order1": "1st",
    "order2": "2nd",
    "mean_win_rate": "win rate",
    "sample_win_rate": "best",
    Risk.DEVIATION.value: "st.dev.",
    Risk.SEMIDEVIATION.value: "semidev.",
    Risk.TAIL.value: "tail",
    Risk.TAIL_GAP.value: "gap",
    Risk.GINI.value: "Gini",
}


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
        "portfolio": settings.copula.value if settings.copula else "none",
        "weights": list(report.weights),
        "seed": settings.seed,
    }
    if report.view:
        answer.update(_view(report.view))
    if report.by_metric:
        answer["by_metric"] = {name: _view(view) for name, view in report.by_metric.items()}
    if report.aggregated:
        answer["aggregated"] = {
            "distance": settings.distance.value,
            "ranks": {key: found.ranks.tolist() for key, found in report.aggregated.items()},
        }
    return {**answer, "warnings": list(risk_warnings(report))}


def _view(view: RiskView) -> dict[str, Any]:
    rates = view.sample_win_rates
    return {
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


def risk_text(report: RiskReport) -> str:
    """Return a report as tables of ranks."""
    lines: list[str] = []
    for view in report.views:
        first = view is report.views[0]
        lines += [*([] if first else [""]), f"Ranks by {view.name}", *_table(view)]
    if report.aggregated:
        ranks = {key: found.ranks for key, found in report.aggregated.items()}
        title = f"Ranks nearest to those by all metrics ({report.settings.distance} distance)"
        lines += ["", title, *_ranks(report.models, ranks)]
    lines += [
        "Ranks by first and second order dominance, mean win rate, how often alone best, and mean",
        "less risk; 1 is best, equal ranks are ties. Then numbers: eps is the violation ratio.",
    ]
    return "\n".join([*lines, *risk_warnings(report)])


def _table(view: RiskView) -> list[str]:
    rows = _ranks(view.models, view.ranks)
    ends = ["     mean     tail  eps 1  eps 2"]
    for at, each in enumerate(view.mean_risks):
        ratios = [view.dominance[order].one_vs_all[at] for order in Order]
        ends.append(
            f"{each.mean:>9.4g}{-each.risks[Risk.TAIL]:>9.4g}{ratios[0]:>7.3f}{ratios[1]:>7.3f}"
        )
    paired = [row + end for row, end in zip(rows, ends, strict=True)]
    order = view.dominance[Order.SECOND].ranking
    return [paired[0], *(paired[1 + at] for at in order)]


def _ranks(models: tuple[str, ...], ranks: dict[str, IntArray]) -> list[str]:
    columns = {key: name for key, name in _COLUMNS.items() if key in ranks}
    wide = max(6, *(len(model) for model in models))
    head = f"{'model':<{wide}}" + "".join(f"  {name}" for name in columns.values())
    return [
        head,
        *(
            f"{model:<{wide}}"
            + "".join(f"{ranks[key][at]:>{len(name) + 2}}" for key, name in columns.items())
            for at, model in enumerate(models)
        ),
    ]
