"""Conversations in SQL: of any file as questions and answers, and the rows of ``--format arena``.

The order of the messages tells which answer belongs to which question: a question without an answer
has none, and no later answer moves up. Arena rows tell a battle's models, mode, seed and texts.
Sampling, tokens and arithmetic are not in them, and come back as what would change nothing.
"""

from __future__ import annotations

from coupled_arena.core.sql import Cursor
from coupled_arena.store.tables.votes import turned

# Contents are text, or since 2025 lists of parts, some of which have text.
MACROS = """
create or replace temp macro text_of(content) as if(
    json_type(content) = 'ARRAY',
    array_to_string(
        list_transform(
            content::json[],
            lambda part: if(json_type(part) = 'VARCHAR', part ->> '$', part ->> '$.text')
        ),
        ''
    ),
    content ->> '$'
);
create or replace temp macro messages(conversation) as list_filter(
    try(from_json(conversation, '[{"role": "VARCHAR", "content": "JSON"}]')),
    lambda message: message.role in ('user', 'assistant', 'model', 'system', 'developer')
);
create or replace temp macro spoken(messages) as list_transform(
    list_filter(messages, lambda message: message.role in ('user', 'assistant', 'model')),
    lambda message: {'asks': message.role = 'user', 'text': text_of(message.content)}
);
create or replace temp macro turns_of(spoken, opens) as list_concat(
    if(opens, [0], []),
    list_filter(range(1, len(spoken) + 1), lambda i: spoken[i].asks)
);
create or replace temp macro asked(spoken, opens) as list_concat(
    if(opens, [''], []),
    list_transform(
        list_filter(spoken, lambda message: message.asks),
        lambda message: coalesce(message.text, '')
    )
);
create or replace temp macro answer(messages) as if(
    len(messages) = 0, null,
    array_to_string(list_transform(messages, lambda each: each.text), E'\\n\\n')
);
create or replace temp macro answers(spoken, starts) as list_transform(
    if(len(spoken) > 0, range(1, len(starts) + 1), null),
    lambda k: answer(list_filter(
        spoken[starts[k] + 1 : coalesce(starts[k + 1], len(spoken) + 1) - 1],
        lambda message: not message.asks and message.text is not null
    ))
);
create or replace temp macro system_of(messages) as array_to_string(
    list_transform(
        list_filter(messages, lambda message: message.role in ('system', 'developer')),
        lambda message: text_of(message.content)
    ),
    E'\\n\\n'
);
create or replace temp macro opening(one, other) as
    coalesce(nullif(system_of(one), ''), system_of(other), '');
create or replace temp macro unread(conversation, messages) as if(
    len(messages) > 0, false,
    -- A list of words would be joined, with every conversation.
    coalesce(not regexp_full_match(trim(conversation), '(?i)|\\[\\]|null|none|nan'), false)
);
create or replace temp macro listed(value) as
    try(from_json_strict(if(starts_with(trim(value), '['), value, null), '["VARCHAR"]'));
create or replace temp macro all_lists(prompt, response_a, response_b) as
    getvariable('of_lists') and listed(prompt) is not null
        and (response_a is null or listed(response_a) is not null)
        and (response_b is null or listed(response_b) is not null);
"""
"""`all_lists` needs `LISTED` for each file."""

# Each step is a column, for a macro would be computed wherever its parameter is named.
PARSED = """(
    select
        *,
        case
            when len(spoken_a) > 0 then asked(spoken_a, opens)
            when len(spoken_b) > 0 then asked(spoken_b, opens)
        end as asked,
        turns_of(spoken_a, opens) as starts_a,
        turns_of(spoken_b, opens) as starts_b
    from (
        -- Where a model speaks first in either, turn 0 has no question in both.
        select
            *,
            coalesce(not spoken_a[1].asks, false) or coalesce(not spoken_b[1].asks, false) as opens
        from (
            select *, spoken(parsed_a) as spoken_a, spoken(parsed_b) as spoken_b
            from (
                select
                    *,
                    messages(conversation_a) as parsed_a,
                    messages(conversation_b) as parsed_b
                from {rows}
            )
        )
    )
)"""
"""A table's rows with the texts of ``conversation_a`` and ``conversation_b``."""

# Kaggle's first file has a list of turns in each field, its second one plain texts, and an answer
# may be a list in JSON itself: what most questions are tells which file it is.
LISTED = """
set variable of_lists = (
    select count(listed(prompt)) * 2 > count(prompt)
    from (
        select unnest(from_json(row, '{"prompt": "VARCHAR"}'))
        from file_rows
        where reason is null
    )
)
"""


# Like the published rows of Chatbot Arena, one for each pair that a vote compares. What follows
# `tstamp` lets an import meet the same battles and votes.
ARENA_ROWS = """
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
    from (
        select * replace (if(turned, j, i) as i, if(turned, i, j) as j)
        from (
            select *, $turned as turned
            from counted_votes
            join (
                select *, unnest(range(i + 1, len(models) + 1)) as j
                from (select *, unnest(range(1, len(models))) as i from visible)
            ) using (battle)
        )
    )
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
""".replace("$turned", turned())
ARENA_MACRO = """
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
    source, early, tstamp as cast_at, models,
    if(len(models) = 2 and place_a > place_b, [1, 0], null) as shown
from in_arena
"""


def spread_arena_rows(cursor: Cursor) -> None:
    """Add what the rows of ``in_arena`` say to the other temporary tables of `export_tables`."""
    arena = PARSED.format(rows="in_arena")
    cursor.execute(_OUTLINES.format(arena=arena))
    cursor.execute(_BATTLES)
    for side in ("a", "b"):
        cursor.execute(_REPLIES.format(side=side, arena=arena))
    cursor.execute(_VOTES)
