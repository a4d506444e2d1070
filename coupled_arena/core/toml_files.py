"""Files in TOML, which people write: what cannot be used is told, whatever is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.files import reason, whole

_BEYOND = 1 << 63


def read_toml(path: Path, name: str = "") -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    path : Path
    name : str
        What the file is called in messages; its path by default.

    Raises
    ------
    SettingsError
        The file is missing or not TOML, or has what no setting can be: a whole number of more than
        64 bits, a text with a NUL.
    """
    name = name or str(path)
    try:
        values = tomllib.loads(whole(path).decode("utf-8"))
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
