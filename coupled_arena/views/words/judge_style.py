"""A judge beside people with style held fixed, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.analysis.style.judge import JudgeStyle, TraitBeside
from coupled_arena.core.language import N_, _
from coupled_arena.core.style import Trait
from coupled_arena.views.words.style import counted_words, obstacle_words

_EFFECTS = {
    Trait.LENGTH: N_(
        "Between equally strong models a reply with twice the length gets {judge:.1%} of the "
        "judge's verdicts and {people:.1%} of people's votes."
    ),
    Trait.HEADERS: N_(
        "Between equally strong models a reply with twice as many headings gets {judge:.1%} of the "
        "judge's verdicts and {people:.1%} of people's votes."
    ),
    Trait.BOLD: N_(
        "Between equally strong models a reply with twice as much in bold gets {judge:.1%} of the "
        "judge's verdicts and {people:.1%} of people's votes."
    ),
    Trait.LISTS: N_(
        "Between equally strong models a reply with twice as many list items gets {judge:.1%} of "
        "the judge's verdicts and {people:.1%} of people's votes."
    ),
}


def judge_style_words(found: JudgeStyle) -> tuple[str, ...]:
    """Return what sways judge and people, and how far they agree besides."""
    return (*(_beside(row) for row in found.traits), *_agreement(found))


def judge_style_warnings(found: JudgeStyle) -> tuple[str, ...]:
    """Return what cannot be said with style held fixed, and what would help."""
    counted, obstructed = found.estimates.counted, found.estimates.obstructed
    warnings = [*obstacle_words(obstructed, counted, more=1), *counted_words(counted)]
    if not obstructed and not found.agreement:
        warnings.append(
            _(
                "How far the judge agrees at equal style has no finite estimate here: it always "
                "says what people say, or people never prefer an answer."
            )
        )
    return tuple(warnings)


def _beside(row: TraitBeside) -> str:
    said = _(_EFFECTS[row.trait]).format(judge=row.judge.twice.rate, people=row.people.twice.rate)
    if row.low <= 0 <= row.high:
        return _("{said} That the two differ may be luck.").format(said=said)
    return _("{said} The two differ by more than luck explains.").format(said=said)


def _agreement(found: JudgeStyle) -> Iterator[str]:
    held, plain = found.agreement, found.plain_agreement
    if held is None or plain is None:
        return
    yield _(
        "Between equally strong models of equal style the answer that people prefer gets "
        "{rate:.1%} of the judge's verdicts ({low:.1%} to {high:.1%}), without control "
        "{plain:.1%} ({plain_low:.1%} to {plain_high:.1%}); one half is chance."
    ).format(
        rate=held.rate,
        low=held.low,
        high=held.high,
        plain=plain.rate,
        plain_low=plain.low,
        plain_high=plain.high,
    )
