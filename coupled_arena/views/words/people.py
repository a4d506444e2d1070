"""What is said of people who vote often: how many there are, and what their tastes cost."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.core.language import _, ngettext
from coupled_arena.views.words.names import rounded

_NO_TASTES = 0.95  # of the comparisons: what they are worth where tastes do not show


def taste_words(voters: int, comparisons: int, worth: float, more: str) -> Iterator[str]:
    """Say what comparisons by people with tastes of their own are worth.

    Parameters
    ----------
    voters, comparisons : int
    worth : float
        As many comparisons, each by a person of its own, tell as much.
    more : str
        The sentence that more people help, for where half of the comparisons are lost.
    """
    if worth > _NO_TASTES * comparisons:
        text = _(
            "{n:,} people made these {comparisons:,} comparisons, and their tastes do not differ "
            "visibly."
        )
        yield text.format(n=voters, comparisons=comparisons)
        return
    about = rounded(max(round(worth), 1))
    text = ngettext(
        "{n:,} people with different tastes made these {comparisons:,} comparisons. They tell as "
        "much as {worth:,} comparison by one person.",
        "{n:,} people with different tastes made these {comparisons:,} comparisons. They tell as "
        "much as about {worth:,} comparisons, each by another person.",
        about,
    )
    yield text.format(comparisons=comparisons, n=voters, worth=about)
    if worth < comparisons / 2:
        yield more
