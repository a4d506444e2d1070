-- What the statistics count: a row for each pair of a battle's models and each voter (or nobody),
-- for no judge (judge_no 0) and again for each judge that has an outcome for the pair. It follows
-- from the other tables (`comparison_rows` says how) and is kept beside them because counting it
-- is 100 times faster; small integers stand for names so that it stays so.
create sequence battle_seq;
alter table battles add column battle_no bigint default nextval('battle_seq');

create sequence model_seq;
create table models (
    model text primary key,
    model_no smallint not null default nextval('model_seq')
);

create sequence judge_seq;
create table judges (
    judge text primary key,
    judge_no smallint not null default nextval('judge_seq'),
    model text not null,
    prompt_hash text not null,
    sampling text not null
);

create sequence prompt_seq;
create table prompts (
    prompt_key text primary key,
    prompt_no bigint not null default nextval('prompt_seq'),
    comparisons integer not null default 0
);

create type mode as enum ('coupled', 'independent', 'unknown');
create type outcome as enum ('first', 'second', 'tie', 'both_bad');

create table comparisons (
    battle_no bigint not null,
    prompt_no bigint not null,
    judge_no smallint not null,
    mode mode not null,
    model_a smallint not null,
    model_b smallint not null,
    human outcome,
    verdict outcome,
    identical boolean not null,
    voter text,
    category text,
    language text
);

create index votes_of_battle on votes (battle);
create index verdicts_of_battle on verdicts (battle);

create or replace view current_votes as
select *
from votes
qualify row_number() over (partition by battle, voter order by seq desc) = 1;

create view battle_pairs as
select *, unnest(range(i + 1, len(models) + 1)) as j
from (select *, unnest(range(1, len(models))) as i from battles);

-- One outcome a judge: the winner if it says so in every order it was asked in, else a tie.
create view judgements as
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
        end as said
    from newest
)
select battle, judge, i, j, if(min(said) = max(said), min(said), 'tie') as verdict
from oriented
group by all;

-- Comparisons of one prompt depend on each other, whoever voted and whichever seeds were drawn.
create view prompt_keys as
select
    battle,
    md5(coalesce(nullif(prompt, ''), prompt_id, battle)) as prompt_key,
    category,
    language
from battles
left join (select * from turns where turn = 0) using (battle);

create view comparison_rows as
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
            when v.ranks[p.i] < v.ranks[p.j] then 'first'
            else 'second'
        end as human
    from battle_pairs as p
    left join current_votes as v using (battle)
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

insert into models (model) select distinct unnest(models) from battles;
insert into prompts (prompt_key) select distinct prompt_key from prompt_keys;
insert into comparisons select * exclude (battle) from comparison_rows;
update prompts set comparisons = counted.n
from (select prompt_no, count(*) as n from comparisons where judge_no = 0 group by all) as counted
where prompts.prompt_no = counted.prompt_no;
drop view vote_pairs;
