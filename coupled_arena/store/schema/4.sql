-- A vote that ranks two answers apart that have the same words prefers nothing that was said. Such a
-- comparison has a voter and no human outcome: it is counted apart, and in no statistics.
-- Pairs of places with the same words in all turns, from 1; upkeep keeps them as replies come in.
-- Answers without words, such as those of imports that carry no texts, are not known to be the same.
create table same_words (
    battle text not null,
    i integer not null,
    j integer not null
);

insert into same_words
with said as (
    select battle, place + 1 as i, list({turn: turn, text: text} order by turn) as words
    from replies
    group by battle, place
    having bool_or(text <> '')
),
grouped as (
    select battle, list(i) as places from said group by battle, words having count(*) > 1
),
first_ones as (select battle, places, unnest(places) as i from grouped),
paired as (select battle, i, unnest(places) as j from first_ones)
select * from paired where i < j;

create or replace view comparison_rows as
with voted as (
    select
        p.battle, p.battle_no, p.mode, p.i, p.j, v.voter,
        p.models[p.i] as name_a,
        p.models[p.j] as name_b,
        coalesce(v.source = 'identical', false) as identical,
        case
            when v.ranks is null then null
            when v.both_bad then 'both_bad'
            when v.ranks[p.i] = v.ranks[p.j] then 'tie'
            when same.battle is not null then null
            when v.ranks[p.i] < v.ranks[p.j] then 'first'
            else 'second'
        end as human
    from battle_pairs as p
    left join current_votes as v using (battle)
    left join same_words as same on same.battle = p.battle and same.i = p.i and same.j = p.j
),
judged as (
    select voted.*, 0::smallint as judge_no, null as verdict from voted
    union all
    select voted.*, judge_no, verdict
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
    identical, voter, category, language
from judged
join models as a on a.model = name_a
join models as b on b.model = name_b
join prompt_keys using (battle)
join prompts using (prompt_key);

create temp table mended as
select distinct battle_no from comparison_rows where human is null and voter is not null;
delete from comparisons where battle_no in (from mended);
insert into comparisons
select * exclude (battle) from comparison_rows where battle_no in (from mended);
drop table mended;
