"""Two files beside the database for people who sign in; neither is in an export or snapshot.

One holds the secret with which names become pseudonyms. The other holds hashes of the tokens of
people who have signed out before these were over.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
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
            f"{path} is no key of the arena: put the right one back. With another key everybody "
            "becomes a new voter."
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


def signed_out_path(db: Path) -> Path:
    """Return where the tokens of a database are: ``arena.signed-out``."""
    return db.with_name(f"{db.stem}.signed-out")


class SignedOut:
    """Which tokens hold no more, also after the server was started again.

    The file has a line for each: when the token is over, and its hash. Nobody can sign in by that.

    Parameters
    ----------
    path : Path or None
        None: nothing is kept on disk.
    now : float
        Seconds since 1970; tokens that are over are forgotten.

    Raises
    ------
    StoreError
        The file cannot be read.
    """

    def __init__(self, path: Path | None, now: float) -> None:
        self._path = path
        self._adding = threading.Lock()
        self._until: dict[str, int] = {}  # by hash
        for line in _lines(path):
            until, _, hashed = line.partition(" ")
            if until.isdecimal() and int(until) > now:
                self._until[hashed] = int(until)

    def __contains__(self, token: str) -> bool:
        return _hash(token) in self._until

    def add(self, token: str, until: int) -> None:
        """Let a token hold no more.

        Raises
        ------
        StoreError
            The file cannot be written; until the server ends the token does not hold all the same.
        """
        with self._adding:
            if token in self:
                return
            self._until[_hash(token)] = until
            if self._path:
                _append(self._path, f"{until} {_hash(token)}\n")


def _lines(path: Path | None) -> list[str]:
    try:
        return path.read_text("utf-8", errors="replace").splitlines() if path else []
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {reason(error)}.") from error


def _append(path: Path, line: str) -> None:
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(opened, "w") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {reason(error)}.") from error


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
