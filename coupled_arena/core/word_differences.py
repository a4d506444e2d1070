"""Where two texts differ, word by word: a pure function, for pages that show both."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_EXACT = 2_000
"""Words up to which the longest common parts are looked for without a shortcut."""

Parts = list[tuple[str, bool]]


def word_differences(one: str, other: str) -> tuple[Parts, Parts]:
    """Return both texts in parts, each with whether the other text lacks it.

    The parts of a text, one after the other, are the text. Signs are words of their own, and blanks
    between two words that differ belong to the difference.

    Returns
    -------
    one, other : list of (str, bool)
        Neighbours never have the same mark.
    """
    first, second = _WORD.findall(one), _WORD.findall(other)
    quick = max(len(first), len(second)) > _EXACT
    blocks = SequenceMatcher(None, first, second, autojunk=quick).get_matching_blocks()
    common = [(block.a, block.b, block.size) for block in blocks if block.size]
    return (
        _parts(first, [(a, size) for a, _, size in common]),
        _parts(second, [(b, size) for _, b, size in common]),
    )


def _parts(words: list[str], common: list[tuple[int, int]]) -> Parts:
    """Return the words as parts, those in common unmarked."""
    kept = [True] * len(words)
    for begin, size in common:
        kept[begin : begin + size] = [False] * size
    for at, word in enumerate(words):  # a blank within a difference is no common word
        if word.isspace() and 0 < at < len(words) - 1 and kept[at - 1] and kept[at + 1]:
            kept[at] = True
    parts: Parts = []
    for word, differs in zip(words, kept, strict=True):
        if parts and parts[-1][1] == differs:
            parts[-1] = (parts[-1][0] + word, differs)
        else:
            parts.append((word, differs))
    return parts
