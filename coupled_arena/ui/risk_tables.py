"""A ranking by risk as HTML: all names are escaped."""

from __future__ import annotations

from html import escape

from coupled_arena.risk.report import RiskReport, RiskView
from coupled_arena.risk.words import risk_warnings, risk_words
from coupled_arena.stats.dominance import Order
from coupled_arena.stats.mean_risk import Risk

_WAYS = {
    "order2": "2nd<br>order",
    "order1": "1st<br>order",
    "absolute2": "Absolute,<br>2nd order",
    "absolute1": "Absolute,<br>1st order",
    "mean_win_rate": "Mean<br>win rate",
    "sample_win_rate": "Alone<br>best",
    Risk.DEVIATION.value: "Standard<br>deviation",
    Risk.SEMIDEVIATION.value: "Below<br>the mean",
    Risk.TAIL.value: "Tail",
    Risk.TAIL_GAP.value: "Mean<br>to tail",
    Risk.GINI.value: "Gini<br>tail",
}


def risk_said(report: RiskReport, view: RiskView) -> str:
    """Return the sentences, the first one larger, and what to keep in mind."""
    first, *rest = (escape(sentence) for sentence in risk_words(view))
    warnings = [escape(sentence) for sentence in risk_warnings(report)]
    return f'<p class="headline">{first}</p>' + _list(rest, "said") + _list(warnings, "hint")


def rank_table(report: RiskReport, view: RiskView) -> str:
    """Return each model's rank by every way of ranking, and the numbers behind them."""
    ways = {key: name for key, name in _WAYS.items() if key in view.ranks}
    aggregated = report.aggregated.get("order2")
    names = [
        "Model",
        *ways.values(),
        *(["2nd order,<br>all metrics"] if aggregated else []),
        *("Violation,<br>2nd order", "Mean", f"Worst<br>{100 * report.settings.tail_p:.3g} %"),
    ]
    rows: list[list[str]] = []
    for at in view.dominance[Order.SECOND].ranking:
        each = view.mean_risks[at]
        rows.append(
            [
                escape(view.models[at]),
                *(_rank(int(view.ranks[key][at]), key) for key in ways),
                *([str(aggregated.ranks[at])] if aggregated else []),
                f"{view.dominance[Order.SECOND].one_vs_all[at]:.3f}",
                f"{each.mean:.4g}",
                f"{-each.risks[Risk.TAIL]:.4g}",
            ]
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return (
        f'<div class="scroll"><table class="board"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _rank(rank: int, key: str) -> str:
    return f"<b>{rank}</b>" if key == "order2" else f"{rank}"


def _list(items: list[str], kind: str) -> str:
    return f'<ul class="{kind}">{"".join(f"<li>{x}</li>" for x in items)}</ul>' if items else ""
