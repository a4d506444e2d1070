"""The battles whose names somebody has been told, the last ones first.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from coupled_arena.core.records import Source
from coupled_arena.store.tables.times import utc

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class OwnRound:
    """A battle whose names a voter knows, with their own vote unless a judge decided it.

    Attributes
    ----------
    ranks : tuple of int or None
        By place; None where there is no vote, as with `source`.
    ended_at : datetime
        When they voted, or were told what the judge had decided.
    """

    battle: str
    question: str
    models: tuple[str, ...]
    ranks: tuple[int, ...] | None
    both_bad: bool
    source: Source | None
    ended_at: datetime


def own_rounds(cursor: Cursor, voter: str, most: int) -> list[OwnRound]:
    """Return the newest of a voter's rounds that were told to them."""
    rows = cursor.execute(
        f"""
        with own as (
            select *, coalesce(cast_at, revealed_at) as ended_at
            from (select * from reveals where voter = $voter)
            left join votes using (battle, voter)
            qualify row_number() over (partition by battle order by seq desc) = 1
            order by ended_at desc, seq desc
            limit $most
        )
        select
            battle, prompt, models, ranks, coalesce(both_bad, false), source,
            {utc("ended_at")}
        from own
        join battles using (battle)
        join (select battle, prompt from turns where turn = 0) using (battle)
        order by ended_at desc, seq desc
        """,
        {"voter": voter, "most": most},
    ).fetchall()
    return [
        OwnRound(
            *(battle, asked, tuple(models), None if ranks is None else tuple(ranks), bad),
            *(None if source is None else Source(source), at.replace(tzinfo=UTC)),
        )
        for battle, asked, models, ranks, bad, source, at in rows
    ]
