"""Rows of an export into the store: what is not there yet; what contradicts it is rejected.

An id stands for one content for ever. What two copies of a store have in common is met, and what
either has besides, such as the votes of its own annotators, is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from coupled_arena.store.tables import upkeep
from coupled_arena.store.transfer import arena_rows
from coupled_arena.store.transfer import contradictions as no
from coupled_arena.store.transfer.exported import COLUMNS

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Returned:
    """How many rows of each kind were not in the store before."""

    battles: int
    votes: int
    verdicts: int
    scores: int
    grades: int


@dataclass(frozen=True)
class _Table:
    """A table of the store and the temporary one of its name, with ``in_`` before it.

    Attributes
    ----------
    keys, content : sequence of str
        Columns; the keys stand for the content.
    called : str
        SQL: a row's name, where another row has its keys.
    order : str
        In which rows are added.
    besides : sequence of str
        Columns that grow, and are not compared.
    moves : bool
        Whether the comparisons of its battles follow from it.
    """

    name: str
    keys: Sequence[str]
    content: Sequence[str]
    called: str
    order: str
    besides: Sequence[str] = ()
    moves: bool = False

    @property
    def stored(self) -> str:
        """The table of the store that it is held against."""
        return "battles" if self.name == "arena" else self.name


_IN_TURNS = ("prompts", "prefixes", "prompt_ids", "categories", "languages", "systems")
_SAID = "file, seq nulls last, line"
_BATTLES = _Table(
    "battles",
    ["battle"],
    [name for name in COLUMNS["battles"] if name not in ("battle", "arithmetic", *_IN_TURNS)],
    "'battle ' || battle",
    "created_at, battle",
    ["arithmetic"],
    moves=True,
)
_TURNS = _Table(
    "turns",
    ["battle", "turn"],
    ["prompt", "prompt_id", "category", "language", "system", "prefix"],
    "'turn ' || turn || ' of battle ' || battle",
    "battle, turn",
    moves=True,
)
_REPLIES = _Table(
    "replies",
    ["battle", "turn", "place"],
    ["model", "text", "tokens", "finish"],
    "'the reply at turn ' || turn || ' and place ' || place || ' of battle ' || battle",
    "battle, turn, place",
)
_VOTES = _Table(
    "votes",
    ["vote"],
    ["battle", "voter", "ranks", "both_bad", "source", "early", "cast_at"],
    "'vote ' || vote",
    _SAID,
    moves=True,
)
_JUDGES = _Table(
    "judges",
    ["judge"],
    ["model", "prompt_hash", "sampling"],
    "'the judge ' || judge",
    "judge",
)
_VERDICTS = _Table(
    "verdicts",
    ["verdict"],
    [
        *("battle", "judge", "first_place", "second_place"),
        *("outcome", "raw", "probability", "judged_at"),
    ],
    "'verdict ' || verdict",
    _SAID,
    moves=True,
)
_ARENA = _Table("arena", ["battle"], ["mode", "seed", "models"], "'battle ' || battle", "battle")
_METRICS = _Table(
    "metrics", ["metric"], ["higher_is_better", "source"], "'the metric ' || metric", "metric"
)
_SCORES = _Table(
    "scores",
    ["battle", "turn", "place", "metric"],
    ["score", "answer"],
    "'the ' || metric || ' of turn ' || turn || ' and place ' || place || ' of battle ' || battle",
    "battle, turn, place, metric",
)
_GRADES = _Table(
    "grades",
    ["grade"],
    ["answer_key", "judge", "correct", "raw", "probability", "graded_at"],
    "'grade ' || grade",
    _SAID,
)
_STAGED = (*COLUMNS, "turns", "judges", "metrics")

# An export tells turns with their battle, judges with their verdicts, metrics with their scores.
_PARTS = """
create or replace temp table in_turns as
select
    file, line, battle, turn,
    prompts[turn + 1] as prompt,
    prompt_ids[turn + 1] as prompt_id,
    categories[turn + 1] as category,
    languages[turn + 1] as language,
    systems[turn + 1] as system,
    prefixes[turn + 1] as prefix
from (select *, unnest(range(len(prompts)))::integer as turn from in_battles);

create or replace temp table in_judges as
select file, line, judge, model, prompt_hash, sampling
from in_verdicts
where model is not null
union all
select file, line, judge, judge_model, prompt_hash, sampling
from in_grades
where judge_model is not null;

create or replace temp table in_metrics as
select file, line, metric, higher_is_better, source from in_scores;

create or replace temp table moved (battle text);
"""
# Equal answers have one grade, which an export repeats for each of them.
_ANSWERS = """
create or replace temp table in_grades as
select in_grades.*, answer_key
from in_grades
left join (
    select battle, place, any_value(answer_key) as answer_key
    from benchmark_answers
    where battle in (select battle from in_grades)
    group by all
) using (battle, place)
"""
_REVEALS = """
insert into reveals
select battle, voter, min(revealed_at)
from in_votes
where revealed_at is not null
group by all
on conflict do nothing
"""

# One id, one content: that of the store, else that of the first row which has it.
_CONTRADICTED = """
select file, line, {called} || ' is known with other content' as reason
from (
    select
        i.file, i.line, {keys},
        row({content}) as content,
        coalesce(
            if(s.known, row({stored_content}), null),
            first_value(row({content})) over (partition by {keys} order by file, line)
        ) as known
    from in_{table} as i
    left join (select *, true as known from {stored}) as s using ({keys})
)
where content is distinct from known
"""
_FRESH = """
create or replace temp table fresh as
select {columns}, row_number() over (order by {order}) as nth
from (
    select *
    from in_{table}
    anti join {table} using ({keys})
    qualify row_number() over (partition by {keys} order by file, line) = 1
)
"""
_MOVED = "battle in (select battle from moved)"


def bring_back(cursor: Cursor) -> Returned:
    """Write what the temporary tables of `exported` hold and the store does not.

    Rows that are not stored are in ``faults``, each with its reason.
    """
    _reject(cursor, no.ARENA_ROW, ["arena"])
    arena_rows.spread(cursor)
    cursor.execute(_PARTS)
    # What a store holds is read only for the tables that come: it may be millions of texts.
    battles = _bring_battles(cursor) if _any(cursor, "in_battles", "in_arena") else 0
    if _any(cursor, "in_replies"):
        _bring_replies(cursor)
    scores = _bring_scores(cursor) if _any(cursor, "in_scores") else 0
    judged = _any(cursor, "in_grades", "in_verdicts")
    grades, verdicts = _bring_judged(cursor) if judged else (0, 0)
    votes = _bring_votes(cursor) if _any(cursor, "in_votes") else 0
    if _any(cursor, "moved"):
        upkeep.enrol(cursor, _MOVED, {})
        upkeep.refresh(cursor, _MOVED, {})
    return Returned(battles, votes, verdicts, scores, grades)


def _any(cursor: Cursor, *tables: str) -> bool:
    """Return whether one of the tables has rows."""
    return any(cursor.execute(f"select 1 from {table} limit 1").fetchall() for table in tables)


def _bring_battles(cursor: Cursor) -> int:
    _reject(cursor, no.BATTLE)
    _settle(cursor, _BATTLES)
    _settle(cursor, _TURNS)
    battles = _add(cursor, _BATTLES)
    _add(cursor, _TURNS)
    _settle(cursor, _ARENA)
    return battles


def _bring_replies(cursor: Cursor) -> None:
    _reject(cursor, no.REPLY)
    _settle(cursor, _REPLIES)
    _add(cursor, _REPLIES)


def _bring_scores(cursor: Cursor) -> int:
    _reject(cursor, no.SCORE)
    for table in (_METRICS, _SCORES):
        _settle(cursor, table)
    _add(cursor, _METRICS)
    return _add(cursor, _SCORES)


def _bring_judged(cursor: Cursor) -> tuple[int, int]:
    """Write grades and verdicts with who gave them; return how many of each."""
    cursor.execute(_ANSWERS)
    _reject(cursor, no.GRADE)
    _reject(cursor, no.VERDICT)
    for table in (_GRADES, _VERDICTS, _JUDGES):
        _settle(cursor, table)
    _add(cursor, _JUDGES)
    return _add(cursor, _GRADES), _add(cursor, _VERDICTS)


def _bring_votes(cursor: Cursor) -> int:
    _reject(cursor, no.VOTE)
    _settle(cursor, _VOTES)
    votes = _add(cursor, _VOTES)
    cursor.execute(_REVEALS)
    return votes


def _settle(cursor: Cursor, table: _Table) -> None:
    """Reject the rows whose keys are known with other content."""
    query = _CONTRADICTED.format(
        table=table.name,
        stored=table.stored,
        called=table.called,
        keys=", ".join(table.keys),
        content=", ".join(f"i.{name}" for name in table.content),
        stored_content=", ".join(f"s.{name}" for name in table.content),
    )
    _reject(cursor, query)


def _add(cursor: Cursor, table: _Table) -> int:
    """Write the rows that are not there yet; return their number."""
    columns = ", ".join([*table.keys, *table.content, *table.besides])
    cursor.execute(
        _FRESH.format(
            table=table.name, columns=columns, keys=", ".join(table.keys), order=table.order
        )
    )
    if table.moves:
        cursor.execute("insert into moved select distinct battle from fresh")
    return cursor.execute(
        f"insert into {table.name} ({columns}) select {columns} from fresh order by nth"
    ).fetchall()[0][0]


def _reject(cursor: Cursor, query: str, tables: Sequence[str] = _STAGED) -> None:
    """Move rows to ``faults``; the query returns their ``file``, ``line`` and ``reason``."""
    cursor.execute(f"create or replace temp table wrong as {query}")
    if not cursor.execute("insert into faults select * from wrong").fetchall()[0][0]:
        return
    for table in tables:
        cursor.execute(
            f"delete from in_{table} where (file, line) in (select (file, line) from wrong)"
        )
