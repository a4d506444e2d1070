"""Keeping the comparisons in line with the battles, votes and verdicts that they follow from.

Whatever writes one of those calls this in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.tables import naming

# Votes that DuckDB reads in the time in which it plans a statement. Rows of one battle are found by
# an index; for those of several in one statement all votes are read.
_READ_AS_FAST = 20_000
_Condition = tuple[str, dict[str, object]]


@dataclass
class Due:
    """Battles whose rows here are to be written before the commit, once for all of them.

    Attributes
    ----------
    answered : list of str
        Those with new replies.
    voted : list of str
        Those with new votes.
    """

    answered: list[str] = field(default_factory=list[str])
    voted: list[str] = field(default_factory=list[str])

    def write(self, cursor: Cursor) -> None:
        """Write the rows."""
        for condition in _conditions(self.answered, together=True):
            derive(cursor, *condition)
        changed = list(dict.fromkeys(self.answered + self.voted))
        alone = len(changed) > 1 and value_of(cursor, "select count(*) from votes") // _READ_AS_FAST
        for condition in _conditions(changed, together=len(changed) > 1 + alone):
            refresh(cursor, *condition)


def _conditions(battles: Sequence[str], *, together: bool) -> Iterator[_Condition]:
    if len(battles) > 1 and together:
        yield "list_contains($battles, battle)", {"battles": list(battles)}
    else:
        for each in battles:
            yield "battle = $battle", {"battle": each}


def derive(cursor: Cursor, battles: str, values: dict[str, object]) -> None:
    """Write the rows that follow from new replies: numbers, styles, equal replies, named models.

    `refresh` needs them, and takes the same arguments. Models and prompts keep their numbers.
    """
    for statement in _DERIVE:
        cursor.execute(statement.format(battles=battles), values)
    _count_named(cursor, naming.update(cursor, battles, values))


def update_named(cursor: Cursor) -> None:
    """Bring the marks of answers that name a model in line with the list in force."""
    _count_named(cursor, naming.update_all(cursor))


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


def forget(cursor: Cursor, battles: str) -> None:
    """Delete the comparisons of battles before their questions change.

    `derive` and `refresh` write them for the new questions.
    """
    for statement in _FORGET:
        cursor.execute(statement.format(battles=battles))


def set_own_names(cursor: Cursor, names: Sequence[str], words: Sequence[str]) -> None:
    """Search for these names, too, beside the program's own: see `core.naming.NameList`."""
    naming.add_own(cursor, names, words)
    update_named(cursor)


def _count_named(cursor: Cursor, battles: Collection[str]) -> None:
    """Refresh battles in which a mark of a named model has come or gone."""
    if battles:
        named: dict[str, object] = {"named": list(battles)}
        refresh(cursor, "battle in (select unnest($named))", named)


# Not by the table's sequence: a row that meets a conflict takes one of its numbers, too, and small
# integers would be used up after some ten thousand battles.
_DERIVE = (
    """
    insert into models
    select model, row_number() over (order by model)
        + (select coalesce(max(model_no), 0) from models)
    from (select distinct unnest(models) as model from battles where {battles})
    anti join models using (model)
    """,
    """
    insert into prompts (prompt_key)
    select distinct prompt_key from prompt_keys where {battles}
    order by prompt_key  -- an index takes a million random keys faster in their order
    on conflict do nothing
    """,
    "delete from same_words where {battles}",
    """
    insert into same_words
    with replied as (
        select battle, place + 1 as i, list({{turn: turn, text: text}} order by turn) as words
        from replies
        where {battles} and battle in (
            select battle from replies where {battles}
            group by battle, turn, hash(text) having count(*) > 1
        )
        group by battle, place
        having bool_or(text <> '')
    ),
    grouped as (
        select battle, list(i) as places from replied group by battle, words having count(*) > 1
    ),
    first_ones as (select battle, places, unnest(places) as i from grouped),
    paired as (select battle, i, unnest(places) as j from first_ones)
    select * from paired where i < j
    """,
    "delete from reply_styles where battle_no in (select battle_no from battles where {battles})",
    "insert into reply_styles select * exclude (battle) from reply_style_rows where {battles}",
)
_FORGET = (
    """
    create or replace temp table left_prompts as
    select distinct prompt_no
    from comparisons
    where battle_no in (select battle_no from battles where {battles})
    """,
    "delete from comparisons where battle_no in (select battle_no from battles where {battles})",
    """
    update prompts set comparisons = (
        select count(*) from comparisons as c
        where c.judge_no = 0 and c.prompt_no = prompts.prompt_no
    )
    where prompt_no in (from left_prompts)
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
