"""Scores of battles under both protocols, and what of them may be asked for.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.records import ANYHOW, Drawn
from coupled_arena.store.queries.rewordings import QUESTION, SEVERAL_WORDS
from coupled_arena.store.tables.drawn import SAMPLER, WANTED, drawn_values

Cursor = duckdb.DuckDBPyConnection

_SAMPLING = """
concat_ws(', ', 'temperature ' || temperature, 'top-k ' || top_k, 'top-p ' || top_p,
    max_new_tokens || ' tokens', if(coupling = 'token', null, coupling || ' sampler'))
"""
_CHOSEN = f"""
with chosen as (
    select
        battle, models, prompt_no, mode, {_SAMPLING} as sampling,
        row_number() over (
            partition by prompt_no, mode order by experiment, repetition, battle_no
        ) - 1 as repetition
    from battles
    join prompt_keys using (battle)
    join prompts using (prompt_key)
    where mode in ('coupled', 'independent')
        and battle in (select battle from scores where metric = $metric)
        and list_has_all(models, $models)
        and len(list_distinct(models)) = len(models)
        and ($category is null or category = $category)
        and {WANTED}
)
"""
_CELLS = f"""
{_CHOSEN}
select
    prompt_no, mode = 'coupled' as coupled, repetition,
    list_position($models, models[place + 1]) - 1 as model,
    score, sampling
from chosen
join scores using (battle)
where metric = $metric and turn = 0 and list_contains($models, models[place + 1])
"""
_REWORDED = f"""
{_CHOSEN}
select {QUESTION} as question
from chosen
join turns using (battle)
where turn = 0
group by question
having {SEVERAL_WORDS}
"""


def scored_models(cursor: Cursor, metric: str) -> list[str]:
    """Return the models with scores by a metric, in both modes, sorted."""
    rows = cursor.execute(
        """
        select models[place + 1] as model
        from scores
        join battles using (battle)
        where metric = ? and mode in ('coupled', 'independent')
        group by model
        having count(distinct mode) = 2
        order by model
        """,
        [metric],
    ).fetchall()
    return [model for (model,) in rows]


def categories(cursor: Cursor, metric: str) -> list[str]:
    """Return the categories of the prompts with scores by a metric."""
    rows = cursor.execute(
        """
        select distinct category
        from turns
        where turn = 0 and category is not null
            and battle in (select battle from scores where metric = ?)
        order by category
        """,
        [metric],
    ).fetchall()
    return [category for (category,) in rows]


def drawings(cursor: Cursor, metric: str, wanted: Drawn = ANYHOW) -> list[Drawn]:
    """Return how the answers with scores by a metric were drawn, sorted; of all, or of some."""
    rows = cursor.execute(
        f"""
        select distinct temperature, top_p, {SAMPLER} as sampler
        from battles
        where battle in (select battle from scores where metric = $metric) and {WANTED}
        order by all
        """,
        {"metric": metric, **drawn_values(wanted)},
    ).fetchall()
    return [Drawn(*row) for row in rows]


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Scores of battles under both protocols, one a row; all arrays have the shape (n,).

    Attributes
    ----------
    prompt : ndarray of int64
        Number of the prompt.
    coupled : ndarray of int64
        1 under coupling, else 0.
    repetition : ndarray of int64
        Counted from 0 for each prompt and protocol.
    model : ndarray of int64
        Place among the models asked for.
    score : ndarray of float64
    samplings : tuple of str
        All that these battles were drawn with, in words.
    reworded : int
        Questions that were put in several ways: their own words, the system prompt, the beginning
        of the answer.
    """

    prompt: NDArray[np.int64]
    coupled: NDArray[np.int64]
    repetition: NDArray[np.int64]
    model: NDArray[np.int64]
    score: NDArray[np.float64]
    samplings: tuple[str, ...]
    reworded: int = 0


def cells(
    cursor: Cursor,
    metric: str,
    models: Sequence[str],
    category: str | None = None,
    drawn: Drawn = ANYHOW,
) -> ScoreCells:
    """Return the scores of battles that all these models are in, under both protocols."""
    chosen = {
        "metric": metric,
        "models": list(models),
        "category": category,
        **drawn_values(drawn),
    }
    reworded = len(cursor.execute(_REWORDED, chosen).fetchall())
    rows = cursor.execute(_CELLS, chosen).fetchnumpy()

    def whole(name: str) -> NDArray[np.int64]:
        return np.asarray(rows[name]).astype(np.int64)

    return ScoreCells(
        prompt=whole("prompt_no"),
        coupled=whole("coupled"),
        repetition=whole("repetition"),
        model=whole("model"),
        score=np.asarray(rows["score"]).astype(np.float64),
        samplings=tuple(sorted(set(np.asarray(rows["sampling"]).astype(str).tolist()))),
        reworded=reworded,
    )
