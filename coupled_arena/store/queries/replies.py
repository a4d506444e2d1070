"""Replies and the scores that are stored on them: what ranking models by risk reads.

A reply is what a model said in the first turn of a battle. Later turns answer conversations that
differ from battle to battle, so there is nothing to compare them with.

All functions work on a given cursor; in one transaction they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.core.sql import Cursor, column_of
from coupled_arena.store.queries.comparisons import Selection, model_numbers

_BATTLES = """
select *
from battles
where ($mode is null or mode = $mode)
    and (not $revealed_only or origin <> 'arena' or battle in (select battle from reveals))
"""
# Whoever stopped a reply decided its length; it says nothing of the model.
_REPLIES = """
with placed as (
    select battle, battle_no, unnest(range(len(models)))::integer as place, unnest(models) as model
    from ({battles})
),
answers as (select battle, place, text, finish from replies where turn = 0)
select battle_no, place, model_no, prompt_no, {columns}
from placed
join models using (model)
join prompt_keys using (battle)
join prompts using (prompt_key)
left join answers using (battle, place)
left join (
    select battle, place, {scores}
    from scores
    where turn = 0 and list_contains($metrics, metric)
    group by battle, place
) using (battle, place)
where finish is distinct from 'cancelled'
    and list_contains($models, model)
    and ($category is null or category = $category)
    and ($language is null or language = $language)
order by battle_no, place
"""


def models(cursor: Cursor, *, revealed_only: bool = False) -> list[str]:
    """Return the models that have battles, sorted."""
    return column_of(
        cursor,
        f"select distinct unnest(models) as model from ({_BATTLES}) order by model",
        {"mode": None, "revealed_only": revealed_only},
    )


def table(
    cursor: Cursor,
    selection: Selection,
    metrics: Sequence[str],
    *,
    texts: bool = False,
    revealed_only: bool = False,
) -> Mapping[str, Any]:
    """Return the selected replies, in the order of their battles.

    Parameters
    ----------
    selection : Selection
        Its judge and voter do not matter.
    metrics : sequence of str
        Stored metrics to return.
    texts, revealed_only : bool
        Return texts, too; leave out battles of the battle tab whose names nobody has been shown.

    Returns
    -------
    mapping of str to ndarray, shape (n,)
        ``battle_no``, ``place``, ``model_no``, ``prompt_no``; ``score0``, ``score1``, … for the
        metrics, float64, NaN where there is none; ``text``, None where there is none.

    Raises
    ------
    StoreError
        The store knows no such model.
    """
    names = [f"score{at}" for at in range(len(metrics))]
    values = selection.values | {
        "models": list(model_numbers(cursor, selection)),
        "metrics": list(metrics),
        "revealed_only": revealed_only,
    }
    missing = {"text": None, **dict.fromkeys(names, np.nan)}
    found = cursor.execute(_query(names, texts=texts), values).fetchnumpy()
    return {
        name: np.ma.filled(column, missing[name]) if name in missing else np.asarray(column)
        for name, column in found.items()
    }


def _query(names: list[str], *, texts: bool) -> str:
    scores = [
        f"max(score) filter (where metric = $metrics[{at}]) as {name}"
        for at, name in enumerate(names, start=1)
    ]
    return _REPLIES.format(
        battles=_BATTLES,
        columns=", ".join([*names, "text" if texts else "null as text"]),
        scores=", ".join([*scores, "count(*) as stored"]),
    )


@dataclass(frozen=True)
class Written:
    """A reply of which the tokens are stored, and how it was drawn."""

    battle: str
    turn: int
    place: int
    temperature: float
    top_k: int
    top_p: float

    @property
    def drawn(self) -> tuple[float, int, float]:
        """Temperature, top-k and top-p."""
        return self.temperature, self.top_k, self.top_p


_WRITTEN = """
select battle, turn, place, temperature, top_k, top_p
from replies
join battles using (battle)
where list_contains($models, model)
    and mode <> 'unknown'
    and origin <> 'import'
    and finish <> 'cancelled'
    and (len(tokens) > 0 or text = '')
order by battle_no, turn, place
"""


def written(cursor: Cursor, models: Sequence[str]) -> list[Written]:
    """Return the replies of some models that were decoded here to their end, oldest first."""
    rows = cursor.execute(_WRITTEN, {"models": list(models)}).fetchall()
    return [Written(*row) for row in rows]


_TOGETHER = """
select metrics
from (
    select list(metric order by metric) as metrics
    from scores
    where turn = 0
    group by battle, place
)
group by metrics
order by count(*) desc, metrics
limit 1
"""


def scored_together(cursor: Cursor) -> list[str]:
    """Return the stored metrics that the most replies with any have together."""
    rows: list[tuple[list[str]]] = cursor.execute(_TOGETHER).fetchall()
    return rows[0][0] if rows else []


_PAIRS = """
select
    battle_no, first_model.model_no as first, second_model.model_no as second,
    enum_code(verdict::outcome) as outcome
from judgements
join battles using (battle)
join models as first_model on first_model.model = models[i]
join models as second_model on second_model.model = models[j]
where judge = $judge
order by battle_no, i, j
"""


def judged_pairs(cursor: Cursor, judge: str) -> Mapping[str, Any]:
    """Return what a judge says of the pairs of each battle, one outcome a pair.

    Returns
    -------
    mapping of str to ndarray, shape (n,)
        ``battle_no``, ``first`` and ``second``, the numbers of the models, and ``outcome``, its
        place in `records.Outcome`.
    """
    return cursor.execute(_PAIRS, {"judge": judge}).fetchnumpy()
