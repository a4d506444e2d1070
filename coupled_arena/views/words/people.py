"""What is said of people who vote often: how many there are, and what their tastes cost."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.core.language import _, ngettext
from coupled_arena.views.words.names import rounded

_NO_TASTES = 0.95  # of the votes: what they are worth where tastes do not show


def taste_words(voters: int, votes: int, worth: float, more: str) -> Iterator[str]:
    """Say what votes of people with tastes of their own are worth.

    Parameters
    ----------
    voters, votes : int
    worth : float
        As many votes, each by a person of its own, tell as much.
    more : str
        The sentence that more people help, for where half of the votes are lost.
    """
    if worth > _NO_TASTES * votes:
        text = _("{n:,} people cast these {votes:,} votes, and their tastes do not differ visibly.")
        yield text.format(n=voters, votes=votes)
        return
    about = rounded(max(round(worth), 1))
    text = ngettext(
        "{votes:,} votes of {n:,} people with different tastes tell as much as one vote of "
        "{worth:,} person.",
        "{votes:,} votes of {n:,} people with different tastes tell as much as one vote each of "
        "about {worth:,} people.",
        about,
    )
    yield text.format(votes=votes, n=voters, worth=about)
    if worth < votes / 2:
        yield more
