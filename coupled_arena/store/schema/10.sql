-- Votes that are not to count, by rule: every vote, also one still to come, of this voter (null: of
-- anybody) that was cast from `since` on and before `until` (null: no bound). No vote is deleted.
create sequence exclusion_seq;

create table exclusions (
    seq bigint not null default nextval('exclusion_seq'),
    exclusion text primary key,
    voter text,
    since timestamptz,
    until timestamptz,
    reason text not null,
    made_by text not null,
    made_at timestamptz not null
);

-- Exclusions that somebody took back: from then on their votes count again.
create table inclusions (
    exclusion text primary key,
    reason text not null,
    made_by text not null,
    made_at timestamptz not null
);

create view standing_exclusions as
select * from exclusions anti join inclusions using (exclusion);

-- The votes that stand. The two halves apart, so that a voter is found by a key and not by trying
-- all rules.
create view ruled_votes as
select
    v.*,
    exists (
        select 1
        from standing_exclusions as e
        where e.voter = v.voter
            and v.cast_at >= coalesce(e.since, '-infinity'::timestamptz)
            and v.cast_at < coalesce(e.until, 'infinity'::timestamptz)
    )
    or exists (
        select 1
        from standing_exclusions as e
        where e.voter is null
            and v.cast_at >= coalesce(e.since, '-infinity'::timestamptz)
            and v.cast_at < coalesce(e.until, 'infinity'::timestamptz)
    ) as excluded
from current_votes as v;

create view counted_votes as select * exclude (excluded) from ruled_votes where not excluded;

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
    left join counted_votes as v using (battle)
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
