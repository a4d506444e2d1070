"""The schema, as numbered steps that are each applied whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from coupled_arena.errors import StoreError

# No foreign keys: DuckDB would check an index for every row of tables that are never deleted from,
# and the only writers are in this package. Primary keys are what makes a retried write harmless.
_TABLES = """
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
    arithmetic map(text, text) not null
);

create table turns (
    battle text,
    turn integer,
    prompt text not null,
    prompt_id text,
    category text,
    language text,
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
    judged_at timestamptz not null
);
"""

# DuckDB counts list elements from 1, records.py counts places from 0.
_VIEWS = """
create view current_votes as
select *
from votes
where seq in (select max(seq) from votes group by battle, voter);

create view vote_pairs as
with placed as (
    select *, unnest(range(1, len(ranks) + 1)) as i
    from current_votes
),
paired as (
    select *, unnest(range(i + 1, len(ranks) + 1)) as j
    from placed
)
select
    battle, voter, vote, mode, source, early,
    i - 1 as first_place,
    j - 1 as second_place,
    models[i] as model_a,
    models[j] as model_b,
    case
        when both_bad then 'both_bad'
        when ranks[i] = ranks[j] then 'tie'
        when ranks[i] < ranks[j] then 'first'
        else 'second'
    end as outcome
from paired
join battles using (battle);
"""

MIGRATIONS: tuple[str, ...] = (_TABLES + _VIEWS,)


def schema_version(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the last migration applied, 0 for an empty database."""
    known = connection.execute(
        "select 1 from duckdb_tables() where table_name = 'schema_version' and not temporary"
    ).fetchone()
    if known is None:
        return 0
    row = connection.execute("select coalesce(max(version), 0) from schema_version").fetchone()
    return int(row[0]) if row else 0


def check(connection: duckdb.DuckDBPyConnection, newest: int = len(MIGRATIONS)) -> int:
    """Return the schema's version.

    Raises
    ------
    StoreError
        The schema is newer than this program knows.
    """
    version = schema_version(connection)
    if version > newest:
        raise StoreError(
            f"The database has schema {version}, this program knows schemas up to {newest}. "
            "Upgrade the program to open it."
        )
    return version


def migrate(connection: duckdb.DuckDBPyConnection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the schema to the newest version, one transaction a step.

    Raises
    ------
    StoreError
        The schema is newer than this program knows, or a step failed; the failed step leaves
        nothing behind.
    """
    done = check(connection, len(migrations))
    for version, statements in enumerate(migrations[done:], start=done + 1):
        _apply(connection, version, statements)


def _apply(connection: duckdb.DuckDBPyConnection, version: int, statements: str) -> None:
    connection.execute("begin")
    try:
        connection.execute(
            "create table if not exists schema_version (version integer, applied_at timestamptz)"
        )
        connection.execute(statements)
        connection.execute("insert into schema_version values (?, now())", [version])
        connection.execute("commit")
    except duckdb.Error as error:
        rollback(connection)
        reason = str(error).splitlines()[0]
        raise StoreError(f"The database could not be brought to schema {version}: {reason}") from (
            error
        )


def rollback(connection: duckdb.DuckDBPyConnection) -> None:
    """Abandon the open transaction, if a failed commit has not done so already."""
    try:
        connection.execute("rollback")
    except duckdb.TransactionException as error:
        if "no transaction is active" not in str(error):
            raise
