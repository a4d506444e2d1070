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

-- And whose answers told which model wrote them: people's votes on those are not blind.
create or replace view ruled_votes as
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

create or replace view counted_votes as
select * exclude (excluded)
from (
    select * exclude (waiting)
    from (select * exclude (named) from ruled_votes where not named)
    where not waiting
)
where not excluded;
