"""What the environment says of the settings; nothing else reads it.

Every setting of the file has a variable, a table's with the table's name before it:

============================= ================================================
COUPLED_ARENA_CONFIG          TOML file with settings and a catalog
COUPLED_ARENA_DB              ``db``, and so on
COUPLED_ARENA_JUDGE_KEY       ``key`` of ``[judge]``; else OPENAI_API_KEY
COUPLED_ARENA_BACKUP_DATASET  ``dataset`` of ``[backup]``, and so on
COUPLED_ARENA_LIMITS_PROXIES  ``proxies`` of ``[limits]``, and so on
COUPLED_ARENA_ACCESS_KEY      ``key`` of ``[access]``, and so on
COUPLED_ARENA_VOTES_PROBATION ``probation`` of ``[votes]``
COUPLED_ARENA_NAMING_NAMES    ``names`` of ``[naming]``; ``words`` likewise
============================= ================================================

A variable that is empty says nothing.
"""

from __future__ import annotations

import os
from typing import Any

from pydantic import BaseModel, Field

from coupled_arena.core.errors import SettingsError

_HUB = "https://huggingface.co https://*.hf.space"
_SPACE = "10.0.0.0/8"  # where the hub's proxies are, as its Spaces see them
_PREFIX = "coupled_arena_"
_OTHERS = {"space_id": "space", "openai_api_key": "other_key"}  # variables of other programs
_TABLES = ("sampling", "battle", "judge", "backup", "limits", "access", "votes", "naming")


class Environment(BaseModel):
    """What the environment says; nothing where it says nothing. Words, which `Settings` reads."""

    config: str | None = None
    db: str | None = None
    cache: str | None = None
    host: str | None = None
    port: str | None = None
    preset: str | None = None
    language: str | None = None
    log: str | None = None
    snapshot_seconds: str | None = None
    frames: str | None = None
    metrics_token: str | None = Field(default=None, repr=False)
    sampling: dict[str, str] = {}
    battle: dict[str, str] = {}
    judge: dict[str, str] = Field(default={}, repr=False)
    backup: dict[str, str] = {}
    limits: dict[str, str] = {}
    access: dict[str, str] = Field(default={}, repr=False)
    votes: dict[str, str] = {}
    naming: dict[str, str] = {}
    space: str | None = None
    other_key: str | None = Field(default=None, repr=False)

    def over(self, file: dict[str, Any]) -> dict[str, Any]:
        """Return what goes before a file's settings.

        Another program's key does where the file has none, and so do the hub's frame, in which it
        shows its Spaces, and its proxies, through which it does.
        """
        said = {
            name: {key: word for key, word in value.items() if word} if name in _TABLES else value
            for name, value in self.model_dump(exclude={"config", "other_key", "space"}).items()
        }
        table = file.get("judge")
        keyless = not (isinstance(table, dict) and "key" in table)
        if keyless and self.other_key:
            said["judge"] = {"key": self.other_key} | said["judge"]
        if self.space and "frames" not in file and not self.frames:
            said["frames"] = _HUB
        limits = file.get("limits")
        if self.space and not (isinstance(limits, dict) and "proxies" in limits):
            said["limits"] = {"proxies": _SPACE} | said["limits"]
        return {name: value for name, value in said.items() if value}


def read_environment() -> Environment:
    """Return what the environment says.

    Raises
    ------
    SettingsError
        A variable names a whole table.
    """
    said: dict[str, Any] = {}
    for variable, word in os.environ.items():
        name = variable.lower()
        if not word:
            continue
        if name in _OTHERS:
            said[_OTHERS[name]] = word
        elif name.startswith(_PREFIX):
            _add(said, name.removeprefix(_PREFIX), word)
    return Environment(**said)


def _add(said: dict[str, Any], name: str, word: str) -> None:
    """Add a setting, or a setting of a table, by the variable's name without its prefix."""
    table, _, setting = name.partition("_")
    if name in _TABLES:
        tables = ", ".join(f"COUPLED_ARENA_{table.upper()}" for table in _TABLES)
        raise SettingsError(
            f"A variable of the environment names a table, not a setting: after {tables} comes "
            "the setting's name, as in COUPLED_ARENA_JUDGE_NAME."
        )
    if table in _TABLES:
        said.setdefault(table, {})[setting] = word
    elif name in Environment.model_fields and name not in _OTHERS.values():
        said[name] = word


def variable_of(place: tuple[int | str, ...], said: dict[str, Any]) -> str:
    """Return the variable that a setting comes from; empty if it comes from elsewhere."""
    value: Any = said
    for part in place:
        if not isinstance(value, dict) or part not in value:
            return ""
        value = value[part]
    return "_".join(["COUPLED_ARENA", *map(str, place)]).upper() if isinstance(value, str) else ""
