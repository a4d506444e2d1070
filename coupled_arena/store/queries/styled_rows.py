"""Comparisons with the difference in style of their replies, a row each, from SQL.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.core.style import Trait
from coupled_arena.store.queries.comparisons import (
    Cursor,
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
)
from coupled_arena.store.queries.judged_together import judge_number


@dataclass(frozen=True, eq=False)
class StyledRows:
    """Comparisons whose replies have texts, n rows.

    Attributes
    ----------
    models : tuple of str
        Names of the k models that these compare, sorted.
    first, second : ndarray of int64, shape (n,)
        Their places in `models`, as they were shown.
    prompt : ndarray of int64, shape (n,)
        Equal numbers are one prompt.
    human, judge : ndarray of float64, shape (n,)
        1 where the first was preferred, 0 where the second, ½ where neither; NaN where nobody, or
        no judge, said anything.
    differences : ndarray of float64, shape (n, traits)
        (a - b)/(a + b) of each trait, from -1 to 1; 0 where neither reply has any.
    without_texts : int
        Comparisons that are left out because nobody knows their replies.
    """

    models: tuple[str, ...]
    first: IntArray
    second: IntArray
    prompt: IntArray
    human: FloatArray
    judge: FloatArray
    differences: FloatArray
    without_texts: int


def styled_rows(
    cursor: Cursor,
    selection: Selection,
    traits: Sequence[Trait],
    *,
    voted: bool,
    judged: bool,
) -> StyledRows:
    """Return the comparisons that people, the selected judge, or both have decided.

    Replies without a character on both sides are taken for imports without texts.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    known = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    number = judge_number(cursor, selection.judge) if judged and selection.judge else 0
    where += f" and judge_no = {number} and c.model_a <> c.model_b"
    where += " and human is not null" if voted else ""
    where += " and verdict is not null" if judged else ""
    texts = "coalesce(x.characters + y.characters, 0) > 0"
    source = f"""
        from comparisons as c
        left join reply_styles as x on x.battle_no = c.battle_no and x.model_no = c.model_a
        left join reply_styles as y on y.battle_no = c.battle_no and y.model_no = c.model_b
        where {where}
    """
    query = f"select count(*) {source} and not {texts}"
    ((without,),) = cursor.execute(query, values).fetchall()
    columns = ", ".join(
        f"coalesce((x.{t} - y.{t}) / nullif(x.{t} + y.{t}, 0), 0)::double as {t}" for t in traits
    )
    found = cursor.execute(
        f"""
        select c.model_a as first, c.model_b as second, prompt_no as prompt,
            {_share("human")} as human, {_share("verdict")} as judge, {columns}
        {source} and {texts}
        order by c.battle_no, c.model_a, c.model_b, human, verdict
        """,
        values,
    ).fetchnumpy()
    return _rows(found, known, [str(trait) for trait in traits], without)


def _share(outcome: str) -> str:
    """Return SQL of how much of a win an outcome is for the model shown first."""
    wins = f"case {outcome} when 'first' then 1 when 'second' then 0 else .5 end"
    return f"if({outcome} is null, 'nan'::double, ({wins})::double)"


def _rows(
    found: dict[str, Any], known: dict[str, int], traits: list[str], without: int
) -> StyledRows:
    first, second, prompt = (
        np.asarray(found[name]).astype(np.int64) for name in ("first", "second", "prompt")
    )
    there = {model: number for model, number in known.items() if number in {*_of(first, second)}}
    places = np.full(max(there.values(), default=0) + 1, -1, dtype=np.int64)
    places[list(there.values())] = np.arange(len(there))
    columns = [np.asarray(found[trait]).astype(np.float64) for trait in traits]
    human, judge = (np.asarray(found[name]).astype(np.float64) for name in ("human", "judge"))
    return StyledRows(
        models=tuple(there),
        first=places[first],
        second=places[second],
        prompt=prompt,
        human=human,
        judge=judge,
        differences=np.stack(columns, axis=1) if columns else np.zeros((len(first), 0)),
        without_texts=without,
    )


def _of(first: IntArray, second: IntArray) -> list[int]:
    found: list[int] = np.union1d(first, second).tolist()
    return found
