"""Agreement between annotators in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from coupled_arena.analysis.agreement import AnnotatorAgreement
from coupled_arena.stats.ranking.prompts import FEW_PROMPTS
from coupled_arena.views.markup import joined, listed, paragraph

_METHOD = (
    "Krippendorff's alpha is 1 where all say the same and 0 where they agree as by chance. Of each "
    "pair of answers it asks whether people prefer the first, the second or neither; two different "
    "outcomes disagree, whichever they are (nominal)."
)


def agreement_words(found: AnnotatorAgreement) -> tuple[str, ...]:
    """Return how far people agree, and on how much that rests."""
    if not found.battles:
        return ()
    at = found.found
    said = "" if at.alpha is None else f"Krippendorff's alpha is {at.alpha:.2f}"
    if at.low is not None and at.high is not None:
        level = f"{100 * (1 - found.error_level):.4g}%"
        said += f" ({level} interval {at.low:.2f} to {at.high:.2f})"
    rests = (
        f"{found.annotators:,} people voted on the same {_several(found.battles, 'battle')} "
        f"({at.votes:,} votes on pairs of answers, {_several(at.clusters, 'prompt')}), of "
        f"{_several(found.voted, 'battle')} with votes."
    )
    return (f"{said}.", rests) if said else (rests,)


def agreement_warnings(found: AnnotatorAgreement) -> tuple[str, ...]:
    """Return what the agreement cannot say, and what would help."""
    return tuple(_warnings(found))


def agreement_findings(found: AnnotatorAgreement) -> Markup:
    """Return the sentences as markup, and what they cannot say."""
    words = agreement_words(found)
    first = [paragraph(sentence, "headline") for sentence in words[:1]]
    method = [_METHOD] if found.found.alpha is not None else []
    rest = listed([*words[1:], *method], "findings")
    return joined([*first, rest, listed(agreement_warnings(found), "hint")])


def _warnings(found: AnnotatorAgreement) -> Iterator[str]:
    at = found.found
    if not found.battles:
        yield (
            "No battle has votes of two or more people: agreement between annotators needs some "
            "that several vote on."
        )
        return
    if at.alpha is None:
        yield "All votes say the same, so that nobody can tell agreement from habit."
    elif at.low is None:
        yield "These are too few to give alpha an interval."
    if at.alpha is not None and at.clusters < FEW_PROMPTS:
        yield (
            f"Fewer than {FEW_PROMPTS} prompts: on others people may agree more, or less. More "
            "prompts help, more votes on the same ones do not."
        )


def _several(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
