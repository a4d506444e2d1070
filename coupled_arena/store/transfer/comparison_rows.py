"""Comparisons from elsewhere as an in-memory store, so that they are counted as stored ones are."""

from __future__ import annotations

from coupled_arena.core.sql import Cursor
from coupled_arena.store.database import Store

# As `comparison_rows` makes them of battles: every row for no judge, and again for the judge.
_FILL = (
    "insert into models (model) select distinct unnest([model_a, model_b]) from given order by 1",
    "insert into prompts (prompt_key, comparisons) select prompt, count(*) from given group by 1",
    """
    insert into judges (judge, model, prompt_hash, sampling)
    select getvariable('judge'), 'imported', '', ''
    where exists (from given where verdict is not null)
    """,
    """
    insert into comparisons
    select
        n, prompt_no, judge_no, given.mode::mode, a.model_no, b.model_no,
        human::outcome, if(judge_no = 0, null, verdict)::outcome, identical, voter, null, null,
        null, null, false
    from given
    join (select 0 as judge_no union all select judge_no from judges)
        on judge_no = 0 or verdict is not null
    join models as a on a.model = model_a
    join models as b on b.model = model_b
    join prompts on prompt_key = prompt
    """,
)


def store_of_rows(rows: object, judge: str) -> Store:
    """Return an in-memory store that holds nothing but these comparisons.

    Parameters
    ----------
    rows : DataFrame
        Columns ``n`` (the row's number), ``model_a``, ``model_b``, ``human`` and ``verdict``
        (outcomes, or missing), ``prompt``, ``voter`` (missing where nobody voted), ``mode``,
        ``identical``.
    judge : str
        Whose verdicts they are.
    """

    def fill(cursor: Cursor) -> None:
        cursor.register("given", rows)
        cursor.execute("set variable judge = $judge", {"judge": judge})
        for statement in _FILL:
            cursor.execute(statement)

    store = Store.in_memory()
    try:
        store.write(fill)
    except BaseException:
        store.close()
        raise
    return store
