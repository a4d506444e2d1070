"""Votes and verdicts of files as a store, which vanishes with the work."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import Imported, import_files

_log = logging.getLogger(__name__)


def store_of_files(votes: Path, verdicts: Mapping[str, Path]) -> Store:
    """Return a store in memory that holds the votes of a file, and judges' verdicts on them.

    Of rows that cannot be taken the log tells.

    Parameters
    ----------
    votes : Path
        In any format that `coupled_arena.store.transfer.importing.import_files` reads.
    verdicts : mapping of str to Path
        By the judge's name; rows meet the votes on their keys.

    Raises
    ------
    StoreError
        A file cannot be read or recognised.
    """
    with ExitStack() as opened:
        store = opened.enter_context(Store.in_memory())
        _tell(import_files(store, [votes]))
        for judge, path in verdicts.items():
            _tell(import_files(store, [path], judge=judge))
        opened.pop_all()  # whoever asked closes it
    return store


def _tell(done: Imported) -> None:
    """Say how many rows nothing was taken from, and why of the first."""
    for row in done.rejected[:1]:
        left_out = f"{len(done.rejected):,} of {done.rows:,} rows are left out"
        _log.warning("%s: %s. The first, line %d: %s.", row.file, left_out, row.line, row.reason)


def fingerprint(paths: Iterable[Path], names: Sequence[str | None] = ()) -> str:
    """Return a text that differs once one of these files was changed; missing ones count, too.

    Of a folder the files in it count. So does what models are called.
    """
    told = [state for path in paths for state in _states(path.resolve())]
    return hashlib.blake2b(repr((told, names)).encode(), digest_size=8).hexdigest()


def _states(path: Path) -> Iterator[tuple[str, tuple[int, int] | None]]:
    inside = (file for file in sorted(path.rglob("*")) if file.is_file())
    for file in inside if path.is_dir() else (path,):
        found = file.stat() if file.exists() else None
        yield str(file), None if found is None else (found.st_size, found.st_mtime_ns)
