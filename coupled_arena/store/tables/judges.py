"""Who judges, and what judges said: verdicts on pairs, grades of single answers.

A judge's name stands for one model, prompt and sampling. All functions work on a given cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coupled_arena.core.errors import StoreError
from coupled_arena.core.sql import Cursor
from coupled_arena.core.verdicts import Grade, Verdict
from coupled_arena.store.tables import derived_rows

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


def add_verdicts(cursor: Cursor, verdicts: Sequence[Verdict]) -> None:
    """Write verdicts; those that are there already change nothing."""
    columns: dict[str, list[Any]] = {
        "verdict": [verdict.id for verdict in verdicts],
        "battle": [verdict.battle for verdict in verdicts],
        "judge": [verdict.judge for verdict in verdicts],
        "first_place": [verdict.first_place for verdict in verdicts],
        "second_place": [verdict.second_place for verdict in verdicts],
        "outcome": [verdict.outcome and verdict.outcome.value for verdict in verdicts],
        "raw": [verdict.raw for verdict in verdicts],
        "probability": [verdict.probability for verdict in verdicts],
        **{
            f"p_{way}": [getattr(verdict.probabilities, way, None) for verdict in verdicts]
            for way in ("first", "second", "tie")
        },
        "judged_at": [verdict.judged_at for verdict in verdicts],
    }
    battles = sorted({verdict.battle for verdict in verdicts})
    cursor.execute(_ADD_VERDICTS, columns)
    derived_rows.refresh(cursor, "list_contains($battles, battle)", {"battles": battles})


_ADD_VERDICTS = """
insert into verdicts (
    verdict, battle, judge, first_place, second_place, outcome, raw, probability,
    p_first, p_second, p_tie, judged_at
)
select
    unnest($verdict), unnest($battle), unnest($judge),
    unnest($first_place), unnest($second_place),
    unnest($outcome::text[]), unnest($raw), unnest($probability::double[]),
    unnest($p_first::double[]), unnest($p_second::double[]), unnest($p_tie::double[]),
    unnest($judged_at)
on conflict do nothing
"""


_ADD_GRADES = """
insert into grades (grade, answer_key, judge, correct, raw, probability, graded_at)
values (?, ?, ?, ?, ?, ?, ?)
on conflict do nothing
"""


def add_grades(cursor: Cursor, grades: Sequence[Grade]) -> None:
    """Write grades; those that are there already change nothing."""
    rows = [
        [g.id, g.answer_key, g.judge, g.correct, g.raw, g.probability, g.graded_at] for g in grades
    ]
    cursor.executemany(_ADD_GRADES, rows)
