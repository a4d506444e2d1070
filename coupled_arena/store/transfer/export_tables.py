"""Files of an export as tables of rows, checked value by value; and why a row cannot be stored.

The checks are SQL on the temporary tables made here. Each returns the ``file``, the ``line`` and
the ``reason``.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from coupled_arena.core.errors import UnknownFormError
from coupled_arena.core.sql import Cursor, quoted
from coupled_arena.store.tables.described import ARENA, FILES, StoredColumn

TABLES = {**FILES, ARENA.name: ARENA}
"""The tables that come back, in their order."""


def recognise(columns: Collection[str]) -> str | None:
    """Return the table of an export that has these columns; None for any other file."""
    for name, table in TABLES.items():
        if {each.name for each in table.columns if each.identifies} <= set(columns):
            return name
    return None


def files_of(folder: Path) -> list[Path]:
    """Return the files of an export in a folder, those of ``arena`` rows too.

    Raises
    ------
    UnknownFormError
        There are none.
    """
    named = [f"{table}.{ending}" for table in TABLES for ending in ("parquet", "jsonl", "csv")]
    if files := [folder / name for name in named if (folder / name).is_file()]:
        return files
    raise UnknownFormError(
        folder, f"{folder} holds no export, such as battles.parquet and votes.parquet."
    )


def prepare(cursor: Cursor) -> None:
    """Make an empty temporary table for each table of an export, such as ``in_votes``."""
    for name, table in TABLES.items():
        typed = ", ".join(f"{each.name} {each.kind.type}" for each in table.read if each.kind)
        cursor.execute(
            f"create or replace temp table in_{name} (file integer, line bigint, {typed})"
        )


def read(cursor: Cursor, table: str, file: int) -> None:
    """Add the rows of a file to its temporary table, those that are none to ``faults``."""
    columns = TABLES[table].read
    spec = quoted(json.dumps(dict.fromkeys([each.name for each in columns], "VARCHAR")))
    values = ", ".join(f"{_value(each)} as {each.name}" for each in columns)
    problems = " ".join(map(_problems, columns))
    cursor.execute(
        f"""
        create or replace temp table typed as
        with fields as (
            select line, reason, if(reason is null, from_json(row, {spec}), null) as f
            from file_rows
        )
        select line, coalesce(reason, case {problems} end) as problem, {values}
        from fields
        """
    )
    cursor.execute(
        "insert into faults select ?, line, problem from typed where problem is not null", [file]
    )
    cursor.execute(
        f"insert into in_{table} select ?, * exclude (problem) from typed where problem is null",
        [file],
    )


def _value(column: StoredColumn) -> str:
    return column.kind.value.format(f=f"f.{column.name}") if column.kind else "null"


def _problems(column: StoredColumn) -> str:
    name, what = column.name, column.kind.name if column.kind else ""
    wrong = (
        f"when f.{name} is not null and ({_value(column)}) is null "
        f"then '{name} ' || short(f.{name}) || ' is not {what}'"
    )
    return f"when f.{name} is null then '{name} is missing' {wrong}" if column.needed else wrong


BATTLE_FAULTS = """
select file, line, case
    when len(models) = 0 then 'models is empty'
    when commitment not in ('', sha256(nonce || unhex(array_to_string(bytes_of_seed, '')))) then
        'its commitment is not that of its seed and nonce'
    when list_count(prompts) < len(prompts) then 'a prompt is missing'
    when len(prompt_ids) <> len(prompts) or len(categories) <> len(prompts)
        or len(languages) <> len(prompts) or len(systems) <> len(prompts)
        or len(prefixes) <> len(prompts) then 'its lists differ in length'
    when chance not between 0 and 1 then 'chance is not between 0 and 1'
    when (told_to is null) <> (told_at is null) then 'told_to and told_at belong together'
end as reason
from (
    select
        *,
        printf('%016x', seed) as hex_seed,
        list_transform([15, 13, 11, 9, 7, 5, 3, 1], lambda i: hex_seed[i : i + 1]) as bytes_of_seed
    from in_battles
)
where reason is not null
"""


def _of_reply(table: str, wrong: str) -> str:
    """Return the query for rows that speak of a reply, and are `wrong` or speak of none."""
    return f"""
select file, line, case
    {wrong}
    when models is null then 'there is no battle ' || i.battle
    when place >= len(models) then 'there is no such place in battle ' || i.battle
    when t.turn is null then 'there is no such turn in battle ' || i.battle
end as reason
from in_{table} as i
left join battles as b on b.battle = i.battle
left join turns as t on t.battle = i.battle and t.turn = i.turn
where reason is not null
"""


REPLY_FAULTS = _of_reply(
    "replies",
    "when models[place + 1] <> model "
    "then 'place ' || place || ' of battle ' || i.battle || ' is not ' || model",
)
SCORE_FAULTS = _of_reply(
    "scores",
    "when i.source not in ('benchmark', 'import') then 'unknown source ' || short(i.source)",
)
_RANK_FAULTS = """    when len({row}.ranks) <> len(b.models)
        then 'it ranks ' || len({row}.ranks) || ' models, the battle has ' || len(b.models)
    when list_min({row}.ranks) <> 1 then 'the best rank must be 1'
    when {row}.both_bad and list_max({row}.ranks) <> 1
        then 'a vote that finds all replies bad cannot rank one above another'
    when list_sort({row}.shown) <> range(len(b.models))
        then 'shown is not an order of its places'
"""
_RANKS_OF_VOTE, _RANKS_OF_REPEAT = (_RANK_FAULTS.format(row=row) for row in "vr")
# Whoever was shown the names no longer votes blind. A vote older than the one that stands was
# replaced where it was cast.
VOTE_FAULTS = f"""
select file, line, case
    when b.models is null then 'there is no battle ' || v.battle
    when v.models <> b.models then 'battle ' || v.battle || ' has other models here'
{_RANKS_OF_VOTE}
    when not known and shown_at < cast_at
        then v.voter || ' had been told the models before this vote'
    when not known and stands_at > cast_at and not list_contains(beside, stands)
        then v.voter || ' has voted on this later, in the store'
end as reason
from (
    select
        *,
        vote in (select vote from votes) as known,
        list(vote) over (partition by file, battle, voter) as beside
    from in_votes
) as v
left join battles as b on b.battle = v.battle
left join (select battle, voter, revealed_at as shown_at from reveals) as r
    on r.battle = v.battle and r.voter = v.voter
left join (select battle, voter, vote as stands, cast_at as stands_at from current_votes) as c
    on c.battle = v.battle and c.voter = v.voter
where reason is not null
"""
RATIONALE_FAULTS = """
select file, line, case
    when v.vote is null then 'there is no vote ' || r.vote
    when v.battle <> r.battle or v.voter <> r.voter
        then 'vote ' || r.vote || ' is on another battle, or of another voter, here'
    when r.vote in (from refused) then 'its vote was rejected'
end as reason
from in_rationales as r
left join votes as v on v.vote = r.vote
where reason is not null
"""
REPEAT_FAULTS = f"""
select file, line, case
    when b.models is null then 'there is no battle ' || r.battle
{_RANKS_OF_REPEAT}
    when v.voter is null then 'there is no first vote of ' || short(r.voter) || ' on its battle'
end as reason
from in_repeats as r
left join battles as b on b.battle = r.battle
left join (select distinct battle, voter from votes) as v
    on v.battle = r.battle and v.voter = r.voter
where reason is not null
"""
GATE_FAULTS = """
select file, line, case
    when base = candidate then 'its models are one'
    when margin in (0, 1) or alpha in (0, 1) then 'margin and alpha lie between 0 and 1'
    when answers = 0 or len(battles) = 0 or len(battles) % answers > 0
        then 'its battles are not so many on each prompt'
    when list_contains(candidates, base) or not list_contains(candidates, candidate)
        or len(list_distinct(candidates)) < len(candidates)
        then 'its candidates are not some models with the candidate among them'
end as reason
from in_gates
where reason is not null
"""
EXCLUSION_FAULTS = """
select file, line, case
    when voter is null and since is null and until is null then 'it has neither voter nor time'
    when since >= until then 'it ends before it begins'
    when (taken_back_at is null) <> (taken_back_by is null)
        or (taken_back_at is null) <> (taken_back_because is null)
        then 'who took it back, when and why belong together'
end as reason
-- Why the votes do not count is another reason.
from (select * exclude (reason) from in_exclusions)
where reason is not null
"""
VERDICT_FAULTS = """
select file, line, case
    when models is null then 'there is no battle ' || v.battle
    when greatest(first_place, second_place) >= len(models) or first_place = second_place
        then 'there are no such two places in battle ' || v.battle
    when (p_first is null) <> (p_second is null) or (p_first is null) <> (p_tie is null)
        or abs(p_first + p_second + p_tie - 1) > 1e-6
        then 'p_first, p_second and p_tie do not sum to 1'
end as reason
from in_verdicts as v
left join battles as b on b.battle = v.battle
where reason is not null
"""
GRADE_FAULTS = """
select file, line, 'no benchmark has scored place ' || place || ' of battle ' || battle as reason
from in_grades
where answer_key is null
"""
# A row compares two places of its battle; all that it says follows from the ranks.
ARENA_ROW_FAULTS = """
select file, line, case
    when len(models) = 0 then 'models is empty'
    when greatest(place_a, place_b) >= len(models) or place_a = place_b
        then 'there are no such two places in its battle'
    when len(ranks) <> len(models)
        then 'it ranks ' || len(ranks) || ' models, the battle has ' || len(models)
    when winner <> if(
        winner = 'tie (bothbad)' and list_max(ranks) = 1,
        winner,
        case
            when ranks[place_a + 1] = ranks[place_b + 1] then 'tie'
            when ranks[place_a + 1] < ranks[place_b + 1] then 'model_a'
            else 'model_b'
        end
    ) then 'its winner is not what its ranks say'
end as reason
from in_arena
where reason is not null
"""
