"""Agreement in sentences: between annotators, and of a judge with one voter."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from coupled_arena.analysis.agreement import AnnotatorAgreement, OwnAgreement
from coupled_arena.core.language import N_, _, ngettext, number
from coupled_arena.stats.krippendorff import MANY_ANNOTATORS
from coupled_arena.stats.ranking.strata import FEW_PROMPTS
from coupled_arena.views.levels import level
from coupled_arena.views.markup import joined, listed, paragraph

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
    text = _("Krippendorff's alpha is {alpha:.2f} ({level} interval {low:.2f} to {high:.2f}).")
    yield text.format(alpha=at.alpha, level=level(found.error_level), low=at.low, high=at.high)
    if at.annotators is None:
        return
    if at.annotators < MANY_ANNOTATORS:
        text = _("The interval is for people like these {n:,}: so few make it wide on purpose.")
    else:
        text = _("The interval is for people like these {n:,}.")
    yield text.format(n=at.annotators)


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


NO_JUDGE = N_("No model judges here. The host of this arena can name one.")


def own_agreement_words(own: OwnAgreement) -> str:
    """Return how often a judge agrees with a voter, and how sure that is."""
    if own.low <= 0 and own.high >= 1:
        text = ngettext(
            "{judge} has agreed with you on {agreed:,} of {n:,} comparison: too few to say how "
            "often it does.",
            "{judge} has agreed with you on {agreed:,} of {n:,} comparisons: too few to say how "
            "often it does.",
            own.comparisons,
        )
    else:
        text = ngettext(
            "{judge} has agreed with you on {agreed:,} of {n:,} comparison ({share}; {level} "
            "interval {low} to {high}).",
            "{judge} has agreed with you on {agreed:,} of {n:,} comparisons ({share}; {level} "
            "interval {low} to {high}).",
            own.comparisons,
        )
    return text.format(
        judge=own.judge,
        agreed=own.agreed,
        n=own.comparisons,
        share=f"{number(100 * own.agreed / own.comparisons, '.0f')}%",
        level=level(own.alpha),
        low=number(100 * own.low, ".0f"),
        high=f"{number(100 * own.high, '.0f')}%",
    )
