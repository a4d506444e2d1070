"""Files of an export as tables of rows: what `export` has written, checked value by value."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import duckdb

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Finish, Mode, Origin, Outcome, Source
from coupled_arena.store.files import quoted

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Kind:
    """What a value may be.

    Attributes
    ----------
    type : str
        Of DuckDB.
    value : str
        SQL: the value, from the text ``{f}``; null if the text is none.
    name : str
        What it is called where it is none.
    """

    type: str
    value: str
    name: str


def _list(item: str, nulls: str) -> str:
    strict = f"try(from_json_strict({{f}}, '[\"{item}\"]'))"
    return strict if nulls else f"if(list_count({strict}) = len({strict}), {strict}, null)"


_WHOLE = "if(regexp_full_match({f}, '[0-9]+([.]0+)?'), try_cast({f} as %s), null)"
_KINDS = {
    "name": Kind("text", "nullif({f}, '')", "a name"),
    "text": Kind("text", "{f}", "a text"),
    "number": Kind(
        "double", "if(isfinite(try_cast({f} as double)), try_cast({f} as double), null)", "a number"
    ),
    "share": Kind(
        "double",
        "if(try_cast({f} as double) between 0 and 1, try_cast({f} as double), null)",
        "from 0 to 1",
    ),
    "whole": Kind("integer", _WHOLE % "integer", "a whole number from 0 on"),
    "order": Kind("bigint", _WHOLE % "bigint", "a whole number from 0 on"),
    "flag": Kind("boolean", "try_cast({f} as boolean)", "true or false"),
    "moment": Kind(
        "timestamptz",
        "if(isfinite(try_cast({f} as timestamptz)), try_cast({f} as timestamptz), null)",
        "a time",
    ),
    # Not `to_timestamp`, which cuts off what a double is short of: from 2038 on, a microsecond.
    "seconds": Kind(
        "timestamptz",
        "try(make_timestamptz((try_cast({f} as decimal(24, 6)) * 1000000)::bigint))",
        "a time in seconds",
    ),
    "seed": Kind(
        "ubigint",
        "if(regexp_full_match({f}, '[0-9a-f]{{16}}'), try_cast('0x' || {f} as ubigint), null)",
        "of 16 hexadecimal digits",
    ),
    "bytes": Kind(
        "blob",
        "if(regexp_full_match({f}, '([0-9a-f]{{2}})*'), try(unhex({f})), null)",
        "hexadecimal",
    ),
    "names": Kind("text[]", _list("VARCHAR", ""), "a list of names"),
    "texts": Kind("text[]", _list("VARCHAR", "may be"), "a list of texts"),
    "wholes": Kind(
        "integer[]",
        f"if(regexp_full_match({{f}}, '[\\[\\], 0-9]*'), {_list('INTEGER', '')}, null)",
        "a list of whole numbers",
    ),
    "facts": Kind(
        "map(text, text)", "try_cast(try({f}::json) as map(text, text))", "an object of texts"
    ),
}


def _one_of(choices: type[StrEnum]) -> Kind:
    known = ", ".join(quoted(choice.value) for choice in choices)
    return Kind("text", f"if({{f}} in ({known}), {{f}}, null)", "one of " + ", ".join(choices))


_KINDS.update(
    (choices.__name__.lower(), _one_of(choices))
    for choices in (Mode, Origin, Finish, Source, Outcome)
)

# By table: its columns and their kinds; a question mark where there may be nothing.
COLUMNS: dict[str, dict[str, str]] = {
    "battles": {
        "battle": "name",
        "created_at": "moment",
        "origin": "origin",
        "mode": "mode",
        "seed": "seed",
        "nonce": "bytes",
        "commitment": "text",
        "models": "names",
        "temperature": "number",
        "top_k": "whole",
        "top_p": "number",
        "max_new_tokens": "whole",
        "coupling": "text",
        "experiment": "text?",
        "repetition": "whole?",
        "arithmetic": "facts",
        "prompts": "texts?",
        "prefixes": "texts?",
        "prompt_ids": "texts?",
        "categories": "texts?",
        "languages": "texts?",
        "systems": "texts?",
    },
    "replies": {
        "battle": "name",
        "turn": "whole",
        "place": "whole",
        "model": "name",
        "text": "text",
        "tokens": "wholes",
        "finish": "finish",
    },
    "votes": {
        "seq": "order?",
        "vote": "name",
        "battle": "name",
        "voter": "text",
        "ranks": "wholes",
        "both_bad": "flag",
        "source": "source",
        "early": "flag",
        "cast_at": "moment",
        "models": "names?",
        "revealed_at": "moment?",
    },
    "verdicts": {
        "seq": "order?",
        "verdict": "name",
        "battle": "name",
        "judge": "text",
        "first_place": "whole",
        "second_place": "whole",
        "outcome": "outcome?",
        "raw": "text",
        "probability": "share?",
        "judged_at": "moment",
        "model": "text?",
        "prompt_hash": "text?",
        "sampling": "text?",
    },
    "scores": {
        "battle": "name",
        "turn": "whole",
        "place": "whole",
        "metric": "name",
        "score": "number",
        "answer": "text?",
        "higher_is_better": "flag",
        "source": "text",
    },
    "grades": {
        "seq": "order?",
        "grade": "name",
        "battle": "name",
        "place": "whole",
        "judge": "text",
        "correct": "flag?",
        "raw": "text",
        "probability": "share?",
        "graded_at": "moment",
        "judge_model": "text?",
        "prompt_hash": "text?",
        "sampling": "text?",
    },
    "arena": {
        "vote": "name",
        "battle": "name",
        "mode": "mode",
        "seed": "seed",
        "judge": "text",
        "source": "source",
        "early": "flag",
        "models": "names",
        "ranks": "wholes",
        "place_a": "whole",
        "place_b": "whole",
        "winner": "text",
        "question_id": "text?",
        "category": "text?",
        "language": "text?",
        "tstamp": "seconds",
        "conversation_a": "text?",
        "conversation_b": "text?",
    },
}
"""The tables of an export, in the order in which they come back."""

# These columns tell each from the others, and from what other programs write.
_SIGNATURES = {
    "battles": {"battle", "created_at", "models", "seed", "nonce", "prompts", "prompt_ids"},
    "replies": {"battle", "turn", "place", "text", "tokens", "finish"},
    "votes": {"vote", "battle", "voter", "ranks"},
    "verdicts": {"verdict", "battle", "judge", "first_place", "second_place"},
    "scores": {"battle", "turn", "place", "metric", "score", "source"},
    "grades": {"grade", "battle", "place", "judge", "correct"},
    "arena": {"vote", "battle", "models", "ranks", "place_a", "place_b", "winner"},
}


def recognise(columns: Collection[str]) -> str | None:
    """Return the table of an export that has these columns; None for any other file."""
    for table, signature in _SIGNATURES.items():
        if signature <= set(columns):
            return table
    return None


def files_of(folder: Path) -> list[Path]:
    """Return the files of an export in a folder, those of ``arena`` rows too.

    Raises
    ------
    StoreError
        There are none.
    """
    named = [f"{table}.{ending}" for table in COLUMNS for ending in ("parquet", "jsonl", "csv")]
    if files := [folder / name for name in named if (folder / name).is_file()]:
        return files
    raise StoreError(f"{folder} holds no export, such as battles.parquet and votes.parquet.")


def prepare(cursor: Cursor) -> None:
    """Make an empty temporary table for each table of an export, such as ``in_votes``."""
    for table, columns in COLUMNS.items():
        typed = ", ".join(f"{name} {_kind(kind).type}" for name, kind in columns.items())
        cursor.execute(
            f"create or replace temp table in_{table} (file integer, line bigint, {typed})"
        )


def read(cursor: Cursor, table: str, file: int) -> None:
    """Add the rows of a file to its temporary table, those that are none to ``faults``."""
    columns = COLUMNS[table]
    spec = quoted(json.dumps(dict.fromkeys(columns, "VARCHAR")))
    values = ", ".join(f"{_value(name, kind)} as {name}" for name, kind in columns.items())
    problems = " ".join(_problems(name, kind) for name, kind in columns.items())
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


def _kind(name: str) -> Kind:
    return _KINDS[name.removesuffix("?")]


def _value(name: str, kind: str) -> str:
    return _kind(kind).value.format(f=f"f.{name}")


def _problems(name: str, kind: str) -> str:
    wrong = (
        f"when f.{name} is not null and ({_value(name, kind)}) is null "
        f"then '{name} ' || short(f.{name}) || ' is not {_kind(kind).name}'"
    )
    return (
        wrong if kind.endswith("?") else f"when f.{name} is null then '{name} is missing' {wrong}"
    )
