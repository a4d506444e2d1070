"""A visitor's own battles, as the page lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    names = " and ".join(own.models)
    if own.ranks is None:
        return f"The judge decided: {names}."
    if own.source is Source.IDENTICAL:
        return f"Equal answers: {names}."
    if own.both_bad:
        return f"You found {'both' if len(own.models) == 2 else 'all'} bad: {names}."
    groups = [
        " and ".join(name for name, at in zip(own.models, own.ranks, strict=True) if at == rank)
        for rank in sorted(set(own.ranks))
    ]
    if len(groups) == 1:
        return f"A tie: {names}."
    if len(own.models) == 2:
        return f"You preferred {groups[0]} to {groups[1]}."
    return f"Your order: {', then '.join(groups)}."
