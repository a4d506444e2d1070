-- In which order a voter saw the answers: their places, from 0. Null is the battle's own order, as in
-- all rounds of the arena, and in all votes before this step. An import may have a question in both
-- orders, and its votes stand on one battle.
alter table votes add column shown integer[];

-- Views with `*` keep the columns that they were made with.
create or replace view current_votes as
select *
from votes
qualify row_number() over (partition by battle, voter order by seq desc) = 1;

create or replace view ruled_votes as
with of_voters as (
    select voter, list(struct_pack(since, until)) as times
    from standing_exclusions
    where voter is not null
    group by voter
),
of_all as (
    select list(struct_pack(since, until)) as all_times from standing_exclusions where voter is null
),
waits as (
    select voter, true as is_new from waiting_voters
),
naming as (
    select battle, true as has_name from naming_replies group by battle
)
select
    v.*,
    list_bool_or(list_transform(list_concat(times, all_times), lambda e:
        v.cast_at >= coalesce(e.since, '-infinity'::timestamptz)
        and v.cast_at < coalesce(e.until, 'infinity'::timestamptz)
    )) is true as excluded,
    is_new is true and v.source = 'human' as waiting,
    has_name is true and v.source = 'human' as named
from current_votes as v
left join of_voters using (voter)
left join waits using (voter)
left join naming using (battle)
cross join of_all;

create or replace view counted_votes as
select * exclude (excluded)
from (
    select * exclude (waiting)
    from (select * exclude (named) from ruled_votes where not named)
    where not waiting
)
where not excluded;

-- Model a is the one that the voter saw first; a judge's verdict on the pair turns with it.
create or replace view comparison_rows as
with voted as (
    select
        p.battle, p.battle_no, p.mode, p.i, p.j, v.voter,
        coalesce(
            list_position(v.shown, p.j::integer - 1) < list_position(v.shown, p.i::integer - 1), false
        ) as turned,
        p.models[if(turned, p.j, p.i)] as name_a,
        p.models[if(turned, p.i, p.j)] as name_b,
        coalesce(v.source = 'identical', false) as identical,
        case
            when v.ranks is null then null
            when v.both_bad then 'both_bad'
            when v.ranks[p.i] = v.ranks[p.j] then 'tie'
            when same.battle is not null then null
            when (v.ranks[p.i] < v.ranks[p.j]) <> turned then 'first'
            else 'second'
        end as human
    from battle_pairs as p
    left join counted_votes as v using (battle)
    left join same_words as same on same.battle = p.battle and same.i = p.i and same.j = p.j
),
judged as (
    select
        voted.*, 0::smallint as judge_no,
        null as verdict, null as p_first, null as p_second, false as flipped
    from voted
    union all
    select
        voted.*, judge_no,
        case
            when not turned or verdict not in ('first', 'second') then verdict
            when verdict = 'first' then 'second'
            else 'first'
        end,
        if(turned, p_second, p_first), if(turned, p_first, p_second), flipped
    from voted
    join judgements using (battle, i, j)
    join judges using (judge)
)
select
    battle, battle_no, prompt_no, judge_no, mode::mode as mode,
    a.model_no as model_a,
    b.model_no as model_b,
    human::outcome as human,
    verdict::outcome as verdict,
    identical, voter, category, language, p_first, p_second, flipped
from judged
join models as a on a.model = name_a
join models as b on b.model = name_b
join prompt_keys using (battle)
join prompts using (prompt_key);
