"""Why people preferred one model to another: the criteria of their votes; on a given cursor."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coupled_arena.core.rationales import Criterion
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.queries.comparisons import Selection, condition_of, model_numbers


@dataclass(frozen=True)
class ReasonCount:
    """Wins of one model over another with the reasons of one voter.

    Attributes
    ----------
    wins : int
        Those with any criterion.
    by_criterion : dict of Criterion to int
        How many of them have it.
    """

    winner: str
    loser: str
    voter: str
    wins: int
    by_criterion: dict[Criterion, int]


def any_there(cursor: Cursor) -> bool:
    """Tell whether anybody has said why."""
    return value_of(cursor, "select exists (from current_rationales where len(criteria) > 0)")


def counted(cursor: Cursor, selection: Selection) -> list[ReasonCount]:
    """Return the selected wins that have reasons, by pair and voter."""
    people = replace(selection.plain, judge=None, more_judges=())
    where, values = condition_of(cursor, people, model_numbers(cursor, people))
    each = ", ".join(f"count(*) filter (list_contains(criteria, '{c.value}'))" for c in Criterion)
    rows = cursor.execute(
        f"""
        with won as (
            select
                battle_no, voter,
                if(human = 'first', model_a, model_b) as winner_no,
                if(human = 'first', model_b, model_a) as loser_no
            from comparisons
            where {where} and human in ('first', 'second') and model_a <> model_b
                and voter is not null
        ),
        said as (
            select battle_no, voter, criteria
            from current_votes
            join battles using (battle)
            join current_rationales using (vote)
            where len(criteria) > 0
        )
        select w.model, l.model, voter, count(*), {each}
        from won
        join said using (battle_no, voter)
        join models as w on w.model_no = winner_no
        join models as l on l.model_no = loser_no
        group by all
        order by all
        """,
        values,
    ).fetchall()
    return [
        ReasonCount(winner, loser, voter, wins, dict(zip(Criterion, said, strict=True)))
        for winner, loser, voter, wins, *said in rows
    ]
