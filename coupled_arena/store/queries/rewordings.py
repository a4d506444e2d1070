"""Questions of benchmarks that were put in several ways, which few analyses should pool.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

import duckdb

from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores

Cursor = duckdb.DuckDBPyConnection

QUESTION = "coalesce(prompt_id, prompt)"
"""Which question a turn puts: a benchmark has an id for each, whatever the words."""
SEVERAL_WORDS = "count(distinct (prompt, coalesce(system, ''), coalesce(prefix, ''))) > 1"
"""Of the turns that put one question."""

_REWORDED = f"""
select count(*)
from (
    select metric, {QUESTION} as question
    from (select distinct battle, metric from scores where list_contains($metrics, metric))
    join battles using (battle)
    join turns using (battle)
    where turn = 0
        and ($mode is null or mode = $mode)
        and ($models is null or list_has_any(models, $models))
        and ($category is null or category = $category)
        and ($language is null or language = $language)
        and (not $compared or battle_no in (
            select battle_no
            from comparisons
            left join judges using (judge_no)
            where human is not null or list_contains($judges, judge)
        ))
    group by all
    having {SEVERAL_WORDS}
)
"""


def reworded(
    cursor: Cursor,
    selection: Selection,
    metric: str | None = None,
    *,
    compared: bool = False,
) -> int:
    """Return how many questions of benchmarks were put in several ways to any selected model.

    Parameters
    ----------
    selection : Selection
        Its voter does not matter.
    metric : str, optional
        Only of this benchmark.
    compared : bool
        Only of battles with a vote, or a verdict of a selected judge.
    """
    known = scores.benchmarks(cursor)
    chosen = {
        "metrics": [name for name in known if metric in (None, name)],
        "mode": selection.mode and selection.mode.value,
        "models": selection.models and list(selection.models),
        "category": selection.category,
        "language": selection.language,
        "judges": list(selection.judges),
        "compared": compared,
    }
    # Boards of a million votes are counted while somebody looks, and most have no benchmark.
    return cursor.execute(_REWORDED, chosen).fetchall()[0][0] if known else 0
