"""What is said of a judge beside one's own votes."""

from __future__ import annotations

from coupled_arena.analysis.agreement import OwnAgreement
from coupled_arena.core.language import N_, ngettext

NO_JUDGE = N_("No model judges here. The host of this arena can name one: see docs/judge.md.")


def own_agreement_words(own: OwnAgreement) -> str:
    """Return how often a judge agrees with a voter, and how sure that is."""
    if own.low <= 0 and own.high >= 1:
        said = ngettext(
            "{judge} has agreed with you on {agreed:,} of {n:,} comparison: too few to say how "
            "often it does.",
            "{judge} has agreed with you on {agreed:,} of {n:,} comparisons: too few to say how "
            "often it does.",
            own.comparisons,
        )
    else:
        said = ngettext(
            "{judge} has agreed with you on {agreed:,} of {n:,} comparison ({share}; {level} "
            "interval {low} to {high}).",
            "{judge} has agreed with you on {agreed:,} of {n:,} comparisons ({share}; {level} "
            "interval {low} to {high}).",
            own.comparisons,
        )
    return said.format(
        judge=own.judge,
        agreed=own.agreed,
        n=own.comparisons,
        share=f"{100 * own.agreed / own.comparisons:.0f}%",
        level=f"{100 * (1 - own.alpha):.0f}%",
        low=f"{100 * own.low:.0f}",
        high=f"{100 * own.high:.0f}%",
    )
