"""The scored answers of benchmarks that a judge has not graded yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from coupled_arena.core.verdicts import Grade, Solution
from coupled_arena.store.database import Store
from coupled_arena.store.tables import grades

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
        self._store.write(lambda cursor: grades.add(cursor, answers))
