"""Who judges: a name stands for one model, prompt and sampling.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

import duckdb

from coupled_arena.core.errors import StoreError

Cursor = duckdb.DuckDBPyConnection

_SPOKEN = """
select 1 from verdicts where judge = $judge
union all
select 1 from grades where judge = $judge
limit 1
"""


def bind(cursor: Cursor, judge: str, model: str, prompt_hash: str, sampling: str) -> None:
    """Tie a judge's name to what it stands for.

    Raises
    ------
    StoreError
        Verdicts under this name come from something else.
    """
    bound = binding(cursor, judge)
    if bound == (model, prompt_hash, sampling):
        return
    if bound is None:
        cursor.execute(
            "insert into judges (judge, model, prompt_hash, sampling) values (?, ?, ?, ?)",
            [judge, model, prompt_hash, sampling],
        )
    elif cursor.execute(_SPOKEN, {"judge": judge}).fetchone():
        raise StoreError(_conflict(judge, bound, (model, prompt_hash, sampling)))
    else:
        cursor.execute(
            "update judges set model = ?, prompt_hash = ?, sampling = ? where judge = ?",
            [model, prompt_hash, sampling, judge],
        )


def binding(cursor: Cursor, judge: str) -> tuple[str, str, str] | None:
    """Return model, prompt hash and sampling of a judge, None if the store does not know it."""
    return cursor.execute(
        "select model, prompt_hash, sampling from judges where judge = ?", [judge]
    ).fetchone()


def _conflict(judge: str, bound: tuple[str, ...], given: tuple[str, ...]) -> str:
    if bound[0] == "imported" and not bound[1]:
        what = "verdicts that were imported"
    else:
        names = ("model", "prompt", "sampling")
        parts = zip(names, bound, given, strict=True)
        what = "verdicts with " + ", ".join(
            f"the {name} {_short(before)} (not {_short(now)})"
            for name, before, now in parts
            if before != now
        )
    return f"The judge {judge!r} stands for {what}. Give this one another name with --judge."


def _short(value: str) -> str:
    return value if len(value) != 64 else f"{value[:12]}…"
