"""Comparisons that several judges have all judged, each judge's verdict for itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.store.queries.comparisons import (
    CODES,
    Cursor,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
)
from coupled_arena.store.queries.judged_together import Judged, judge_number


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Comparisons with a vote that each of several judges has judged, by what all said of them.

    Attributes
    ----------
    models : tuple of str
        All that the store knows, or that were selected; sorted.
    first, second : ndarray of int64, shape (rows,)
        Their places in `models`, as they were shown; never the same.
    human : ndarray of int64, shape (rows,)
        The vote, by its place in `records.Outcome`.
    verdict : ndarray of int64, shape (rows,)
        What the judges said: digits to the base of the number of outcomes, the first judge's first.
    times : ndarray of int64, shape (rows,)
    """

    models: tuple[str, ...]
    first: IntArray
    second: IntArray
    human: IntArray
    verdict: IntArray
    times: IntArray


def shared_rows(cursor: Cursor, selection: Selection) -> SharedRows:
    """Count what people and all the judges of a selection said, however many judges.

    Without a judge the code of the verdicts is 0.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    known = model_numbers(cursor, selection)
    said, where, values = _shared(cursor, selection, known)
    verdict = said.verdict if said.numbers else "0"
    rows = cursor.execute(
        f"""
        select model_a, model_b, {CODES["human"]} as human, {verdict} as verdict, count(*) as n
        from {said.table}
        where {where}
        group by all
        order by all
        """,
        values,
    ).fetchnumpy()
    found = {name: np.asarray(column).astype(np.int64) for name, column in rows.items()}
    places = np.full(max(known.values(), default=0) + 1, -1)
    places[list(known.values())] = np.arange(len(known))
    return SharedRows(
        models=tuple(known),
        first=places[found["model_a"]],
        second=places[found["model_b"]],
        human=found["human"],
        verdict=found["verdict"],
        times=found["n"],
    )


def shared_prompts(cursor: Cursor, selection: Selection) -> int:
    """Return how many prompts those comparisons are on.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    said, where, values = _shared(cursor, selection, model_numbers(cursor, selection))
    query = f"select count(distinct prompt_no) from {said.table} where {where}"
    ((found,),) = cursor.execute(query, values).fetchall()
    return found


def verdict_prompts(cursor: Cursor, selection: Selection, judge: str) -> int:
    """Return how many prompts a judge's verdicts are on, whether people voted or not.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    where, values = condition_of(cursor, selection, model_numbers(cursor, selection))
    query = f"""
        select count(distinct prompt_no) from {Judged((judge_number(cursor, judge),)).table}
        where {where} and judge_no = {judge_number(cursor, judge)} and verdict is not null
    """
    ((found,),) = cursor.execute(query, values).fetchall()
    return found


def _shared(
    cursor: Cursor, selection: Selection, known: dict[str, int]
) -> tuple[Judged, str, dict[str, object]]:
    """Return where the rows are, and the SQL condition that they meet, with its values."""
    said = Judged(tuple(judge_number(cursor, judge) for judge in selection.judges))
    where, values = condition_of(cursor, selection, known)
    judge = said.numbers[0] if said.numbers else 0
    both = f"judge_no = {judge} and human is not null and model_a <> model_b"
    return said, f"{where} and {both}", values
