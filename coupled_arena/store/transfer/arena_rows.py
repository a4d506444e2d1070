"""The rows of ``export --format arena`` as SQL, on the battles and turns of an export."""

from __future__ import annotations

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
