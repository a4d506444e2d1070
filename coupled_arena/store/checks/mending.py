"""Times that cannot be, put right where the right one can be told."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.database import Store
from coupled_arena.store.tables import derived_rows, times


@dataclass(frozen=True)
class MendedTimes:
    """What was mended in one column.

    Attributes
    ----------
    put_right : int
        Times that were milliseconds and the like, taken for seconds.
    replaced : int
        Times that nothing is known of. They are now that of their battle or vote, else that of the
        repair; a bound of an exclusion is none.
    """

    table: str
    column: str
    put_right: int
    replaced: int


@dataclass(frozen=True)
class Mended:
    """What a repair did; `copy` is the file as it was before, None where nothing was to mend."""

    copy: str | None
    times: tuple[MendedTimes, ...]


_OF_BATTLE = "(select created_at from battles where battles.battle = {table}.battle)"
_OF_VOTE = "(select cast_at from votes where votes.vote = {table}.vote)"

# By table and column: the nearest thing that is known. Battles come first: others go by theirs.
_NEAREST = {
    ("battles", "created_at"): """
        (
            select min(possible(moment))
            from (
                select battle, cast_at as moment from votes
                union all select battle, judged_at from verdicts
            ) as said
            where said.battle = battles.battle
        )
    """,
    ("votes", "cast_at"): _OF_BATTLE,
    ("pending_votes", "cast_at"): _OF_BATTLE,
    ("verdicts", "judged_at"): _OF_BATTLE,
    ("reveals", "revealed_at"): """
        coalesce(
            (
                select max(cast_at) from votes
                where votes.battle = reveals.battle and votes.voter = reveals.voter
            ),
            (select created_at from battles where battles.battle = reveals.battle)
        )
    """,
    ("rationales", "given_at"): _OF_VOTE,
    ("repeats", "cast_at"): _OF_BATTLE,
    ("gates", "begun_at"): "null",
    ("grades", "graded_at"): "null",
    ("exclusions", "made_at"): "null",
    ("inclusions", "made_at"): "null",
    ("schema_version", "applied_at"): "null",
}
_BOUNDS = {"since": "until", "until": "since"}


def mend(store: Store) -> Mended:
    """Put right the times of a database that cannot be; its file is copied before.

    Raises
    ------
    StoreError
        The copy or the database cannot be written.
    """
    with store.cursor() as cursor:
        cursor.execute(times.MACROS)
        wanted = any(_count(cursor, *each) for each in _odd_columns())
    if not wanted:
        return Mended(None, ())
    copy = _keep(store)
    return Mended(copy, store.write(_mend))


def _odd_columns() -> Iterator[tuple[str, str]]:
    for table, column in _NEAREST:
        yield table, times.odd(column)
    for column in _BOUNDS:
        yield "exclusions", _wrong_bound(column)


def _wrong_bound(column: str) -> str:
    """Return SQL: whether a bound is no time, and can be put right or done without."""
    other = _BOUNDS[column]
    return (
        f"({times.unbound(column)} and "
        f"(put_right({column}) is not null or voter is not null or {other} is not null))"
    )


def _keep(store: Store) -> str | None:
    if store.path is None:
        return None
    kept = _copy_path(store.path)
    try:
        with store.cursor() as cursor:
            cursor.execute("checkpoint")  # what the log holds goes into the file
        shutil.copy2(store.path, kept)
    except OSError as error:
        kept.unlink(missing_ok=True)
        raise StoreError(
            f"Nothing was mended: no copy of {store.path} can be kept: {reason(error)}."
        ) from error
    return str(kept)


def _copy_path(db: Path) -> Path:
    return db.with_name(f"{db.name}.before-mending-{datetime.now(UTC):%Y%m%d-%H%M%S}")


def _mend(cursor: Cursor) -> tuple[MendedTimes, ...]:
    cursor.execute(times.MACROS)
    cursor.execute(
        "create or replace temp table mended as "
        f"select distinct battle from votes where {times.odd('cast_at')}"
    )
    right = {
        (table, column): _update(
            cursor, table, column, f"put_right({column})", f"put_right({column}) is not null"
        )
        for table, column in _NEAREST
    }
    done = [
        MendedTimes(
            *(table, column, right[table, column]),
            _update(cursor, table, column, f"coalesce({nearest.format(table=table)}, now())"),
        )
        for (table, column), nearest in _NEAREST.items()
    ]
    bounds = [_mend_bound(cursor, column) for column in _BOUNDS]
    # Which votes an exclusion covers follows from when they were cast.
    covered = any(each.put_right + each.replaced for each in bounds)
    derived_rows.refresh(cursor, "true" if covered else "battle in (select battle from mended)", {})
    return tuple(each for each in (*done, *bounds) if each.put_right + each.replaced)


def _mend_bound(cursor: Cursor, column: str) -> MendedTimes:
    wrong = _wrong_bound(column)
    right = _count(cursor, "exclusions", f"{wrong} and put_right({column}) is not null")
    all_wrong = _count(cursor, "exclusions", wrong)
    cursor.execute(f"update exclusions set {column} = put_right({column}) where {wrong}")
    return MendedTimes("exclusions", column, right, all_wrong - right)


def _update(cursor: Cursor, table: str, column: str, value: str, where: str = "true") -> int:
    return value_of(
        cursor, f"update {table} set {column} = {value} where {times.odd(column)} and {where}"
    )


def _count(cursor: Cursor, table: str, where: str) -> int:
    return value_of(cursor, f"select count(*) from {table} where {where}")
