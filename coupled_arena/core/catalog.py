"""The catalog: which models there are, where their weights come from, how they compute."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass as validated

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.files import at_home

Quantization = Literal["none", "bnb-8bit", "bnb-4bit", "prequantized"]
ServerNoise = Literal["arena", "theirs"]
_HUB = re.compile(r"(\b[\w.-]+\b/)?\b[\w.-]{1,96}\b")  # as the hub calls models
# What reaches pip, an archive, the hub or the cache: no part begins with a dash or a dot, so that
# none is an option of a program, and none leads out of a folder.
_WHEEL = r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.]*$"
_PART = r"[A-Za-z0-9_][^/\\]*"
_INSIDE = rf"^{_PART}(/{_PART})*$"


def _can_be_fetched(hub: str) -> bool:
    """Whether the hub may have a model of this name; a folder here may stand for it."""
    named = _HUB.fullmatch(hub) and not (".." in hub or "--" in hub)
    return bool(named) or os.path.isdir(hub)  # noqa: PTH112 a text that no path can be is none


@validated(frozen=True, config=ConfigDict(extra="forbid"))
class ModelSpec:
    """One entry of the catalog.

    Exactly one source is named. ``hub`` is an id, with ``revision``; with ``gguf`` a file in it.
    ``folder`` and ``gguf`` are local. ``wheel`` is a requirement on the package index, with the
    ``file`` inside it and its ``sha256``.

    Attributes
    ----------
    quantization : str
        ``bnb-8bit`` is LLM.int8, ``bnb-4bit`` is NF4, both of weights in full precision. ``none``
        loads the weights as they are published. ``prequantized`` does so too, and refuses those
        that are not quantized.
    llm_int8_threshold : float
        Outlier threshold of LLM.int8. Above 0 a reply depends on its neighbours in the batch, so
        such a model decodes each battle by itself.
    head_dtype : str
        ``float32`` lets the output layer of a model in 16 bits sum in 32: another law, closer to
        that of full precision. ``same`` computes it like the rest.
    server : str
        Address of the vLLM server that holds the model; the source then names its tokenizer.
    served_as : str
        What the server calls the model, where that is not its source.
    server_key_variable : str
        Environment variable that holds the server's key, where it asks for one.
    server_noise : str
        Who makes the noise of the server's draws. ``arena`` is the plugin's, the same as in this
        process. ``theirs`` is that of a server without the plugin, by seed, position and token id.
    like : str
        The earlier entry that this one started from: a variant of it, or nearly so.
    stop_tokens : tuple of str
        Names of tokens that end an answer, besides those the model itself declares.
    """

    name: str = Field(pattern=r"^\S(.*\S)?$", max_length=80)
    hub: str | None = None
    revision: str | None = Field(default=None, pattern=_INSIDE)
    folder: Path | None = None
    gguf: str | None = None
    wheel: str | None = Field(default=None, pattern=_WHEEL)
    file: str | None = Field(default=None, pattern=_INSIDE)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    dtype: Literal["float32", "bfloat16", "float16"] = "bfloat16"
    device_map: str = "auto"
    quantization: Quantization = "none"
    llm_int8_threshold: float = Field(default=0.0, ge=0)
    head_dtype: Literal["same", "float32"] = "same"
    chat_template_options: dict[str, Any] = Field(default_factory=dict)
    system_prompt: str | None = None
    server: str | None = Field(default=None, pattern=r"^https?://[^/\s]+(/[^\s]*[^/\s])?/?$")
    served_as: str = ""
    server_key_variable: str = ""
    server_noise: ServerNoise = "arena"
    stop_tokens: tuple[str, ...] = ()
    like: str | None = None
    enabled: bool = True
    archived: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> ModelSpec:
        sources = [self.hub, self.folder, self.gguf and not self.hub, self.wheel]
        if sum(bool(source) for source in sources) != 1:
            raise ValueError("name exactly one source: hub, folder, gguf or wheel")
        if self.hub and not _can_be_fetched(self.hub):
            raise ValueError(f"{self.hub!r} is no name of a model of the hub")
        if self.hub and self.gguf and not re.fullmatch(_INSIDE, self.gguf):
            raise ValueError(f"{self.gguf!r} is no file of a model of the hub")
        if self.wheel and not (self.file and self.sha256):
            raise ValueError("a wheel needs the file inside it and that file's sha256")
        if self.server and (self.quantization != "none" or self.llm_int8_threshold):
            raise ValueError("a server decides how it quantizes: leave quantization out")
        if self.server and self.head_dtype != "same":
            raise ValueError("a server decides how it computes: leave head_dtype out")
        if self.server_noise == "theirs" and not self.server:
            raise ValueError("server_noise is of a model on a server: name it, or leave this out")
        return self

    @property
    def server_key(self) -> str:
        """The server's key; empty where none is named, or the variable is not set."""
        return os.environ.get(self.server_key_variable, "") if self.server_key_variable else ""

    @property
    def source(self) -> str:
        """Where the weights come from, in a few words."""
        if self.hub:
            return f"hub:{self.hub}" + (f"@{self.revision}" if self.revision else "")
        if self.wheel:
            return f"wheel:{self.wheel}"
        return f"gguf:{self.gguf}" if self.gguf else f"folder:{self.folder}"


@dataclass(frozen=True)
class Catalog:
    """All entries that could be read, and one line for each that could not."""

    models: tuple[ModelSpec, ...] = ()
    problems: tuple[str, ...] = ()
    _by_name: Mapping[str, ModelSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {spec.name: spec for spec in self.models})

    def __getitem__(self, name: str) -> ModelSpec:
        """Return the entry of that name, or raise SettingsError naming those there are."""
        if name not in self._by_name:
            known = ", ".join(self._by_name) or "none"
            raise SettingsError(f"There is no model named {name!r}. Configured models: {known}.")
        return self._by_name[name]

    @property
    def enabled(self) -> tuple[ModelSpec, ...]:
        """The models that take part in battles."""
        return tuple(spec for spec in self.models if spec.enabled and not spec.archived)


def read_catalog(entries: Iterable[Mapping[str, Any]], base: Path) -> Catalog:
    """Check the entries of a TOML catalog one by one, so that a wrong one harms no other.

    Parameters
    ----------
    entries : iterable of mappings
        The ``[[models]]`` tables; ``like = "NAME"`` starts from an earlier entry.
    base : Path
        Folder that relative paths start from.
    """
    raw: dict[str, dict[str, Any]] = {}
    models: list[ModelSpec] = []
    problems: list[str] = []
    for number, entry in enumerate(entries, start=1):
        label = f"Model {entry.get('name', number)!r}"
        try:
            merged = _inherit(entry, raw)
            spec = _check(merged, base)
        except SettingsError as error:
            problems.append(f"{label}: {error}")
            continue
        if spec.name in raw:
            problems.append(f"{label}: this name is taken by an earlier entry; choose another.")
            continue
        raw[spec.name] = merged
        models.append(spec)
    return Catalog(tuple(models), tuple(problems))


_OTHER_WEIGHTS = {"hub", "revision", "folder", "gguf", "wheel", "quantization", "dtype"}
_OF_A_SERVER = {"server", "served_as", "server_key_variable", "server_noise"}


def _inherit(entry: Mapping[str, Any], raw: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    parent = entry.get("like")
    if parent is not None and str(parent) not in raw:
        raise SettingsError(f"like = {parent!r} names no earlier entry.")
    inherited = raw.get(str(parent), {})
    if _OTHER_WEIGHTS & entry.keys():  # the parent's server holds the parent
        inherited = {key: inherited[key] for key in inherited.keys() - _OF_A_SERVER}
    return {**inherited, "like": parent, **entry}


def _check(entry: dict[str, Any], base: Path) -> ModelSpec:
    try:
        spec = TypeAdapter(ModelSpec).validate_python(entry)
    except ValidationError as error:
        raise SettingsError(first_problem(error)) from error
    located = dict(entry)
    if spec.folder:
        located["folder"] = base / at_home(spec.folder)
    if spec.gguf and not spec.hub:
        located["gguf"] = str(base / at_home(spec.gguf))
    return TypeAdapter(ModelSpec).validate_python(located)


def first_problem(error: ValidationError) -> str:
    """Return the first thing wrong as one line: the field, what is wrong, what was given."""
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] in {"unexpected_keyword_argument", "extra_forbidden"}:
        return f"there is no setting {where!r}; docs/hosting.md and docs/your-models.md list them."
    message = problem["msg"].removeprefix("Value error, ")
    secret = where.endswith("key") or ".users" in where
    tellable = isinstance(problem["input"], str | int | float) and not secret
    given = f", not {problem['input']!r}" if tellable else ""
    return f"{where}: {message}{given}." if where else f"{message}."
