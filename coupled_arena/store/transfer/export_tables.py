"""Files of an export as tables of rows: what `export` has written, checked value by value."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import duckdb

from coupled_arena.core.errors import StoreError
from coupled_arena.store.files import quoted
from coupled_arena.store.transfer.export_kinds import KINDS, Kind

Cursor = duckdb.DuckDBPyConnection


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
        "told_to": "text?",
        "told_at": "moment?",
        "chance": "number?",
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
    "rationales": {
        "seq": "order?",
        "rationale": "name",
        "vote": "name",
        "battle": "name",
        "voter": "text",
        "criteria": "criteria",
        "comment": "text",
        "given_at": "moment",
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
        "p_first": "share?",
        "p_second": "share?",
        "p_tie": "share?",
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
    "exclusions": {
        "seq": "order?",
        "exclusion": "name",
        "voter": "text?",
        "since": "moment?",
        "until": "moment?",
        "reason": "name",
        "made_by": "name",
        "made_at": "moment",
        "taken_back_because": "name?",
        "taken_back_by": "name?",
        "taken_back_at": "moment?",
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
    "rationales": {"rationale", "vote", "criteria", "comment"},
    "verdicts": {"verdict", "battle", "judge", "first_place", "second_place"},
    "scores": {"battle", "turn", "place", "metric", "score", "source"},
    "grades": {"grade", "battle", "place", "judge", "correct"},
    "exclusions": {"exclusion", "voter", "since", "until", "made_by"},
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
    return KINDS[name.removesuffix("?")]


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
