"""Conversations of a file as questions, answers and a system prompt, in SQL.

Which answer belongs to which question is told by the order of the messages: a question without an
answer has none, and no later answer moves up.
"""

from __future__ import annotations

# Contents are text, or since 2025 lists of parts, some of which have text.
MACROS = """
create or replace temp macro said(content) as if(
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
    lambda message: message.role in ('user', 'assistant', 'system', 'developer')
);
create or replace temp macro spoken(messages) as list_transform(
    list_filter(messages, lambda message: message.role in ('user', 'assistant')),
    lambda message: {'asks': message.role = 'user', 'text': said(message.content)}
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
        lambda message: said(message.content)
    ),
    E'\\n\\n'
);
create or replace temp macro opening(one, other) as
    coalesce(nullif(system_of(one), ''), system_of(other), '');
create or replace temp macro unread(conversation, messages) as
    coalesce(lower(trim(conversation)) not in ('', '[]', 'null', 'none', 'nan'), false)
        and coalesce(len(messages), 0) = 0;
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
"""A table's rows with what is said in ``conversation_a`` and ``conversation_b``."""

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
