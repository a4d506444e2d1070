"""The published formats of comparisons, each as SQL expressions over a row's fields."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import duckdb

from coupled_arena.errors import StoreError
from coupled_arena.store.reading import quote, stage

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Reading:
    """What a row says of one order of its two models.

    Attributes
    ----------
    first, second : str
        Fields that name the model shown first and the other.
    said : str
        SQL: ``first``, ``second``, ``tie``, ``both_bad``, or null for an unreadable verdict.
    raw : str
        SQL: the verdict in the judge's words, as far as they are there.
    """

    first: str
    second: str
    said: str
    raw: str


@dataclass(frozen=True)
class Format:
    """One published format.

    Attributes
    ----------
    title : str
    columns : tuple of str
        Fields by which it is told from others.
    readings : tuple of Reading
        Two where a judge was asked in both orders.
    fault : str
        SQL: why no outcome can be taken from the row, or null.
    item : str
        SQL: what, with the models, identifies a row that has no ``num``.
    question : str
        SQL: the prompt's own identifier.
    prompts, replies_a, replies_b : str
        SQL: texts by turn.
    judged : bool
        Its outcomes are always those of a judge.
    """

    title: str
    columns: tuple[str, ...]
    readings: tuple[Reading, ...]
    fault: str
    item: str = "coalesce(battle, question_id, id)"
    question: str = "coalesce(question_id, id)"
    prompts: str = "texts(conversation_a, 'user')"
    replies_a: str = "texts(conversation_a, 'assistant')"
    replies_b: str = "texts(conversation_b, 'assistant')"
    judged: bool = False


_BOTH_BAD = "'tie (bothbad)', 'both_bad', 'bothbad'"
_WINNERS = f"'model_a', 'model_b', 'tie', {_BOTH_BAD}"


def _winner(field: str, first: str, second: str) -> str:
    return (
        f"case when {field} = '{first}' then 'first' when {field} = '{second}' then 'second' "
        f"when {field} = 'tie' then 'tie' when {field} in ({_BOTH_BAD}) then 'both_bad' end"
    )


def _unknown(field: str, known: str) -> str:
    return (
        f"when {field} is null then '{field} is missing' "
        f"when {field} not in ({known}) then 'unknown {field} ' || short({field}) "
    )


_PAIR_WINNERS = "'model_1', 'model_2', 'tie', 'error'"
_FLAGS = ("winner_model_a", "winner_model_b", "winner_tie")

FORMATS = (
    Format(
        title="MT-Bench pairs",
        columns=("question_id", "model_1", "model_2", "g1_winner", "g2_winner"),
        readings=(
            Reading(
                *("model_1", "model_2", _winner("g1_winner", "model_1", "model_2")),
                "coalesce(g1_judgment, g1_winner)",
            ),
            Reading(
                *("model_2", "model_1", _winner("g2_winner", "model_2", "model_1")),
                "coalesce(g2_judgment, g2_winner)",
            ),
        ),
        fault=f"case {_unknown('g1_winner', _PAIR_WINNERS)}"
        f"{_unknown('g2_winner', _PAIR_WINNERS)} end",
        judged=True,
    ),
    Format(
        title="AlpacaEval annotations",
        columns=("instruction", "generator_1", "generator_2", "preference"),
        readings=(
            Reading(
                "generator_1",
                "generator_2",
                "case try_cast(preference as double) "
                "when 1 then 'first' when 2 then 'second' when 1.5 then 'tie' end",
                "preference",
            ),
        ),
        fault="case when preference is null then 'preference is missing' "
        "when coalesce(try_cast(preference as double), 0) not in (1, 1.5, 2) "
        "then 'unknown preference ' || short(preference) || ' (1, 1.5 and 2 are known)' end",
        item="instruction",
        question="null",
        prompts="if(instruction is null, null, [instruction])",
        replies_a="if(output_1 is null, null, [output_1])",
        replies_b="if(output_2 is null, null, [output_2])",
    ),
    Format(
        title="Kaggle's Chatbot Arena",
        columns=("model_a", "model_b", *_FLAGS),
        readings=(
            Reading(
                "model_a",
                "model_b",
                "case when flag(winner_model_a) then 'first' when flag(winner_model_b) "
                "then 'second' else 'tie' end",
                f"concat_ws(',', {', '.join(_FLAGS)})",
            ),
        ),
        fault="case when list_sort([" + ", ".join(f"flag({name})" for name in _FLAGS) + "]) "
        "is distinct from [false, false, true] "
        f"then 'exactly one of {', '.join(_FLAGS)} must be 1' end",
        prompts="listed(prompt)",
        replies_a="listed(response_a)",
        replies_b="listed(response_b)",
    ),
    Format(
        title="Chatbot Arena and ranking rows",
        columns=("model_a", "model_b", "winner"),
        readings=(
            Reading("model_a", "model_b", _winner("winner", "model_a", "model_b"), "winner"),
        ),
        fault=f"case {_unknown('winner', _WINNERS)} end",
    ),
)

_FIELDS = (
    *("num", "question_id", "id", "battle", "source", "judge", "judge_hash", "annotator"),
    *("model_a", "model_b", "winner", "conversation_a", "conversation_b", "turn"),
    *("category", "language", "tstamp", "timestamp", "toxic_chat_tag", "openai_moderation"),
    *("prompt", "response_a", "response_b", *_FLAGS),
    *("model_1", "model_2", "g1_winner", "g2_winner", "g1_judgment", "g2_judgment"),
    *("instruction", "output_1", "output_2", "generator_1", "generator_2", "preference"),
)

# Contents are text, or since 2025 lists of parts, some of which have text. Toxicity flags come as
# JSON, and from pandas' CSV in Python's spelling.
_MACROS = """
create or replace temp macro short(value) as
    '''' || if(len(value) > 40, value[:40] || '…', value) || '''';
create or replace temp macro flag(value) as
    coalesce(try_cast(try_cast(value as double) as boolean), try_cast(value as boolean));
create or replace temp macro listed(value) as
    coalesce(try(from_json(value, '["VARCHAR"]')), if(value is null, null, [value]));
create or replace temp macro texts(conversation, who) as
    list_transform(
        list_filter(
            try(from_json(conversation, '[{"role": "VARCHAR", "content": "JSON"}]')),
            lambda said: said.role = who
        ),
        lambda said: if(
            json_type(said.content) = 'ARRAY',
            array_to_string(json_extract_string(said.content, '$[*].text'), ''),
            said.content ->> '$'
        )
    );
create or replace temp macro moment(value) as
    coalesce(try(to_timestamp(try_cast(value as double))), try_cast(value as timestamptz));
create or replace temp macro toxic(value) as
    coalesce(regexp_matches(value, '["'']flagged["'']\\s*:\\s*[Tt]rue'), false);
set session TimeZone = 'UTC';
"""

_CLAIMS = """
create or replace temp table claims (
    n bigint, file integer, line bigint, problem text, battle text, keyed boolean,
    voter text, first text, second text, said text, raw text, source text, said_at timestamptz,
    question text, category text, language text, dropped boolean,
    prompts text[], replies_a text[], replies_b text[]
);
create or replace temp table faults (file integer, line bigint, reason text);
"""

# A missing turn counts as the first one, for judges' files rarely tell it.
_READ = """
insert into claims
with fields as (
    select
        line, reason,
        unnest(if(reason is null, from_json(row, {fields}), null))
    from staged
),
named as (
    select
        *,
        nullif(trim({first}), '') as shown_first,
        nullif(trim({second}), '') as shown_second,
        {item} as item,
        try_cast(turn as integer) as turn_no,
        {prompts} as prompts
    from fields
)
select
    ({file}::bigint << 40) + 2 * line + {order}, {file}, line,
    case
        when reason is not null then reason
        when shown_first is null then '{first} is missing'
        when shown_second is null then '{second} is missing'
        when coalesce(num, item) is null then '{missing} is missing'
        else {fault}
    end,
    md5(if(
        num is not null,
        concat_ws(chr(31), $dataset, 'num', num),
        concat_ws(
            chr(31), $dataset, 'question', item, if(turn_no > 1, turn_no, null),
            least(shown_first, shown_second), greatest(shown_first, shown_second)
        )
    )),
    num is not null,
    coalesce($judge, judge, judge_hash, annotator, $dataset),
    shown_first, shown_second, {said}, coalesce({raw}, ''),
    if(source = 'identical', source, 'human'),
    coalesce(moment(tstamp), moment(timestamp), now()),
    {question}, category, language,
    ($single_turn and (coalesce(turn_no, 1) > 1 or coalesce(len(prompts), 1) > 1))
        or ($no_toxic and (toxic(toxic_chat_tag) or toxic(openai_moderation))),
    prompts, {replies_a}, {replies_b}
from named
"""


@dataclass(frozen=True)
class Wanted:
    """What an import is asked for; see `importing.import_files`."""

    judge: str | None = None
    dataset: str = "import"
    single_turn: bool = False
    no_toxic: bool = False


def prepare(cursor: Cursor) -> None:
    """Make the empty temporary tables ``claims`` and ``faults``, and what fills them."""
    cursor.execute(_MACROS)
    cursor.execute(_CLAIMS)


def read(cursor: Cursor, path: Path, file: int, wanted: Wanted) -> int:
    """Add a file's rows to ``claims``, one for each order of the models; return their number.

    Raises
    ------
    StoreError
        The file cannot be read, has no known format, or holds verdicts of an unnamed judge.
    """
    stage(cursor, path)
    format = _recognise(cursor, path)
    if format.judged and wanted.judge is None:
        raise StoreError(
            f"{path} holds verdicts of a judge ({format.title}): name it with --judge."
        )
    for order, reading in enumerate(format.readings):
        query = _READ.format(
            fields=quote(json.dumps(dict.fromkeys(_FIELDS, "VARCHAR"))),
            file=file,
            order=order,
            missing="instruction" if format.item == "instruction" else "question_id",
            **{name: getattr(reading, name) for name in ("first", "second", "said", "raw")},
            **{
                name: getattr(format, name)
                for name in ("item", "question", "fault", "prompts", "replies_a", "replies_b")
            },
        )
        cursor.execute(query, vars(wanted))
    return cursor.execute("select count(*) from staged").fetchall()[0][0]


def _recognise(cursor: Cursor, path: Path) -> Format:
    rows = cursor.execute(
        """
        select distinct unnest(json_keys(row))
        from (select row from staged where reason is null limit 1000)
        """
    ).fetchall()
    present = {name for (name,) in rows}
    for format in FORMATS:
        if present.issuperset(format.columns):
            return format
    known = "; ".join(f"{', '.join(format.columns)} ({format.title})" for format in FORMATS)
    what = "has no rows" if not present else "has none of the known formats"
    raise StoreError(f"{path} {what}. Expected columns: {known}.")
