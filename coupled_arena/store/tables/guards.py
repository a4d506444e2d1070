"""Guards against rigged votes: where votes came from, and new voters who must wait to be counted.

An origin tells places apart until the server stops; no address follows from it. Votes on imported
battles do not wait, because they were cast elsewhere. All functions work on a given cursor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coupled_arena.core.sql import Cursor, column_of, value_of
from coupled_arena.store.tables import derived_rows


@dataclass(frozen=True)
class OriginShare:
    """What came from one place.

    Attributes
    ----------
    origin : str
        What tells it from others until the server stops; no address can be found from it.
    share : float
        Of all votes with a known origin.
    """

    origin: str
    votes: int
    voters: int
    share: float


_KEPT = "from origins join current_votes on vote = vote_id where source = 'human'"


def note_origins(cursor: Cursor, origins: Mapping[str, str | None]) -> None:
    """Keep where votes came from, in the transaction that writes them; None: unknown."""
    if known := {vote: origin for vote, origin in origins.items() if origin is not None}:
        cursor.execute(
            "insert into origins select unnest(?), unnest(?) on conflict do nothing",
            [list(known), list(known.values())],
        )


def forget_origins(cursor: Cursor, votes: Sequence[str]) -> None:
    """Delete where votes came from that are undone."""
    cursor.execute("delete from origins where list_contains(?, vote_id)", [list(votes)])


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
    return column_of(cursor, query, [origin])


_OWN = """
from current_votes join battles using (battle)
where source = 'human' and battles.mode <> 'unknown'
"""


def set_probation(cursor: Cursor, votes: int) -> None:
    """Let voters wait until they have cast so many votes; 0: nobody waits."""
    cursor.execute("delete from probation")
    if votes:
        cursor.execute("insert into probation values (?)", [votes])
    before = _waiting(cursor)
    query = f"select voter {_OWN} group by voter having count(*) < ?"
    now = set(column_of(cursor, query, [votes]))
    for voter in before - now:
        cursor.execute("delete from waiting_voters where voter = ?", [voter])
    for voter in now - before:
        cursor.execute("insert into waiting_voters values (?)", [voter])
    if changed := sorted(before ^ now):
        _refresh(cursor, changed)


def update_waiting(cursor: Cursor, voter: str) -> None:
    """Update, after a new vote, whether this voter's votes wait or count."""
    least = cursor.execute("select votes from probation").fetchone()
    if least is None:
        return
    query = f"select count(*) {_OWN} and voter = ?"
    cast = value_of(cursor, query, [voter])
    known = "select 1 from waiting_voters where voter = ?"
    waits = cursor.execute(known, [voter]).fetchone() is not None
    if 0 < cast < least[0] and not waits:
        cursor.execute("insert into waiting_voters values (?)", [voter])
    elif cast >= least[0] and waits:
        cursor.execute("delete from waiting_voters where voter = ?", [voter])
        _refresh(cursor, [voter])


def _waiting(cursor: Cursor) -> set[str]:
    return set(column_of(cursor, "from waiting_voters"))


def _refresh(cursor: Cursor, voters: list[str]) -> None:
    touched = "battle in (select battle from votes where voter in (select unnest($voters)))"
    derived_rows.refresh(cursor, touched, {"voters": voters})
