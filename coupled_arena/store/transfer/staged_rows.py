"""Files into one table of staged rows: voter or judge, two models, battle, outcome."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from coupled_arena.core.errors import StoreError, UnknownFormError
from coupled_arena.core.records import Mode
from coupled_arena.core.sql import Cursor, quoted, value_of
from coupled_arena.core.vote_columns import VERDICT, read_names
from coupled_arena.store.tables import times
from coupled_arena.store.transfer import conversations
from coupled_arena.store.transfer.file_rows import columns, count
from coupled_arena.store.transfer.foreign_rows import PARTS, ColumnMap, unknown
from coupled_arena.store.transfer.python_literals import reread
from coupled_arena.store.transfer.vote_formats import (
    FLAGS,
    FORMATS,
    IDENTICAL,
    MACROS,
    OURS,
    VOTER,
    Reading,
    VoteFormat,
    meanings,
)


@dataclass(frozen=True)
class ImportOptions:
    """What an import is asked for; see `importing.import_files`."""

    judge: str | None = None
    dataset: str = "import"
    single_turn: bool = False
    no_toxic: bool = False
    columns: ColumnMap = field(default_factory=ColumnMap)
    unnamed_judge: str | None = None
    voters_apart: bool = False


_FIELDS = (
    *(*read_names(), *FLAGS),
    *("model_1", "model_2", "g1_winner", "g2_winner", "g1_judgment", "g2_judgment"),
    *("uid", "model", "baseline", "games"),
    *("instruction", "input", "output_1", "output_2", "generator_1", "generator_2", "preference"),
)

# Toxicity flags come as JSON, and from pandas' CSV in Python's spelling.
_MACROS = """
create or replace temp macro short(value) as
    '''' || if(len(value) > 40, value[:40] || '…', value) || '''';
create or replace temp macro no_time(value) as
    short(value) || ' is not a time between 2000 and tomorrow: write it as 2026-01-31 09:30';
create or replace temp macro one_number(value) as regexp_replace(value, '^([0-9]+)[.]0$', '\\1');
create or replace temp macro several(name) as
    regexp_matches(name, '^[\\[{]') and json_valid(name);
create or replace temp macro flag(value) as
    coalesce(
        try_cast(nullif(try_cast(value as double), 'nan'::double) as boolean),
        try_cast(value as boolean)
    );
create or replace temp macro number_of_64_bits(value, decimal) as
    case
        when not decimal and regexp_full_match(value, '[0-9a-f]{16}')
            then try_cast('0x' || value as ubigint)
        when regexp_full_match(value, '[0-9]+([.]0)?')
            then try_cast(split_part(value, '.', 1) as ubigint)
    end;
create or replace temp macro toxic(value) as
    coalesce(regexp_matches(value, '["'']flagged["'']\\s*:\\s*[Tt]rue'), false);
"""

_STAGED = """
create or replace temp table staged (
    n bigint, leader bigint, judged boolean, apart boolean,
    file integer, line bigint, problem text, battle text, one_order boolean,
    own boolean, alone boolean, mode text, other_mode text, seed ubigint, other_seed text,
    voter text, known boolean,
    first text, second text, outcome text, raw text, likely double, source text,
    given_at timestamptz,
    question text, category text, language text, dropped boolean,
    prompts text[], replies_a text[], replies_b text[], system text, unread boolean
);
"""

# A missing turn counts as the first one, for judges' files rarely tell it. A column of numbers that
# passed through pandas with a gap in it holds 7.0 for 7. A battle that has an id of this program's
# form keeps it; other numbers of battles are those of their dataset. Protocols of one question are
# battles of their own. A row that nothing else identifies has the key of its texts, or of its place
# in a file of that name. What other programs write into `mode` and `seed` is theirs: only battles
# with an id of ours are known to mean the same by it. A verdict beside a vote is on the battle of
# that vote, its leader; where nothing tells on which answers it was, that of no other row.
_READ = """
insert into staged
with fields as (
    select
        line, part, reason,
        if(contains(row, '"seed"'), json_type(row, '$.seed') <> 'VARCHAR', null) as decimal,
        unnest(if(reason is null, from_json(row, {fields}), null))
    from file_rows
),
texts as (
    select
        *,
        nullif(stripped({first}), '') as shown_first,
        nullif(stripped({second}), '') as shown_second,
        one_number({item}) as item,
        {prompts} as prompts,
        {replies_a} as answers_a,
        {replies_b} as answers_b,
        coalesce(moment(tstamp), moment(timestamp)) as told_at,
        nullif(trim(seed), '') as seed_text,
        nullif(lower(trim(mode)), '') as mode_text
    from {parsed}
),
typed as (
    select
        *,
        coalesce(list_count(answers_a), 0) + coalesce(list_count(answers_b), 0) > 0 as answered,
        try_cast(turn as integer) as turn_no,
        number_of_64_bits(seed_text, decimal) as seed_no,
        if(mode_text in ({modes}), mode_text, null) as mode_word
    from texts
),
named as (
    select
        * replace (
            if(stripped(winner) = '', null, winner) as winner,
            if($judge is null, nullif(trim(verdict), ''), null) as verdict
        ),
        if(coalesce(num, item) is not null or {lacks_item} <> '', null,
            if(prompts is not null or answered, md5(to_json({{
                'prompts': prompts,
                -- This name is a part of the hash, and so of ids.
                'said': if(
                    shown_first <= shown_second,
                    [answers_a, answers_b], [answers_b, answers_a]
                )
            }})::varchar), concat_ws('/', 'row', {name}, line))
        ) as place,
        coalesce(regexp_full_match(battle, '[0-9a-f]{{32}}'), false)
            or coalesce(battle in (select battle from battles), false) as own
    from typed
),
meant as (select *{meanings} from named)
select
    ({file}::bigint << 40) + 2 * (line * {parts} + part) + {order} as n, n - {led}, {judged},
    verdict is not null and not answered and coalesce(num, item) is null,
    {file}, line,
    case
        when reason is not null then reason
        when shown_first is null then '{first} is missing'
        when shown_second is null then '{second} is missing'
        when several(shown_first) then '{first} ' || short(shown_first) || ' is no name'
        when several(shown_second) then '{second} ' || short(shown_second) || ' is no name'
        when shown_first = shown_second and not own then 'a model meets itself'
        when coalesce(num, item, place) is null and not own then {lacks_item}
        when own and mode_text is distinct from mode_word
            then 'unknown mode ' || short(mode)
        when own and seed_text is not null and seed_no is null
            then 'seed ' || short(seed) || ' is not a number of 64 bits'
        when told_at is null and time_text(tstamp) is not null
            then 'tstamp ' || no_time(tstamp)
        when told_at is null and time_text(timestamp) is not null
            then 'timestamp ' || no_time(timestamp)
        else {fault}
    end,
    case
        when own then battle
        when num is not null
            then md5(concat_ws(chr(31), $dataset, 'num', regexp_replace(num, '[.]0$', '')))
        else md5(concat_ws(
            chr(31), $dataset, 'question', coalesce(item, place), if(turn_no > 1, turn_no, null),
            least(shown_first, shown_second), greatest(shown_first, shown_second),
            'mode ' || mode_word, 'seed ' || seed_no
        ))
    end,
    {one_order},
    own, coalesce(starts_with(place, 'row/'), false) and not own,
    mode_word, if(mode_text is distinct from mode_word, mode_text, null),
    seed_no, if(seed_no is null, seed_text, null),
    {voter}, {known},
    shown_first, shown_second, {outcome}, coalesce({raw}, ''), {likely},
    if({identical} and {outcome} = 'tie', 'identical', 'human'),
    coalesce(told_at, now()),
    one_number({question}),
    coalesce(nullif(trim(category), ''), if(mode_text is distinct from mode_word, mode, null)),
    language,
    ($single_turn and (coalesce(turn_no, 1) > 1 or coalesce(len(prompts), 1) > 1))
        or ($no_toxic and (toxic(toxic_chat_tag) or toxic(openai_moderation))),
    prompts, answers_a, answers_b, {system}, {unread}
from meant
where {there} and (reason is not null or not ({unvoted}))
"""
_NAMES = quoted(json.dumps(dict.fromkeys(_FIELDS, "VARCHAR")))
_OF_READINGS = ("first", "second", "outcome", "raw", "likely")
_OF_FORMATS = (
    *("item", "question", "fault", "prompts", "replies_a", "replies_b", "system", "unread"),
    "unvoted",
)
_VALUES = ("judge", "dataset", "single_turn", "no_toxic")
_OF_VOTES = {
    "led": "0",
    "judged": "$judge is not null or {judge} is not null",
    "voter": f"coalesce($judge, {{judge}}, {VOTER}, "
    "if({apart}, concat_ws(' ', $dataset, {file}, line, part), $dataset))",
    "known": f"if($judge is null, {VOTER} is not null "
    "and (answered or coalesce(num, item) is not null), answered)",
}
_BESIDE_VOTES = {
    "led": "if(winner is null, 0, 1)",
    "judged": "true",
    "voter": quoted(VERDICT),
    "known": "false",
}


def prepare(cursor: Cursor) -> None:
    """Make the empty temporary table ``staged``, and what fills it."""
    for statements in (times.MACROS, conversations.MACROS, _MACROS, MACROS, _STAGED):
        cursor.execute(statements)


@dataclass(frozen=True)
class StagedFile:
    """What was read of a file.

    Attributes
    ----------
    format : VoteFormat
    unread : set of str
        The file's columns that are not read.
    unvoted : int
        Rows that hold no vote.
    """

    format: VoteFormat
    unread: set[str]
    unvoted: int


def read(cursor: Cursor, path: Path, file: int, wanted: ImportOptions) -> StagedFile:
    """Add a file's rows to ``staged``, one for each order of the models.

    Raises
    ------
    StoreError
        The file has no known format, or holds verdicts of an unnamed judge.
    """
    format = _recognise(cursor, path, wanted.columns)
    if format.judged and wanted.judge is None:
        if wanted.unnamed_judge is None:
            raise StoreError(
                f"{path} holds verdicts of a judge ({format.title}): name it with --judge."
            )
        wanted = replace(wanted, judge=wanted.unnamed_judge)
    reread(cursor, ("conversation_a", "conversation_b", "judge", *format.lists))
    cursor.execute(conversations.LISTED)
    beside = [reading.beside for reading in format.readings if reading.beside]
    there = [name for name in beside if _any_has(cursor, name)]
    for order, reading in enumerate(format.readings):
        if reading.beside not in ("", *there):
            continue
        query = _READ.format(
            fields=_NAMES,
            file=file,
            parsed=conversations.PARSED.format(rows="fields"),
            order=order,
            modes=", ".join(quoted(mode.value) for mode in Mode),
            name=quoted(path.name),
            lacks_item=quoted(format.lacks_item),
            one_order=str(len(format.readings) - len(beside) == 1).lower(),
            there=_there(reading, there),
            identical=IDENTICAL,
            **{
                name: sql.format(
                    judge=format.judge, file=file, apart=str(wanted.voters_apart).lower()
                )
                for name, sql in (_BESIDE_VOTES if reading.beside else _OF_VOTES).items()
            },
            **{name: getattr(reading, name) for name in _OF_READINGS},
            parts=PARTS,
            meanings="".join(f", {meanings(field)}" for field in format.said),
            **{name: getattr(format, name) for name in _OF_FORMATS},
        )
        cursor.execute(query, {name: vars(wanted)[name] for name in _VALUES})
    known = set(format.fields or _FIELDS)
    unread = columns(cursor) - (known if beside and wanted.judge is None else known - {VERDICT})
    return StagedFile(format, unread, _unvoted(cursor, format))


def _any_has(cursor: Cursor, field: str) -> bool:
    """Whether a row may have a field; to plan a reading takes longer than to search for it."""
    escaped = r"\\u00[67]"  # a letter of the name, where somebody writes it so
    found = "select exists (from file_rows where contains(row, ?) or regexp_matches(row, ?))"
    return bool(value_of(cursor, found, [json.dumps(field), escaped]))


def _unvoted(cursor: Cursor, format: VoteFormat) -> int:
    """Return how many rows hold no vote."""
    if format.unvoted == "false":
        return 0
    rows = f"select unnest(from_json(row, {_NAMES})) from file_rows where reason is null"
    return value_of(cursor, f"select count(*) from ({rows}) where {format.unvoted}")


def _there(reading: Reading, beside: list[str]) -> str:
    """Return the SQL condition that a row has what a reading takes: its fault, if nothing else."""
    if reading.beside:
        return f"{reading.beside} is not null"
    return f"{reading.raw} is not null or {beside[0]} is null" if beside else "true"


def _recognise(cursor: Cursor, path: Path, named: ColumnMap) -> VoteFormat:
    present = columns(cursor)
    for format in (OURS,) if named.tells_winner else FORMATS:
        if present.issuperset(format.columns):
            return format
    unread = "select line, reason from file_rows where reason is not null order by line limit 1"
    for line, why in [] if present else cursor.execute(unread).fetchall():
        raise StoreError(f"{path}, line {line}: {why.splitlines()[0]}.")
    if count(cursor):
        made = named.columns.keys() - named.columns.values()
        raise UnknownFormError(path, unknown(path, present - made))
    raise StoreError(f"{path} has no rows.")


def reject(cursor: Cursor, query: str) -> None:
    """Move staged rows to ``faults``; the query returns their ``n`` and the ``reason``."""
    cursor.execute(f"create or replace temp table wrong as {query}")
    cursor.execute("insert into faults select file, line, reason from staged join wrong using (n)")
    cursor.execute("delete from staged where n in (select n from wrong)")
