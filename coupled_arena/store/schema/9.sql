-- How long each side of a battle is and how it is laid out, in all turns together: what style control
-- holds fixed. It follows from the replies and is kept beside them because counting again takes a
-- minute where a million battles have texts. Code is text, but its signs are no Markdown; a fence
-- that nothing closes reaches to the end.
create table reply_styles (
    battle_no bigint not null,
    model_no smallint not null,
    characters bigint not null,
    headers bigint not null,
    bold bigint not null,
    lists bigint not null
);

-- Of a model that meets itself nobody knows later which of its replies a comparison was about.
create view reply_style_rows as
with prose as (
    select
        battle, place, model, text,
        if(
            contains(text, '```'), regexp_replace(text, '```.*?(```|\z)', '', 'gs'), text
        ) as marked
    from replies
),
sides as (
    select
        battle, place, model,
        sum(length(text))::bigint as characters,
        sum(
            if(
                contains(marked, '#'),
                len(regexp_extract_all(marked, '(?m)^ {0,3}#{1,6}[ \t]')), 0
            )
        )::bigint as headers,
        sum(
            if(
                contains(marked, '**') or contains(marked, '__'),
                len(regexp_extract_all(marked, '\*\*[^*\s][^*\n]*\*\*|__[^_\s][^_\n]*__')), 0
            )
        )::bigint as bold,
        sum(
            len(regexp_extract_all(marked, '(?m)^[ \t]*([-*+]|[0-9]{1,9}[.)])[ \t]'))
        )::bigint as lists
    from prose
    group by battle, place, model
)
select battle, battle_no, model_no, characters, headers, bold, lists
from sides
join battles using (battle)
join models using (model)
where len(list_filter(battles.models, lambda m: m = sides.model)) = 1;

insert into reply_styles select * exclude (battle) from reply_style_rows;
