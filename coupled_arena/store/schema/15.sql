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
