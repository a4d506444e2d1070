"""Style control in sentences: what length and Markdown do, to people and to a judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coupled_arena.analysis.style.judge import JudgeStyle, TraitBeside
from coupled_arena.analysis.style.result import StyleBoard, TraitEffect
from coupled_arena.analysis.style.rows import Counted, Obstacle, ObstructedError
from coupled_arena.core.choices import Trait
from coupled_arena.core.language import N_, _, ngettext
from coupled_arena.stats.ranking.strata import FEW_PROMPTS
from coupled_arena.views.levels import level
from coupled_arena.views.words.names import named

_EFFECTS = {
    Trait.LENGTH: N_(
        "Between equally strong models a reply twice as long wins {rate:.1%} of comparisons "
        "({low:.1%} to {high:.1%}, {level} interval). A tie is half a win."
    ),
    Trait.HEADERS: N_(
        "Between equally strong models a reply with headings wins {rate:.1%} against one without "
        "({low:.1%} to {high:.1%})."
    ),
    Trait.BOLD: N_(
        "Between equally strong models a reply with bold text wins {rate:.1%} against one without "
        "({low:.1%} to {high:.1%})."
    ),
    Trait.LISTS: N_(
        "Between equally strong models a reply with list items wins {rate:.1%} against one without "
        "({low:.1%} to {high:.1%})."
    ),
}
_TRAITS = {
    Trait.LENGTH: N_("length"),
    Trait.HEADERS: N_("headings"),
    Trait.BOLD: N_("bold text"),
    Trait.LISTS: N_("list items"),
}
_MOST_MOVES = 5  # that are named; the others are only counted


def style_words(board: StyleBoard) -> tuple[str, ...]:
    """Return what each trait does, and which ranks change; nothing without such scores."""
    text = [_effect(effect, board.alpha) for effect in board.effects]
    return (*text, *_moves(board))


def style_warnings(board: StyleBoard) -> tuple[str, ...]:
    """Return what cannot be said with style held fixed, and what would help."""
    estimates = board.estimates
    return (
        *obstacle_words(estimates.obstructed, estimates.counted),
        *counted_words(estimates.counted),
    )


def obstacle_words(found: ObstructedError | None, counted: Counted, more: int = 0) -> Iterator[str]:
    """Say why there are no scores with style held fixed, if there are none.

    Parameters
    ----------
    more : int
        Numbers that are estimated besides models and traits.
    """
    if found is None:
        return
    traits = traits_named(found.traits) if found.traits else ""
    if found.obstacle is Obstacle.PROMPTS:
        least = len(counted.models) + len(counted.traits) + more
        text = ngettext(
            "{n} prompt is too few to hold style fixed between these models: it takes {least} or "
            "more.",
            "{n} prompts are too few to hold style fixed between these models: it takes {least} or "
            "more.",
            counted.prompts,
        )
        yield text.format(n=counted.prompts, least=least)
    else:
        yield _(_OBSTACLES[found.obstacle]).format(traits=traits)


_OBSTACLES = {
    Obstacle.NOTHING: N_("There is no comparison here in which style could be held fixed."),
    Obstacle.TEXTS: N_(
        "Style control needs the texts of the replies, and no comparison here has them. Votes "
        "that were imported without replies cannot be used."
    ),
    Obstacle.APART: N_(
        "Scores with style held fixed need models that have both won and lost, directly or "
        "through others. Some of these models only won against the rest, only lost, or never met "
        "it."
    ),
    Obstacle.ENTANGLED: N_(
        "The strength and the style of these models cannot be separated ({traits}): the same two "
        "models always differ alike. More varied replies help, or fewer traits held fixed."
    ),
    Obstacle.UNBOUNDED: N_(
        "Style alone decides these comparisons ({traits}), so that no finite effect fits best. "
        "More votes help, or fewer traits held fixed."
    ),
}


def counted_words(counted: Counted) -> Iterator[str]:
    """Say which comparisons do not count, and which traits there is nothing of to hold fixed."""
    without = counted.without_texts
    if without and counted.comparisons:
        text = ngettext(
            "{n:,} comparison does not count with style held fixed: the texts are missing.",
            "{n:,} comparisons do not count with style held fixed: the texts are missing.",
            without,
        )
        yield text.format(n=without)
    if not counted.comparisons:
        return
    if counted.people is not None:
        text = _("With style held fixed, intervals and ranks hold for people like these {n:,}.")
        yield text.format(n=counted.people)
    if counted.constant:
        text = _("All replies here are alike in this, so nothing can be held fixed: {traits}.")
        yield text.format(traits=traits_named(counted.constant))
    if counted.prompts < FEW_PROMPTS:
        text = ngettext(
            "All comparisons are on {n} prompt: other prompts may give other results.",
            "All comparisons are on {n} prompts: other prompts may give other results.",
            counted.prompts,
        )
        yield text.format(n=counted.prompts)


def traits_named(traits: Sequence[Trait]) -> str:
    """Return traits as people list them."""
    return named([_(_TRAITS[trait]) for trait in traits], len(_TRAITS))


def _effect(effect: TraitEffect, alpha: float) -> str:
    share = effect.against_none or effect.twice
    text = _(_EFFECTS[effect.trait]).format(
        rate=share.rate, low=share.low, high=share.high, level=level(alpha)
    )
    if share.low <= 0.5 <= share.high:
        return _("{effect} That may be luck.").format(effect=text)
    return text


def _moves(board: StyleBoard) -> Iterator[str]:
    """Say which models change places by the scores alone."""
    moved = [
        f"{row.model} ({row.plain.rank} \N{RIGHTWARDS ARROW} {row.controlled.rank})"
        for row in board.models
        if row.controlled and row.plain and row.controlled.rank != row.plain.rank
    ]
    if moved:
        text = ngettext(
            "With style held fixed {n} model changes its rank by the scores: {models}.",
            "With style held fixed {n} models change their rank by the scores: {models}.",
            len(moved),
        )
        yield text.format(n=len(moved), models=named(moved, _MOST_MOVES))
    elif board.effects:
        yield _("With style held fixed all models keep their rank by the scores.")


_JUDGED_EFFECTS = {
    Trait.LENGTH: N_(
        "Between equally strong models, twice the length gets {judge:.1%} of the judge's verdicts "
        "and {people:.1%} of people's votes."
    ),
    Trait.HEADERS: N_(
        "Between equally strong models, twice as many headings get {judge:.1%} of the judge's "
        "verdicts and {people:.1%} of people's votes."
    ),
    Trait.BOLD: N_(
        "Between equally strong models, twice as much bold text gets {judge:.1%} of the judge's "
        "verdicts and {people:.1%} of people's votes."
    ),
    Trait.LISTS: N_(
        "Between equally strong models, twice as many list items get {judge:.1%} of the judge's "
        "verdicts and {people:.1%} of people's votes."
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
                "How far the judge agrees at equal style has no finite estimate here. The judge "
                "always says what people say, or people never prefer an answer."
            )
        )
    return tuple(warnings)


def _beside(row: TraitBeside) -> str:
    text = _(_JUDGED_EFFECTS[row.trait]).format(
        judge=row.judge.twice.rate, people=row.people.twice.rate
    )
    if row.low <= 0 <= row.high:
        return _("{effect} The difference between the two may be luck.").format(effect=text)
    return _("{effect} The two differ by more than luck explains.").format(effect=text)


def _agreement(found: JudgeStyle) -> Iterator[str]:
    held, plain = found.agreement, found.plain_agreement
    if held is None or plain is None:
        return
    yield _(
        "At equal strength and style, the judge prefers the answer that people prefer in "
        "{rate:.1%} of verdicts ({low:.1%} to {high:.1%}). Without control the share is "
        "{plain:.1%} ({plain_low:.1%} to {plain_high:.1%}); one half is chance."
    ).format(
        rate=held.rate,
        low=held.low,
        high=held.high,
        plain=plain.rate,
        plain_low=plain.low,
        plain_high=plain.high,
    )
