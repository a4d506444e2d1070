"""One number that stands for all that a store holds."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from coupled_arena.store.database import Store
from coupled_arena.store.tables.described import FILES
from coupled_arena.store.transfer.export import export

COVERED = tuple(FILES)
"""The tables whose rows are hashed, in this order."""


def fingerprint(store: Store) -> str:
    """Return the SHA-256 of the files of ``export --format jsonl``, one after the other.

    Returns
    -------
    str
        64 hexadecimal digits: those of ``cat battles.jsonl replies.jsonl votes.jsonl
        rationales.jsonl verdicts.jsonl scores.jsonl grades.jsonl exclusions.jsonl | sha256sum``.
    """
    hashed = hashlib.sha256()
    with tempfile.TemporaryDirectory(prefix="coupled-arena-") as folder:
        written = {path.stem: path for path in export(store, Path(folder), "jsonl")}
        for table in COVERED:
            with written[table].open("rb") as rows:
                while piece := rows.read(1 << 20):
                    hashed.update(piece)
    return hashed.hexdigest()
