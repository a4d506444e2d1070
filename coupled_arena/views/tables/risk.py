"""A ranking by risk as HTML."""

from __future__ import annotations

from coupled_arena.analysis.risk.result import RiskReport, RiskView
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.views.markup import Html, bold, joined, listed, paragraph, table
from coupled_arena.views.words.risk import risk_warnings, risk_words

_WAYS = {
    "order2": Html("2nd<br>order"),
    "order1": Html("1st<br>order"),
    "absolute2": Html("Absolute,<br>2nd order"),
    "absolute1": Html("Absolute,<br>1st order"),
    "mean_win_rate": Html("Mean<br>win rate"),
    "sample_win_rate": Html("Alone<br>best"),
    Risk.DEVIATION.value: Html("Standard<br>deviation"),
    Risk.SEMIDEVIATION.value: Html("Below<br>the mean"),
    Risk.TAIL.value: "Tail",
    Risk.TAIL_GAP.value: Html("Mean<br>to tail"),
    Risk.GINI.value: Html("Gini<br>tail"),
}


def risk_said(report: RiskReport, view: RiskView) -> Html:
    """Return the sentences, the first one larger, and what to keep in mind."""
    first, *rest = risk_words(report, view)
    warnings = listed(risk_warnings(report), "hint")
    return joined([paragraph(first, "headline"), listed(rest, "said"), warnings])


def rank_table(report: RiskReport, view: RiskView) -> Html:
    """Return each model's rank by every way of ranking, and the numbers behind them."""
    ways = {key: name for key, name in _WAYS.items() if key in view.ranks}
    aggregated = report.aggregated.get("order2")
    names = [
        "Model",
        *ways.values(),
        *([Html("2nd order,<br>all metrics")] if aggregated else []),
        Html("Violation,<br>2nd order"),
        "Mean",
        Html(f"Worst<br>{100 * report.settings.tail_p:.3g} %"),
    ]
    rows: list[list[object]] = []
    for at in view.dominance[Order.SECOND].ranking:
        each = view.mean_risks[at]
        rows.append(
            [
                view.models[at],
                *(_rank(int(view.ranks[key][at]), key) for key in ways),
                *([str(aggregated.ranks[at])] if aggregated else []),
                f"{view.dominance[Order.SECOND].one_vs_all[at]:.3f}",
                f"{each.mean:.4g}",
                f"{-each.risks[Risk.TAIL]:.4g}",
            ]
        )
    return table(names, rows)


def _rank(rank: int, key: str) -> str:
    return bold(str(rank)) if key == "order2" else str(rank)
