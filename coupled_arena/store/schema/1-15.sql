-- The schema as steps 1 to 15 leave it, for a database that has no rows yet; a test holds them equal.

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
    cast_at timestamptz not null,
    -- In which order the voter saw the answers: their places, from 0; null is the battle's own order.
    shown integer[]
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

-- Where votes came from: the keyed hash of an address, with a key that nobody has once the server
-- that drew it has stopped. In no export, backup or snapshot.
create table origins (
    vote_id text primary key,
    origin text not null
);

-- How many votes somebody must have cast before any of them counts: one row, or none.
create table probation (
    votes integer not null
);

-- Who has not cast as many yet. Whatever writes votes keeps it in line with them.
create table waiting_voters (
    voter text primary key
);

-- By which names answers are searched for who wrote them: those that the settings and the catalog add
-- to the program's own, and what tells the whole list from others. The newest one is in force.
create sequence name_list_seq;

create table name_lists (
    seq bigint not null default nextval('name_list_seq'),
    list text not null,
    names text[] not null,
    words text[] not null,
    since timestamptz not null
);

-- Answers that name a model or its maker, and what stands there. Follows from the texts and the list
-- in force; no key, for rows leave this table again.
create table naming_replies (
    battle text not null,
    turn integer not null,
    place integer not null,
    found text not null
);

-- Rules as lists beside the votes, not as subqueries of each: those would read all votes for the few
-- of one battle, whenever somebody votes. And who waits.
-- And whose answers told which model wrote them: people's votes on those are not blind.
create view ruled_votes as
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

-- One column at a time: DuckDB writes several down in any order, and views are compared as written.
create view counted_votes as
select * exclude (excluded)
from (
    select * exclude (waiting)
    from (select * exclude (named) from ruled_votes where not named)
    where not waiting
)
where not excluded;

-- A vote that ranks two answers apart that have the same words prefers nothing that was said. Such a
-- comparison has a voter and no human outcome: it is counted apart, and in no statistics.
-- Model a is the one that the voter saw first; a judge's verdict on the pair turns with it.
create view comparison_rows as
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

-- What people said of answers that they were shown a second time, on purpose and in another order:
-- how far they agree with themselves. Nothing counts these rows; a person has one vote on a battle.
create table repeats (
    second_vote text primary key,
    battle text not null,
    voter text not null,
    ranks integer[] not null,
    both_bad boolean not null,
    shown integer[] not null,
    criteria text[] not null,
    comment text not null,
    cast_at timestamptz not null
);

-- Gates that were started in the app: which models on which questions, with which margin. What each
-- of them found follows from the scores of its battles, taken in the order that is planned here.
create table gates (
    gate text primary key,
    base text not null,
    candidate text not null,
    metric text not null,
    margin double not null,
    alpha double not null,
    experiment text not null,
    answers integer not null,
    battles text[] not null,
    begun_at timestamptz not null
);
