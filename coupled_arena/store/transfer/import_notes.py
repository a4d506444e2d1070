"""What whoever imports votes should know of the rows that were taken, in sentences."""

from __future__ import annotations

from collections.abc import Collection

import duckdb

from coupled_arena.core.sql import quoted
from coupled_arena.core.vote_columns import KNOWN_WINNERS, VERDICT
from coupled_arena.store.transfer.vote_formats import UNKNOWN_WORD

Cursor = duckdb.DuckDBPyConnection

_SHOWN = 10  # words


def of_staged(cursor: Cursor) -> list[str]:
    """Return what is to be said of rows while all of them are in ``staged``."""
    found: list[str] = []
    words = _words(cursor, "select other_mode as word from staged where other_mode is not null")
    if words:
        found.append(
            f"Mode is unknown for the words {words}: only coupled and independent are known."
        )
    words = _words(cursor, "select other_seed as word from staged where other_seed is not null")
    if words:
        found.append(f"Seeds that are not numbers of 64 bits are left out: {words}.")
    ((alone,),) = cursor.execute(
        "select count(*) from staged where alone and problem is null"
    ).fetchall()
    if alone:
        found.append(
            f"{_rows(alone)} without an id and without texts: each is a battle of its own, and "
            "meets no row of another file."
        )
    unknown = f"regexp_full_match(problem, {quoted(UNKNOWN_WORD)}, 's')"
    if _words(cursor, f"select problem as word from staged where {unknown}"):
        found.append(f"Known winners are {KNOWN_WINNERS}, and the names of the row's two models.")
    return found


def of_names(cursor: Cursor) -> list[str]:
    """Return what is to be said of models that may be the same, written in another way."""
    rows = cursor.execute(
        """
        select string_agg(model, ' and ' order by model)
        from (
            from (select unnest([first, second]) as model from staged where problem is null)
            union
            select model from models
        )
        where model is not null
        group by regexp_replace(lower(model), '[\\s_-]+', '-', 'g')
        having count(*) > 1
            and bool_or(model in (select unnest([first, second]) from staged))
        order by 1
        """
    ).fetchall()
    names = "; ".join(name for (name,) in rows[:_SHOWN])
    return [f"These names count as different models: {names}."] if rows else []


def of_verdicts(cursor: Cursor) -> list[str]:
    """Return what is to be said where a judge's verdicts meet none of the votes on its models."""
    ((apart,),) = cursor.execute(
        """
        select count(*) > 0 and bool_and(fresh) and exists (
            from votes join battles using (battle)
            where origin = 'import' and list_sort(models) in (select list_sort(models) from shown)
        )
        from shown
        """
    ).fetchall()
    return (
        [
            "No verdict is on a battle that was here before, so none stands beside a vote. Rows "
            "meet by the same num, or the same question and models, in one --dataset."
        ]
        if apart
        else []
    )


def of_beside(rows: int) -> list[str]:
    """Return what is to be said of verdicts that stand beside votes."""
    if not rows:
        return []
    return [f"{_rows(rows)} with a verdict: it is kept as that of a judge called {VERDICT}."]


def of_pasted(rows: int) -> list[str]:
    """Return what is to be said of rows that stand in a file again."""
    if not rows:
        return []
    again = "repeats another row" if rows == 1 else "repeat other rows"
    return [f"{_rows(rows)} {again} (same voter, same texts, same choice): counted once."]


def of_repeated(rows: int) -> list[str]:
    """Return what is to be said of rows with the key of another row, which are no repetition."""
    if not rows:
        return []
    return [
        f"{_rows(rows)} with the question, the models and the voter of an earlier row: "
        "each is a battle of its own."
    ]


def of_unread(columns: Collection[str]) -> list[str]:
    """Return what is to be said of columns that are not read."""
    if not columns:
        return []
    names = sorted(columns)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return [f"Columns that are not read: {', '.join(names[:_SHOWN])}{more}."]


def _words(cursor: Cursor, query: str) -> str:
    rows = cursor.execute(
        f"select word, count(*) from ({query}) group by word order by count(*) desc, word"
    ).fetchall()
    more = [f"and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
    return ", ".join([*(f"{word!r} ({n:,})" for word, n in rows[:_SHOWN]), *more])


def _rows(number: int) -> str:
    return f"{number:,} row" if number == 1 else f"{number:,} rows"
