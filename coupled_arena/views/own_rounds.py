"""A visitor's own battles, as the page lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coupled_arena.core.language import _, chained
from coupled_arena.core.records import Source
from coupled_arena.store.queries.battle_filter import BattleFilter, Word
from coupled_arena.store.queries.own_rounds import OwnRound
from coupled_arena.views.addresses import battle_address, list_address

_LONGEST = 200  # characters of a question


def own_rounds_view(rounds: Sequence[OwnRound]) -> dict[str, Any]:
    """Return a list of own battles, and the address of all of them."""
    rows = [
        {
            "href": battle_address(each.battle),
            "question": each.question[:_LONGEST] + "…" * (len(each.question) > _LONGEST),
            "choice": choice_words(each),
            "when": f"{each.ended_at:%Y-%m-%d %H:%M} UTC",
        }
        for each in rounds
    ]
    return {"rows": rows, "all": list_address(BattleFilter(word=Word.PEOPLE), mine=True)}


def choice_words(own: OwnRound) -> str:
    """Return what a voter chose, or left to the judge, by the models' names."""
    names = chained(_("{one} and {other}"), own.models)
    if own.ranks is None:
        return _("The judge decided: {names}.").format(names=names)
    if own.source is Source.IDENTICAL:
        return _("Equal answers: {names}.").format(names=names)
    if own.both_bad:
        both = _("You found both bad: {names}.")
        return (both if len(own.models) == 2 else _("You found all bad: {names}.")).format(
            names=names
        )
    groups = _groups(own.models, own.ranks)
    if len(groups) == 1:
        return _("A tie: {names}.").format(names=names)
    if len(own.models) == 2:
        return _("You preferred {one} to {other}.").format(one=groups[0], other=groups[1])
    return _("Your order: {order}.").format(order=chained(_("{one}, then {other}"), groups))


def _groups(models: Sequence[str], ranks: Sequence[int]) -> list[str]:
    """Return who shares a rank, the best first."""
    return [
        chained(
            _("{one} and {other}"),
            [name for name, at in zip(models, ranks, strict=True) if at == rank],
        )
        for rank in sorted(set(ranks))
    ]
