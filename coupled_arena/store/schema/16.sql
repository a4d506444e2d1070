-- All candidates that a gate judges together, at its alpha; null where it is one. Gates of several
-- that were stored before have a share of alpha each, so that each of them holds by itself.
alter table gates add column candidates text[];
