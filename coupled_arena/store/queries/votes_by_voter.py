"""Votes by voter: their order in time, several on one pair, and agreement with a judge.

All functions work on a given cursor; in one transaction they agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.errors import StoreError
from coupled_arena.core.sql import Cursor
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection, condition_of, model_numbers
from coupled_arena.store.tables.times import shown, utc
from coupled_arena.store.tables.votes import turned

# Where one model answers twice in a battle its pairs cannot be told apart: they are left out.
_SHARED = """
with asked as (
    select * from comparisons
    where {where} and human is not null and not identical and model_a <> model_b
),
paired as (
    select
        prompt_no, battle_no, least(model_a, model_b) as low, greatest(model_a, model_b) as high,
        list(voter) as voters, count(*) as n,
        list({{
            'who': voter,
            'said': case human
                when if(model_a < model_b, 'first', 'second') then 0
                when if(model_a < model_b, 'second', 'first') then 1
                else 2
            end
        }}) as votes,
        count(*) filter (model_a < model_b) as upwards,
        count(*) filter (human = if(model_a < model_b, 'first', 'second')) as lower,
        count(*) filter (human = if(model_a < model_b, 'second', 'first')) as higher
    from asked
    group by all
    having n > 1 and n = count(distinct voter)
),
-- Imported votes may be on either order of a pair: first is what most of its voters saw first.
shared as (
    select
        row_number() over (order by prompt_no, battle_no, low, high) - 1 as unit,
        prompt_no, battle_no, voters,
        if(2 * upwards >= n, lower, higher) as first,
        if(2 * upwards >= n, higher, lower) as second,
        n - lower - higher as neither,
        2 * upwards < n as turned, votes
    from paired
)
"""


@dataclass(frozen=True, eq=False)
class SharedVotes:
    """Votes on pairs of answers that have two or more of them.

    Attributes
    ----------
    counts : ndarray of int64, shape (units, 3)
        How many preferred the answer shown first, the second, and neither.
    prompts : ndarray of int64, shape (units,)
        A number of the prompt that each pair answers.
    battles, annotators : int
        How many of each there are among them.
    voted : int
        Battles that anybody was asked about and voted on.
    unit, annotator, outcome : ndarray of int64, shape (votes,)
        Of each vote its row and column of `counts`, and a number of its voter.
    """

    counts: NDArray[np.int64]
    prompts: NDArray[np.int64]
    battles: int
    annotators: int
    voted: int
    unit: NDArray[np.int64]
    annotator: NDArray[np.int64]
    outcome: NDArray[np.int64]


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
        f"{shared} select prompt_no, first, second, neither from shared order by unit", values
    ).fetchnumpy()
    single = cursor.execute(
        f"""
        {shared},
        single as (select unit, turned, unnest(votes) as vote from shared)
        select
            unit, dense_rank() over (order by vote.who) - 1 as annotator,
            case when turned and vote.said < 2 then 1 - vote.said else vote.said end as outcome
        from single
        order by all
        """,
        values,
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
    votes = [np.asarray(rows[name], dtype=np.int64) for name in ("first", "second", "neither")]
    unit, annotator, outcome = (
        np.asarray(single[name]).astype(np.int64) for name in ("unit", "annotator", "outcome")
    )
    return SharedVotes(
        *(np.stack(votes, axis=1), np.asarray(rows["prompt_no"], np.int64), *counted),
        unit=unit,
        annotator=annotator,
        outcome=outcome,
    )


def check_voter(store: Store, voter: str, called: str) -> None:
    """Refuse a voter without votes; `called` is the name in the message.

    Raises
    ------
    StoreError
        They have not.
    """
    with store.cursor() as cursor:
        query = "select 1 from votes where voter = ? limit 1"
        if cursor.execute(query, [voter]).fetchone() is None:
            raise StoreError(f"There are no votes by {called[:80]!r} here.")


# "Both bad" prefers neither answer, as a tie does: the audit's agreement of rows takes it so.
_AGREEMENTS = """
select
    count(*) filter (
        if(human = 'both_bad', 'tie', human) = if(verdict = 'both_bad', 'tie', verdict)
    ) as agreed,
    count(*) as comparisons
from comparisons
join judges using (judge_no)
where judge = $judge and voter = $voter
    and human is not null and verdict is not null and not identical
group by prompt_no
order by prompt_no
"""


def agreements_by_prompt(cursor: Cursor, judge: str, voter: str) -> list[tuple[int, int]]:
    """Return for each prompt how many comparisons a judge and a voter agree on, and of how many.

    Ties of identical answers are left out: nobody was asked about them.
    """
    return cursor.execute(_AGREEMENTS, {"judge": judge, "voter": voter}).fetchall()


# Of more than two answers the first two, whose places were drawn: what a vote says of other pairs
# depends on what it says of these. Votes on equal texts, or one model twice, say nothing.
_STREAM = f"""
with decided as (
    select
        seq, voter, cast_at, models[1] as one, models[2] as other,
        case
            when ranks[1] = ranks[2] then 2
            when (ranks[1] < ranks[2]) = (models[1] < models[2]) then 0
            else 1
        end as outcome,
        -- Of the order that the voter saw.
        sign(ranks[2] - ranks[1])::bigint
            * if({turned("1", "2")}, -1, 1) as side,
        -- Imported votes of two people, or on two questions, in one microsecond have the time of
        -- the import. Several of one midnight are known by the day alone.
        origin = 'import' and if(
            utc = date_trunc('day', utc),
            count(*) over together > 1,
            utc <> date_trunc('millisecond', utc) and (
                min(voter) over together <> max(voter) over together
                or min(question) over together <> max(question) over together
            )
        ) as untimed
    from (select *, {utc("cast_at")} as utc from counted_votes)
    join battles using (battle)
    left join (
        select battle, concat_ws('/', prompt_id, prompt) as question from turns where turn = 0
    ) using (battle)
    left join (select distinct battle, true as same from same_words where i = 1 and j = 2)
        using (battle)
    where source = 'human' and models[1] <> models[2] and same is null
    window together as (partition by cast_at)
),
reveal_counts as (
    select voter, revealed_at, max(nth) as told
    from (
        select voter, revealed_at,
            row_number() over (partition by voter order by revealed_at) as nth
        from reveals
    )
    group by all
)
select
    decided.voter, least(one, other) as first, greatest(one, other) as second,
    outcome::bigint as outcome, side,
    if(untimed, 'nan'::double, epoch({shown("cast_at")})) as moment,
    coalesce(told, 0)::bigint as told
from decided
asof left join reveal_counts
    on decided.voter = reveal_counts.voter and decided.cast_at > reveal_counts.revealed_at
order by seq
"""
# Of more than two answers the first two, as above.
_TWICE = """
select
    voter, count(*) as came,
    count(*) filter (sign(again.ranks[2] - again.ranks[1]) = sign(v.ranks[2] - v.ranks[1])) as same
from repeats as again
join current_votes as v using (battle, voter)
where len(v.ranks) > 1
group by voter
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
        When it was cast, in seconds since 1970; NaN for imported votes without times.
    side : ndarray of int64, shape (n,)
        1: the answer shown first is preferred; -1: the other; 0: neither.
    told : ndarray of int64, shape (n,)
        Of how many battles this voter had been told the names before.
    """

    voter: NDArray[np.object_]
    first: NDArray[np.object_]
    second: NDArray[np.object_]
    outcome: NDArray[np.int64]
    moment: NDArray[np.float64]
    side: NDArray[np.int64]
    told: NDArray[np.int64]


def said_twice(cursor: Cursor) -> dict[str, tuple[int, int]]:
    """Return by voter how many battles came twice, and of how many they said the same."""
    rows = cursor.execute(_TWICE).fetchall()
    return {voter: (came, same) for voter, came, same in rows}


def vote_stream(cursor: Cursor) -> VoteStream:
    """Return the votes that count."""
    found = cursor.execute(_STREAM).fetchnumpy()
    return VoteStream(
        voter=np.asarray(found["voter"], dtype=object),
        first=np.asarray(found["first"], dtype=object),
        second=np.asarray(found["second"], dtype=object),
        outcome=np.asarray(found["outcome"], np.int64),
        moment=np.asarray(found["moment"], np.float64),
        side=np.asarray(found["side"], np.int64),
        told=np.asarray(found["told"], np.int64),
    )
