"""Files that end: what is read whole must not be a pipe or a device; files in TOML likewise."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coupled_arena.core.errors import SettingsError

LONGEST_LINE = 16 << 20
"""Characters of a line, which is one row: conversations of a hundred turns have a tenth."""

LARGEST_NOTE = 64 << 20
"""Bytes of a file that people write and that is read whole: settings, prompts, lists of names."""

UNREADABLE = (OSError, EOFError, ValueError, RecursionError, zlib.error)
"""What is raised where a file, compressed or not, cannot be read."""

FULL = "the disk is full: make room, and do it again"


def ending(path: Path) -> Path:
    """Return the path of a file that ends; what is not there, whoever opens it will tell.

    Raises
    ------
    OSError
        It is a pipe or a device, which need never end.
    """
    try:
        kind = path.stat().st_mode
    except OSError:
        return path
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise OSError(errno.ESPIPE, "it is a pipe or a device: give a file", str(path))
    return path


def at_home(path: str | Path) -> Path:
    """Return a path with ``~`` put in full; where nobody has that home, it is a name like any."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 pathlib raises where there is no such home


def is_there(path: Path) -> bool:
    """Return whether there is such a file or folder; no path is too long to ask."""
    return os.path.exists(path)  # noqa: PTH110 pathlib raises of a name that no file can have


def whole(path: Path) -> bytes:
    """Return what stands in a file that people write.

    Raises
    ------
    OSError
        It cannot be read, is a pipe or a device, or is too large. A file may be far larger than the
        room that it takes on the disk.
    """
    with ending(path).open("rb") as stream:
        content = stream.read(LARGEST_NOTE + 1)
    if len(content) > LARGEST_NOTE:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_NOTE >> 20} MB", str(path))
    return content


def is_text(text: str) -> bool:
    """Whether an argument or a variable is UTF-8; bytes that are not come as halves of pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def reason(error: Exception) -> str:
    """Return why a file could not be used, on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if "No space left on device" in text or "disk is full" in text.lower():
        return FULL
    return next(iter(text.strip().splitlines()), type(error).__name__)


# Files in TOML, which people write: what cannot be used is told, whatever is wrong with it.


_BEYOND = 1 << 63


def read_toml(path: Path, name: str = "") -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    name : str
        What the file is called in messages; its path by default.

    Raises
    ------
    SettingsError
        The file is missing or not TOML, or has what no setting can be. Examples are a whole number
        of more than 64 bits, and a text with a NUL.
    """
    name = name or str(path)
    try:
        values = tomllib.loads(whole(path).decode("utf-8-sig"))  # Windows writes a mark of order
        for each in _leaves(values):
            if isinstance(each, int) and not -_BEYOND <= each < _BEYOND:
                raise ValueError("a whole number has more than 64 bits")
            if isinstance(each, str) and "\0" in each:
                raise ValueError("a text has a NUL")
    except OSError as error:
        raise SettingsError(f"{name} cannot be read: {reason(error)}.") from error
    except RecursionError as error:
        raise SettingsError(f"{name} is not valid TOML: it is nested too deeply.") from error
    except ValueError as error:
        raise SettingsError(f"{name} is not valid TOML: {reason(error)}.") from error
    return values


def _leaves(value: object) -> Iterator[object]:
    """Yield all keys and values that have no parts."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _leaves(part)
    else:
        yield value
