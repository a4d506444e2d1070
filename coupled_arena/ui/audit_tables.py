"""What an audit says in tables and sentences, as HTML: all names are escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise

from coupled_arena.audit.plan import Plan
from coupled_arena.audit.report import Audit, ModelAudit
from coupled_arena.audit.words import audit_words, plan_words
from coupled_arena.stats.differences import Difference

_UNKNOWN = "\N{EN DASH}"


def said(audit: Audit) -> str:
    """Return the sentences, the first one larger, and what the audit cannot say."""
    words = [escape(sentence) for sentence in audit_words(audit)]
    first = f'<p class="headline">{words[0]}</p>' if words else ""
    return first + _list(words[1:]) + _list([escape(w) for w in audit.warnings], "hint")


def audit_table(audit: Audit) -> str:
    """Return a row of numbers for each model; the figures have the interval of the last."""
    level = f"{100 * (1 - audit.alpha):.4g}% interval"
    names = [
        *("Model", "Both", "Verdict alone", "b", "p", "q", "Agrees", "Balanced"),
        *("Bias", level, "Possible bias", "\N{GREEK SMALL LETTER RHO}\N{SUPERSCRIPT TWO}"),
        *("\N{GREEK SMALL LETTER LAMDA}", "Vote worth now", "At most"),
    ]
    return _table(names, (_row(row) for row in audit.models))


def difference_table(audit: Audit) -> str:
    """Return each model's lead over the next one, by people alone and with the judge."""
    following = {one.model: other.model for one, other in pairwise(audit.models)}
    level = f"{100 * (1 - audit.alpha):.4g}% interval"
    names = ["Model", "Over", "People", level, "With the judge", level, "Weights of the judge"]
    rows = [_lead(each) for each in audit.differences if following[each.model] == each.other]
    return _table(names, rows)


def plan_text(plan: Plan) -> str:
    """Return a plan as paragraphs."""
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in plan_words(plan))


def _row(row: ModelAudit) -> list[str]:
    return [
        escape(row.model),
        f"{row.n:,}",
        f"{row.judge_only:,}",
        *(_shown(x, ".1%") for x in (row.b, row.p, row.q, row.agreement, row.balanced_agreement)),
        f"<b>{_shown(row.judge_bias, '+.1%')}</b>",
        _range(row.bias_low, row.bias_high, "+.1%"),
        _shown(row.bias_possible, ".1%"),
        _shown(row.rho_squared, ".3f"),
        _shown(row.power_tuning, ".2f"),
        _shown(row.tau, ".2f"),
        f"<b>{_shown(row.tau_max, '.2f')}</b>",
    ]


def _lead(each: Difference) -> list[str]:
    return [
        escape(each.model),
        escape(each.other),
        f"{each.human:+.1%}",
        _range(each.human_low, each.human_high, "+.1%"),
        f"{each.powered:+.1%}",
        _range(each.powered_low, each.powered_high, "+.1%"),
        f"{each.tuning:.2f}, {each.other_tuning:.2f}",
    ]


def _shown(value: float | None, form: str) -> str:
    return _UNKNOWN if value is None or value != value else format(value, form)


def _range(low: float | None, high: float | None, form: str) -> str:
    return f"{_shown(low, form)} to {_shown(high, form)}"


def _table(names: Iterable[str], rows: Iterable[list[str]]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return (
        f'<div class="scroll"><table class="board"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _list(items: list[str], kind: str = "said") -> str:
    return f'<ul class="{kind}">{"".join(f"<li>{x}</li>" for x in items)}</ul>' if items else ""
