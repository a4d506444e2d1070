"""Bringing a database back from its snapshots; nothing is ever deleted on the way."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from coupled_arena.core.errors import StoreBusyError, StoreError
from coupled_arena.core.files import reason
from coupled_arena.store.checks.examine import faults
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.snapshots import (
    fullest_first,
    generations,
    lacks,
    remove,
    row_counts_of,
    write_ahead_log,
)


@dataclass(frozen=True)
class Restored:
    """A database that is back.

    Attributes
    ----------
    age : float
        Seconds since the snapshot was written.
    set_aside : tuple of str
        Where files lie now that stood in the way.
    passed_over : tuple of str
        Snapshots that are not whole, and why.
    """

    db: str
    source: str
    age: float
    battles: int
    votes: int
    verdicts: int
    set_aside: tuple[str, ...]
    passed_over: tuple[str, ...]


def restore(db: Path, source: Path | None = None) -> Restored:
    """Bring a database back from a snapshot, and verify it.

    Parameters
    ----------
    db : Path
        It may be missing, damaged or emptied; whatever lies there is set aside.
    source : Path, optional
        The snapshot; else the whole one that holds most.

    Raises
    ------
    StoreBusyError
        A process owns the database.
    StoreError
        No snapshot is whole, or the database lacks nothing of them.
    """
    if source is None:
        _check_it_lacks_something(db)
    candidates = (source,) if source else fullest_first(db)
    if not candidates:
        raise StoreError(f"There is no snapshot of {db}. Name one with --from.")
    partial = db.with_name(f"{db.name}.restoring")
    passed_over: list[str] = []
    try:
        for candidate in candidates:
            if trouble := _copy(candidate, partial):
                passed_over.append(f"{candidate}: {trouble}")
                continue
            rows = row_counts_of(partial).rows
            return Restored(
                db=str(db),
                source=str(candidate),
                age=max(0.0, time.time() - candidate.stat().st_mtime),
                battles=rows["battles"],
                votes=rows["votes"],
                verdicts=rows["verdicts"],
                set_aside=_put(partial, db),
                passed_over=tuple(passed_over),
            )
    except OSError as error:
        raise StoreError(f"{db} cannot be restored: {reason(error)}.") from error
    finally:
        remove(partial)
    raise StoreError(f"No snapshot is whole: {'; '.join(passed_over).removesuffix('.')}.")


def _check_it_lacks_something(db: Path) -> None:
    if not db.exists():
        return
    try:
        store = Store.open(db)
    except StoreBusyError:
        raise
    except StoreError:
        return
    with store, store.cursor() as cursor:
        if faults(cursor) or any(lacks(cursor, path) for path in generations(db)):
            return
    raise StoreError(
        f"{db} is whole and has all that its snapshots have. To go back to one, name it with "
        "--from."
    )


def _copy(snapshot: Path, partial: Path) -> str:
    """Copy a snapshot and bring it up to date; return what is wrong with it, if anything is."""
    remove(partial)
    if not snapshot.is_file():
        return "there is no such file"
    shutil.copyfile(snapshot, partial)
    try:
        with Store.open(partial) as store, store.cursor() as cursor:
            return "; ".join(faults(cursor))
    except StoreError as error:
        return str(error).replace(str(partial), "it")


def _put(partial: Path, db: Path) -> tuple[str, ...]:
    """Put a whole copy in the database's place; return where what stood in the way lies now."""
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    # A log left behind would be replayed into the copy.
    in_the_way = [path for path in (db, write_ahead_log(db)) if path.exists()]
    with Store.open(partial, read_only=True) as store, store.cursor() as cursor:
        in_the_way += [path for path in generations(db) if lacks(cursor, path)]
    label = f"replaced-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    aside = [path.with_name(f"{path.name}.{label}") for path in in_the_way]
    for path, target in zip(in_the_way, aside, strict=True):
        path.replace(target)
    partial.replace(db)
    return tuple(map(str, aside))
