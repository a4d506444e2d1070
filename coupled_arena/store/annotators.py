"""People with links of their own: a file beside the database that knows their names.

The database knows voters by pseudonyms. Its tables have neither names nor tokens of links, so that
no export, snapshot or backup has them. Any process may change the file while the app runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import secrets
import threading
import unicodedata
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason, whole
from coupled_arena.core.formulas import as_text, csv_writer

_log = logging.getLogger(__name__)
_LONGEST = 80  # characters of a name


@dataclass(frozen=True)
class Annotator:
    """Somebody with a link.

    Attributes
    ----------
    name : str
        For whoever made the link; nobody else is told.
    voter : str
        Their pseudonym, by which votes are theirs; it outlives a link.
    made_at : str
        When the link was made, UTC, ISO 8601.
    token_hash : str or None
        SHA-256 of their link's token; None once the link is revoked.
    """

    name: str
    voter: str
    made_at: str
    token_hash: str | None


_ROWS = TypeAdapter(tuple[Annotator, ...])


class Annotators:
    """Those of one file, looked at again whenever it has changed; for any thread.

    Raises
    ------
    StoreError
        The file is there and cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reading = threading.Lock()
        self._seen = _state(path)
        self._by_token = _by_token(read_annotators(path))

    def find(self, token: str) -> Annotator | None:
        """Return the annotator with this token; None if it is unknown or revoked."""
        with self._reading:
            if (now := _state(self._path)) != self._seen:
                self._seen = now
                self._read_again(lost=now is None)
            return self._by_token.get(_hash(token))

    def _read_again(self, *, lost: bool) -> None:
        try:
            if lost:
                raise StoreError(f"{self._path} was moved or deleted.")
            self._by_token = _by_token(read_annotators(self._path))
        except StoreError as error:
            _log.warning("%s The links that were known hold until the arena stops.", error)


def annotators_path(db: Path) -> Path:
    """Return where the annotators of a database are: ``arena.annotators.json``."""
    return db.with_name(f"{db.stem}.annotators.json")


def read_annotators(path: Path) -> tuple[Annotator, ...]:
    """Return everybody in a file, in the order of their names; nobody where there is none.

    Raises
    ------
    StoreError
        The file cannot be read.
    """
    try:
        found = _ROWS.validate_json(whole(path))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no list of annotators"
        raise StoreError(
            f"{path} cannot be read: {why}. Put a copy back, or move it away to begin anew."
        ) from error
    return tuple(sorted(found, key=lambda row: row.name))


def voter_called(path: Path, name: str) -> str:
    """Return the pseudonym of a name in a file; any other text is a pseudonym already."""
    name = _plain(name)
    return next((row.voter for row in read_annotators(path) if row.name == name), name)


def write_names(path: Path, out: Path) -> Path:
    """Write who is behind which pseudonym to ``annotators.csv`` in a folder; return its path.

    Raises
    ------
    StoreError
        The file cannot be read or written.
    """
    rows = [(row.voter, row.name) for row in read_annotators(path)]
    target = out / "annotators.csv"
    try:
        with target.open("w", encoding="utf-8", newline="") as file:
            cells = (map(as_text, row) for row in [("voter", "name"), *rows])
            csv_writer(file).writerows(cells)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {reason(error)}.") from error
    return target


def add_annotators(path: Path, names: Sequence[str], numbered: int = 0) -> dict[str, str]:
    """Make links, all or none; whoever had one that was revoked keeps their pseudonym.

    Parameters
    ----------
    numbered : int
        How many more to make for people whose names nobody has to know: 1, 2 and so on.

    Returns
    -------
    dict of str to str
        Tokens by name. They are nowhere else: the file has their hashes.

    Raises
    ------
    StoreError
        A name is none or has a link, or the file cannot be read or written.
    """
    with _changing(path) as (known, write):
        wanted = [_checked(name) for name in names]
        free = (f"{n}" for n in range(1, len(known) + len(wanted) + numbered + 1))
        wanted += [name for name in free if name not in known and name not in wanted][:numbered]
        for name in wanted:
            if wanted.count(name) > 1:
                raise StoreError(f"{name} is named twice: give each person one name.")
            if name in known and known[name].token_hash:
                raise StoreError(f"{name} has a link already: revoke it to make another.")
        tokens = {name: secrets.token_hex(20) for name in wanted}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for name, token in tokens.items():
            voter = known[name].voter if name in known else secrets.token_hex(8)
            known[name] = Annotator(name, voter, now, _hash(token))
        write()
    return tokens


def revoke_annotators(path: Path, names: Sequence[str]) -> None:
    """Take links back, all or none; what was voted stays.

    Raises
    ------
    StoreError
        There is nobody of a name, or the file cannot be read or written.
    """
    with _changing(path) as (known, write):
        for name in map(_plain, names):
            if name not in known:
                raise StoreError(f"There is no annotator {name[:_LONGEST]!r}.")
            known[name] = replace(known[name], token_hash=None)
        write()


@contextmanager
def _changing(path: Path) -> Generator[tuple[dict[str, Annotator], Callable[[], None]]]:
    """Hold a file against other writers; yield its rows by name, and what writes them."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {reason(error)}.") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        known = {row.name: row for row in read_annotators(path)}
        yield known, lambda: _write(path, tuple(known.values()))
    finally:
        os.close(folder)


def _write(path: Path, rows: tuple[Annotator, ...]) -> None:
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        partial.touch(0o600, exist_ok=False)
        with partial.open("wb") as file:
            file.write(_ROWS.dump_json(rows, indent=1) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written: {reason(error)}.") from error


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip()


def _checked(name: str) -> str:
    plain = _plain(name)
    if not (0 < len(plain) <= _LONGEST and plain.isprintable()):
        raise StoreError(f"A name has 1 to {_LONGEST} characters on one line.")
    return plain


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _by_token(rows: tuple[Annotator, ...]) -> dict[str, Annotator]:
    return {row.token_hash: row for row in rows if row.token_hash}


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return what differs once a file is another; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
