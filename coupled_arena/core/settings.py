"""Settings: defaults, then a TOML file, then the environment, then the command line.

Every setting of the file has an environment variable, a table's with the table's name before it:

============================= ================================================
COUPLED_ARENA_CONFIG          TOML file with settings and a catalog
COUPLED_ARENA_DB              ``db``, and so on
COUPLED_ARENA_JUDGE_KEY       ``key`` of ``[judge]``; else OPENAI_API_KEY
COUPLED_ARENA_BACKUP_DATASET  ``dataset`` of ``[backup]``, and so on
COUPLED_ARENA_LIMITS_PROXIES  ``proxies`` of ``[limits]``, and so on
COUPLED_ARENA_ACCESS_KEY      ``key`` of ``[access]``, and so on
COUPLED_ARENA_VOTES_PROBATION ``probation`` of ``[votes]``
COUPLED_ARENA_ANNOTATE_REVEAL ``reveal`` of ``[annotate]``, and so on
COUPLED_ARENA_NAMING_NAMES    ``names`` of ``[naming]``; ``words`` likewise
COUPLED_ARENA_TASKS_MMLU      ``mmlu`` of ``[tasks]``, and so on
============================= ================================================

A variable that is empty says nothing. No other module reads the environment for settings.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from coupled_arena.core.catalog import Catalog, first_problem, read_catalog
from coupled_arena.core.choices import Coupling, Pairing
from coupled_arena.core.errors import SettingsError
from coupled_arena.core.files import at_home, is_text, is_there, read_toml
from coupled_arena.core.guards import (
    AccessSettings,
    AnnotateSettings,
    Checked,
    LimitSettings,
    NamingSettings,
    VoteSettings,
)
from coupled_arena.core.logs import LogForm
from coupled_arena.core.records import AUTO, Sampler, Sampling, Swap

# The environment.

_HUB = "https://huggingface.co https://*.hf.space"
_SPACE = "10.0.0.0/8"  # where the hub's proxies are, as its Spaces see them
_log = logging.getLogger(__name__)
_PREFIX = "coupled_arena_"
_OTHERS = {"space_id": "space", "openai_api_key": "other_key"}  # variables of other programs
_TABLES = (
    *("sampling", "battle", "judge", "backup", "limits", "access", "votes", "naming"),
    *("annotate", "tasks"),
)


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
    annotate: dict[str, str] = {}
    tasks: dict[str, str] = {}
    space: str | None = None
    other_key: str | None = Field(default=None, repr=False)

    def over(self, file: dict[str, Any]) -> dict[str, Any]:
        """Return what goes before a file's settings.

        Another program's key is used where the file has none. So are the hub's frame, in which it
        shows its Spaces, and its proxies.
        """
        values = {
            name: {key: word for key, word in value.items() if word} if name in _TABLES else value
            for name, value in self.model_dump(exclude={"config", "other_key", "space"}).items()
        }
        table = file.get("judge")
        keyless = not (isinstance(table, dict) and "key" in table)
        if keyless and self.other_key:
            values["judge"] = {"key": self.other_key} | values["judge"]
        if self.space and "frames" not in file and not self.frames:
            values["frames"] = _HUB
        limits = file.get("limits")
        if self.space and not (isinstance(limits, dict) and "proxies" in limits):
            values["limits"] = {"proxies": _SPACE} | values["limits"]
        return {name: value for name, value in values.items() if value}


def read_environment() -> Environment:
    """Return what the environment says.

    Raises
    ------
    SettingsError
        A variable names a whole table.
    """
    found: dict[str, Any] = {}
    for variable, word in os.environ.items():
        name = variable.lower()
        if not word:
            continue
        if name in _OTHERS:
            found[_OTHERS[name]] = word
        elif name.startswith(_PREFIX):
            _add(found, name.removeprefix(_PREFIX), word)
    return Environment(**found)


def _add(found: dict[str, Any], name: str, word: str) -> None:
    """Add a setting, or a setting of a table, by the variable's name without its prefix."""
    table, _, setting = name.partition("_")
    if name in _TABLES:
        tables = ", ".join(f"COUPLED_ARENA_{table.upper()}" for table in _TABLES)
        raise SettingsError(
            f"A variable of the environment names a table, not a setting: after {tables} comes "
            "the setting's name, as in COUPLED_ARENA_JUDGE_NAME."
        )
    if table in _TABLES:
        found.setdefault(table, {})[setting] = word
    elif name in Environment.model_fields and name not in _OTHERS.values():
        found[name] = word
    else:  # no reason to stop: Kubernetes makes such names of a service
        _log.warning("%s names no setting: it has no effect.", f"{_PREFIX}{name}".upper())


def variable_of(place: tuple[int | str, ...], settings: dict[str, Any]) -> str:
    """Return the variable that a setting comes from; empty if it comes from elsewhere."""
    value: Any = settings
    for part in place:
        if not isinstance(value, dict) or part not in value:
            return ""
        value = value[part]
    return "_".join(["COUPLED_ARENA", *map(str, place)]).upper() if isinstance(value, str) else ""


_SITE = r"^(\*|https?://[\w.*-]+(:\d+)?)$"
_PACKAGE = Path(__file__).parents[1]


def resource(name: str) -> Path:
    """Return the path of a file under ``data`` or ``assets``, in a checkout or installed."""
    path = _home() / name
    if not path.exists():
        raise SettingsError(f"The installation is incomplete: {name} is missing. Install it again.")
    return path


def _home() -> Path:
    """Return the folder with ``data`` and ``assets``: the checkout, or the installed package.

    Beside an installed package lie other people's, whose folders may have any name.
    """
    checkout = _PACKAGE.parent
    if (checkout / "app.py").is_file() and not (_PACKAGE / "data").is_dir():
        return checkout
    return _PACKAGE


class SamplingSettings(Checked):
    """The ``[sampling]`` table: see `records.Sampling`.

    By ``coupling`` noise is read for each token or for each byte; ``auto`` takes bytes where the
    models of a battle have other vocabularies.
    """

    temperature: float = Field(default=0.7, ge=0, le=10)
    top_k: int = Field(default=0, ge=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    max_new_tokens: int = Field(default=256, ge=1, le=32_768)
    coupling: Coupling = Coupling.AUTO

    def sampling(self) -> Sampling:
        """Return the settings as the value that travels with a battle."""
        return Sampling(**self.model_dump())


def coupling_of(sampler: str, coupling: str | None, default: str) -> str:
    """Return what `Sampling.coupling` says of a sampler, and of what its noise is read for.

    Raises
    ------
    SettingsError
        There is no such sampler, or it reads noise for neither tokens nor bytes.
    """
    if sampler not in (Sampler.GUMBEL, Sampler.INVERSE):
        raise SettingsError(f"sampler is one of gumbel, inverse, not {sampler!r}.")
    if sampler != Sampler.INVERSE:
        return coupling or default
    if coupling in (None, AUTO):
        return Sampler.INVERSE.coupling
    raise SettingsError(
        f"Coupling by {coupling} is for the sampler gumbel: inverse transform reads one number a "
        "step. Leave one of the two out."
    )


class BattleSettings(Checked):
    """The ``[battle]`` table.

    ``coupled_share`` is the share of battles that are coupled. ``models_at_once`` is how many
    answer the same prompt (two, three or four). ``most_at_once`` battles decode together before
    newcomers wait. ``most_waiting`` wait before others are sent away. Each model holds the keys and
    values of at most ``kv_tokens`` tokens; where nothing is said, free memory decides. Where one
    step of decoding takes longer than ``step_seconds``, the models are loaded anew. A vote can be
    undone for ``undo_seconds``, after which the names are shown. ``pairing`` draws all pairs of
    models alike, or some more often. These are the pairs that settle which model is first, or any
    model's place.
    """

    coupled_share: float = Field(default=0.5, ge=0, le=1)
    models_at_once: int = Field(default=2, ge=2, le=4)
    most_at_once: int = Field(default=64, ge=1)
    most_waiting: int = Field(default=640, ge=0)
    kv_tokens: int | None = Field(default=None, ge=1)
    step_seconds: float = Field(default=600, ge=1)
    undo_seconds: float = Field(default=5, ge=0, le=60)
    pairing: Pairing = Pairing.UNIFORM


class JudgeSettings(Checked):
    """The ``[judge]`` table: see `judging.spec.JudgeSpec` and `judging.judge.Judge`.

    A name stands for the model of that name unless ``model`` says otherwise, and the other way
    round. ``live``: judge battles of the app once they are voted on. The judge must be named, and
    have a key or a server of its own. Prices are per million tokens, in any currency. Each visitor
    may put ``visitor_questions`` to it in an hour, and all together ``daily_questions`` in a day.
    Both orders of two answers are two questions.
    """

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] | None = None
    model: str | None = None
    base_url: str | None = Field(default=None, pattern="^https?://[^/]")
    key: SecretStr | None = None
    prompt: Path | None = None
    swap: Swap = Swap.BOTH
    both_bad: bool = False
    reasons: bool = False
    temperature: Annotated[float, Field(ge=0, le=10)] | Literal["server"] = 0.0
    max_tokens: int = Field(default=256, ge=1)
    concurrency: int = Field(default=8, ge=1, le=256)
    timeout: float = Field(default=60, gt=0)
    patience: float = Field(default=180, ge=0)
    price_in: float = Field(default=0, ge=0)
    price_out: float = Field(default=0, ge=0)
    live: bool = True
    visitor_questions: int = Field(default=60, ge=0)
    daily_questions: int = Field(default=2000, ge=0)

    @field_validator("key", mode="before")
    @classmethod
    def _is_a_key(cls, key: object) -> object:
        """Refuse what cannot stand in a header, without telling what it is."""
        text = key.strip() if isinstance(key, str) else key
        if not isinstance(text, str) or not text.isascii() or not text.isprintable():
            raise ValueError("a key is one line of letters, digits and signs")
        return text

    @property
    def judges_live(self) -> bool:
        """Whether the app judges battles by itself."""
        named = self.name or self.model
        return self.live and named is not None and bool(self.key or self.base_url)


class BackupSettings(Checked):
    """The ``[backup]`` table: where new rows go, and how often; nowhere unless a place is named.

    ``folder`` is a mounted one, ``dataset`` one of the hub, as ``user/name``.
    """

    folder: Path | None = None
    dataset: str | None = Field(default=None, pattern=r"^[\w.-]+/[\w.-]+$")
    minutes: float = Field(default=5, gt=0, le=1440)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.folder and self.dataset:
            raise ValueError("name a folder or a dataset, not both")
        return self

    @property
    def wanted(self) -> bool:
        """Whether a place is named."""
        return bool(self.folder or self.dataset)


class TaskSettings(Checked):
    """The ``[tasks]`` table: where the page finds benchmarks, as ``benchmark --data`` has it."""

    mmlu: str | None = None
    gsm8k: str | None = None
    humaneval: str | None = None

    @property
    def data(self) -> dict[str, str]:
        """The benchmarks that have a place, by name."""
        return {name: place for name, place in self.model_dump().items() if place}


class Settings(Checked):
    """All settings of a run."""

    db: Path = Path("arena.duckdb")
    cache: Path = Path("~/.cache/coupled_arena")
    host: str = Field(default="127.0.0.1", pattern=r"^\S*$")
    port: int = Field(default=7860, ge=0, le=65_535)
    preset: str = "demo"
    language: str = "en"
    log: LogForm = "text"
    snapshot_seconds: float = Field(default=15, gt=0, le=86_400)
    metrics_token: SecretStr | None = Field(default=None, min_length=16)
    frames: list[Annotated[str, StringConstraints(pattern=_SITE)]] = Field(default=[])
    sampling: SamplingSettings = SamplingSettings()
    battle: BattleSettings = BattleSettings()
    judge: JudgeSettings = JudgeSettings()
    backup: BackupSettings = BackupSettings()
    limits: LimitSettings = LimitSettings()
    access: AccessSettings = AccessSettings()
    votes: VoteSettings = VoteSettings()
    naming: NamingSettings = NamingSettings()
    annotate: AnnotateSettings = AnnotateSettings()
    tasks: TaskSettings = TaskSettings()
    models: list[dict[str, Any]] = Field(default=[])
    base: Path = Path()

    @field_validator("db")
    @classmethod
    def _is_a_file(cls, db: Path) -> Path:
        """Refuse what names no file, such as an empty text."""
        if not db.name or not is_text(str(db)):
            raise ValueError(f"{str(db)!r} is no file")
        return db

    @field_validator("frames", mode="before")
    @classmethod
    def _words(cls, frames: object) -> object:
        """Take one text as words, which is all that the environment can say."""
        return frames.split() if isinstance(frames, str) else frames

    @field_validator("models", mode="before")
    @classmethod
    def _is_a_list(cls, models: object) -> object:
        """Refuse one table, as ``[models]`` makes it."""
        if isinstance(models, dict):
            raise ValueError("write [[models]], with two brackets, before each model")
        return models

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


def load_settings(config: Path | None = None, **given: Any) -> Settings:
    """Return the settings in force.

    Parameters
    ----------
    config : Path, optional
        TOML file; else ``COUPLED_ARENA_CONFIG``, else defaults.
    **given
        Settings from the command line; None means not given. A table changes the entries it has.

    Raises
    ------
    SettingsError
        A setting is unknown or out of range.
    """
    environment = read_environment()
    named = config or environment.config
    values: dict[str, Any] = {}
    file: dict[str, Any] = {}
    path = at_home(named or "")
    if named:
        file = read_toml(path)
        values = {**_from_folder(file, path.parent), "base": path.absolute().parent}
    in_effect = environment.over(values)
    for source in (in_effect, given):
        for name, value in source.items():
            if value is not None:
                values[name] = _changed(values.get(name), value)
    from_environment = {name: value for name, value in in_effect.items() if given.get(name) is None}
    try:
        settings = Settings(**values)
    except ValidationError as error:
        where = variable_of(error.errors()[0]["loc"], from_environment) or named
        origin = f"{where}: " if where else ""
        raise SettingsError(origin + first_problem(error)) from None  # it may hold the key
    settings = settings.model_copy(
        update={"db": at_home(settings.db), "cache": at_home(settings.cache)}
    )
    if named:
        _refuse_left_behind(settings.db, file.get("db"), path)
    return settings


def _from_folder(
    file: dict[str, Any], folder: Path, table: type[BaseModel] = Settings
) -> dict[str, Any]:
    """Return what a file says, with its paths put to the folder in which it lies."""
    found = dict(file)
    for name, field in table.model_fields.items():
        value, kind = file.get(name), field.annotation
        if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, BaseModel):
            found[name] = _from_folder(value, folder, kind)
        elif isinstance(value, str) and value:
            is_path = Path in (kind, *get_args(kind))
            # A benchmark may also be the name of a package, or a data set of the hub.
            if is_path or (table is TaskSettings and is_there(folder / at_home(value))):
                found[name] = str(folder / at_home(value))
    return found


def _refuse_left_behind(db: Path, stated: object, config: Path) -> None:
    """Refuse a database in the current folder, where older versions looked for it.

    Another one would begin in silence, beside the settings.
    """
    if not isinstance(stated, str) or db != config.parent / at_home(stated) or is_there(db):
        return
    if is_there(here := at_home(stated)):
        raise SettingsError(
            f"{config}: db starts from the folder of this file: {db} does not exist, but "
            f"{here.absolute()} does. Move it, or write its whole path."
        )


def _changed(before: Any, after: Any) -> Any:
    if not isinstance(after, dict):
        return after
    given = {name: value for name, value in after.items() if value is not None}
    return before | given if isinstance(before, dict) else given
