"""Agreement between annotators in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from coupled_arena.analysis.agreement import AnnotatorAgreement
from coupled_arena.core.language import N_, _, ngettext
from coupled_arena.stats.ranking.prompts import FEW_PROMPTS
from coupled_arena.views.markup import joined, listed, paragraph
from coupled_arena.views.words.names import level

_METHOD = N_(
    "Krippendorff's alpha is 1 if all agree, and 0 if they agree as often "
    "as by chance. For each pair of answers people prefer the first, the "
    "second or neither. Any two different outcomes disagree (nominal)."
)


def agreement_words(found: AnnotatorAgreement) -> tuple[str, ...]:
    """Return how far people agree, and on how much that rests."""
    if not found.battles:
        return ()
    return (*_alpha(found), _rests(found))


def agreement_warnings(found: AnnotatorAgreement) -> tuple[str, ...]:
    """Return what the agreement cannot say, and what would help."""
    return tuple(_warnings(found))


def agreement_findings(found: AnnotatorAgreement) -> Markup:
    """Return the sentences as markup, and what they cannot say."""
    words = agreement_words(found)
    first = [paragraph(sentence, "headline") for sentence in words[:1]]
    method = [_(_METHOD)] if found.found.alpha is not None else []
    rest = listed([*words[1:], *method], "findings")
    return joined([*first, rest, listed(agreement_warnings(found), "hint")])


def _alpha(found: AnnotatorAgreement) -> Iterator[str]:
    at = found.found
    if at.alpha is None:
        return
    if at.low is None or at.high is None:
        yield _("Krippendorff's alpha is {alpha:.2f}.").format(alpha=at.alpha)
        return
    said = _("Krippendorff's alpha is {alpha:.2f} ({level} interval {low:.2f} to {high:.2f}).")
    yield said.format(alpha=at.alpha, level=level(found.error_level), low=at.low, high=at.high)


def _rests(found: AnnotatorAgreement) -> str:
    at = found.found
    shared, voted = found.battles, found.voted
    return _(
        "{annotators:,} people voted on {battles} ({votes:,} votes on pairs of answers, "
        "{prompts}), of {voted}."
    ).format(
        annotators=found.annotators,
        battles=ngettext("the same {n:,} battle", "the same {n:,} battles", shared).format(
            n=shared
        ),
        votes=at.votes,
        prompts=ngettext("{n:,} prompt", "{n:,} prompts", at.clusters).format(n=at.clusters),
        voted=ngettext("{n:,} battle with votes", "{n:,} battles with votes", voted).format(
            n=voted
        ),
    )


def _warnings(found: AnnotatorAgreement) -> Iterator[str]:
    at = found.found
    if not found.battles:
        yield _(
            "No battle has votes of two or more people: agreement between annotators needs some "
            "that several vote on."
        )
        return
    if at.alpha is None:
        yield _("All votes are the same, so agreement cannot be distinguished from habit.")
    elif at.low is None:
        yield _("These are too few to give alpha an interval.")
    if at.alpha is not None and at.clusters < FEW_PROMPTS:
        yield _(
            "Fewer than {few} prompts: on others people may agree more, or less. More prompts "
            "help, more votes on the same ones do not."
        ).format(few=FEW_PROMPTS)
