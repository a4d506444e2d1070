"""Conversations of a file as questions, answers and a system prompt, in SQL.

Which answer belongs to which question is told by the order of the messages: a question without an
answer has none, and no later answer moves up.
"""

from __future__ import annotations

# Contents are text, or since 2025 lists of parts, some of which have text. `opens` is whether the
# first to speak in either conversation is a model: then turn 0 has no question, in both.
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
create or replace temp macro spoken(conversation) as list_transform(
    list_filter(messages(conversation), lambda message: message.role in ('user', 'assistant')),
    lambda message: {'asks': message.role = 'user', 'text': said(message.content)}
);
create or replace temp macro opens(one, other) as
    coalesce(not spoken(one)[1].asks, false) or coalesce(not spoken(other)[1].asks, false);
create or replace temp macro asked_of(spoken, opens) as list_concat(
    if(opens, [''], []),
    list_transform(
        list_filter(spoken, lambda message: message.asks),
        lambda message: coalesce(message.text, '')
    )
);
create or replace temp macro asked(one, other) as
    if(
        coalesce(len(spoken(one)), 0) + coalesce(len(spoken(other)), 0) = 0,
        null,
        asked_of(if(len(spoken(one)) > 0, spoken(one), spoken(other)), opens(one, other))
    );
-- A question begins a turn; a model's own beginning is before all of them.
create or replace temp macro turns_of(spoken, opens) as list_concat(
    if(opens, [0], []),
    list_filter(range(1, len(spoken) + 1), lambda i: spoken[i].asks)
);
create or replace temp macro answers_of(spoken, starts) as list_transform(
    range(1, len(starts) + 1),
    lambda k: nullif(
        list_filter(
            spoken[starts[k] + 1 : coalesce(starts[k + 1], len(spoken) + 1) - 1],
            lambda message: not message.asks and message.text is not null
        ),
        []
    )
);
create or replace temp macro answers(one, other) as if(
    len(spoken(one)) > 0,
    list_transform(
        answers_of(spoken(one), turns_of(spoken(one), opens(one, other))),
        lambda those: array_to_string(list_transform(those, lambda each: each.text), E'\\n\\n')
    ),
    null
);
create or replace temp macro system_of(conversation) as array_to_string(
    list_transform(
        list_filter(
            messages(conversation), lambda message: message.role in ('system', 'developer')
        ),
        lambda message: said(message.content)
    ),
    E'\\n\\n'
);
create or replace temp macro opening(one, other) as
    coalesce(nullif(system_of(one), ''), system_of(other), '');
create or replace temp macro unread(conversation) as
    lower(trim(conversation)) not in ('', '[]', 'null', 'none', 'nan')
        and coalesce(len(messages(conversation)), 0) = 0;
create or replace temp macro listed(value) as
    try(from_json_strict(if(starts_with(trim(value), '['), value, null), '["VARCHAR"]'));
create or replace temp macro all_lists(prompt, response_a, response_b) as
    getvariable('of_lists') and listed(prompt) is not null
        and (response_a is null or listed(response_a) is not null)
        and (response_b is null or listed(response_b) is not null);
"""
"""They need DuckDB's lambdas; `listed` and `all_lists` need `LISTED` for each file."""

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
