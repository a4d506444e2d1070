"""Checks of the files beside a database: half-written ones, snapshots, annotators; its backup."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from coupled_arena.core.errors import ArenaError
from coupled_arena.core.sql import Cursor
from coupled_arena.store.annotators import annotators_path, read_annotators
from coupled_arena.store.checks.check import Finding
from coupled_arena.store.transfer import backup_chunks
from coupled_arena.store.transfer.snapshots import generations, lacks, row_counts_of
from coupled_arena.store.transfer.targets import BackupTarget

_LEFT = ("*.partial", "*.restoring", "*.restoring.wal")


def check_sidecars(cursor: Cursor, db: Path) -> Iterator[Finding]:
    """Look at the files beside a database."""
    left = [path for pattern in _LEFT for path in db.parent.glob(f"{db.stem}{pattern}")]
    yield _finding(
        "files",
        "no half-written file lies beside it",
        left,
        "A process was killed while it wrote them. Delete them while nothing runs.",
    )
    torn: list[str] = []
    fuller: list[Path] = []
    for path in generations(db):
        try:
            row_counts_of(path)
        except ArenaError as error:
            torn.append(str(error))
        else:
            fuller += [path] if lacks(cursor, path) else []
    yield _finding(
        "snapshots",
        "each snapshot can be opened",
        torn,
        "Move it away; `coupled-arena serve` writes new ones.",
    )
    yield _finding(
        "rows of snapshots",
        "it has all that its snapshots have",
        fuller,
        f"`coupled-arena restore --db {db}` brings that back.",
    )
    yield _annotators(annotators_path(db))


def check_backup(cursor: Cursor, place: BackupTarget) -> Iterator[Finding]:
    """Look at a backup, and at what the database lacks of it; nothing is made there."""
    torn: list[str] = []
    lacking = 0
    with tempfile.TemporaryDirectory(prefix="coupled-arena-") as folder:
        try:
            chunks = backup_chunks.whole_chunks(place.fetch(Path(folder), make=False), str(place))
            backup_chunks.prepare(cursor)
            for chunk in chunks:
                backup_chunks.mark_sent(cursor, chunk)
            lacking = backup_chunks.lacking(cursor)
        except ArenaError as error:
            torn.append(str(error))
    yield _finding("backup", "each of its chunks is unchanged", torn, "See there.")
    yield Finding(
        "rows of the backup",
        "the database has all that its backup has",
        lacking,
        str(place) if lacking else None,
        "The next `coupled-arena serve` brings that back.",
    )


def _annotators(path: Path) -> Finding:
    wrong: list[str] = []
    try:
        known = read_annotators(path)
    except ArenaError as error:
        wrong.append(str(error))
    else:
        for what in ("name", "voter"):
            values = [getattr(row, what) for row in known]
            wrong += sorted({value for value in values if values.count(value) > 1})
    return _finding(
        "annotators",
        "each person with a link has a name and a pseudonym of their own",
        wrong,
        f"Put a copy of {path} back.",
    )


def _finding(check: str, holds: str, wrong: Iterable[object], advice: str) -> Finding:
    items = sorted(map(str, wrong))
    return Finding(check, holds, len(items), items[0] if items else None, advice)
