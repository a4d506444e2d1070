"""People's votes as one flat table: a row for each pair of models that a vote compares.

It is made in pages of votes, so that memory does not grow with the store. Strings of few values are
dictionaries of one order in all pages, whence pandas has its categories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb

from coupled_arena.core.choices import ExportFormat
from coupled_arena.core.errors import StoreError
from coupled_arena.core.formulas import FORMULA
from coupled_arena.core.records import Mode, Origin, Source
from coupled_arena.store.queries.visibility import Hidden
from coupled_arena.store.transfer import flat_rows

Cursor = duckdb.DuckDBPyConnection
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
COLUMNS = tuple(_DTYPES)
"""Columns that every flat table has; two for each judge come after them."""

# These tell it from the files of others, and from those that can be imported.
_SIGNATURE = {"vote", "battle", "turns", "counted", "place_a", "place_b", "tokens_a", "tokens_b"}


def judge_columns(judge: str) -> tuple[str, ...]:
    """Return the names of a judge's columns: asked with model_a first, with model_b first."""
    return tuple(f"judge_{judge}_{order}" for order in flat_rows.ORDERS)


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
            f"{path} is a flat table of votes, which holds no answers and does not come back. "
            "Import what export --format parquet, jsonl, csv or arena writes."
        )


def write(cursor: Cursor, folder: Path, format: ExportFormat, *, hidden: Hidden) -> None:
    """Write the flat table to its file in a folder, page by page.

    In CSV times are ISO 8601 text, and a text that begins like a formula has an apostrophe before
    it, so that no spreadsheet runs what a visitor wrote.
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
    flat_rows.stand(cursor, hidden)
    judges = flat_rows.judges(cursor)
    schema, words = _schema(cursor, judges)
    pages = (
        _typed(flat_rows.page(cursor, first, last, judges), schema, words)
        for first, last in flat_rows.spans(cursor)
    )
    return schema, pages


def _schema(cursor: Cursor, judges: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    """Return the schema with what pandas makes of it, and the words of each category."""
    pd, pa = _untyped("pandas"), _untyped("pyarrow")
    models = flat_rows.models(cursor)
    words: dict[str, tuple[str, ...]] = {
        "category": flat_rows.words(cursor, "category"),
        "language": flat_rows.words(cursor, "language"),
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
