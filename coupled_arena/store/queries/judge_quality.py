"""How a judge is heard, what it says of its own models, and how far its probabilities are people's.

All functions work on a cursor that somebody else opened, and on comparisons of the selected judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from coupled_arena.core.choices import Flips, JudgeScore
from coupled_arena.store.queries.comparisons import (
    Cursor,
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
)

_BOTH = "judge_no > 0 and human is not null and model_a <> model_b"


def own_models(cursor: Cursor, selection: Selection) -> tuple[str, ...]:
    """Return the models that the selected judge is, by its name or its model's.

    Names are compared in small letters, without what stands before a slash and with one sign for
    all that is no letter or digit. One may go on where the other ends: ``gpt-4-0613`` is a
    ``gpt-4``, and ``gpt-4o`` is none.
    """
    query = "select judge, model from judges where judge = $judge"
    names = cursor.execute(query, {"judge": selection.judge}).fetchall()
    judges = {_plain(name) for row in names for name in row} - {"", "imported"}
    known = model_numbers(cursor, selection)
    return tuple(model for model in known if any(_same(_plain(model), name) for name in judges))


def own_preference(
    cursor: Cursor, selection: Selection, models: Sequence[str]
) -> tuple[IntArray, IntArray, IntArray]:
    """Return how often these models are preferred to others, prompt by prompt.

    Returns
    -------
    comparisons, by_judge, by_people : ndarray of int64, shape (prompts,)
        A tie is a win for neither.
    """
    known = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    chosen = ", ".join(str(known[model]) for model in models) or "-1"
    rows = cursor.execute(
        f"""
        with sides as (
            select *, if(model_a in ({chosen}), 'first', 'second') as own
            from comparisons
            where {where} and {_BOTH} and (model_a in ({chosen})) <> (model_b in ({chosen}))
        )
        select
            count(*) as n,
            count(*) filter (verdict::text = own) as judge,
            count(*) filter (human::text = own) as people
        from sides
        group by prompt_no
        order by prompt_no
        """,
        values,
    ).fetchnumpy()
    n, judge, people = (np.asarray(rows[name], np.int64) for name in ("n", "judge", "people"))
    return n, judge, people


def probabilities(cursor: Cursor, selection: Selection) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return what the judge held likely, what people said, and on which prompt.

    Returns
    -------
    likely : ndarray of float64, shape (n, 3)
        Probabilities of the first model, the second, and neither: means of both orders.
    said : ndarray of float64, shape (n, 3)
        1 where people said so, else 0.
    prompts : ndarray of int64, shape (n,)
    """
    known: Any = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    rows = cursor.execute(
        f"""
        select p_first, p_second, replace(human::text, 'both_bad', 'tie') as human, prompt_no
        from comparisons
        where {where} and {_BOTH} and p_first is not null
        order by all
        """,
        values,
    ).fetchnumpy()
    first, second = (np.asarray(rows[name], np.float64) for name in ("p_first", "p_second"))
    said = np.asarray(rows["human"], dtype=object)
    ways = [np.asarray(said == way, np.float64) for way in ("first", "second", "tie")]
    likely = np.column_stack([first, second, 1 - first - second])
    return likely, np.column_stack(ways), np.asarray(rows["prompt_no"], np.int64)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower().rpartition("/")[2]).strip("-")


def _same(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return bool(short) and f"{long}-".startswith(f"{short}-")


@dataclass(frozen=True)
class JudgeUse:
    """How many comparisons a judge is heard on, and how.

    Attributes
    ----------
    comparisons : int
        Those that it judged.
    abstained : int
        Of these, those where it said different things in both orders, and so counts for nothing.
    abstained_voted : int
        Of these, those with a vote, which counts by itself.
    without_probability : int
        Of all others, those whose verdict counts as 0 or 1 for want of its probability.
    """

    comparisons: int = 0
    abstained: int = 0
    abstained_voted: int = 0
    without_probability: int = 0


def judge_use(cursor: duckdb.DuckDBPyConnection, selection: Selection) -> JudgeUse:
    """Count the comparisons that the selected judge is heard on; none where verdicts just count.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    if selection == selection.plain:
        return JudgeUse()
    where, values = condition_of(cursor, selection, model_numbers(cursor, selection))
    abstains = "flipped" if selection.flips is Flips.ABSTAIN else "false"
    lacking = "p_first is null" if selection.judge_score is JudgeScore.PROBABILITY else "false"
    row = cursor.execute(
        f"""
        select
            count(*),
            count(*) filter ({abstains}),
            count(*) filter ({abstains} and human is not null),
            count(*) filter ({lacking} and not {abstains})
        from comparisons
        where {where} and judge_no > 0 and model_a <> model_b
        """,
        values,
    ).fetchall()[0]
    return JudgeUse(*row)
