"""Which traits of replies style control holds fixed."""

from __future__ import annotations

from enum import StrEnum

from coupled_arena.core.choices import Control


class Trait(StrEnum):
    """What is counted of a reply; the values are columns of the table ``reply_styles``."""

    LENGTH = "characters"
    HEADERS = "headers"
    BOLD = "bold"
    LISTS = "lists"


def held_traits(control: Control) -> tuple[Trait, ...]:
    """Return the traits that are held fixed."""
    return {
        Control.NONE: (),
        Control.LENGTH: (Trait.LENGTH,),
        Control.STYLE: tuple(Trait),
    }[control]
