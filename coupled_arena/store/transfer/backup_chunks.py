"""A backup's chunks: exports of the rows that no chunk before has, and how they become a store.

A temporary table of one cursor keeps a hash of the key of each row that was sent.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason
from coupled_arena.core.sql import Cursor, quoted, value_of
from coupled_arena.store.connection import rollback
from coupled_arena.store.tables.described import FILES
from coupled_arena.store.transfer.export import rows_of
from coupled_arena.store.transfer.targets import MANIFEST


@dataclass(frozen=True)
class Keys:
    """What tells a row of an export from others.

    Attributes
    ----------
    grown : str
        SQL: a number that rises when the row has more to say; then it is sent again.
    """

    columns: str
    grown: str = "0"

    @property
    def values(self) -> str:
        """SQL: the key and how far the row has grown."""
        return f"md5_number(concat_ws(chr(31), {self.columns})) as key, {self.grown} as grown"


KEYS = {
    "battles": Keys(
        "battle",
        "coalesce(len(prompts), 0) + (told_at is not null)::integer"
        " + coalesce(len(list_filter(prompts || systems, lambda text: text <> '')), 0)",
    ),
    "replies": Keys("battle, turn, place"),
    "votes": Keys("vote", "(revealed_at is not null)::integer"),
    "rationales": Keys("rationale"),
    "verdicts": Keys("verdict"),
    "scores": Keys("battle, turn, place, metric"),
    "grades": Keys("grade, battle, place"),
    "exclusions": Keys("exclusion", "(taken_back_at is not null)::integer"),
    "repeats": Keys("second_vote"),
    "gates": Keys("gate"),
}
# By when it was given; a chunk counts from its store's beginning, or from that of one before. Rows
# of one grade share its number.
_ANEW = "replace (dense_rank() over (order by filename, seq) as seq)"

# Rows are never deleted, and only gaps in texts are filled: a battle has something new when it has
# more of anything.
# A grade is of an answer that many battles may have, so new ones are looked for everywhere.
_COUNT = """
create or replace temp table counted_now as
with parts as (
    select battle, 1 as part from turns
    union all select battle, 2 from replies
    union all select battle, 3 from votes
    union all select battle, 4 from reveals
    union all select battle, 5 from verdicts
    union all select battle, 6 from scores
    union all select battle, 7 from battles
    union all select battle, 0 from turns where prompt <> ''
    union all select battle, -1 from turns where system <> ''
    union all select battle, 8 from rationales join votes using (vote)
    union all select battle, -2 from repeats
    union all
    select battle, 9 + (select count(*) from grades)
    from (select distinct battle from scores where exists (from grades))
)
select battle, part, count(*) as rows from parts group by all
"""
_CHANGED = """
create or replace temp table changed as
select distinct battle from (from counted_now except from counted_then)
"""


def prepare(cursor: Cursor) -> None:
    """Begin with nothing sent."""
    cursor.execute(
        "create or replace temp table counted_then (battle text, part bigint, rows bigint)"
    )
    cursor.execute("create or replace temp table sent (in_table text, key uhugeint, grown integer)")


def freeze(cursor: Cursor, folder: Path, number: int) -> Path | None:
    """Write the rows that were not sent, as of one moment, as a chunk; None without any."""
    chunk = folder / f"{number:06}"
    chunk.mkdir()
    rows = _copy_all_new(cursor, chunk)
    for table, count in rows.items():
        if not count:
            (chunk / f"{table}.parquet").unlink()
    if not any(rows.values()):
        chunk.rmdir()
        settle(cursor)
        return None
    files = {
        table: {"rows": count, "sha256": _hash(chunk / f"{table}.parquet")}
        for table, count in rows.items()
        if count
    }
    (chunk / MANIFEST).write_text(json.dumps({"number": number, "files": files}, indent=2) + "\n")
    return chunk


def mark_sent(cursor: Cursor, chunk: Path) -> None:
    """Remember that a chunk's rows are in the backup."""
    for file in _files_of(chunk):
        keys = KEYS[file.removesuffix(".parquet")]
        cursor.execute(
            f"insert into sent select {quoted(file.removesuffix('.parquet'))}, {keys.values} "
            f"from read_parquet({quoted(str(chunk / file))})"
        )


def settle(cursor: Cursor) -> None:
    """Look no more at what the last chunk was made from."""
    cursor.execute("create or replace temp table counted_then as from counted_now")


def whole_chunks(folder: Path, place: str) -> list[Path]:
    """Return the chunks of a backup, the first one first.

    Parameters
    ----------
    place : str
        What the backup is called.

    Raises
    ------
    StoreError
        One is missing, or is not as it was written.
    """
    try:
        chunks = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
        for number, chunk in enumerate(chunks, start=1):
            if chunk.name != f"{number:06}":
                raise _broken(place, f"chunk {number} is missing")
            _check(chunk, place)
    except OSError as error:
        raise _broken(place, reason(error)) from error
    return chunks


def lacking(cursor: Cursor) -> int:
    """Return how many rows of the backup the store lacks."""
    return sum(
        value_of(
            cursor,
            f"""
            select count(*) from sent
            where in_table = {quoted(table)} and not exists (
                select 1 from (select {keys.values} from ({rows_of(table)})) as there
                where there.key = sent.key and there.grown >= sent.grown
            )
            """,
        )
        for table, keys in KEYS.items()
    )


def related(cursor: Cursor) -> bool:
    """Tell whether the store has a battle of the backup."""
    keys = KEYS["battles"].values
    return bool(
        value_of(
            cursor,
            "select count(*) from sent where in_table = 'battles' and key in "
            f"(select key from (select {keys} from ({rows_of('battles')})))",
        )
    )


def join(cursor: Cursor, chunks: list[Path], folder: Path) -> list[Path]:
    """Write all chunks as one export, in the order in which rows were given; return its files."""
    written: list[Path] = []
    listed = {chunk: _files_of(chunk) for chunk in chunks}
    for table in KEYS:
        files = [
            str(chunk / name) for chunk in chunks if (name := f"{table}.parquet") in listed[chunk]
        ]
        if not files:
            continue
        numbered = "seq" in FILES[table].in_file
        target = folder / f"{table}.parquet"
        cursor.execute(
            f"copy (select * exclude (filename) {_ANEW if numbered else ''} from read_parquet("
            f"[{', '.join(map(quoted, files))}], filename = true) "
            f"order by filename{', seq' if numbered else ''}) "
            f"to {quoted(str(target))} (format parquet)"
        )
        written.append(target)
    return written


def _copy_all_new(cursor: Cursor, chunk: Path) -> dict[str, int]:
    cursor.execute("begin")
    try:
        cursor.execute(_COUNT)
        cursor.execute(_CHANGED)
        rows = {table: _copy_new(cursor, table, chunk / f"{table}.parquet") for table in KEYS}
        cursor.execute("commit")
    except BaseException:
        rollback(cursor)
        raise
    return rows


def _copy_new(cursor: Cursor, table: str, file: Path) -> int:
    keys = KEYS[table]
    rows = rows_of(table, "battle in (from changed)")
    return value_of(
        cursor,
        f"""
        copy (
            select * exclude (key, grown)
            from (select *, {keys.values} from ({rows})) as there
            where not exists (
                select 1 from sent
                where in_table = {quoted(table)}
                    and sent.key = there.key and sent.grown >= there.grown
            )
        ) to {quoted(str(file))} (format parquet)
        """,
    )


def _check(chunk: Path, place: str) -> None:
    try:
        wrong = [name for name, sha256 in _files_of(chunk).items() if _hash(chunk / name) != sha256]
    except (ValueError, KeyError, TypeError, AttributeError, FileNotFoundError) as error:
        raise _broken(place, f"chunk {int(chunk.name)} is not whole") from error
    if wrong:
        raise _broken(place, f"{wrong[0]} of chunk {int(chunk.name)} is damaged")


def _files_of(chunk: Path) -> dict[str, str]:
    """Return the files of a chunk with their hashes; others there are of one that broke off."""
    files = json.loads((chunk / MANIFEST).read_text())["files"]
    return {f"{table}.parquet": file["sha256"] for table, file in files.items() if table in KEYS}


def _broken(place: str, what: str) -> StoreError:
    return StoreError(
        f"The backup {place} is broken: {what}. It is kept as it is; bring the file back, or "
        "name another place under [backup] and import the chunks that are whole."
    )


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
