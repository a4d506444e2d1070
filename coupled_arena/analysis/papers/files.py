"""Votes and verdicts of files as a store, which vanishes with the work."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files


def store_of_files(votes: Path, verdicts: Mapping[str, Path]) -> Store:
    """Return a store in memory that holds the votes of a file, and judges' verdicts on them.

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
        import_files(store, [votes])
        for judge, path in verdicts.items():
            import_files(store, [path], judge=judge)
        opened.pop_all()  # whoever asked closes it
    return store


def fingerprint(paths: Iterable[Path]) -> str:
    """Return a text that differs once one of these files was changed; missing ones count, too."""
    state = [(str(path.resolve()), path.stat() if path.exists() else None) for path in paths]
    told = [
        (name, None if found is None else (found.st_size, found.st_mtime_ns))
        for name, found in state
    ]
    return hashlib.blake2b(repr(told).encode(), digest_size=8).hexdigest()
