"""Comparisons that a judge and one voter have both judged.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

import duckdb

# "Both bad" prefers neither answer, as a tie does: the audit's agreement of rows takes it so.
_AGREEMENTS = """
select
    count(*) filter (
        if(human = 'both_bad', 'tie', human) = if(verdict = 'both_bad', 'tie', verdict)
    ) as agreed,
    count(*) as comparisons
from comparisons
join judges using (judge_no)
where judge = $judge and voter = $voter
    and human is not null and verdict is not null and not identical
group by prompt_no
order by prompt_no
"""


def agreements_by_prompt(
    cursor: duckdb.DuckDBPyConnection, judge: str, voter: str
) -> list[tuple[int, int]]:
    """Return for each prompt how many comparisons a judge and a voter agree on, and of how many.

    Ties of identical answers are left out: nobody was asked about them.
    """
    return cursor.execute(_AGREEMENTS, {"judge": judge, "voter": voter}).fetchall()
