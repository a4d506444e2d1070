"""Which traits of replies style control holds fixed."""

from __future__ import annotations

from enum import StrEnum


class Trait(StrEnum):
    """What is counted of a reply; the values are columns of the table ``reply_styles``."""

    LENGTH = "characters"
    HEADERS = "headers"
    BOLD = "bold"
    LISTS = "lists"


class Control(StrEnum):
    """What is held fixed."""

    NONE = "none"
    LENGTH = "length"
    STYLE = "style"  # length and Markdown

    @property
    def traits(self) -> tuple[Trait, ...]:
        """The traits that are held fixed."""
        return {
            Control.NONE: (),
            Control.LENGTH: (Trait.LENGTH,),
            Control.STYLE: tuple(Trait),
        }[self]
