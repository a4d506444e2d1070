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
