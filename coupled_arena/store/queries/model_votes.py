"""What a model's own page reads: its votes over time, and what its answers were made with.

All functions work on a cursor that somebody else opened; in one transaction they agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

import duckdb

from coupled_arena.core.records import Sampling
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.battle_conditions import behind
from coupled_arena.store.queries.battle_filter import BattleFilter, Word
from coupled_arena.store.queries.visibility import VISIBLE, Hidden
from coupled_arena.store.tables.times import utc

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Day:
    """Comparisons of a model by people, on battles made on one day (UTC), and those it won."""

    day: date
    comparisons: int
    wins: int


def days(cursor: Cursor, model: str) -> tuple[Day, ...]:
    """Return the days with comparisons that a board counts, the oldest first."""
    wanted = BattleFilter(model=model, word=Word.PEOPLE)
    counted = _by_day(cursor, wanted)
    won = _by_day(cursor, replace(wanted, winner=model))
    return tuple(Day(day, n, won.get(day, 0)) for day, n in sorted(counted.items()))


def categories(cursor: Cursor, model: str) -> dict[str, int]:
    """Return the categories in which a board counts comparisons of a model, the most first."""
    counts = {
        category: sum(_by_day(cursor, wanted).values())
        for category in comparisons.categories(cursor)
        for wanted in [BattleFilter(model=model, word=Word.PEOPLE, category=category)]
    }
    most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return {category: n for category, n in most if n}


def facts(cursor: Cursor, model: str, hidden: Hidden) -> dict[str, tuple[str, ...]]:
    """Return what a model's answers were computed with, of battles that may be shown."""
    rows = cursor.execute(
        f"""
        select fact.key[len($model) + 2:], list(distinct fact.value order by fact.value)
        from (
            select unnest(map_entries(arithmetic)) as fact
            from battles
            where ({VISIBLE[hidden]}) and list_contains(models, $model)
        )
        where starts_with(fact.key, $model || '/')
            and not contains(fact.key[len($model) + 2:], '/')  -- else it is of another model
        group by all
        order by all
        """,
        {"model": model},
    ).fetchall()
    return {fact: tuple(values) for fact, values in rows}


def samplings(cursor: Cursor, model: str, hidden: Hidden) -> tuple[tuple[Sampling, int], ...]:
    """Return how a model's answers were drawn, each with how many battles, the most first."""
    rows = cursor.execute(
        f"""
        select temperature, top_k, top_p, max_new_tokens, coupling, count(*) as n
        from battles
        where origin <> 'import' and ({VISIBLE[hidden]}) and list_contains(models, $model)
        group by all
        order by n desc, temperature, top_k, top_p, max_new_tokens, coupling
        """,
        {"model": model},
    ).fetchall()
    return tuple((Sampling(*row[:-1]), row[-1]) for row in rows)


def _by_day(cursor: Cursor, wanted: BattleFilter) -> dict[date, int]:
    selected, _, values = behind(cursor, wanted)
    rows = cursor.execute(
        f"""
        select {utc("created_at")}::date, sum(n)::bigint
        from ({selected})
        group by all
        """,
        values,
    ).fetchall()
    return dict(rows)
