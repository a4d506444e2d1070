"""The rows of the flat table as SQL: a row for each pair of models that a vote compares.

All functions work on a cursor that somebody else opened, after `stand` in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from coupled_arena.store.queries.visibility import VISIBLE, Hidden
from coupled_arena.store.tables.times import shown, utc

Cursor = duckdb.DuckDBPyConnection

ORDERS = {"ab": "in_order", "ba": "not in_order"}
_PAGE = 20_000  # votes

_STANDING = """
create or replace temp table standing as
select seq
from counted_votes
join battles using (battle)
where battle in (select battle from battles where {visible})
"""
# Unknown is null: an import writes 0 for a seed, a sampler that changes nothing, and no text.
_PAIRS = """
with page as (
    select *
    from votes
    where seq between {first} and {last} and seq in (from standing)
),
fought as (from battles where battle in (select battle from page)),
paired as (
    select *, unnest(range(i + 1, len(models) + 1)) as j
    from (select *, unnest(range(1, len(models))) as i from fought)
),
asked as (
    select
        battle,
        count(*)::integer as turns,
        any_value(prompt_id) filter (where turn = 0) as prompt_id,
        any_value(prompt) filter (where turn = 0) as prompt,
        any_value(category) filter (where turn = 0) as category,
        any_value(language) filter (where turn = 0) as language
    from turns
    where battle in (select battle from fought)
    group by battle
),
drawn as (
    select
        battle, place + 1 as i,
        if(bool_and(len(tokens) = 0 and text <> ''), null, sum(len(tokens)))::integer as tokens
    from replies
    where battle in (select battle from fought)
    group by all
),
newest as (
    select *
    from verdicts
    where battle in (select battle from fought) and outcome is not null
    qualify row_number() over (
        partition by battle, judge, first_place, second_place order by seq desc
    ) = 1
),
judged as (
    select
        battle,
        least(first_place, second_place) + 1 as i,
        greatest(first_place, second_place) + 1 as j,
        judge,
        first_place < second_place as in_order,
        case
            when outcome not in ('first', 'second') then outcome
            when (outcome = 'first') = in_order then 'model_a'
            else 'model_b'
        end as said
    from newest
),
said as (
    select battle, i, j {verdicts}
    from judged
    group by all
)
select
    vote, {cast_at}, battle, coalesce(turns, 0)::integer as turns,
    prompt_id, nullif(prompt, '') as prompt, category, language, origin, mode,
    if(origin = 'import' and seed = 0, null, printf('%016x', seed)) as seed,
    if(coupling = 'unknown', null, temperature) as temperature,
    if(coupling = 'unknown', null, top_k) as top_k,
    if(coupling = 'unknown', null, top_p) as top_p,
    if(coupling = 'unknown', null, max_new_tokens) as max_new_tokens,
    models[p.i] as model_a,
    models[p.j] as model_b,
    (p.i - 1)::integer as place_a,
    (p.j - 1)::integer as place_b,
    case
        when both_bad then 'both_bad'
        when ranks[p.i] = ranks[p.j] then 'tie'
        when ranks[p.i] < ranks[p.j] then 'model_a'
        else 'model_b'
    end as winner,
    models[p.i] <> models[p.j] and (winner in ('tie', 'both_bad') or same.battle is null)
        as counted,
    source, early, voter,
    a.tokens as tokens_a,
    b.tokens as tokens_b
    {columns}
from page
join paired as p using (battle)
left join asked using (battle)
left join drawn as a on a.battle = p.battle and a.i = p.i
left join drawn as b on b.battle = p.battle and b.i = p.j
left join same_words as same on same.battle = p.battle and same.i = p.i and same.j = p.j
left join said on said.battle = p.battle and said.i = p.i and said.j = p.j
order by page.seq, p.i, p.j
"""
_VOTED = "battle in (select battle from votes where seq in (from standing))"
_SPANS = """
select min(seq), max(seq)
from (select seq, (row_number() over (order by seq) - 1) // $size as page from standing)
group by page
order by page
"""
_HELD = f"""
select
    coalesce(sum(len(models) * (len(models) - 1) // 2), 0)::bigint,
    count(*), count(distinct voter), count(distinct battle),
    {utc("min(cast_at)")},
    {utc("max(cast_at)")}
from votes
join battles using (battle)
where seq in (from standing) and len(models) > 1
"""


@dataclass(frozen=True)
class FlatCounts:
    """What a flat table holds; `first` and `last` are when votes were cast, None without any."""

    rows: int
    votes: int
    voters: int
    battles: int
    first: datetime | None
    last: datetime | None
    models: tuple[str, ...]
    judges: tuple[str, ...]


def stand(cursor: Cursor, hidden: Hidden) -> None:
    """Note in a temporary table which votes stand, on battles that may be seen."""
    cursor.execute(_STANDING.format(visible=VISIBLE[hidden]))


def spans(cursor: Cursor) -> list[tuple[int, int]]:
    """Return the first and the last vote of each page."""
    return cursor.execute(_SPANS, {"size": _PAGE}).fetchall()


def page(cursor: Cursor, first: int, last: int, judges: tuple[str, ...]) -> Any:
    """Return the rows of some votes as an Arrow table, judges' columns by their number."""
    verdicts, columns = _judge_sql(judges)
    cast_at = f"{shown('cast_at')} as cast_at"
    query = _PAIRS.format(
        first=first, last=last, verdicts=verdicts, columns=columns, cast_at=cast_at
    )
    found: Any = cursor.sql(query, params={f"j{n}": name for n, name in enumerate(judges)})
    return found.to_arrow_table()


def counts(cursor: Cursor) -> FlatCounts:
    """Count what the flat table holds."""
    (held,) = cursor.execute(_HELD).fetchall()
    return FlatCounts(*held, models=models(cursor), judges=judges(cursor))


def models(cursor: Cursor) -> tuple[str, ...]:
    """Return the models that the votes are about, sorted."""
    return _column(
        cursor, f"select distinct unnest(models) as model from battles where {_VOTED} order by 1"
    )


def judges(cursor: Cursor) -> tuple[str, ...]:
    """Return the judges that said something of the same battles, sorted."""
    return _column(
        cursor,
        f"select distinct judge from verdicts where outcome is not null and {_VOTED} order by 1",
    )


def words(cursor: Cursor, name: str) -> tuple[str, ...]:
    """Return what first questions have in a column of ``turns``, sorted."""
    return _column(
        cursor,
        f"""
        select distinct {name}
        from turns
        where turn = 0 and {name} is not null and {_VOTED}
        order by 1
        """,
    )


def _judge_sql(judges: tuple[str, ...]) -> tuple[str, str]:
    """Return the columns of verdicts by numbers: two judges' names may differ in case alone."""
    verdicts, columns = "", ""
    for n, _ in enumerate(judges):
        for order, condition in ORDERS.items():
            wanted = f"judge = $j{n} and {condition}"
            verdicts += f", any_value(said) filter (where {wanted}) as j{n}_{order}"
            columns += f", j{n}_{order}"
    return verdicts, columns


def _column(cursor: Cursor, query: str) -> tuple[str, ...]:
    return tuple(value for (value,) in cursor.execute(query).fetchall())
