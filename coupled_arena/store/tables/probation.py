"""Voters whose votes wait until they have cast enough of them; on a given cursor.

Votes on battles that were imported do not wait: they were cast elsewhere.
"""

from __future__ import annotations

import duckdb

from coupled_arena.store.tables import upkeep

Cursor = duckdb.DuckDBPyConnection

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
    now = {voter for (voter,) in cursor.execute(query, [votes]).fetchall()}
    for voter in before - now:
        cursor.execute("delete from waiting_voters where voter = ?", [voter])
    for voter in now - before:
        cursor.execute("insert into waiting_voters values (?)", [voter])
    if changed := sorted(before ^ now):
        _refresh(cursor, changed)


def look(cursor: Cursor, voter: str) -> None:
    """See, after somebody has cast a vote, whether theirs wait, or count from now on."""
    least = cursor.execute("select votes from probation").fetchone()
    if least is None:
        return
    query = f"select count(*) {_OWN} and voter = ?"
    cast = cursor.execute(query, [voter]).fetchall()[0][0]
    known = "select 1 from waiting_voters where voter = ?"
    waits = cursor.execute(known, [voter]).fetchone() is not None
    if 0 < cast < least[0] and not waits:
        cursor.execute("insert into waiting_voters values (?)", [voter])
    elif cast >= least[0] and waits:
        cursor.execute("delete from waiting_voters where voter = ?", [voter])
        _refresh(cursor, [voter])


def _waiting(cursor: Cursor) -> set[str]:
    return {voter for (voter,) in cursor.execute("from waiting_voters").fetchall()}


def _refresh(cursor: Cursor, voters: list[str]) -> None:
    touched = "battle in (select battle from votes where voter in (select unnest($voters)))"
    upkeep.refresh(cursor, touched, {"voters": voters})
