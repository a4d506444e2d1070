-- No foreign keys: DuckDB would check an index for every row of tables that are never deleted from,
-- and the only writers are in this package. Primary keys are what makes a retried write harmless.
create table battles (
    battle text primary key,
    created_at timestamptz not null,
    origin text not null,
    mode text not null,
    seed ubigint not null,
    nonce blob not null,
    commitment text not null,
    models text[] not null,
    temperature double not null,
    top_k integer not null,
    top_p double not null,
    max_new_tokens integer not null,
    coupling text not null,
    experiment text,
    repetition integer,
    arithmetic map(text, text) not null
);

create table turns (
    battle text,
    turn integer,
    prompt text not null,
    prompt_id text,
    category text,
    language text,
    primary key (battle, turn)
);

create table replies (
    battle text,
    turn integer,
    place integer,
    model text not null,
    text text not null,
    tokens integer[] not null,
    finish text not null,
    primary key (battle, turn, place)
);

create sequence vote_seq;

create table votes (
    seq bigint not null default nextval('vote_seq'),
    vote text primary key,
    battle text not null,
    voter text not null,
    ranks integer[] not null,
    both_bad boolean not null,
    source text not null,
    early boolean not null,
    cast_at timestamptz not null
);

create table reveals (
    battle text,
    voter text,
    revealed_at timestamptz not null,
    primary key (battle, voter)
);

create sequence verdict_seq;

create table verdicts (
    seq bigint not null default nextval('verdict_seq'),
    verdict text primary key,
    battle text not null,
    judge text not null,
    first_place integer not null,
    second_place integer not null,
    outcome text,
    raw text not null,
    probability double,
    judged_at timestamptz not null
);

-- DuckDB counts list elements from 1, records.py counts places from 0.
create view current_votes as
select *
from votes
where seq in (select max(seq) from votes group by battle, voter);

create view vote_pairs as
with placed as (
    select *, unnest(range(1, len(ranks) + 1)) as i
    from current_votes
),
paired as (
    select *, unnest(range(i + 1, len(ranks) + 1)) as j
    from placed
)
select
    battle, voter, vote, mode, source, early,
    i - 1 as first_place,
    j - 1 as second_place,
    models[i] as model_a,
    models[j] as model_b,
    case
        when both_bad then 'both_bad'
        when ranks[i] = ranks[j] then 'tie'
        when ranks[i] < ranks[j] then 'first'
        else 'second'
    end as outcome
from paired
join battles using (battle);
