"""Which battles lie behind a number: those that a filter selects, counted and listed page by page.

A filter that asks for somebody's word selects comparisons, by the same condition as the counts of
`coupled_arena.store.queries.comparisons`: so a number on a board is the number of those behind it.

All functions work on a cursor that somebody else opened; in one transaction they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb

from coupled_arena.core.errors import BattleError
from coupled_arena.core.language import _
from coupled_arena.core.records import Mode, Outcome
from coupled_arena.store.queries.battle_conditions import behind
from coupled_arena.store.queries.battle_filter import BattleFilter
from coupled_arena.store.queries.visibility import VISIBLE, Hidden
from coupled_arena.store.tables.times import utc

Cursor = duckdb.DuckDBPyConnection
PAGE = 20


@dataclass(frozen=True)
class Tally:
    """What a filter selects: battles that may be shown and their comparisons, and what is not."""

    battles: int
    comparisons: int
    hidden: int


@dataclass(frozen=True)
class Heard:
    """A comparison of a listed battle: the model that people and the judge prefer, or how it ended.

    None where one of them said nothing, or was not asked for.
    """

    people: str | Outcome | None
    judge: str | Outcome | None


@dataclass(frozen=True)
class FoundBattle:
    """A battle in a list; `comparisons` of it are selected (0 where no word is asked for).

    `heard` are these comparisons, or where no word is asked for those that people voted on.
    """

    battle: str
    created_at: datetime
    mode: Mode
    models: tuple[str, ...]
    question: str
    votes: int
    verdicts: int
    comparisons: int
    heard: tuple[Heard, ...]


def tally(cursor: Cursor, wanted: BattleFilter, hidden: Hidden) -> Tally:
    """Count what a filter selects, page or not.

    Parameters
    ----------
    hidden : {"nothing", "rounds", "stored"}
        What may not be shown, as in `transfer.export.export`.

    Raises
    ------
    StoreError
        The store knows no such model or judge.
    """
    found, _, values = behind(cursor, wanted)
    row = cursor.execute(
        f"""
        select
            count(*) filter (shown),
            coalesce(sum(n) filter (shown), 0)::bigint,
            coalesce(sum(n) filter (not shown), 0)::bigint
        from (select n, {VISIBLE[hidden]} as shown from ({found}))
        """,
        values,
    ).fetchall()[0]
    return Tally(*row)


def page(
    cursor: Cursor, wanted: BattleFilter, hidden: Hidden, size: int = PAGE
) -> list[FoundBattle]:
    """Return the selected battles that may be shown, the newest first, at most one page of them.

    Raises
    ------
    StoreError
        The store knows no such model or judge.
    BattleError
        The list cannot begin after a battle that is not there, or may not be shown.
    """
    selected, heard, values = behind(cursor, wanted)
    after = "true"
    if wanted.before is not None:
        after = """
            (created_at, battle_no)
                < (select (created_at, battle_no) from battles where battle = $after)
        """
        values["after"] = _place(cursor, wanted.before, hidden)
    found = cursor.execute(
        f"""
        with listed as (
            select *
            from ({selected})
            where ({VISIBLE[hidden]}) and {after}
            order by created_at desc, battle_no desc
            limit {size}
        )
        select
            battle, {utc("created_at")}, mode, models,
            (select prompt from turns where turns.battle = listed.battle and turn = 0),
            (select count(*) from counted_votes as v where v.battle = listed.battle),
            (select count(*) from verdicts where verdicts.battle = listed.battle),
            n,
            (
                select list([one.model, other.model, human::text, verdict::text])
                from comparisons as c
                join models as one on one.model_no = c.model_a
                join models as other on other.model_no = c.model_b
                where c.battle_no = listed.battle_no and {heard}
            )
        from listed
        order by created_at desc, battle_no desc
        """,
        values,
    ).fetchall()
    return [_found(*row) for row in found]


def _found(*row: Any) -> FoundBattle:
    battle, made, mode, models, question, votes, verdicts, n, said = row
    heard = tuple(_heard(*each) for each in said or ())
    when, names = made.replace(tzinfo=UTC), tuple(models)
    return FoundBattle(battle, when, Mode(mode), names, question or "", votes, verdicts, n, heard)


def _heard(first: str, second: str, human: str | None, verdict: str | None) -> Heard:
    return Heard(_preferred(first, second, human), _preferred(first, second, verdict))


def _preferred(first: str, second: str, outcome: str | None) -> str | Outcome | None:
    if outcome is None:
        return None
    return {Outcome.FIRST: first, Outcome.SECOND: second}.get(Outcome(outcome), Outcome(outcome))


def is_shown(cursor: Cursor, battle: str, hidden: Hidden) -> bool:
    """Tell whether there is a battle of this id that may be shown."""
    query = f"select 1 from battles where battle = ? and ({VISIBLE[hidden]})"
    return cursor.execute(query, [battle]).fetchone() is not None


def _place(cursor: Cursor, battle: str, hidden: Hidden) -> str:
    if not is_shown(cursor, battle, hidden):
        raise BattleError(_("This page of battles is gone: begin with the newest ones again."))
    return battle
