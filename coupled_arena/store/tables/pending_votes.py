"""Votes that can still be undone, on a cursor that somebody else opened.

They are stored as they are cast, so that none is lost, and count for nothing until `promote`.
"""

from __future__ import annotations

from datetime import UTC

import duckdb

from coupled_arena.core.errors import VoteError
from coupled_arena.core.records import Source, Vote
from coupled_arena.store.tables import origins, rationales, upkeep, votes
from coupled_arena.store.tables.times import utc


def hold(cursor: duckdb.DuckDBPyConnection, vote: Vote, origin: str | None = None) -> None:
    """Write a vote that can be undone, and where it came from.

    Raises
    ------
    VoteError
        It would be refused as a vote, or its voter has one on this battle that can be undone.
    """
    votes.check(cursor, vote)
    if cursor.execute(
        "select 1 from pending_votes where battle = ? and voter = ?", [vote.battle, vote.voter]
    ).fetchone():
        raise VoteError("You have voted on this battle: undo that vote first.")
    cursor.execute(
        "insert into pending_votes values (?, ?, ?, ?, ?, ?, ?, ?)", votes.values_of(vote)
    )
    origins.note(cursor, vote.id, origin)


def withdraw(cursor: duckdb.DuckDBPyConnection, vote: str) -> bool:
    """Delete a vote that can be undone, and why; return whether there was one of this id."""
    rationales.drop(cursor, vote)
    origins.forget(cursor, vote)
    return _release(cursor, vote)


def promote(cursor: duckdb.DuckDBPyConnection, vote: Vote) -> None:
    """Make a vote count, and its battle revealed to its voter; see `Store.cast`.

    Raises
    ------
    VoteError
        It was undone, or is refused as a vote.
    """
    rationales.count(cursor, vote.id)
    if not _release(cursor, vote.id) and not votes.is_stored(cursor, vote):
        raise VoteError("This vote was undone.")
    votes.cast(cursor, vote, reveal=True)
    upkeep.refresh(cursor, "battle = $battle", {"battle": vote.battle})


def _release(cursor: duckdb.DuckDBPyConnection, vote: str) -> bool:
    deleted = cursor.execute("delete from pending_votes where vote = ? returning 1", [vote])
    return deleted.fetchone() is not None


def held(cursor: duckdb.DuckDBPyConnection) -> list[Vote]:
    """Return all votes that can be undone, in the order in which they were cast."""
    rows = cursor.execute(
        f"""
        select vote, battle, voter, ranks, both_bad, source, early, {utc("cast_at")}
        from pending_votes
        order by cast_at, vote
        """
    ).fetchall()
    return [
        Vote(
            *row[:3],
            ranks=tuple(row[3]),
            both_bad=row[4],
            source=Source(row[5]),
            early=row[6],
            cast_at=row[7].replace(tzinfo=UTC),
        )
        for row in rows
    ]
