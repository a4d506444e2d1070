"""Who has voted, and what several of them said of one pair of answers.

All functions work on a cursor that somebody else opened; in one transaction they agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import duckdb
import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.errors import StoreError
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection, condition_of, model_numbers

Cursor = duckdb.DuckDBPyConnection

# Where one model answers twice in a battle its pairs cannot be told apart: they are left out.
_SHARED = """
with asked as (
    select * from comparisons
    where {where} and human is not null and not identical and model_a <> model_b
),
shared as (
    select
        prompt_no, battle_no, model_a, model_b, list(voter) as voters,
        count(*) filter (human = 'first') as first,
        count(*) filter (human = 'second') as second,
        count(*) filter (human in ('tie', 'both_bad')) as neither
    from asked
    group by all
    having count(*) > 1 and count(*) = count(distinct voter)
)
"""


@dataclass(frozen=True, eq=False)
class SharedVotes:
    """What people said of pairs of answers that two or more of them voted on.

    Attributes
    ----------
    said : ndarray of int64, shape (units, 3)
        How many preferred the answer shown first, the second, and neither.
    prompts : ndarray of int64, shape (units,)
        A number of the prompt that each pair answers.
    battles, annotators : int
        How many of each there are among them.
    voted : int
        Battles that anybody was asked about and voted on.
    """

    said: NDArray[np.int64]
    prompts: NDArray[np.int64]
    battles: int
    annotators: int
    voted: int


def shared_votes(cursor: Cursor, selection: Selection) -> SharedVotes:
    """Read the votes on what two or more people voted on; ties nobody was asked about are in none.

    Raises
    ------
    StoreError
        The store knows no such model.
    """
    selection = replace(selection, judge=None)
    where, values = condition_of(cursor, selection, model_numbers(cursor, selection))
    shared = _SHARED.format(where=where)
    rows = cursor.execute(
        f"{shared} select prompt_no, first, second, neither from shared order by all", values
    ).fetchnumpy()
    counted = cursor.execute(
        f"""
        {shared}
        select
            (select count(distinct battle_no) from shared),
            (select count(distinct voter) from (select unnest(voters) as voter from shared)),
            (select count(distinct battle_no) from asked)
        """,
        values,
    ).fetchall()[0]
    said = [np.asarray(rows[name], dtype=np.int64) for name in ("first", "second", "neither")]
    return SharedVotes(np.stack(said, axis=1), np.asarray(rows["prompt_no"], np.int64), *counted)


def check_voter(store: Store, voter: str, called: str) -> None:
    """Refuse somebody who has not voted; `called` is what they were called.

    Raises
    ------
    StoreError
        They have not.
    """
    with store.cursor() as cursor:
        query = "select 1 from votes where voter = ? limit 1"
        if cursor.execute(query, [voter]).fetchone() is None:
            raise StoreError(f"There are no votes by {called[:80]!r} here.")
