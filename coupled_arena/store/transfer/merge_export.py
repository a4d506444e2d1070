"""Rows of an export into the store: new rows are added, contradictory ones rejected.

An id stands for one content for ever. Rows that two copies of a store have in common meet. Rows of
one copy alone, such as the votes of its own annotators, are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.tables import derived_rows, described
from coupled_arena.store.tables.described import StoredTable
from coupled_arena.store.transfer import conversations, export_tables
from coupled_arena.store.transfer.export_tables import TABLES


@dataclass(frozen=True)
class AddedRows:
    """How many rows of each kind were not in the store before."""

    battles: int
    votes: int
    rationales: int
    verdicts: int
    scores: int
    grades: int
    exclusions: int
    repeats: int
    gates: int


_TABLES = (*TABLES, "turns", "judges", "metrics")

# An export has turns with their battle, judges with their verdicts, metrics with their scores.
_TURNS = ", ".join(
    f"{of_all}[turn + 1] as {name}" for name, of_all in described.BATTLES.parts("turns").items()
)


def _part(table: StoredTable, of: StoredTable) -> str:
    """Return SQL for the rows of a table that stand in the file of another one."""
    names = ", ".join(f"{here} as {name}" for name, here in of.parts(table.name).items())
    return f"select file, line, {', '.join(table.keys)}, {names} from in_{of.name}"


_PARTS = f"""
create or replace temp table in_turns as
select file, line, battle, turn, {_TURNS}
from (select *, unnest(range(len(prompts)))::integer as turn from in_battles);

create or replace temp table in_judges as
select *
from (
    {_part(described.JUDGES, described.VERDICTS)}
    union all by name
    {_part(described.JUDGES, described.GRADES)}
)
where model is not null;

create or replace temp table in_metrics as
{_part(described.METRICS, described.SCORES)};

create or replace temp table moved (battle text);
create or replace temp table contradicted (battle text);
create or replace temp table refused as select distinct vote from in_votes;
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
# An import without texts leaves an empty question; one of the same battle with them completes it.
_COMPLETED = """
create or replace temp table fullest as
select battle, turn, max(prompt) as prompt, max(system) as system
from (
    select battle, turn, prompt, system from in_turns
    union all
    select battle, turn, prompt, system from turns where battle in (select battle from in_battles)
)
where battle in (
    select battle from battles where origin = 'import'
    union all select battle from in_battles where origin = 'import'
)
group by all
having count(distinct nullif(prompt, '')) <= 1 and count(distinct nullif(system, '')) <= 1
    and (count(distinct prompt) > 1 or count(distinct system) > 1)
"""
_COMPLETE = """
update {table} set prompt = fullest.prompt, system = fullest.system
from fullest
where {table}.battle = fullest.battle and {table}.turn = fullest.turn
"""
_REVEALS = """
insert into reveals
select battle, {voter}, min({at})
from {table}
where {at} is not null
group by all
on conflict do nothing
"""
_TOLD_AFTER_VOTES = _REVEALS.format(table="in_votes", voter="voter", at="revealed_at")
_TOLD_WITHOUT_VOTES = _REVEALS.format(table="in_battles", voter="told_to", at="told_at")

_TAKEN_BACK = """
insert into inclusions
select exclusion, taken_back_because, taken_back_by, taken_back_at
from in_exclusions
where taken_back_at is not null
qualify row_number() over (partition by exclusion order by file, line) = 1
on conflict do nothing
"""
_DECIDED = """
insert into moved
select battle
from current_votes
left join (select vote, true as before from counted_before) using (vote)
left join (select vote, true as after from counted_votes) using (vote)
where before is distinct from after
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
# Whoever voted, judged, graded or scored saw the other content.
_OF_CONTRADICTED = " union all ".join(
    f"""
    select file, line, 'battle ' || battle || ' is known with other content' as reason
    from in_{table}
    where battle in (select battle from contradicted)
    """
    for table in ("replies", "votes", "rationales", "verdicts", "scores", "grades", "repeats")
)


def add_missing(cursor: Cursor) -> AddedRows:
    """Write what the temporary tables of `export_tables` hold and the store does not.

    Rows that are not stored are in ``faults``, each with its reason.
    """
    _reject(cursor, export_tables.ARENA_ROW_FAULTS, ["arena"])
    conversations.spread_arena_rows(cursor)
    cursor.execute(_PARTS)
    # What a store holds is read only for the tables that come: it may be millions of texts.
    battles = _add_battles(cursor) if _any(cursor, "in_battles", "in_arena") else 0
    if _any(cursor, "in_replies"):
        _add_replies(cursor)
    scores = _add_scores(cursor) if _any(cursor, "in_scores") else 0
    judged = _any(cursor, "in_grades", "in_verdicts")
    grades, verdicts = _add_judged(cursor) if judged else (0, 0)
    votes = _add_votes(cursor) if _any(cursor, "in_votes") else 0
    rationales = _add_rationales(cursor) if _any(cursor, "in_rationales") else 0
    exclusions = _add_exclusions(cursor) if _any(cursor, "in_exclusions") else 0
    repeats = _add_repeats(cursor) if _any(cursor, "in_repeats") else 0
    gates = _add_gates(cursor) if _any(cursor, "in_gates") else 0
    if _any(cursor, "moved"):
        derived_rows.derive(cursor, _MOVED, {})
        derived_rows.refresh(cursor, _MOVED, {})
    return AddedRows(
        *(battles, votes, rationales, verdicts, scores, grades, exclusions, repeats, gates)
    )


def _any(cursor: Cursor, *tables: str) -> bool:
    """Return whether one of the tables has rows."""
    return any(cursor.execute(f"select 1 from {table} limit 1").fetchall() for table in tables)


def _add_battles(cursor: Cursor) -> int:
    _reject(cursor, export_tables.BATTLE_FAULTS)
    _settle(cursor, described.BATTLES)
    _complete(cursor)
    _settle(cursor, described.TURNS)
    _reject(cursor, _OF_CONTRADICTED)
    battles = _add(cursor, described.BATTLES)
    _add(cursor, described.TURNS)
    cursor.execute(_TOLD_WITHOUT_VOTES)
    _settle(cursor, described.ARENA, described.BATTLES)
    return battles


def _complete(cursor: Cursor) -> None:
    cursor.execute(_COMPLETED)
    if _any(cursor, "fullest"):
        derived_rows.forget(cursor, "battle in (select battle from fullest)")
        cursor.execute(_COMPLETE.format(table="in_turns"))
        cursor.execute(_COMPLETE.format(table="turns"))
        cursor.execute(
            "insert into moved select distinct battle from fullest join turns using (battle, turn)"
        )


def _add_replies(cursor: Cursor) -> None:
    _reject(cursor, export_tables.REPLY_FAULTS)
    _settle(cursor, described.REPLIES)
    _reject(cursor, _OF_CONTRADICTED)
    _add(cursor, described.REPLIES)


def _add_scores(cursor: Cursor) -> int:
    _reject(cursor, export_tables.SCORE_FAULTS)
    for table in (described.METRICS, described.SCORES):
        _settle(cursor, table)
    _add(cursor, described.METRICS)
    return _add(cursor, described.SCORES)


def _add_judged(cursor: Cursor) -> tuple[int, int]:
    """Write grades and verdicts with who gave them; return how many of each."""
    cursor.execute(_ANSWERS)
    _reject(cursor, export_tables.GRADE_FAULTS)
    _reject(cursor, export_tables.VERDICT_FAULTS)
    for table in (described.GRADES, described.VERDICTS, described.JUDGES):
        _settle(cursor, table)
    _add(cursor, described.JUDGES)
    return _add(cursor, described.GRADES), _add(cursor, described.VERDICTS)


def _add_votes(cursor: Cursor) -> int:
    _reject(cursor, export_tables.VOTE_FAULTS)
    _settle(cursor, described.VOTES)
    votes = _add(cursor, described.VOTES)
    cursor.execute(_TOLD_AFTER_VOTES)
    return votes


def _add_rationales(cursor: Cursor) -> int:
    cursor.execute("delete from refused where vote in (select vote from in_votes)")
    _reject(cursor, export_tables.RATIONALE_FAULTS)
    _settle(cursor, described.RATIONALES)
    return _add(cursor, described.RATIONALES)


def _add_exclusions(cursor: Cursor) -> int:
    _reject(cursor, export_tables.EXCLUSION_FAULTS)
    _settle(cursor, described.EXCLUSIONS)
    cursor.execute("create or replace temp table counted_before as select vote from counted_votes")
    added = _add(cursor, described.EXCLUSIONS)
    cursor.execute(_TAKEN_BACK)
    cursor.execute(_DECIDED)
    return added


def _add_repeats(cursor: Cursor) -> int:
    _reject(cursor, export_tables.REPEAT_FAULTS)
    _settle(cursor, described.REPEATS)
    return _add(cursor, described.REPEATS)


def _add_gates(cursor: Cursor) -> int:
    _reject(cursor, export_tables.GATE_FAULTS)
    _settle(cursor, described.GATES)
    return _add(cursor, described.GATES)


def _settle(cursor: Cursor, table: StoredTable, stored: StoredTable | None = None) -> None:
    """Reject the rows whose keys are known with other content, here or in another table."""
    stored = stored or table
    query = _CONTRADICTED.format(
        table=table.name,
        stored=stored.name,
        called=table.called,
        keys=", ".join(table.keys),
        content=", ".join(f"i.{name}" for name in table.content),
        stored_content=", ".join(f"s.{name}" for name in table.content),
    )
    if table.seen:
        cursor.execute(
            f"""
            insert into contradicted
            select distinct battle from in_{table.name} join ({query}) using (file, line)
            """
        )
    _reject(cursor, query)


def _add(cursor: Cursor, table: StoredTable) -> int:
    """Write the rows that are not there yet; return their number."""
    order = "file, seq nulls last, line" if table.order.startswith("seq") else table.order
    columns = ", ".join([*table.keys, *table.content, *table.grows])
    cursor.execute(
        _FRESH.format(table=table.name, columns=columns, keys=", ".join(table.keys), order=order)
    )
    if table.moves:
        cursor.execute("insert into moved select distinct battle from fresh")
    return value_of(
        cursor, f"insert into {table.name} ({columns}) select {columns} from fresh order by nth"
    )


def _reject(cursor: Cursor, query: str, tables: Sequence[str] = _TABLES) -> None:
    """Move rows to ``faults``; the query returns their ``file``, ``line`` and ``reason``."""
    cursor.execute(f"create or replace temp table wrong as {query}")
    if not value_of(cursor, "insert into faults select * from wrong"):
        return
    for table in tables:
        cursor.execute(
            f"delete from in_{table} where (file, line) in (select (file, line) from wrong)"
        )
