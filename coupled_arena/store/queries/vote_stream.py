"""Votes in the order in which they were cast: who said what of which two models."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from coupled_arena.store.tables.times import shown

Cursor = duckdb.DuckDBPyConnection

# Of more than two answers the first two, whose places were drawn: what a vote says of other pairs
# depends on what it says of these. Votes on equal texts, or one model twice, say nothing.
_STREAM = f"""
with said as (
    select
        seq, voter, cast_at, models[1] as one, models[2] as other,
        case
            when ranks[1] = ranks[2] then 2
            when (ranks[1] < ranks[2]) = (models[1] < models[2]) then 0
            else 1
        end as outcome
    from counted_votes
    join battles using (battle)
    left join (select distinct battle, true as same from same_words where i = 1 and j = 2)
        using (battle)
    where source = 'human' and models[1] <> models[2] and same is null
)
select
    voter, least(one, other) as first, greatest(one, other) as second,
    outcome::bigint as outcome, epoch({shown("cast_at")}) as moment
from said

order by seq
"""


@dataclass(frozen=True, eq=False)
class VoteStream:
    """Votes in the order of their commits.

    Attributes
    ----------
    voter, first, second : ndarray of object, shape (n,)
        Names; the first of two models is the first by name.
    outcome : ndarray of int64, shape (n,)
        0: the first is preferred; 1: the second; 2: neither.
    moment : ndarray of float64, shape (n,)
        When it was cast, in seconds since 1970.
    """

    voter: NDArray[np.object_]
    first: NDArray[np.object_]
    second: NDArray[np.object_]
    outcome: NDArray[np.int64]
    moment: NDArray[np.float64]


def vote_stream(cursor: Cursor) -> VoteStream:
    """Return the votes that count."""
    found = cursor.execute(_STREAM).fetchnumpy()
    return VoteStream(
        voter=np.asarray(found["voter"], dtype=object),
        first=np.asarray(found["first"], dtype=object),
        second=np.asarray(found["second"], dtype=object),
        outcome=np.asarray(found["outcome"], np.int64),
        moment=np.asarray(found["moment"], np.float64),
    )
