-- The schema as steps 1 to 8 leave it, for a database that has no rows yet; a test holds them equal.

-- No foreign keys: DuckDB would check an index for every row of tables that are never deleted from,
-- and the only writers are in this package. Primary keys are what makes a retried write harmless.
create sequence battle_seq;

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
    arithmetic map(text, text) not null,
    battle_no bigint default nextval('battle_seq'),
    chance double  -- null where nobody noted it
);

create table turns (
    battle text,
    turn integer,
    prompt text not null,
    prompt_id text,
    category text,
    language text,
    -- Whose words open a conversation, and which ones were put into the models' mouths.
    system text default '',
    prefix text default '',
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
    judged_at timestamptz not null,
    -- In the order in which the judge was shown the answers; null where its server did not tell.
    p_first double,
    p_second double,
    p_tie double
);

-- What a number on a reply means. A benchmark's is 1 for a right answer and 0 for a wrong one.
create table metrics (
    metric text primary key,
    higher_is_better boolean not null,
    source text not null
);

create table scores (
    battle text,
    turn integer,
    place integer,
    metric text,
    score double not null,
    answer text,
    primary key (battle, turn, place, metric)
);

-- The replies that a benchmark has scored. Equal answers to one question have one key.
create view benchmark_answers as
select
    battle, place, model, metric, score, prompt,
    prefix || text as answer,
    md5(concat(length(prompt), ':', prompt, prefix, text)) as answer_key
from scores
join metrics using (metric)
join replies using (battle, turn, place)
join turns using (battle, turn)
where source = 'benchmark';

-- What a judge says of an answer by itself: whether it is right, or nothing readable.
create sequence grade_seq;

create table grades (
    seq bigint not null default nextval('grade_seq'),
    grade text primary key,
    answer_key text not null,
    judge text not null,
    correct boolean,
    raw text not null,
    probability double,
    graded_at timestamptz not null
);

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

-- What the statistics count: a row for each pair of a battle's models and each voter (or nobody),
-- for no judge (judge_no 0) and again for each judge that has an outcome for the pair. It follows
-- from the other tables (`comparison_rows` says how) and is kept beside them because counting it
-- is 100 times faster; small integers stand for names so that it stays so.
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
    language text,
    -- For the model shown first and the other, the mean of all orders that the judge was asked in.
    p_first double,
    p_second double,
    flipped boolean default false
);

create index votes_of_battle on votes (battle);
create index verdicts_of_battle on verdicts (battle);

-- DuckDB counts list elements from 1, records.py counts places from 0.
create view current_votes as
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

-- Comparisons of one prompt depend on each other, whoever voted and whichever seeds were drawn.
create view prompt_keys as
select
    battle,
    md5(coalesce(nullif(prompt, ''), prompt_id, battle)) as prompt_key,
    category,
    language
from battles
left join (select * from turns where turn = 0) using (battle);

-- Pairs of places with the same words in all turns, from 1; upkeep keeps them as replies come in.
-- Answers without words, such as those of imports that carry no texts, are not known to be the same.
create table same_words (
    battle text not null,
    i integer not null,
    j integer not null
);

-- A vote that ranks two answers apart that have the same words prefers nothing that was said. Such a
-- comparison has a voter and no human outcome: it is counted apart, and in no statistics.
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

-- Votes that their voters can still undo. None of them counts before it has moved to `votes`; no key,
-- for rows leave this table again, and there are never more than a few.
create table pending_votes (
    vote text not null,
    battle text not null,
    voter text not null,
    ranks integer[] not null,
    both_bad boolean not null,
    source text not null,
    early boolean not null,
    cast_at timestamptz not null
);

-- Why votes were cast, in their voters' words: the newest rationale of a vote stands, and one with
-- neither criteria nor comment takes back what stood before.
create sequence rationale_seq;

create table rationales (
    seq bigint not null default nextval('rationale_seq'),
    rationale text primary key,
    vote text not null,
    criteria text[] not null,
    comment text not null,
    given_at timestamptz not null
);

create index rationales_of_vote on rationales (vote);

-- Those of votes that can still be undone: they go with their votes, wherever these go. No key, as
-- in `pending_votes`.
create table pending_rationales (
    rationale text not null,
    vote text not null,
    criteria text[] not null,
    comment text not null,
    given_at timestamptz not null
);

-- By time rather than by number: copies of a store may be merged in any order.
create view current_rationales as
select *
from rationales
qualify row_number() over (partition by vote order by given_at desc, seq desc) = 1;
