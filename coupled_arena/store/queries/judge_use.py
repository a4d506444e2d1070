"""What becomes of a judge's verdicts where they are not taken as they are."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from coupled_arena.core.choices import Flips, JudgeScore
from coupled_arena.store.queries.comparisons import Selection, condition_of, model_numbers


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
