"""Taking data out: exports for analysis."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from coupled_arena.core.choices import ExportFormat
from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason
from coupled_arena.core.formulas import FORMULA
from coupled_arena.store.database import Store
from coupled_arena.store.files import quoted
from coupled_arena.store.queries.visibility import VISIBLE, Hidden
from coupled_arena.store.tables.times import shown
from coupled_arena.store.transfer import arena_rows, flat

# Every query reads only battles that may be seen. Seeds are hex, since JavaScript, and all that
# reads JSON as JavaScript does, has no 64-bit integers. `seq` counts what is written: numbers of
# the store have gaps, and would not come back by an import.
_QUERIES = {
    "battles": """
        select
            visible.battle, created_at, origin, mode,
            printf('%016x', seed) as seed,
            lower(hex(nonce)) as nonce,
            commitment, models, prompts, prompt_id, category, language, system, prefixes,
            temperature, top_k, top_p, max_new_tokens, coupling,
            experiment, repetition, arithmetic,
            prompt_ids, categories, languages, systems,
            told_to, told_at, chance
        from visible
        left join asked using (battle)
        left join (
            select battle, min(voter) as told_to, min(revealed_at) as told_at
            from reveals
            anti join votes using (battle, voter)
            group by all
        ) using (battle)
    """,
    "replies": """
        select battle, turn, place, model, text, tokens, finish
        from replies
        where battle in (select battle from visible)
    """,
    "votes": """
        select
            row_number() over (order by seq) as seq,
            vote, battle, voter, ranks, both_bad, source, early, cast_at,
            seq in (select seq from current_votes) as current,
            models, revealed_at,
            seq in (select seq from ruled_votes where excluded) as excluded,
            seq in (select seq from ruled_votes where named) as named
        from votes
        join visible using (battle)
        left join reveals using (battle, voter)
    """,
    "rationales": """
        select
            row_number() over (order by given.seq) as seq,
            rationale, vote, battle, voter, criteria, comment, given_at,
            given.seq in (select seq from current_rationales) as current
        from rationales as given
        join votes using (vote)
        where battle in (select battle from visible)
    """,
    "verdicts": """
        select
            row_number() over (order by seq) as seq,
            verdict, battle, judge, first_place, second_place,
            outcome, raw, probability, judged_at, model, prompt_hash, sampling,
            p_first, p_second, p_tie
        from verdicts
        left join judges using (judge)
        where battle in (select battle from visible)
    """,
    "scores": """
        select
            battle, turn, place, models[place + 1] as model, metric, score, answer,
            higher_is_better, source
        from scores
        join metrics using (metric)
        join visible using (battle)
    """,
    "grades": """
        select
            dense_rank() over (order by seq) as seq,
            grade, battle, place, given.judge, correct, raw, probability, graded_at,
            judges.model as judge_model, prompt_hash, sampling
        from grades as given
        join benchmark_answers using (answer_key)
        left join judges using (judge)
        where battle in (select battle from visible)
    """,
    "exclusions": """
        select
            row_number() over (order by e.seq) as seq,
            exclusion, voter, since, until, e.reason, e.made_by, e.made_at,
            i.reason as taken_back_because,
            i.made_by as taken_back_by,
            i.made_at as taken_back_at
        from exclusions as e
        left join inclusions as i using (exclusion)
    """,
}
_ORDER = {
    "battles": "created_at, battle",
    "replies": "battle, turn, place",
    "votes": "seq",
    "rationales": "seq",
    "verdicts": "seq",
    "scores": "battle, turn, place, metric",
    "grades": "seq, battle, place",
    "exclusions": "seq",
    "arena": "tstamp, battle, judge, place_a, place_b",
}
_TIMES = {
    "battles": ["created_at", "told_at"],
    "votes": ["cast_at", "revealed_at"],
    "rationales": ["given_at"],
    "verdicts": ["judged_at"],
    "grades": ["graded_at"],
    "exclusions": ["since", "until", "made_at", "taken_back_at"],
}
_NESTED = {
    "battles": [
        *("models", "prompts", "prefixes", "arithmetic"),
        *("prompt_ids", "categories", "languages", "systems"),
    ],
    "replies": ["tokens"],
    "votes": ["ranks", "models"],
    "rationales": ["criteria"],
}
_OPTIONS = {
    ExportFormat.PARQUET: "format parquet",
    ExportFormat.JSONL: "format json",
    ExportFormat.CSV: "format csv, header",
    ExportFormat.ARENA: "format json",
}


def export(
    store: Store, out: Path, format: ExportFormat | str, *, hidden: Hidden = "nothing"
) -> list[Path]:
    """Write the store's tables as files of one moment, or votes as one file.

    Parameters
    ----------
    store : Store
    out : Path
        Folder; created if missing. Files of the same names are replaced, each at once.
    format : ExportFormat, or its value
        Times are UTC: ISO 8601 text in jsonl and csv. Lists are JSON in csv, where a text that
        begins like a formula has an apostrophe before it, which an import takes away. ``arena``
        are rows as of Chatbot Arena, one for each pair that a current vote compares. All of
        these can be imported, see `importing.import_files`; ``arena`` alone does not hold
        everything. ``flat`` and ``flat-csv`` are such pairs as one table for other programs, in
        Parquet or CSV.
    hidden : {"nothing", "rounds", "stored"}
        What to leave out. ``rounds``: battles of the battle tab that nobody has been shown the
        names of. ``stored``: also all other battles, which anybody may be asked to vote on, and
        of which one seed can tell another.

    Returns
    -------
    list of Path
        ``battles``, ``replies``, ``votes``, ``rationales``, ``verdicts``, ``scores``, ``grades``,
        ``exclusions``;
        or ``arena``, or ``flat``.

    Raises
    ------
    StoreError
        The folder cannot be made or written.
    """
    format = ExportFormat(format)
    targets = [out / name for name in _names(format)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=out) as partial:
            _copy_tables(store, Path(partial), format, hidden=hidden)
            for target in targets:
                (Path(partial) / target.name).replace(target)
    except (OSError, duckdb.IOException) as error:
        raise StoreError(
            f"Nothing can be written to {out}: {reason(error)}. Choose another folder."
        ) from error
    return targets


def relation(cursor: duckdb.DuckDBPyConnection, table: str) -> duckdb.DuckDBPyRelation:
    """Return one of the exported tables, to be read on this cursor.

    It is as in ``parquet``, but for times that Python cannot hold: those are the nearest it can.
    """
    times = ", ".join(f"{shown(column)} as {column}" for column in _TIMES.get(table, []))
    rows = _select(table, ExportFormat.PARQUET, hidden="nothing")
    return cursor.sql(f"select * replace ({times}) from ({rows})" if times else rows)


def rows_of(table: str, battles: str = "true") -> str:
    """Return the query for rows of one of the exported tables, as in ``parquet``, in any order.

    Parameters
    ----------
    table : str
    battles : str
        SQL: of which battles.
    """
    return _rows(table, ExportFormat.PARQUET, battles)


def _tables(format: ExportFormat) -> dict[str, str]:
    if format in flat.FILES:
        return {}  # its own file, see `flat`
    return {"arena": arena_rows.ROWS} if format is ExportFormat.ARENA else _QUERIES


def _file_name(table: str, format: ExportFormat) -> str:
    return f"{table}.{'jsonl' if format is ExportFormat.ARENA else format}"


def _names(format: ExportFormat) -> list[str]:
    if format in flat.FILES:
        return [flat.FILES[format]]
    return [_file_name(table, format) for table in _tables(format)]


def _copy_tables(store: Store, folder: Path, format: ExportFormat, *, hidden: Hidden) -> None:
    with store.cursor() as cursor:
        cursor.execute(arena_rows.CONVERSATION)
        cursor.execute("begin")  # one transaction, so that the files agree
        if format in flat.FILES:
            flat.write(cursor, folder, format, hidden=hidden)
        for table in _tables(format):
            target = quoted(str(folder / _file_name(table, format)))
            query = _select(table, format, hidden=hidden)
            if format is ExportFormat.CSV:
                query = f"{_without_formulas(cursor, query)} order by {_ORDER[table]}"
            cursor.execute(f"copy ({query}) to {target} ({_OPTIONS[format]})")
        cursor.execute("commit")


def _without_formulas(cursor: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return the query with an apostrophe before texts that are formulas to a spreadsheet."""
    columns = cursor.execute(f"describe {query}").fetchall()
    formula, apostrophe = quoted(FORMULA), quoted("'")
    replaced = ", ".join(
        f"if(regexp_matches({name}, {formula}), {apostrophe} || {name}, {name}) as {name}"
        for name, kind, *_ in columns
        if kind == "VARCHAR"
    )
    return f"select * replace ({replaced}) from ({query})"


def _select(table: str, format: ExportFormat, *, hidden: Hidden) -> str:
    return f"{_rows(table, format, VISIBLE[hidden])} order by {_ORDER[table]}"


def _rows(table: str, format: ExportFormat, battles: str) -> str:
    replaced = (
        [] if format is ExportFormat.PARQUET else [_iso(column) for column in _TIMES.get(table, [])]
    )
    if format is ExportFormat.CSV:
        replaced += [f"to_json({column}) as {column}" for column in _NESTED.get(table, [])]
    return f"""
        with visible as (
            select *
            from battles
            where {battles}
        ),
        asked as (
            select
                battle,
                list(prompt order by turn) as prompts,
                list(prefix order by turn) as prefixes,
                list(prompt_id order by turn) as prompt_ids,
                list(category order by turn) as categories,
                list(language order by turn) as languages,
                list(system order by turn) as systems,
                any_value(system) filter (where turn = 0) as system,
                any_value(prompt_id) filter (where turn = 0) as prompt_id,
                any_value(category) filter (where turn = 0) as category,
                any_value(language) filter (where turn = 0) as language
            from turns
            where battle in (select battle from visible)
            group by battle
        )
        select * {f"replace ({', '.join(replaced)})" if replaced else ""}
        from ({_tables(format)[table]})
    """


def _iso(column: str) -> str:
    return f"strftime({column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') as {column}"
