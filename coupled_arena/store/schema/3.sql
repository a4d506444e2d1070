-- Whose words open a conversation, and which ones were put into the models' mouths.
alter table turns add column system text default '';
alter table turns add column prefix text default '';

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
