"""What is said of a judge beside one's own votes."""

from __future__ import annotations

from coupled_arena.analysis.audit.own import OwnAgreement
from coupled_arena.core.language import N_

NO_JUDGE = N_("No model judges here: whoever runs this arena can name one, see docs/judge.md.")


def own_agreement_words(own: OwnAgreement) -> str:
    """Return how often a judge agrees with a voter, and how sure that is."""
    on = "comparison" if own.comparisons == 1 else "comparisons"
    said = f"{own.judge} has agreed with you on {own.agreed:,} of {own.comparisons:,} {on}"
    if own.low <= 0 and own.high >= 1:
        return f"{said}: too few to say how often it does."
    low, high = f"{100 * own.low:.0f}", f"{100 * own.high:.0f}%"
    share = f"{100 * own.agreed / own.comparisons:.0f}%"
    return f"{said} ({share}; {100 * (1 - own.alpha):.0f}% interval {low} to {high})."
