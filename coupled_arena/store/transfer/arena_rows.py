"""The rows of ``export --format arena``: as SQL on the battles and turns of an export, and back.

Such rows tell a battle's models, mode, seed and texts. What else is known of it, they do not hold:
sampling, tokens and arithmetic come back as what would change nothing.
"""

from __future__ import annotations

import duckdb

from coupled_arena.store.transfer.conversations import PARSED

# Like the published rows of Chatbot Arena, one for each pair that a vote compares. What follows
# `tstamp` lets an import meet the same battles and votes.
ROWS = """
    select
        coalesce(prompt_id, battle) as question_id,
        models[i] as model_a,
        models[j] as model_b,
        case
            when both_bad then 'tie (bothbad)'
            when ranks[i] = ranks[j] then 'tie'
            when ranks[i] < ranks[j] then 'model_a'
            else 'model_b'
        end as winner,
        voter as judge,
        conversation(turns, i) as conversation_a,
        conversation(turns, j) as conversation_b,
        len(turns) as turn,
        true as anony,
        category,
        language,
        epoch_us(cast_at) / 1e6 as tstamp,
        vote, battle, mode,
        printf('%016x', seed) as seed,
        source, early, models, ranks,
        i - 1 as place_a,
        j - 1 as place_b
    from counted_votes
    join (
        select *, unnest(range(i + 1, len(models) + 1)) as j
        from (select *, unnest(range(1, len(models))) as i from visible)
    ) using (battle)
    left join asked using (battle)
    left join (
        select
            battle,
            list(
                {'turn': turn, 'system': system, 'prompt': prompt, 'replies': replies}
                order by turn
            ) as turns
        from turns
        left join (
            select battle, turn, map(list(place + 1), list(prefix || text)) as replies
            from replies
            join turns using (battle, turn)
            group by all
        ) using (battle, turn)
        group by battle
    ) using (battle)
"""
CONVERSATION = """
create or replace temp macro conversation(turns, place) as
    list_filter(
        flatten(list_transform(turns, lambda turn: [
            {'role': 'system', 'content': if(turn.turn = 0, nullif(turn.system, ''), null)},
            {'role': 'user', 'content': turn.prompt},
            {'role': 'assistant', 'content': turn.replies[place]}
        ])),
        lambda message: message.content is not null
    )
"""
"""Makes the macro that `ROWS` needs."""


Cursor = duckdb.DuckDBPyConnection

_OUTLINES = """
create or replace temp table outlines as
select
    file, line, battle,
    min(tstamp) over (partition by battle) as created_at,
    mode, seed, models, question_id, category, language,
    asked as prompts,
    opening(parsed_a, parsed_b) as system
from {arena}
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
            answers(spoken_{side}, starts_{side}) as texts
        from {arena}
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
    arena = PARSED.format(rows="in_arena")
    cursor.execute(_OUTLINES.format(arena=arena))
    cursor.execute(_BATTLES)
    for side in ("a", "b"):
        cursor.execute(_REPLIES.format(side=side, arena=arena))
    cursor.execute(_VOTES)
