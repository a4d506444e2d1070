"""Rows of ``export --format arena`` as the battles, replies and votes in them.

Such rows tell a battle's models, mode, seed and texts. What else is known of it, they do not hold:
sampling, tokens and arithmetic are written as what would change nothing.
"""

from __future__ import annotations

import duckdb

Cursor = duckdb.DuckDBPyConnection

_OUTLINES = """
create or replace temp table outlines as
select
    file, line, battle,
    min(tstamp) over (partition by battle) as created_at,
    mode, seed, models, question_id, category, language,
    asked(conversation_a, conversation_b) as prompts,
    opening(conversation_a, conversation_b) as system
from in_arena
where battle not in (select battle from battles)
    and battle not in (select battle from in_battles)
qualify row_number() over (partition by battle order by file, line) = 1
"""
_BATTLES = """
insert into in_battles by name
select
    * exclude (question_id, category, language, system),
    'import' as origin,
    ''::blob as nonce,
    '' as commitment,
    1 as temperature, 0 as top_k, 1 as top_p, 0 as max_new_tokens, 'unknown' as coupling,
    map([]::text[], []::text[]) as arithmetic,
    list_transform(prompts, lambda text: '') as prefixes,
    list_transform(prompts, lambda text, i: if(i = 1, system, '')) as systems,
    list_transform(prompts, lambda text: nullif(question_id, battle)) as prompt_ids,
    list_transform(prompts, lambda text: category) as categories,
    list_transform(prompts, lambda text: language) as languages
from outlines
"""
_REPLIES = """
insert into in_replies by name
select
    file, line, battle, turn::integer as turn, place, models[place + 1] as model,
    texts[turn + 1] as text, []::integer[] as tokens, 'stop' as finish
from (
    select *, unnest(range(len(texts))) as turn
    from (
        select
            *,
            place_{side} as place,
            answers(conversation_{side}, conversation_{other}) as texts
        from in_arena
        where battle in (select battle from outlines)
    )
)
where texts[turn + 1] is not null
"""
_VOTES = """
insert into in_votes by name
select
    file, line, vote, battle, judge as voter, ranks,
    winner = 'tie (bothbad)' as both_bad,
    source, early, tstamp as cast_at, models
from in_arena
"""


def spread(cursor: Cursor) -> None:
    """Add what the rows of ``in_arena`` say to the other temporary tables of `export_tables`."""
    cursor.execute(_OUTLINES)
    cursor.execute(_BATTLES)
    for side, other in ("ab", "ba"):
        cursor.execute(_REPLIES.format(side=side, other=other))
    cursor.execute(_VOTES)
