"""Why votes were cast, on a cursor that somebody else opened.

That of a vote which can be undone waits beside it; it counts with the vote, or goes with it.
"""

from __future__ import annotations

import duckdb

from coupled_arena.core.errors import VoteError
from coupled_arena.core.rationales import Criterion, Rationale

_STANDS = {
    "rationales": "select criteria, comment from current_rationales where vote = ?",
    "pending_rationales": "select criteria, comment from pending_rationales where vote = ?",
}


def give(cursor: duckdb.DuckDBPyConnection, rationale: Rationale, voter: str) -> None:
    """Write why a vote was cast; what stands already is not written again.

    Raises
    ------
    VoteError
        There is no such vote of this voter.
    """
    table = "pending_rationales" if _is_of(cursor, "pending_votes", rationale, voter) else None
    if table is None and _is_of(cursor, "votes", rationale, voter):
        table = "rationales"
    if table is None:
        # One answer for "not yours" and "not there": a guess must not learn which.
        raise VoteError("There is no vote of yours to give reasons for here (any more).")
    said = [each.value for each in rationale.criteria], rationale.comment
    if (cursor.execute(_STANDS[table], [rationale.vote]).fetchone() or ([], "")) == said:
        return
    if table == "pending_rationales":
        drop(cursor, rationale.vote)
    # Later than what stands, whatever the clock says.
    cursor.execute(
        f"""
        insert into {table} (rationale, vote, criteria, comment, given_at)
        select $rationale, $vote, $criteria, $comment, greatest(
            $given_at,
            (select max(given_at) + interval 1 microsecond from {table} where vote = $vote)
        )
        """,
        {
            "rationale": rationale.id,
            "vote": rationale.vote,
            "criteria": said[0],
            "comment": said[1],
            "given_at": rationale.given_at,
        },
    )


def waiting(
    cursor: duckdb.DuckDBPyConnection, vote: str
) -> tuple[tuple[Criterion, ...], str] | None:
    """Return criteria and comment of a vote that can be undone; None where nothing was said."""
    row = cursor.execute(_STANDS["pending_rationales"], [vote]).fetchone()
    return (tuple(map(Criterion, row[0])), row[1]) if row else None


def drop(cursor: duckdb.DuckDBPyConnection, vote: str) -> None:
    """Delete the rationale of a vote that is undone."""
    cursor.execute("delete from pending_rationales where vote = ?", [vote])


def count(cursor: duckdb.DuckDBPyConnection, vote: str) -> None:
    """Keep the rationale of a vote that counts now."""
    cursor.execute(
        """
        insert into rationales (rationale, vote, criteria, comment, given_at)
        select rationale, vote, criteria, comment, given_at
        from pending_rationales
        where vote = ? and (criteria <> [] or comment <> '')
        """,
        [vote],
    )
    drop(cursor, vote)


def newest(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the last rationale of a vote that counts."""
    query = "select coalesce(max(seq), 0) from rationales"
    return cursor.execute(query).fetchall()[0][0]


def _is_of(cursor: duckdb.DuckDBPyConnection, table: str, rationale: Rationale, voter: str) -> bool:
    # Identical answers make a tie that nobody was asked about, so nobody has reasons.
    query = f"select 1 from {table} where vote = ? and voter = ? and source = 'human'"
    return cursor.execute(query, [rationale.vote, voter]).fetchone() is not None
