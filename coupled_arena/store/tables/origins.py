"""Which votes came from one place, whatever it is; on a given cursor."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class OriginShare:
    """What came from one place.

    Attributes
    ----------
    origin : str
        What tells it from others until the server stops; no address can be found from it.
    votes, voters : int
    share : float
        Of all votes whose origin was kept.
    """

    origin: str
    votes: int
    voters: int
    share: float


_KEPT = "from origins join current_votes on vote = vote_id where source = 'human'"


def note(cursor: Cursor, vote: str, origin: str | None) -> None:
    """Keep where a vote came from, in the transaction that writes the vote; None: unknown."""
    if origin is not None:
        cursor.execute("insert into origins values (?, ?) on conflict do nothing", [vote, origin])


def forget(cursor: Cursor, vote: str) -> None:
    """Delete where a vote came from that is undone."""
    cursor.execute("delete from origins where vote_id = ?", [vote])


def origin_shares(cursor: Cursor, most: int) -> tuple[OriginShare, ...]:
    """Return the places that most votes came from, the greatest share first."""
    rows = cursor.execute(
        f"""
        select origin, count(*), count(distinct voter), count(*) / (select count(*) {_KEPT})
        {_KEPT}
        group by origin
        order by 2 desc, origin
        limit ?
        """,
        [most],
    ).fetchall()
    return tuple(OriginShare(*row) for row in rows)


def voters_from(cursor: Cursor, origin: str) -> list[str]:
    """Return who has voted from a place; nobody if there is none of that name."""
    query = f"select distinct voter {_KEPT} and origin = ? order by voter"
    return [voter for (voter,) in cursor.execute(query, [origin]).fetchall()]
