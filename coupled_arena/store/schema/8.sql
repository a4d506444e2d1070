-- How likely a judge was to give each verdict, in the order in which it was shown the answers; null
-- where its server did not tell, and of all verdicts before this step.
alter table verdicts add column p_first double;
alter table verdicts add column p_second double;
alter table verdicts add column p_tie double;

-- The same of a pair, for the model shown first and the other: the mean of all orders it was asked
-- in, null where one lacks it; and whether the judge does not say the same in both.
alter table comparisons add column p_first double;
alter table comparisons add column p_second double;
alter table comparisons add column flipped boolean default false;

create or replace view judgements as
with newest as (
    select *
    from verdicts
    where outcome is not null
    qualify row_number() over (
        partition by battle, judge, first_place, second_place order by seq desc
    ) = 1
),
oriented as (
    select
        battle, judge,
        least(first_place, second_place) + 1 as i,
        greatest(first_place, second_place) + 1 as j,
        case
            when first_place < second_place or outcome not in ('first', 'second') then outcome
            when outcome = 'first' then 'second'
            else 'first'
        end as said,
        replace(said, 'both_bad', 'tie') as choice,
        if(first_place < second_place, p_first, p_second) as p_i,
        if(first_place < second_place, p_second, p_first) as p_j
    from newest
)
select
    battle, judge, i, j,
    if(min(said) = max(said), min(said), 'tie') as verdict,
    -- Of at most two, so that the order of adding does not matter.
    if(count(p_i) = count(*), (min(p_i) + max(p_i)) / 2, null) as p_first,
    if(count(p_j) = count(*), (min(p_j) + max(p_j)) / 2, null) as p_second,
    min(choice) <> max(choice) as flipped
from oriented
group by all;

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
    select
        voted.*, 0::smallint as judge_no,
        null as verdict, null as p_first, null as p_second, false as flipped
    from voted
    union all
    select voted.*, judge_no, verdict, p_first, p_second, flipped
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

create temp table mended as
select distinct battle_no from battles join judgements using (battle) where flipped;
delete from comparisons where battle_no in (from mended);
insert into comparisons
select * exclude (battle) from comparison_rows where battle_no in (from mended);
drop table mended;
