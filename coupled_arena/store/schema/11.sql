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

-- Rules as lists beside the votes, not as subqueries of each: those would read all votes for the few
-- of one battle, whenever somebody votes. And who waits.
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
)
select
    v.*,
    list_bool_or(list_transform(list_concat(times, all_times), lambda e:
        v.cast_at >= coalesce(e.since, '-infinity'::timestamptz)
        and v.cast_at < coalesce(e.until, 'infinity'::timestamptz)
    )) is true as excluded,
    is_new is true and v.source = 'human' as waiting
from current_votes as v
left join of_voters using (voter)
left join waits using (voter)
cross join of_all;

-- One column at a time: DuckDB writes several down in any order, and views are compared as written.
create or replace view counted_votes as
select * exclude (excluded)
from (select * exclude (waiting) from ruled_votes where not waiting)
where not excluded;
