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

from coupled_arena.core.catalog import Catalog, ModelSpec
from coupled_arena.core.errors import ArenaError, ModelError, PromptError, SettingsError
from coupled_arena.core.extras import require
from coupled_arena.core.settings import Settings
from coupled_arena.generation.language_model import LanguageModel

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
    for problem in catalog.problems:
        _log.warning("Left out of the catalog: %s", problem)
    models: dict[str, LanguageModel] = {}
    for number, spec in enumerate(catalog.enabled, start=1):
        try:
            if what := (fatal or {}).get(spec.name):
                raise ModelError(f"Model {spec.name!r} {what}.")
            models[spec.name] = load(spec, settings.cache, (number, len(catalog.enabled)))
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
    models = {spec.name: load(spec, settings.cache) for spec in specs}
    _say_strangers(catalog, models)
    return models


def _say_strangers(catalog: Catalog, models: Mapping[str, LanguageModel]) -> None:
    from coupled_arena.generation.fingerprint import strangers

    for line in strangers(catalog, models.values()):
        _log.warning("%s", line)


def load(spec: ModelSpec, cache: Path, place: tuple[int, int] | None = None) -> LanguageModel:
    """Load one model, or find its server.

    Parameters
    ----------
    place : tuple of int, optional
        Which of how many it is, for the log.

    Raises
    ------
    ModelError
        It cannot take part.
    """
    which = f", {place[0]} of {place[1]}" if place else ""
    _log.info("Loading %s%s", spec.name, which, extra={LOADS: (spec.name, *(place or ()))})
    with _one_line(spec):
        return _connect(spec, cache) if spec.server else _load_here(spec, cache)


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


def _connect(spec: ModelSpec, cache: Path) -> LanguageModel:
    require("server", f"Model {spec.name!r} is on a server, which", ModelError)
    from coupled_arena.generation.remote import connect

    model = connect(spec, cache)
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
    joins : callable
        Takes a model that has come.
    """

    def __init__(self, missing: Late, joins: Callable[[LanguageModel], object]) -> None:
        self._missing = dict(missing)
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
                except ModelError as error:
                    _log.debug("Still left out: %s", error)
                    continue
                del self._missing[name]
                self._joins(model)
                _log.info("%s takes part from now on", name)
