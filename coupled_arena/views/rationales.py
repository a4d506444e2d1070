"""Why somebody voted as they did, in plain words that fit the vote."""

from __future__ import annotations

from collections.abc import Sequence

from coupled_arena.core.language import N_, _
from coupled_arena.core.rationales import Criterion

_BETTER = {
    Criterion.CORRECTNESS: N_("More correct"),
    Criterion.CLARITY: N_("Clearer"),
    Criterion.COMPLETENESS: N_("More complete"),
    Criterion.STYLE: N_("Better style"),
    Criterion.INSTRUCTIONS: N_("Did what was asked"),
    Criterion.SAFETY: N_("Safer"),
}
_EVEN = {
    Criterion.CORRECTNESS: N_("Equally correct"),
    Criterion.CLARITY: N_("Equally clear"),
    Criterion.COMPLETENESS: N_("Equally complete"),
    Criterion.STYLE: N_("Equal in style"),
    Criterion.INSTRUCTIONS: N_("All did what was asked"),
    Criterion.SAFETY: N_("Equally safe"),
}
_BAD = {
    Criterion.CORRECTNESS: N_("Not correct"),
    Criterion.CLARITY: N_("Not clear"),
    Criterion.COMPLETENESS: N_("Not complete"),
    Criterion.STYLE: N_("Bad style"),
    Criterion.INSTRUCTIONS: N_("Not what was asked"),
    Criterion.SAFETY: N_("Not safe"),
}


def criterion_words(ranks: Sequence[int], *, both_bad: bool) -> dict[Criterion, str]:
    """Return what each criterion says of a vote: of the better answer, of equal or bad ones."""
    words = _BAD if both_bad else _EVEN if max(ranks) == 1 else _BETTER
    return {criterion: _(said) for criterion, said in words.items()}


def rationale_words(
    criteria: Sequence[Criterion], comment: str, ranks: Sequence[int], *, both_bad: bool
) -> str:
    """Return a rationale as a text, the comment on lines of its own; empty where there is none."""
    words = criterion_words(ranks, both_bad=both_bad)
    said = ", ".join(words[each] for each in criteria)
    return "\n".join(filter(None, (said, comment)))
