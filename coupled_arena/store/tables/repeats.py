"""What people say of answers that come a second time, on a cursor that somebody else opened.

It is kept beside the votes, and counts for nothing but how far people agree with themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import Vote
from coupled_arena.core.sql import Cursor, value_of


@dataclass(frozen=True)
class SecondVote:
    """What somebody said of a battle that they had voted on.

    Attributes
    ----------
    vote : Vote
        Its ranks are by place, as those of the first vote.
    shown : tuple of int
        The places, in the order in which they were shown this time.
    comment : str
        Why they said so, as in a rationale.
    """

    vote: Vote
    shown: tuple[int, ...]
    criteria: tuple[Criterion, ...] = ()
    comment: str = ""


def add(cursor: Cursor, second: SecondVote) -> None:
    """Write it; to write it again changes nothing."""
    vote = second.vote
    cursor.execute(
        "insert into repeats values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
        [
            *(vote.id, vote.battle, vote.voter, list(vote.ranks), vote.both_bad),
            *(list(second.shown), [each.value for each in second.criteria], second.comment),
            vote.cast_at,
        ],
    )


def exchanged(ranks: Sequence[int], shown: Sequence[int]) -> tuple[int, ...]:
    """Return ranks by place of such as stand in the order of `shown`."""
    by_place = dict(zip(shown, ranks, strict=True))
    return tuple(by_place[place] for place in range(len(by_place)))


def count(cursor: Cursor) -> int:
    """Return how many there are."""
    return value_of(cursor, "select count(*) from repeats")
