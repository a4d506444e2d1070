"""Style control in sentences: what length and Markdown do, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coupled_arena.analysis.style.result import StyleBoard, TraitEffect
from coupled_arena.analysis.style.rows import Counted, Obstacle, ObstructedError
from coupled_arena.core.language import N_, _, ngettext
from coupled_arena.core.style import Trait
from coupled_arena.stats.ranking.prompts import FEW_PROMPTS
from coupled_arena.views.words.names import level, named

_EFFECTS = {
    Trait.LENGTH: N_(
        "Between equally strong models a reply twice as long wins {rate:.1%} of comparisons, a tie "
        "being half a win ({low:.1%} to {high:.1%}, {level} interval)."
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
    said = [_effect(effect, board.alpha) for effect in board.effects]
    return (*said, *_moves(board))


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
        said = ngettext(
            "{n} prompt is too few to hold style fixed between these models: it takes {least} or "
            "more.",
            "{n} prompts are too few to hold style fixed between these models: it takes {least} or "
            "more.",
            counted.prompts,
        )
        yield said.format(n=counted.prompts, least=least)
    else:
        yield _(_OBSTACLES[found.obstacle]).format(traits=traits)


_OBSTACLES = {
    Obstacle.NOTHING: N_("There is no comparison here in which style could be held fixed."),
    Obstacle.TEXTS: N_(
        "Style control needs the texts of the replies, and no comparison here has them: votes that "
        "were imported without replies cannot be used."
    ),
    Obstacle.APART: N_(
        "Scores with style held fixed need models that have both won and lost, directly or through "
        "others: some of these have only won against the rest, only lost, or never met it."
    ),
    Obstacle.ENTANGLED: N_(
        "What the models are and how they write cannot be told apart here ({traits}): the same two "
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
        said = ngettext(
            "{n:,} comparison does not count with style held fixed: the texts are missing.",
            "{n:,} comparisons do not count with style held fixed: the texts are missing.",
            without,
        )
        yield said.format(n=without)
    if not counted.comparisons:
        return
    if counted.constant:
        said = _("No two replies differ here in this, so there is nothing to hold fixed: {traits}.")
        yield said.format(traits=traits_named(counted.constant))
    if counted.prompts < FEW_PROMPTS:
        said = ngettext(
            "All of it is on {n} prompt: others may say otherwise.",
            "All of it is on {n} prompts: others may say otherwise.",
            counted.prompts,
        )
        yield said.format(n=counted.prompts)


def traits_named(traits: Sequence[Trait]) -> str:
    """Return traits as people list them."""
    return named([_(_TRAITS[trait]) for trait in traits], len(_TRAITS))


def _effect(effect: TraitEffect, alpha: float) -> str:
    share = effect.against_none or effect.twice
    said = _(_EFFECTS[effect.trait]).format(
        rate=share.rate, low=share.low, high=share.high, level=level(alpha)
    )
    if share.low <= 0.5 <= share.high:
        return _("{said} That may be luck.").format(said=said)
    return said


def _moves(board: StyleBoard) -> Iterator[str]:
    """Say which models change places by the scores alone."""
    moved = [
        f"{row.model} ({row.plain.rank} \N{RIGHTWARDS ARROW} {row.controlled.rank})"
        for row in board.models
        if row.controlled and row.plain and row.controlled.rank != row.plain.rank
    ]
    if moved:
        said = ngettext(
            "With style held fixed {n} model changes its rank by the scores: {models}.",
            "With style held fixed {n} models change their rank by the scores: {models}.",
            len(moved),
        )
        yield said.format(n=len(moved), models=named(moved, _MOST_MOVES))
    elif board.effects:
        yield _("With style held fixed all models keep their rank by the scores.")
