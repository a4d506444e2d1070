"""A secret beside the database, with which names become pseudonyms; in no export or snapshot."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason

_KEY = re.compile(r"[0-9a-f]{64}")


def key_path(db: Path) -> Path:
    """Return where the secret of a database is: ``arena.key``."""
    return db.with_name(f"{db.stem}.key")


def secret_key(path: Path) -> str:
    """Return the secret of a file, which is made where there is none.

    Raises
    ------
    StoreError
        The file cannot be read or written, or is no such secret.
    """
    try:
        if not path.exists():
            _make(path)
        key = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no text"
        raise StoreError(f"{path} cannot be used: {why}.") from error
    if not _KEY.fullmatch(key):
        raise StoreError(
            f"{path} is no key of the arena: put the right one back. With another one all who "
            "sign in are new voters."
        )
    return key


def _make(path: Path) -> None:
    """Write a new secret, whole or not at all, for its owner alone."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32) + "\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
