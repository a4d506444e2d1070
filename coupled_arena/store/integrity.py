"""Whether a database is whole: every block can be read, and its tables agree with each other."""

from __future__ import annotations

import duckdb

Cursor = duckdb.DuckDBPyConnection

_ORPHANS = {
    "turns": "select count(*) from turns anti join battles using (battle)",
    "replies": "select count(*) from replies anti join turns using (battle, turn)",
    "votes": "select count(*) from votes anti join battles using (battle)",
    "pending_votes": "select count(*) from pending_votes anti join battles using (battle)",
    "rationales": "select count(*) from rationales anti join votes using (vote)",
    "pending_rationales": "select count(*) from pending_rationales anti join pending_votes "
    "using (vote)",
    "verdicts": "select count(*) from verdicts anti join battles using (battle)",
    "scores": "select count(*) from scores anti join replies using (battle, turn, place)",
}
_DEFINED = "select * exclude (battle) from comparison_rows"
_KEPT = "select * from comparisons"


def faults(cursor: Cursor) -> list[str]:
    """Return what is wrong with a database of the newest schema; nothing if it is whole.

    All of it is read, which takes seconds with millions of rows.
    """
    try:
        for table in _tables(cursor):
            # DuckDB checks a block's sum when it reads the block.
            cursor.execute(f'select bit_xor(hash(t)) from "{table}" as t').fetchall()
        found = [
            f"{count:,} {table} belong to nothing"
            for table, query in _ORPHANS.items()
            if (count := _count(cursor, query))
        ]
        astray = _count(
            cursor,
            f"select count(*) from (({_DEFINED} except all {_KEPT}) "
            f"union all ({_KEPT} except all {_DEFINED}))",
        )
    except duckdb.Error as error:
        return [str(error).splitlines()[0]]
    return [*found, *([f"{astray:,} comparisons are not those of the votes"] if astray else [])]


def _tables(cursor: Cursor) -> list[str]:
    query = "select table_name from duckdb_tables() where not internal and not temporary"
    return [name for (name,) in cursor.execute(query).fetchall()]


def _count(cursor: Cursor, query: str) -> int:
    return cursor.execute(query).fetchall()[0][0]
