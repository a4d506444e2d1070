"""People's votes as one flat table: a row for each pair of models that a vote compares.

It is made in pages of votes, so that memory does not grow with the store. Strings of few values are
dictionaries of one order in all pages, from which pandas makes categories. Functions on a cursor
come after `note_standing` in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from coupled_arena.core.choices import ExportFormat
from coupled_arena.core.errors import StoreError
from coupled_arena.core.formulas import FORMULA
from coupled_arena.core.records import Mode, Origin, Source
from coupled_arena.core.sql import Cursor, column_of
from coupled_arena.store.queries.battle_conditions import VISIBLE, Hidden
from coupled_arena.store.tables.times import shown, utc
from coupled_arena.store.tables.votes import turned

_ORDERS = {"ab": "in_order", "ba": "not in_order"}
_PAGE = 20_000  # votes

_STANDING = """
create or replace temp table standing as
select seq
from counted_votes
join battles using (battle)
where battle in (select battle from battles where {visible})
"""
# Unknown is null: an import writes 0 for a seed, a sampler that changes nothing, and no text.
_PAIRS = """
with page as (
    select *
    from votes
    where seq between {first} and {last} and seq in (from standing)
),
fought as (from battles where battle in (select battle from page)),
every_pair as (
    select *, unnest(range(i + 1, len(models) + 1)) as j
    from (select *, unnest(range(1, len(models))) as i from fought)
),
shown_pairs as (
    select
        vote, every_pair.*, {turned} as turned
    from page
    join every_pair using (battle)
),
paired as (select * replace (if(turned, j, i) as i, if(turned, i, j) as j) from shown_pairs),
asked as (
    select
        battle,
        count(*)::integer as turns,
        any_value(prompt_id) filter (where turn = 0) as prompt_id,
        any_value(prompt) filter (where turn = 0) as prompt,
        any_value(category) filter (where turn = 0) as category,
        any_value(language) filter (where turn = 0) as language
    from turns
    where battle in (select battle from fought)
    group by battle
),
drawn as (
    select
        battle, place + 1 as i,
        if(bool_and(len(tokens) = 0 and text <> ''), null, sum(len(tokens)))::integer as tokens
    from replies
    where battle in (select battle from fought)
    group by all
),
newest as (
    select *
    from verdicts
    where battle in (select battle from fought) and outcome is not null
    qualify row_number() over (
        partition by battle, judge, first_place, second_place order by seq desc
    ) = 1
),
judged as (
    select
        battle, judge, in_order,
        if(in_order, first_place, second_place) + 1 as i,
        if(in_order, second_place, first_place) + 1 as j,
        case
            when outcome not in ('first', 'second') then outcome
            when (outcome = 'first') = in_order then 'model_a'
            else 'model_b'
        end as verdict
    from (select *, unnest([true, false]) as in_order from newest)
),
verdicts_of_pair as (
    select battle, i, j {verdicts}
    from judged
    group by all
)
select
    vote, {cast_at}, battle, coalesce(turns, 0)::integer as turns,
    prompt_id, nullif(prompt, '') as prompt, category, language, origin, mode,
    if(origin = 'import' and seed = 0, null, printf('%016x', seed)) as seed,
    if(coupling = 'unknown', null, temperature) as temperature,
    if(coupling = 'unknown', null, top_k) as top_k,
    if(coupling = 'unknown', null, top_p) as top_p,
    if(coupling = 'unknown', null, max_new_tokens) as max_new_tokens,
    models[p.i] as model_a,
    models[p.j] as model_b,
    (coalesce(list_position(shown, p.i::integer - 1), p.i) - 1)::integer as place_a,
    (coalesce(list_position(shown, p.j::integer - 1), p.j) - 1)::integer as place_b,
    case
        when both_bad then 'both_bad'
        when ranks[p.i] = ranks[p.j] then 'tie'
        when ranks[p.i] < ranks[p.j] then 'model_a'
        else 'model_b'
    end as winner,
    models[p.i] <> models[p.j] and (winner in ('tie', 'both_bad') or same.battle is null)
        as counted,
    source, early, voter,
    a.tokens as tokens_a,
    b.tokens as tokens_b
    {columns}
from page
join paired as p using (battle, vote)
left join asked using (battle)
left join drawn as a on a.battle = p.battle and a.i = p.i
left join drawn as b on b.battle = p.battle and b.i = p.j
left join same_words as same
    on same.battle = p.battle and same.i = least(p.i, p.j) and same.j = greatest(p.i, p.j)
left join verdicts_of_pair as said on said.battle = p.battle and said.i = p.i and said.j = p.j
order by page.seq, least(p.i, p.j), greatest(p.i, p.j)
"""
_VOTED = "battle in (select battle from votes where seq in (from standing))"
_SPANS = """
select min(seq), max(seq)
from (select seq, (row_number() over (order by seq) - 1) // $size as page from standing)
group by page
order by page
"""
_HELD = f"""
select
    coalesce(sum(len(models) * (len(models) - 1) // 2), 0)::bigint,
    count(*), count(distinct voter), count(distinct battle),
    {utc("min(cast_at)")},
    {utc("max(cast_at)")}
from votes
join battles using (battle)
where seq in (from standing) and len(models) > 1
"""


@dataclass(frozen=True)
class FlatCounts:
    """What a flat table holds; `first` and `last` are when votes were cast, None without any."""

    rows: int
    votes: int
    voters: int
    battles: int
    first: datetime | None
    last: datetime | None
    models: tuple[str, ...]
    judges: tuple[str, ...]


def note_standing(cursor: Cursor, hidden: Hidden) -> None:
    """Note in a temporary table which votes stand, on battles that may be seen."""
    cursor.execute(_STANDING.format(visible=VISIBLE[hidden]))


def _page_spans(cursor: Cursor) -> list[tuple[int, int]]:
    """Return the first and the last vote of each page."""
    return cursor.execute(_SPANS, {"size": _PAGE}).fetchall()


def _page_rows(cursor: Cursor, first: int, last: int, judges: tuple[str, ...]) -> Any:
    """Return the rows of some votes as an Arrow table, judges' columns by their number."""
    verdicts, columns = _judge_sql(judges)
    cast_at = f"{shown('cast_at')} as cast_at"
    made = {"verdicts": verdicts, "columns": columns, "cast_at": cast_at, "turned": turned()}
    query = _PAIRS.format(first=first, last=last, **made)
    found: Any = cursor.sql(query, params={f"j{n}": name for n, name in enumerate(judges)})
    return found.to_arrow_table()


def flat_counts(cursor: Cursor) -> FlatCounts:
    """Count what the flat table holds."""
    (held,) = cursor.execute(_HELD).fetchall()
    return FlatCounts(*held, models=voted_models(cursor), judges=voted_judges(cursor))


def voted_models(cursor: Cursor) -> tuple[str, ...]:
    """Return the models that the votes are about, sorted."""
    return tuple(
        column_of(
            cursor,
            f"select distinct unnest(models) as model from battles where {_VOTED} order by 1",
        )
    )


def voted_judges(cursor: Cursor) -> tuple[str, ...]:
    """Return the judges with verdicts on the same battles, sorted."""
    return tuple(
        column_of(
            cursor,
            "select distinct judge from verdicts "
            f"where outcome is not null and {_VOTED} order by 1",
        )
    )


def voted_values(cursor: Cursor, name: str) -> tuple[str, ...]:
    """Return what first questions have in a column of ``turns``, sorted."""
    return tuple(
        column_of(
            cursor,
            f"""
        select distinct {name}
        from turns
        where turn = 0 and {name} is not null and {_VOTED}
        order by 1
        """,
        )
    )


def _judge_sql(judges: tuple[str, ...]) -> tuple[str, str]:
    """Return the columns of verdicts by numbers: two judges' names may differ in case alone."""
    verdicts, columns = "", ""
    for n, _ in enumerate(judges):
        for order, condition in _ORDERS.items():
            wanted = f"judge = $j{n} and {condition}"
            verdicts += f", any_value(verdict) filter (where {wanted}) as j{n}_{order}"
            columns += f", j{n}_{order}"
    return verdicts, columns


FILES = {ExportFormat.FLAT: "flat.parquet", ExportFormat.FLAT_CSV: "flat.csv"}

_WINNERS = ("model_a", "model_b", "tie", "both_bad")

# By column: what pandas is to make of it. `category` are strings of few values.
_DTYPES = {
    "vote": "str",
    "cast_at": "datetime64[us, UTC]",
    "battle": "str",
    "turns": "int32",
    "prompt_id": "str",
    "prompt": "str",
    "category": "category",
    "language": "category",
    "origin": "category",
    "mode": "category",
    "seed": "str",
    "temperature": "float64",
    "top_k": "Int32",
    "top_p": "float64",
    "max_new_tokens": "Int32",
    "model_a": "category",
    "model_b": "category",
    "place_a": "int32",
    "place_b": "int32",
    "winner": "category",
    "counted": "bool",
    "source": "category",
    "early": "bool",
    "voter": "str",
    "tokens_a": "Int32",
    "tokens_b": "Int32",
}

# These tell it from the files of others, and from those that can be imported.
_SIGNATURE = {"vote", "battle", "turns", "counted", "place_a", "place_b", "tokens_a", "tokens_b"}


def judge_columns(judge: str) -> tuple[str, ...]:
    """Return the names of a judge's columns: asked with model_a first, with model_b first."""
    return tuple(f"judge_{judge}_{order}" for order in _ORDERS)


def is_flat(columns: Collection[str]) -> bool:
    """Return whether these are the columns of a flat table."""
    return set(columns) >= _SIGNATURE


def refuse(path: Path, columns: Collection[str]) -> None:
    """Refuse a file with the columns of a flat table: votes would come in again, as other ones.

    Raises
    ------
    StoreError
        It is one.
    """
    if is_flat(columns):
        raise StoreError(
            f"{path} is a flat table of votes, which has no answers and cannot be imported. "
            "Import a file that export --format parquet, jsonl, csv or arena writes."
        )


def write(cursor: Cursor, folder: Path, format: ExportFormat, *, hidden: Hidden) -> None:
    """Write the flat table to its file in a folder, page by page.

    In CSV times are ISO 8601 text. A text that begins like a formula gets an apostrophe before it,
    so that no spreadsheet runs a visitor's text.
    """
    csv, parquet = _untyped("pyarrow.csv"), _untyped("pyarrow.parquet")
    schema, pages = tables(cursor, hidden=hidden)
    with (folder / FILES[format]).open("wb") as file:  # pyarrow leaves its own open on a full disk
        if format is ExportFormat.FLAT:
            with parquet.ParquetWriter(file, schema, compression="zstd") as rows:
                for page in pages:
                    rows.write_table(page)
            return
        with csv.CSVWriter(file, _plain(schema.empty_table()).schema) as rows:
            for page in pages:
                rows.write_table(_plain(page))


def tables(cursor: Cursor, *, hidden: Hidden = "nothing") -> tuple[Any, Iterator[Any]]:
    """Return the Arrow schema of the flat table, and its pages as Arrow tables, read as asked for.

    The cursor stays in use until the last page; in one transaction the pages agree.
    """
    note_standing(cursor, hidden)
    judges = voted_judges(cursor)
    schema, words = _schema(cursor, judges)
    pages = (
        _typed(_page_rows(cursor, first, last, judges), schema, words)
        for first, last in _page_spans(cursor)
    )
    return schema, pages


def _schema(cursor: Cursor, judges: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    """Return the schema with what pandas makes of it, and the words of each category."""
    pd, pa = _untyped("pandas"), _untyped("pyarrow")
    models = voted_models(cursor)
    words: dict[str, tuple[str, ...]] = {
        "category": voted_values(cursor, "category"),
        "language": voted_values(cursor, "language"),
        "origin": tuple(Origin),
        "mode": tuple(Mode),
        "model_a": models,
        "model_b": models,
        "winner": _WINNERS,
        "source": tuple(Source),
    } | {name: _WINNERS for judge in judges for name in judge_columns(judge)}
    dtypes = _DTYPES | dict.fromkeys(words, "category")
    frame = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in dtypes.items()})
    made = pa.Schema.from_pandas(frame, preserve_index=False)
    fields = [
        pa.field(name, pa.dictionary(pa.int32(), pa.string()))
        if name in words
        else pa.field(name, pa.string() if dtypes[name] == "str" else made.field(name).type)
        for name in dtypes
    ]
    arrays = {name: pa.array([str(each) for each in of], pa.string()) for name, of in words.items()}
    return pa.schema(fields, metadata=made.metadata), arrays


def _typed(page: Any, schema: Any, words: dict[str, Any]) -> Any:
    pa, compute = _untyped("pyarrow"), _untyped("pyarrow.compute")
    columns: list[Any] = []
    for field, column in zip(schema, page.columns, strict=True):
        if field.name in words:
            known = words[field.name]
            at = compute.index_in(column.combine_chunks().cast(pa.string()), value_set=known)
            columns.append(pa.DictionaryArray.from_arrays(at, known))
        else:
            columns.append(column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _plain(page: Any) -> Any:
    pa, compute = _untyped("pyarrow"), _untyped("pyarrow.compute")
    columns: list[Any] = []
    for column in page.columns:
        if pa.types.is_timestamp(column.type):
            columns.append(compute.strftime(column, format="%Y-%m-%dT%H:%M:%SZ"))
        elif pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
            text = column.cast(pa.string())
            harmful = compute.match_substring_regex(text, FORMULA)
            quoted = compute.binary_join_element_wise("'", text, "")
            columns.append(compute.if_else(harmful, quoted, text))
        else:
            columns.append(column)
    return pa.table(columns, names=page.column_names)


def _untyped(library: str) -> Any:
    """Return a library when it is needed; those that deal in tables tell nothing of their types."""
    return import_module(library)
