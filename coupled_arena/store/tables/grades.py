"""What a judge has not graded yet of the answers that benchmarks have scored, and its grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import duckdb

from coupled_arena.core.verdicts import Grade, Solution
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection

Cursor = duckdb.DuckDBPyConnection

_PAGE = 500  # answers in memory at once
# Equal answers to a question are graded once, whoever gave them.
_PENDING = """
create or replace temp table pending as
with given as (
    select answer_key, count(*)::integer as attempts, bool_or(correct is not null) as scored
    from grades
    where judge = $judge
    group by all
),
missing as (
    select answer_key, min(battle_no) as battle_no, coalesce(any_value(attempts), 0) as attempt
    from benchmark_answers
    join battles using (battle)
    left join given using (answer_key)
    where attempts is null or ($again and not scored)
    group by all
)
select *, row_number() over (order by battle_no, answer_key) as nth
from missing
qualify $limit is null or nth <= $limit
"""
_SOLUTIONS = """
select answer_key, any_value(prompt), any_value(answer), any_value(attempt)
from pending
join benchmark_answers using (answer_key)
where nth between ? and ?
group by answer_key
order by any_value(nth)
"""
_ADD = """
insert into grades (grade, answer_key, judge, correct, raw, probability, graded_at)
values (?, ?, ?, ?, ?, ?, ?)
on conflict do nothing
"""


class PendingSolutions:
    """What a judge has not graded at one moment; use it as a context manager.

    Parameters
    ----------
    again : bool
        Whether to ask again what had unreadable answers.
    limit : int or None
        Most answers.

    Attributes
    ----------
    questions : int
        Answers that it has not graded.
    skipped : int
        Grades of this judge that were there already.
    """

    def __init__(
        self, store: Store, judge: str, *, again: bool = False, limit: int | None = None
    ) -> None:
        self._store = store
        self._cursor = cursor = store.cursor()
        cursor.execute(_PENDING, {"judge": judge, "again": again, "limit": limit})
        self.questions: int = cursor.execute("select count(*) from pending").fetchall()[0][0]
        given = cursor.execute("select count(*) from grades where judge = ?", [judge])
        self.skipped: int = given.fetchall()[0][0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def pages(self) -> Iterator[list[Solution]]:
        """Yield everything that is missing, in the order of the store."""
        for begin in range(1, self.questions + 1, _PAGE):
            rows = self._cursor.execute(_SOLUTIONS, [begin, begin + _PAGE - 1]).fetchall()
            yield [Solution(*row) for row in rows]

    def add(self, answers: Sequence[Grade]) -> None:
        """Write grades in one transaction; those that are there already change nothing.

        Raises
        ------
        StoreError
            The database cannot be written.
        """
        rows = [
            [g.id, g.answer_key, g.judge, g.correct, g.raw, g.probability, g.graded_at]
            for g in answers
        ]
        self._store.write(lambda cursor: cursor.executemany(_ADD, rows))


def graders(cursor: Cursor) -> list[str]:
    """Return the judges that have graded single answers."""
    rows = cursor.execute("select distinct judge from grades order by judge").fetchall()
    return [judge for (judge,) in rows]


_ANSWERS = """
with newest as (
    select answer_key, arg_max(correct, seq) filter (correct is not null) as correct
    from grades
    where judge = $judge
    group by all
)
select
    model, battle_no, prompt_no,
    (score = 1)::integer as right,
    correct::integer as called_right
from benchmark_answers
join battles using (battle)
join prompt_keys using (battle)
join prompts using (prompt_key)
left join newest using (answer_key)
where metric = $metric
    and ($mode is null or mode = $mode)
    and ($models is null or list_contains($models, model))
    and ($category is null or category = $category)
    and ($language is null or language = $language)
order by battle_no, place
"""


def answers(cursor: Cursor, selection: Selection, metric: str) -> Mapping[str, Any]:
    """Return the answers that a benchmark has scored, and the selected judge's grades of them.

    Returns
    -------
    mapping of str to ndarray, shape (n,)
        ``model``, ``battle_no``, ``prompt_no``, ``right`` (1 for a full score, else 0), and
        ``called_right``, masked where the judge gave no readable grade.
    """
    values = {
        "judge": selection.judge,
        "metric": metric,
        "mode": selection.mode and selection.mode.value,
        "models": selection.models and list(selection.models),
        "category": selection.category,
        "language": selection.language,
    }
    return cursor.execute(_ANSWERS, values).fetchnumpy()


def unreadable(cursor: Cursor, judge: str) -> int:
    """Return the number of answers that a judge was asked about and never graded readably."""
    query = """
    select count(*)
    from (select answer_key from grades where judge = ? group by all having count(correct) = 0)
    """
    return cursor.execute(query, [judge]).fetchall()[0][0]
