"""What benchmarks have scored against what a judge has graded, for the audit.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from coupled_arena.store.queries.comparisons import Selection

Cursor = duckdb.DuckDBPyConnection


def graders(cursor: Cursor) -> list[str]:
    """Return the judges that have graded single answers."""
    rows = cursor.execute("select distinct judge from grades order by judge").fetchall()
    return [judge for (judge,) in rows]


_CHOSEN = """
join battles using (battle)
join prompt_keys using (battle)
join prompts using (prompt_key)
where metric = $metric
    and ($mode is null or mode = $mode)
    and ($models is null or list_contains($models, model))
    and ($category is null or category = $category)
    and ($language is null or language = $language)
order by battle_no, place
"""


_ANSWERS = """
with newest as (
    select answer_key, arg_max(
        {'correct': correct, 'probability': probability}, seq
    ) filter (correct is not null) as grade
    from grades
    where judge = $judge
    group by all
)
select
    model, battle_no, prompt_no,
    (score = 1)::integer as right,
    grade.correct::integer as called_right,
    if(grade.correct, grade.probability, 1 - grade.probability) as probability
from benchmark_answers
left join newest using (answer_key)
"""


def answers(cursor: Cursor, selection: Selection, metric: str) -> Mapping[str, Any]:
    """Return the answers that a benchmark has scored, and the selected judge's grades of them.

    Returns
    -------
    mapping of str to ndarray, shape (n,)
        ``model``, ``battle_no``, ``prompt_no``, ``right`` (1 for a full score, else 0), and
        ``called_right``, masked where the judge gave no readable grade; ``probability``, that the
        judge gives to the answer's being right, masked where the server told none.
    """
    values = {"judge": selection.judge, **_chosen(selection, metric)}
    return cursor.execute(_ANSWERS + _CHOSEN, values).fetchnumpy()


_READ = """
select
    model, battle_no, prompt_no,
    (scores.score = 1)::integer as right,
    scores.answer as read
from benchmark_answers
join scores using (battle, place, metric)
"""


def read_answers(cursor: Cursor, selection: Selection, metric: str) -> Mapping[str, Any]:
    """Return the answers that a benchmark has scored, as it has read them.

    Returns
    -------
    mapping of str to ndarray, shape (n,)
        ``model``, ``battle_no``, ``prompt_no``, ``right`` (1 for a full score, else 0), and
        ``read``, masked where no answer was found in the reply. Oldest battles first.
    """
    return cursor.execute(_READ + _CHOSEN, _chosen(selection, metric)).fetchnumpy()


def _chosen(selection: Selection, metric: str) -> dict[str, Any]:
    return {
        "metric": metric,
        "mode": selection.mode and selection.mode.value,
        "models": selection.models and list(selection.models),
        "category": selection.category,
        "language": selection.language,
    }


def unreadable(cursor: Cursor, judge: str) -> int:
    """Return the number of answers that a judge was asked about and never graded readably."""
    query = """
    select count(*)
    from (select answer_key from grades where judge = ? group by all having count(correct) = 0)
    """
    return cursor.execute(query, [judge]).fetchall()[0][0]
