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
