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
