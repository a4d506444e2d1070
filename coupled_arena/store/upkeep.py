"""Keeping the comparisons in line with the battles, votes and verdicts that they follow from.

Whatever writes one of those calls this in the same transaction.
"""

from __future__ import annotations

import duckdb

Cursor = duckdb.DuckDBPyConnection


def enrol(cursor: Cursor, battles: str, values: dict[str, object]) -> None:
    """Give numbers to the models and prompts of new battles, which `refresh` needs.

    Takes what `refresh` takes; numbers are given once.
    """
    for statement in _ENROL:
        cursor.execute(statement.format(battles=battles), values)


def refresh(cursor: Cursor, battles: str, values: dict[str, object]) -> None:
    """Bring the comparisons of some battles in line with their votes and verdicts.

    Parameters
    ----------
    battles : str
        SQL condition on the column ``battle``.
    values : dict
        Its parameters.
    """
    for statement in _REFRESH:
        cursor.execute(statement.format(battles=battles), values)


_ENROL = (
    """
    insert into models (model)
    select distinct unnest(models) as model from battles where {battles}
    order by model
    on conflict do nothing
    """,
    """
    insert into prompts (prompt_key)
    select distinct prompt_key from prompt_keys where {battles}
    order by prompt_key  -- an index takes a million random keys faster in their order
    on conflict do nothing
    """,
)
_REFRESH = (
    "delete from comparisons where battle_no in (select battle_no from battles where {battles})",
    "insert into comparisons select * exclude (battle) from comparison_rows where {battles}",
    """
    update prompts set comparisons = counted.n
    from (
        select prompt_no, count(*) as n
        from comparisons
        where judge_no = 0 and prompt_no in (
            select prompt_no
            from comparisons
            where battle_no in (select battle_no from battles where {battles})
        )
        group by all
    ) as counted
    where prompts.prompt_no = counted.prompt_no
    """,
)
