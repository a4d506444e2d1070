"""What an audit says in tables and sentences, as HTML."""

from __future__ import annotations

from itertools import pairwise

from coupled_arena.analysis.audit.plan import VotePlan
from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.stats.judges.differences import Difference
from coupled_arena.views.markup import Html, bold, joined, listed, paragraph, table
from coupled_arena.views.words.audit import audit_words, plan_words

_UNKNOWN = "\N{EN DASH}"


def said(audit: Audit) -> Html:
    """Return the sentences, the first one larger, and what the audit cannot say."""
    words = list(audit_words(audit))
    first = [paragraph(sentence, "headline") for sentence in words[:1]]
    return joined([*first, listed(words[1:], "said"), listed(audit.warnings, "hint")])


def audit_table(audit: Audit) -> Html:
    """Return a row of numbers for each model; the figures have the interval of the last."""
    level = f"{100 * (1 - audit.alpha):.4g}% interval"
    names = [
        *("Model", "Both", "Verdict alone", "b", "p", "q", "Agrees", "Balanced"),
        *("Bias", level, "Possible bias", "\N{GREEK SMALL LETTER RHO}\N{SUPERSCRIPT TWO}"),
        *("\N{GREEK SMALL LETTER LAMDA}", "Vote worth now", "At most"),
    ]
    return table(names, (_row(row) for row in audit.models))


def difference_table(audit: Audit) -> Html:
    """Return each model's lead over the next one, by people alone and with the judge."""
    following = {one.model: other.model for one, other in pairwise(audit.models)}
    level = f"{100 * (1 - audit.alpha):.4g}% interval"
    names = ["Model", "Over", "People", level, "With the judge", level, "Weights of the judge"]
    rows = [_lead(each) for each in audit.differences if following[each.model] == each.other]
    return table(names, rows)


def plan_text(plan: VotePlan) -> Html:
    """Return a plan as paragraphs."""
    return joined(paragraph(sentence) for sentence in plan_words(plan))


def _row(row: ModelAudit) -> list[object]:
    return [
        row.model,
        row.n,
        row.judge_only,
        *(_shown(x, ".1%") for x in (row.b, row.p, row.q, row.agreement, row.balanced_agreement)),
        bold(_shown(row.judge_bias, "+.1%")),
        _range(row.bias_low, row.bias_high, "+.1%"),
        _shown(row.bias_possible, ".1%"),
        _shown(row.rho_squared, ".3f"),
        _shown(row.power_tuning, ".2f"),
        _shown(row.tau, ".2f"),
        bold(_shown(row.tau_max, ".2f")),
    ]


def _lead(each: Difference) -> list[object]:
    return [
        each.model,
        each.other,
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
