"""The note on questions of a benchmark that were put in several ways and count together."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.core.language import ngettext


def pooled_words(n: int) -> Iterator[str]:
    """Say that so many questions were put in several ways, and that all of them count."""
    if n:
        text = ngettext(
            "{n:,} question of a benchmark was put in different words, with different system "
            "prompts or beginnings of the answer. These results are for all of them together.",
            "{n:,} questions of a benchmark were put in different words, with different system "
            "prompts or beginnings of the answer. These results are for all of them together.",
            n,
        )
        yield text.format(n=n)
