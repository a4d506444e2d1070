"""Writing a judge's grades of single answers, on a cursor that somebody else opened."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from coupled_arena.core.verdicts import Grade

_ADD = """
insert into grades (grade, answer_key, judge, correct, raw, probability, graded_at)
values (?, ?, ?, ?, ?, ?, ?)
on conflict do nothing
"""


def add(cursor: duckdb.DuckDBPyConnection, grades: Sequence[Grade]) -> None:
    """Write grades; those that are there already change nothing."""
    rows = [
        [g.id, g.answer_key, g.judge, g.correct, g.raw, g.probability, g.graded_at] for g in grades
    ]
    cursor.executemany(_ADD, rows)
