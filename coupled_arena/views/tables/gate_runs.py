"""A gate of the app as markup: the card of its result, questions that flip, the list of runs."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from coupled_arena.analysis.gate.result import Flip
from coupled_arena.analysis.gate.stored import GateStanding
from coupled_arena.core.language import _, filled, ngettext, number
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.views.addresses import battle_address, gate_address
from coupled_arena.views.markup import (
    Cell,
    facts,
    heading,
    joined,
    link,
    listed,
    paragraph,
    shown,
    table,
)
from coupled_arena.views.tables.gate_costs import known_costs
from coupled_arena.views.words.gate import gate_words, verdict_name
from coupled_arena.views.words.gate_costs import churn_words
from coupled_arena.views.words.gate_runs import state_name
from coupled_arena.views.words.names import modes_named

_MOST = 12  # flips of a kind in sight
_LONGEST = 90  # characters of a question in the list
_KINDS = {
    Verdict.AS_GOOD: "good",
    Verdict.BETTER: "good",
    Verdict.WORSE: "worse",
    Verdict.UNKNOWN: "unknown",
}


def gate_card(standing: GateStanding, *, running: bool) -> Markup:
    """Return the result of a gate as a card with a link to it; nothing before the second prompt."""
    found = standing.candidate
    if standing.report is None or found is None:
        return Markup()
    name = verdict_name(found.verdict)
    if running and found.verdict is Verdict.UNKNOWN:
        name = _("not known yet")
    _verdict, *words, _order = gate_words(standing.report)
    numbers = facts(
        (
            (_("Prompts"), number(found.prompts, ",")),
            (standing.gate.base, number(found.base_score, ".1%")),
            (standing.gate.candidate, number(found.score, ".1%")),
            (_("Right to wrong"), number(found.lost, ",")),
            (_("Wrong to right"), number(found.gained, ",")),
        )
    )
    return Markup(
        '<section class="gate-card {}"><p class="gate-verdict">{}</p>{}{}<p>{}</p></section>'
    ).format(
        _KINDS[found.verdict],
        name,
        numbers,
        listed(words, "findings"),
        link(gate_address(standing.gate), shown(_("Link to this result"))),
    )


def gate_flips(standing: GateStanding, *, lost: bool) -> Markup:
    """Return the questions on which the candidate alone is wrong, or alone is right, newest first.

    Each leads to its battle.
    """
    found = standing.candidate
    flips = [flip for flip in found.flips if (flip.difference < 0) is lost] if found else []
    n = len(flips)
    if lost:
        title = ngettext("{n:,} from right to wrong", "{n:,} from right to wrong", n)
    else:
        title = ngettext("{n:,} from wrong to right", "{n:,} from wrong to right", n)
    items = Markup("").join(
        Markup("<li>{}</li>").format(_question(flip)) for flip in flips[::-1][:_MOST]
    )
    left = n - _MOST
    more = filled(ngettext("and {n:,} earlier one", "and {n:,} earlier ones", left), n=left)
    return joined(
        [
            heading(filled(title, n=n), 2),
            Markup('<ul class="flips">{}</ul>').format(items),
            paragraph(more, "hint") if left > 0 else Markup(),
        ]
    )


def gate_costs(standing: GateStanding) -> Markup:
    """Return which answers the candidate changes beside the scores, and what both models cost."""
    report, found = standing.report, standing.candidate
    if report is None or found is None:
        return Markup()
    words = churn_words(report)
    alone = found.churn is None or found.churn.text_alone is not None
    hint = _("What independent noise changes is known once both models answer these prompts again.")
    table = known_costs(report).without("low").html()  # the card has the interval
    if not (words or table):
        return Markup()
    return joined(
        [
            heading(_("Answers and cost"), 2),
            *map(paragraph, words),
            Markup() if alone else paragraph(hint, "hint"),
            table,
        ]
    )


def _question(flip: Flip) -> Markup:
    text = flip.prompt
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
    return link(battle_address(flip.battle), shown(cut))


def gate_runs(standings: Iterable[GateStanding], running: str | None) -> Markup:
    """Return a table of runs, each with a link to it.

    Parameters
    ----------
    running : str or None
        The id of the run that goes on.
    """
    heads = [
        _("Candidate"),
        _("Base"),
        _("Benchmark"),
        _("Random numbers"),
        _("Margin"),
        _("Verdict"),
    ]
    heads += [_("Prompts"), _("Right to wrong"), _("Wrong to right")]
    rows = [
        (
            link(gate_address(each.gate), shown(each.gate.candidate)),
            each.gate.base,
            each.gate.metric,
            modes_named([each.mode]) if each.mode else None,
            _sorted(each.gate.margin),
            state_name(each, running=each.gate.id == running),
            _sorted(each.answered),
            _sorted(each.candidate and each.candidate.lost),
            _sorted(each.candidate and each.candidate.gained),
        )
        for each in standings
    ]
    return table(heads, rows)


def _sorted(value: float | None) -> Cell | None:
    """Return a number in the language in force, which a table sorts as a number."""
    form = "," if isinstance(value, int) else ""
    return None if value is None else Cell(number(value, form), value)
