"""Which answers name a model or its maker, by the list in force; on a given cursor.

It follows from the texts, so each writer of battles searches them. A new list searches all battles
again: the list changes with a model, a setting or a version of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from coupled_arena.core.naming import NameList, introduction_hint, known_names
from coupled_arena.core.sql import Cursor, column_of

_PAGE = 1000
_FEW = 50  # answers, which are read sooner than DuckDB has compiled what finds the likely ones
_ALL = "select battle, turn, place, text from replies where {battles}"
LOW = "lower(replace(text, 'İ', 'i̇'))"
"""SQL: an answer in lower case as Python has it; DuckDB drops the dot of one letter."""
_LIKELY = f"""
{_ALL} and (
    regexp_matches({LOW}, $certain)
    or regexp_matches({LOW}, $words) and regexp_matches({LOW}, $opening)
)
"""
_ASKED = """
select likely.*, string_agg(concat_ws(' ', prompt, prefix), chr(10))
from ({likely}) as likely
join (from turns where {battles}) as turns
    on turns.battle = likely.battle and turns.turn <= likely.turn
group by all
"""


@dataclass(frozen=True)
class NamingReply:
    """An answer that names its model or the maker.

    Attributes
    ----------
    found : str
        What stands there.
    votes : int
        Of people, that stand on this battle.
    """

    battle: str
    turn: int
    place: int
    model: str
    found: str
    votes: int


def update(cursor: Cursor, battles: str, values: dict[str, object]) -> set[str]:
    """See which answers of some battles name a model; of all, where the list is another now.

    Takes the arguments of `derived_rows.derive`. Returns the other battles that changed by it.
    """
    there = _State.of(cursor, battles, values)
    if not there.kept_up:
        return _update_all(cursor, there)
    _write(cursor, battles, values, there)
    return set()


def update_all(cursor: Cursor) -> set[str]:
    """Look through all answers if the list is another now than they were looked through by.

    Returns the battles of which something else is known now.
    """
    there = _State.of(cursor)
    return set() if there.kept_up or not there.battles else _update_all(cursor, there)


def _update_all(cursor: Cursor, there: _State) -> set[str]:
    _note(cursor, there.in_force.hash, there.names, there.words)
    return _write(cursor, "true", {}, there)


def add_own(cursor: Cursor, names: Sequence[str], words: Sequence[str]) -> None:
    """Let a list of the settings be in force beside the program's own."""
    there = _State.of(cursor)
    if (sorted(names), sorted(words)) != (there.names, there.words):
        _note(cursor, there.list, sorted(names), sorted(words))


def naming_replies(cursor: Cursor) -> Iterator[NamingReply]:
    """Return the answers that name a model, the newest battle first."""
    rows = cursor.execute(
        """
        select battle, turn, place, models[place + 1], found, coalesce(votes, 0)
        from naming_replies
        join battles using (battle)
        left join (
            select battle, count(*) as votes from ruled_votes where named group by battle
        ) using (battle)
        order by created_at desc, battle, turn, place
        """
    )
    while page := rows.fetchmany(_PAGE):
        yield from (NamingReply(*row) for row in page)


def found_anew(cursor: Cursor) -> Iterator[tuple[str, int, int, str]]:
    """Yield what a look through all answers finds: battle, turn, place and what stands there."""
    yield from _found(cursor, "true", {}, _State.of(cursor).in_force)


@dataclass(frozen=True)
class _State:
    """What there is to go by: the list as it was noted last, models, and what is known already."""

    list: str
    names: list[str]
    words: list[str]
    models: list[str]
    battles: bool  # whether there are any
    known: bool  # whether any answer of the battles in question is known to name a model

    @classmethod
    def of(cls, cursor: Cursor, battles: str = "true", values: Mapping[str, object] = {}) -> _State:
        newest, *others = cursor.execute(
            f"""
            select
                (select {{l: list, n: names, w: words}} from name_lists order by seq desc limit 1),
                (select list(model order by model) from models),
                exists (from battles),
                exists (from naming_replies where {battles})
            """,
            values,
        ).fetchall()[0]
        noted: dict[str, Any] = newest or {"l": "", "n": [], "w": []}
        return cls(noted["l"], noted["n"], noted["w"], others[0] or [], *others[1:])

    @property
    def in_force(self) -> NameList:
        """The list by which answers are to be looked through now."""
        return _whole(tuple(self.names), tuple(self.words), tuple(self.models))

    @property
    def kept_up(self) -> bool:
        """Whether all answers were looked through by it."""
        return self.list == self.in_force.hash


def _write(cursor: Cursor, battles: str, values: dict[str, object], there: _State) -> set[str]:
    found = list(_found(cursor, battles, values, there.in_force))
    before: set[str] = set()
    if there.known:
        deleted = f"delete from naming_replies where {battles} returning battle"
        before = set(column_of(cursor, deleted, values))
    if found:
        cursor.execute(
            "insert into naming_replies select unnest($1), unnest($2), unnest($3), unnest($4)",
            [list(column) for column in zip(*found, strict=True)],
        )
    return before ^ {battle for battle, *_ in found}


def _found(
    cursor: Cursor, battles: str, values: dict[str, object], names: NameList
) -> Iterator[tuple[str, int, int, str]]:
    some = f"{_ALL.format(battles=battles)} limit {_FEW + 1}"
    few = _ASKED.format(likely=some, battles=battles)
    rows = cursor.execute(few, values).fetchall()
    if len(rows) <= _FEW:
        yield from _telling(rows, names)
        return
    hints = {
        "certain": names.certain_hint,
        "words": names.word_hint,
        "opening": introduction_hint(),
    }
    likely = _ASKED.format(likely=_LIKELY.format(battles=battles), battles=battles)
    cursor.execute(likely, values | hints)
    while page := cursor.fetchmany(_PAGE):
        yield from _telling(page, names)


def _telling(rows: list[tuple[Any, ...]], names: NameList) -> Iterator[tuple[str, int, int, str]]:
    for battle, turn, place, text, asked in rows:
        if (found := names.name_in(text, asked)) is not None:
            yield battle, turn, place, found


def _note(cursor: Cursor, list: str, names: Iterable[str], words: Iterable[str]) -> None:
    cursor.execute(
        "insert into name_lists (list, names, words, since) values (?, ?, ?, now())",
        [list, [*names], [*words]],
    )


@cache
def _whole(names: tuple[str, ...], words: tuple[str, ...], models: tuple[str, ...]) -> NameList:
    known = known_names()
    own = NameList((*known.names, *names), (*known.words, *words))
    return own.with_models(models)
