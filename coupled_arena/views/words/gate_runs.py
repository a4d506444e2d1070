"""How a gate of the app goes on, in sentences; what it found is said by `gate`."""

from __future__ import annotations

from coupled_arena.analysis.gate.stored import GateStanding
from coupled_arena.core.language import _, filled, ngettext
from coupled_arena.views.words.gate import gate_verdict, verdict_name
from coupled_arena.views.words.names import rounded


def standing_verdict(standing: GateStanding) -> str:
    """Return what is known, in a sentence."""
    if standing.report and standing.candidate:
        return gate_verdict(standing.report, standing.candidate)
    gate = standing.gate
    text = _("Is {candidate} as good as {base} by {metric}? The first prompts are being answered.")
    return filled(text, candidate=gate.candidate, base=gate.base, metric=gate.metric)


def state_name(standing: GateStanding, *, running: bool) -> str:
    """Return how a gate stands in a word or two, for a list."""
    found = standing.candidate
    if running and not standing.over:
        return _("running")
    if found is None or not (standing.over or found.known_after):
        return _("stopped")
    return verdict_name(found.verdict)


def progress_words(standing: GateStanding, *, running: bool, crowded: bool = False) -> str:
    """Return how far a gate is, and what it takes to end it."""
    answered, planned = standing.answered, standing.gate.prompts
    text = ngettext(
        "{answered:,} of {n:,} prompt answered.", "{answered:,} of {n:,} prompts answered.", planned
    )
    words = [filled(text, answered=answered, n=planned)]
    if not standing.over and not running:
        words.append(_("Stopped: press Start to go on."))
    elif crowded:
        words.append(_("Visitors' battles go first: waiting for a place."))
    words += _expected(standing)
    return " ".join(words)


def _expected(standing: GateStanding) -> list[str]:
    """Say how many prompts it may still take, where that is more than there are."""
    found = standing.candidate
    if found is None or found.known_after is not None or not found.further:
        return []
    left = standing.gate.prompts - standing.answered
    if found.further <= left:
        return []
    text = _("There are {left:,} more prompts, and about {n:,} are needed.")
    return [filled(text, left=left, n=rounded(found.further))]
