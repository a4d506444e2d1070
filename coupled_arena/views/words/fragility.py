"""How few votes the first place hangs on, in words."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.core.language import ngettext
from coupled_arena.stats.ranking.fragility import Fragility


def fragility_words(found: Fragility | None) -> Iterator[str]:
    """Say which model would be first without how many votes."""
    if found is None:
        return
    said = ngettext(
        "Without {n:,} comparison of {all:,} ({share:.2%}), the one that matters most, {rival} "
        "would be first in place of {first}.",
        "Without {n:,} comparisons of {all:,} ({share:.2%}), those that matter most, {rival} would "
        "be first in place of {first}.",
        found.removed,
    )
    yield said.format(
        n=found.removed,
        all=found.comparisons,
        share=found.share,
        rival=found.rival,
        first=found.first,
    )
