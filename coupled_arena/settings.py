"""Settings: defaults, then a TOML file, then the environment, then the command line.

This is the only module that reads the environment:

======================== ====================================================
COUPLED_ARENA_CONFIG     TOML file with settings and a catalog
COUPLED_ARENA_DB         database file
COUPLED_ARENA_CACHE      folder for fetched and unpacked weights
======================== ====================================================
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coupled_arena.errors import SettingsError
from coupled_arena.generation.catalog import Catalog, first_problem, read_catalog
from coupled_arena.records import Sampling

_PACKAGE = Path(__file__).parent


def resource(name: str) -> Path:
    """Return the path of a file under ``data`` or ``assets``, in a checkout or installed."""
    for folder in (_PACKAGE.parent, _PACKAGE):
        if (folder / name).exists():
            return folder / name
    raise SettingsError(f"The installation is incomplete: {name} is missing. Install it again.")


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SamplingSettings(_Checked):
    """The ``[sampling]`` table: see `records.Sampling`."""

    temperature: float = Field(default=0.7, ge=0, le=10)
    top_k: int = Field(default=0, ge=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    max_new_tokens: int = Field(default=256, ge=1, le=32_768)

    def sampling(self) -> Sampling:
        """Return the settings as the value that travels with a battle."""
        return Sampling(**self.model_dump())


class BattleSettings(_Checked):
    """The ``[battle]`` table.

    ``coupled_share`` is the share of battles that are coupled; ``models_at_once`` how many answer
    the same prompt (two, three or four); ``most_at_once`` how many battles decode together before
    newcomers are asked to wait.
    """

    coupled_share: float = Field(default=0.5, ge=0, le=1)
    models_at_once: int = Field(default=2, ge=2, le=4)
    most_at_once: int = Field(default=64, ge=1)


class Settings(_Checked):
    """All settings of a run."""

    db: Path = Path("arena.duckdb")
    cache: Path = Path("~/.cache/coupled_arena")
    host: str = "127.0.0.1"
    port: int = Field(default=7860, ge=0, le=65_535)
    preset: str = "demo"
    snapshot_seconds: float = Field(default=15, gt=0)
    sampling: SamplingSettings = SamplingSettings()
    battle: BattleSettings = BattleSettings()
    models: list[dict[str, Any]] = []
    base: Path = Path()

    @property
    def catalog(self) -> Catalog:
        """The models of the file, or of the preset where the file names none."""
        if self.models:
            return read_catalog(self.models, self.base)
        path = preset_path(self.preset)
        return read_catalog(read_toml(path).get("models", []), path.parent)


def presets() -> list[str]:
    """Return the names of the catalogs that come with the program."""
    return sorted(path.stem for path in resource("data/presets").glob("*.toml"))


def preset_path(name: str) -> Path:
    """Return the file of a preset."""
    if name not in presets():
        raise SettingsError(f"There is no preset {name!r}. Choose from: {', '.join(presets())}.")
    return resource("data/presets") / f"{name}.toml"


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    SettingsError
        The file is missing or not TOML.
    """
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from error


def load_settings(config: Path | None = None, **given: Any) -> Settings:
    """Return the settings in force.

    Parameters
    ----------
    config : Path, optional
        TOML file; else ``COUPLED_ARENA_CONFIG``, else defaults.
    **given
        Top-level settings from the command line; None means not given.

    Raises
    ------
    SettingsError
        A setting is unknown or out of range.
    """
    environment = {
        name: os.environ.get(f"COUPLED_ARENA_{name.upper()}") for name in ("config", "db", "cache")
    }
    named = config or environment.pop("config")
    environment.pop("config", None)
    values: dict[str, Any] = {}
    if named:
        path = Path(named).expanduser()
        values = {**read_toml(path), "base": path.resolve().parent}
    for source in (environment, given):
        values |= {name: value for name, value in source.items() if value is not None}
    try:
        settings = Settings(**values)
    except ValidationError as error:
        origin = f"{named}: " if named else ""
        raise SettingsError(origin + first_problem(error)) from error
    return settings.model_copy(
        update={"db": settings.db.expanduser(), "cache": settings.cache.expanduser()}
    )
