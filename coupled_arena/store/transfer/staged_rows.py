"""Files into one table of staged rows: whose outcome, of which two models, on which battle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import duckdb

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Mode
from coupled_arena.store.files import quoted
from coupled_arena.store.tables import times
from coupled_arena.store.transfer import conversations
from coupled_arena.store.transfer.file_rows import columns, count
from coupled_arena.store.transfer.python_literals import reread
from coupled_arena.store.transfer.vote_formats import FLAGS, FORMATS, VoteFormat

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class ImportOptions:
    """What an import is asked for; see `importing.import_files`."""

    judge: str | None = None
    dataset: str = "import"
    single_turn: bool = False
    no_toxic: bool = False


_FIELDS = (
    *("num", "question_id", "id", "battle", "source", "judge", "judge_hash", "annotator"),
    *("mode", "seed"),
    *("model_a", "model_b", "winner", "conversation_a", "conversation_b", "turn"),
    *("category", "language", "tstamp", "timestamp", "toxic_chat_tag", "openai_moderation"),
    *("prompt", "response_a", "response_b", *FLAGS),
    *("model_1", "model_2", "g1_winner", "g2_winner", "g1_judgment", "g2_judgment"),
    *("uid", "model", "baseline", "games"),
    *("instruction", "output_1", "output_2", "generator_1", "generator_2", "preference"),
)

# Toxicity flags come as JSON, and from pandas' CSV in Python's spelling.
_MACROS = """
create or replace temp macro short(value) as
    '''' || if(len(value) > 40, value[:40] || '…', value) || '''';
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
    n bigint, file integer, line bigint, problem text, battle text, keyed boolean,
    own boolean, mode text, seed ubigint,
    voter text, first text, second text, outcome text, raw text, source text, given_at timestamptz,
    question text, category text, language text, dropped boolean,
    prompts text[], replies_a text[], replies_b text[], system text, unread boolean
);
"""

# A missing turn counts as the first one, for judges' files rarely tell it. A column of numbers that
# passed through pandas with a gap in it holds 7.0 for 7. A battle that has an id of this program's
# form keeps it; other numbers of battles are those of their dataset. Protocols of one question are
# battles of their own.
_READ = """
insert into staged
with fields as (
    select
        line, reason,
        if(contains(row, '"seed"'), json_type(row, '$.seed') <> 'VARCHAR', null) as decimal,
        unnest(if(reason is null, from_json(row, {fields}), null))
    from file_rows
),
named as (
    select
        *,
        nullif(trim({first}), '') as shown_first,
        nullif(trim({second}), '') as shown_second,
        {item} as item,
        try_cast(turn as integer) as turn_no,
        {prompts} as prompts,
        {replies_a} as replies_a,
        {replies_b} as replies_b,
        coalesce(moment(tstamp), moment(timestamp)) as told_at,
        nullif(trim(seed), '') as seed_text,
        number_of_64_bits(seed_text, decimal) as seed_no,
        nullif(lower(trim(mode)), '') as mode_word,
        coalesce(regexp_full_match(battle, '[0-9a-f]{{32}}'), false)
            or coalesce(battle in (select battle from battles), false) as own
    from {parsed}
)
select
    ({file}::bigint << 40) + 2 * line + {order}, {file}, line,
    case
        when reason is not null then reason
        when shown_first is null then '{first} is missing'
        when shown_second is null then '{second} is missing'
        when coalesce(num, item) is null and not own then '{missing} is missing'
        when mode_word not in ({modes}) then 'unknown mode ' || short(mode)
        when seed_text is not null and seed_no is null
            then 'seed ' || short(seed) || ' is not a number of 64 bits'
        when told_at is null and said_time(tstamp) is not null
            then 'tstamp ' || short(tstamp) || ' is not a time between 2000 and tomorrow'
        when told_at is null and said_time(timestamp) is not null
            then 'timestamp ' || short(timestamp) || ' is not a time between 2000 and tomorrow'
        else {fault}
    end,
    case
        when own then battle
        when num is not null
            then md5(concat_ws(chr(31), $dataset, 'num', regexp_replace(num, '[.]0$', '')))
        else md5(concat_ws(
            chr(31), $dataset, 'question', item, if(turn_no > 1, turn_no, null),
            least(shown_first, shown_second), greatest(shown_first, shown_second),
            'mode ' || mode_word, 'seed ' || seed_no
        ))
    end,
    num is not null,
    own, mode_word, seed_no,
    coalesce($judge, nullif(judge, ''), judge_hash, annotator, $dataset),
    shown_first, shown_second, {outcome}, coalesce({raw}, ''),
    if(source = 'identical', source, 'human'),
    coalesce(told_at, now()),
    {question}, category, language,
    ($single_turn and (coalesce(turn_no, 1) > 1 or coalesce(len(prompts), 1) > 1))
        or ($no_toxic and (toxic(toxic_chat_tag) or toxic(openai_moderation))),
    prompts, replies_a, replies_b, {system}, {unread}
from named
"""


def prepare(cursor: Cursor) -> None:
    """Make the empty temporary table ``staged``, and what fills it."""
    for statements in (times.MACROS, conversations.MACROS, _MACROS, _STAGED):
        cursor.execute(statements)


def read(cursor: Cursor, path: Path, file: int, wanted: ImportOptions) -> None:
    """Add a file's rows to ``staged``, one for each order of the models.

    Raises
    ------
    StoreError
        The file has no known format, or holds verdicts of an unnamed judge.
    """
    format = _recognise(cursor, path)
    if format.judged and wanted.judge is None:
        raise StoreError(
            f"{path} holds verdicts of a judge ({format.title}): name it with --judge."
        )
    reread(cursor, ("conversation_a", "conversation_b", "prompt", "response_a", "response_b"))
    cursor.execute(conversations.LISTED)
    for order, reading in enumerate(format.readings):
        query = _READ.format(
            fields=quoted(json.dumps(dict.fromkeys(_FIELDS, "VARCHAR"))),
            file=file,
            parsed=conversations.PARSED.format(rows="fields"),
            order=order,
            modes=", ".join(quoted(mode.value) for mode in Mode),
            missing="instruction" if format.item == "instruction" else "question_id",
            **{name: getattr(reading, name) for name in ("first", "second", "outcome", "raw")},
            **{
                name: getattr(format, name)
                for name in (
                    *("item", "question", "fault", "prompts", "replies_a", "replies_b"),
                    *("system", "unread"),
                )
            },
        )
        cursor.execute(query, vars(wanted))


def _recognise(cursor: Cursor, path: Path) -> VoteFormat:
    present = columns(cursor)
    for format in FORMATS:
        if present.issuperset(format.columns):
            return format
    unread = "select line, reason from file_rows where reason is not null order by line limit 1"
    for line, why in [] if present else cursor.execute(unread).fetchall():
        raise StoreError(f"{path}, line {line}: {why.splitlines()[0]}.")
    known = "; ".join(f"{', '.join(format.columns)} ({format.title})" for format in FORMATS)
    what = "has none of the known formats" if count(cursor) else "has no rows"
    raise StoreError(f"{path} {what}. Expected columns: {known}; or a file of an export.")


def reject(cursor: Cursor, query: str) -> None:
    """Move staged rows to ``faults``; the query returns their ``n`` and the ``reason``."""
    cursor.execute(f"create or replace temp table wrong as {query}")
    cursor.execute("insert into faults select file, line, reason from staged join wrong using (n)")
    cursor.execute("delete from staged where n in (select n from wrong)")
