"""Loading models by the catalog, each in a process that has what it needs.

Models on servers that were away at the start join once their servers answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from coupled_arena.core.catalog import Catalog, ModelSpec
from coupled_arena.core.errors import ArenaError, ModelError, PromptError, SettingsError
from coupled_arena.core.extras import require
from coupled_arena.core.records import AUTO, Sampling
from coupled_arena.core.settings import Settings
from coupled_arena.generation.language_model import LanguageModel, brings_noise

_log = logging.getLogger(__name__)
LOADS = "loads"
"""Attribute of a record of the log: the model that is being loaded, and which of how many it is."""
LEFT_OUT = "left_out"
"""Attribute of a record of the log: the name of a model that cannot take part."""


def load_enabled(
    settings: Settings, fatal: Mapping[str, str] | None = None
) -> dict[str, LanguageModel]:
    """Load all enabled models; one that fails is named in the log and left out.

    Parameters
    ----------
    fatal : mapping of str to str, optional
        Models that are not tried, and what they did to the process that loaded them.
    """
    catalog = settings.catalog
    check_noise(settings)
    for problem in catalog.problems:
        _log.warning("Left out of the catalog: %s", problem)
    models: dict[str, LanguageModel] = {}
    for number, spec in enumerate(catalog.enabled, start=1):
        try:
            if what := (fatal or {}).get(spec.name):
                raise ModelError(f"Model {spec.name!r} {what}.")
            place = number, len(catalog.enabled)
            model = load(spec, settings.cache, place, settings.sampling.sampling())
            join(model, models)
            models[spec.name] = model
        except ModelError as error:
            _log.warning("Left out: %s", error, extra={LEFT_OUT: spec.name})
    _say_strangers(catalog, models)
    if len(models) < settings.battle.models_at_once:
        raise SettingsError(
            f"Only {len(models)} of the enabled models can be used, and a battle needs "
            f"{settings.battle.models_at_once}: mend or enable more entries of the catalog."
        )
    return models


def load_named(settings: Settings, names: Iterable[str]) -> dict[str, LanguageModel]:
    """Load models by name, each of which must work."""
    catalog = settings.catalog
    specs = [catalog[name] for name in dict.fromkeys(names)]
    models: dict[str, LanguageModel] = {}
    for spec in specs:
        model = load(spec, settings.cache, sampling=settings.sampling.sampling())
        join(model, models)
        models[spec.name] = model
    _say_strangers(catalog, models)
    return models


def _say_strangers(catalog: Catalog, models: Mapping[str, LanguageModel]) -> None:
    from coupled_arena.generation.fingerprint import strangers

    for line in strangers(catalog, models.values()):
        _log.warning("%s", line)


def check_noise(settings: Settings) -> None:
    """Refuse an arena in which some models draw with noise that others cannot share.

    Raises
    ------
    SettingsError
        Some bring noise of their servers and some do not, or the sampler is another one.
    """
    enabled = settings.catalog.enabled
    theirs = [spec.name for spec in enabled if spec.server_noise == "theirs"]
    others = [spec.name for spec in enabled if spec.server_noise != "theirs"]
    if theirs and others:
        raise SettingsError(
            f"{', '.join(theirs)}: these models draw with noise of their servers, and "
            f"{', '.join(others)} with the arena's. They cannot be coupled: disable either, with "
            "enabled = false, or give each kind an arena of its own."
        )
    if theirs and settings.sampling.coupling != AUTO:
        raise SettingsError(
            f"{', '.join(theirs)}: these models draw with noise of their servers. Leave out "
            f"coupling = {settings.sampling.coupling.value!r} of [sampling]."
        )


def join(model: LanguageModel, models: Mapping[str, LanguageModel]) -> None:
    """Let a model take part beside others, which it may have to prove itself with.

    Raises
    ------
    ModelError
        It draws with noise of its server, and does not share it with others that do so.
    """
    if brings_noise(model):
        from coupled_arena.generation.stock_servers import StockModel

        cast(StockModel, model).join(models)


def load(
    spec: ModelSpec,
    cache: Path,
    place: tuple[int, int] | None = None,
    sampling: Sampling | None = None,
) -> LanguageModel:
    """Load one model, or find its server.

    Parameters
    ----------
    place : tuple of int, optional
        Which of how many it is, for the log.
    sampling : Sampling, optional
        How answers will be drawn: a server with noise of its own is asked to draw so.

    Raises
    ------
    ModelError
        It cannot take part.
    """
    which = f", {place[0]} of {place[1]}" if place else ""
    _log.info("Loading %s%s", spec.name, which, extra={LOADS: (spec.name, *(place or ()))})
    with _one_line(spec):
        return _connect(spec, cache, sampling) if spec.server else _load_here(spec, cache)


def fault(spec: ModelSpec, cache: Path) -> str:
    """Return why a model cannot be loaded, as far as its files tell; its weights are not read.

    Nothing of a model that is yet to be fetched or unpacked, or that a server holds.
    """
    from coupled_arena.generation.huggingface import open_model
    from coupled_arena.generation.tokenization import PromptEncoder
    from coupled_arena.generation.weights import is_ready

    try:
        with _one_line(spec):
            here = spec.folder or (not (spec.gguf and not spec.hub) and is_ready(spec, cache))
            if spec.server or not here:
                return ""
            _, tokenizer = open_model(spec, cache)
            PromptEncoder(tokenizer, spec.chat_template_options).encode(
                [{"role": "user", "content": "Hello"}]
            )
    except ArenaError as error:
        return f"Model {spec.name!r}: {error}" if isinstance(error, PromptError) else str(error)
    return ""


@contextmanager
def _one_line(spec: ModelSpec) -> Iterator[None]:
    """Turn whatever is raised into an error of this one model."""
    try:
        yield
    except (ArenaError, KeyboardInterrupt, SystemExit):
        raise
    # Files, and the libraries that read them, may raise anything, and tokenizers panic with what is
    # no Exception: whatever it is, it costs this one model.
    except BaseException as error:
        first_line = next(iter(str(error).strip().splitlines()), "")[:300]
        what = f"{type(error).__name__}: {first_line}".rstrip(": ").rstrip(".")
        raise ModelError(f"Model {spec.name!r} does not load ({what}).") from error


def _load_here(spec: ModelSpec, cache: Path) -> LanguageModel:
    from coupled_arena.generation.huggingface import load_model

    started = time.perf_counter()
    model = load_model(spec, cache)
    perplexity = model.read_text()
    model.check_itself()
    seconds = time.perf_counter() - started
    _log.info("Loaded %s in %.1f s, perplexity %.3g", spec.name, seconds, perplexity)
    if not model.batchable:
        _log.info("%s writes one reply at a time: in company its replies would change", spec.name)
    return model


def _connect(spec: ModelSpec, cache: Path, sampling: Sampling | None) -> LanguageModel:
    require("server", f"Model {spec.name!r} is on a server, which", ModelError)
    from coupled_arena.generation import remote, stock_servers

    theirs = spec.server_noise == "theirs"
    model = stock_servers.connect(spec, cache, sampling) if theirs else remote.connect(spec, cache)
    _log.info("%s is served at %s", spec.name, spec.server)
    return model


# Models that join later.

Late = Mapping[str, Callable[[], LanguageModel]]
_PAUSE = 30.0  # seconds before the first new attempt; each pause is twice the one before
_LONGEST_PAUSE = 480.0


class LateModels:
    """Asks for models that are missing, again and again, until all have come.

    Parameters
    ----------
    missing : mapping of str to callable
        By name, what loads a model or raises ModelError.
    check : callable
        Raises ModelError where a model that has come cannot take part.
    joins : callable
        Takes a model that has come.
    """

    def __init__(
        self,
        missing: Late,
        check: Callable[[LanguageModel], object],
        joins: Callable[[LanguageModel], object],
    ) -> None:
        self._missing = dict(missing)
        self._check = check
        self._joins = joins
        threading.Thread(target=self._ask, name="late-models", daemon=True).start()

    @property
    def away(self) -> int:
        """How many are still missing."""
        return len(self._missing)

    def _ask(self) -> None:
        pause, never = _PAUSE, threading.Event()
        while self._missing:
            never.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            for name, load in list(self._missing.items()):
                try:
                    model = load()
                    self._check(model)
                except ModelError as error:
                    _log.debug("Still left out: %s", error)
                    continue
                del self._missing[name]
                self._joins(model)
                _log.info("%s takes part from now on", name)
