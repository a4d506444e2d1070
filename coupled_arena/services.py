"""The one place that builds models, engine, store, arena and judge from the settings.

What takes seconds to load (torch above all) is loaded by the functions that need it: a judge can
be built without.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from coupled_arena.battles.judge_runs.live import LiveJudge
from coupled_arena.core.catalog import Catalog, ModelSpec
from coupled_arena.core.errors import JudgeError, ModelError, SettingsError
from coupled_arena.core.settings import BackupSettings, JudgeSettings, Settings, resource
from coupled_arena.judging.prompt import read_prompt
from coupled_arena.judging.spec import JudgeSpec
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.backup_places import place_of
from coupled_arena.store.transfer.snapshot_thread import SnapshotThread
from coupled_arena.store.transfer.snapshots import open_for_writing, snapshot_path

if TYPE_CHECKING:
    from coupled_arena.analysis.audit.read import LiveAudits
    from coupled_arena.analysis.leaderboard.read import LiveEstimates
    from coupled_arena.battles.annotation import Annotation
    from coupled_arena.battles.arena import Arena
    from coupled_arena.generation.language_model import LanguageModel
    from coupled_arena.judging.judge import Judge

_log = logging.getLogger(__name__)
OPENAI = "https://api.openai.com/v1"
_PROMPTS = {False: "data/judge_prompt.txt", True: "data/grade_prompt.txt"}
_LIVE_PATIENCE = 15.0  # seconds until an outage is told; the question is asked again later


@dataclass(frozen=True)
class Services:
    """Everything the web app stands on."""

    settings: Settings
    store: Store
    snapshots: SnapshotThread
    backup: Backup | None
    arena: Arena | Annotation
    estimates: LiveEstimates
    audits: LiveAudits
    live_judge: LiveJudge | None

    def ailing(self) -> tuple[str, ...]:
        """Return what keeps people from voting now: "database", "engine" or nothing."""
        parts = {"database": self.store.is_well, "engine": self.arena.is_well}
        return tuple(part for part, is_well in parts.items() if not is_well())


@contextmanager
def open_services(settings: Settings, *, annotate: bool = False) -> Iterator[Services]:
    """Open the store and what serves battles from it; close all of it on leaving.

    Parameters
    ----------
    settings : Settings
    annotate : bool
        Serve stored battles instead of loading models that make new ones.

    Raises
    ------
    ArenaError
        The store cannot be opened, it has no battles to vote on, or fewer models load than a
        battle needs.
    """
    from coupled_arena.analysis.audit.read import LiveAudits
    from coupled_arena.analysis.leaderboard.read import LiveEstimates

    judge = _live_client(settings.judge)  # before the models, which take a while to load
    with (
        open_store(settings, create=not annotate or settings.backup.wanted) as (store, snapshots),
        _backup(settings.backup, store) as backup,
        _annotation(store) if annotate else _arena(settings, store) as arena,
    ):
        boards = LiveEstimates(store), LiveAudits(store)
        with _live_judge(judge, settings.judge, store) as live:
            yield Services(settings, store, snapshots, backup, arena, *boards, live)


@contextmanager
def open_store(
    settings: Settings, *, create: bool = True
) -> Iterator[tuple[Store, SnapshotThread]]:
    """Own the database, and keep a snapshot of it for other processes.

    Takes what `open_for_writing` takes.

    Raises
    ------
    StoreError
        It cannot be opened, or it is not what its snapshots go on to.
    """
    with open_for_writing(settings.db, create=create) as store:
        path = snapshot_path(settings.db)
        with closing(SnapshotThread(store, path, settings.snapshot_seconds)) as snapshots:
            yield store, snapshots


@contextmanager
def _backup(settings: BackupSettings, store: Store) -> Iterator[Backup | None]:
    """Bring back what an empty store lacks, then send what is new."""
    if not settings.wanted:
        yield None
        return
    place = place_of(settings.folder, settings.dataset)
    with closing(Backup(store, place, settings.minutes)) as backup:
        yield backup


@contextmanager
def _arena(settings: Settings, store: Store) -> Iterator[Arena]:
    """Start the engine, in a process of its own, which loads the models."""
    from coupled_arena.battles.arena import Arena, ArenaRules
    from coupled_arena.generation.capacity import Capacity
    from coupled_arena.generation.engine_process import EngineProcess

    battle, sampling = settings.battle, settings.sampling.sampling()
    rules = ArenaRules(sampling, battle.coupled_share)
    capacity = Capacity(battle.most_at_once, battle.most_waiting, battle.kv_tokens)
    worker = EngineProcess(partial(load_enabled, settings), capacity)
    try:
        worker.room.check_answers(sampling)
        yield Arena(worker.models, worker, store, rules)
    finally:
        worker.close()


@contextmanager
def _annotation(store: Store) -> Iterator[Annotation]:
    """Look for stored battles to vote on."""
    from coupled_arena.battles.annotation import Annotation
    from coupled_arena.store.pending.battles import Backlog

    with closing(Backlog(store)) as backlog:
        _log.info("%s battles to vote on", f"{backlog.battles:,}")
        if backlog.guessable():
            _log.warning(
                "Some of them come from a batch run with a small --seed: whoever guesses it can "
                "work out who is who. Give `generate` a random seed if voters might try."
            )
        yield Annotation(store, backlog)


def build_judge(
    settings: JudgeSettings, *, grades: bool = False, patience: float | None = None
) -> Judge:
    """Return the judge of the settings; it is asked nothing yet.

    Parameters
    ----------
    grades : bool
        It is to say if single answers are right, rather than which of two is better.

    Raises
    ------
    SettingsError
        It has neither a name nor a model, or no key, or its prompt cannot be read.
    JudgeError
        The package that asks a server is not installed.
    """
    name, model = settings.name or settings.model, settings.model or settings.name
    if not name or not model:
        raise SettingsError("Name the judge with --judge, or as name under [judge].")
    key = settings.key.get_secret_value() if settings.key else ""
    if not key and not settings.base_url:
        raise SettingsError(
            "The judge has no key: set COUPLED_ARENA_JUDGE_KEY, or give the --base-url of a "
            "server that needs none."
        )
    spec = JudgeSpec(
        name=name,
        model=model,
        prompt=read_prompt(settings.prompt or resource(_PROMPTS[grades])),
        temperature=None if settings.temperature == "server" else settings.temperature,
        max_tokens=settings.max_tokens,
        swap=settings.swap,
        both_bad=settings.both_bad,
        grades=grades,
    )
    return _judge_class()(
        spec,
        base_url=settings.base_url or OPENAI,
        key=key,
        timeout=settings.timeout,
        patience=settings.patience if patience is None else patience,
    )


def _judge_class() -> type[Judge]:
    """Return the client, whose package is a part that can be left out."""
    if find_spec("openai") is None:
        raise JudgeError("A judge needs a further package: pip install 'coupled-arena[judge]'.")
    from coupled_arena.judging.judge import Judge

    return Judge


def _live_client(settings: JudgeSettings) -> Judge | None:
    if not settings.judges_live:
        return None
    return build_judge(settings, patience=min(settings.patience, _LIVE_PATIENCE))


@contextmanager
def _live_judge(
    judge: Judge | None, settings: JudgeSettings, store: Store
) -> Iterator[LiveJudge | None]:
    if judge is None:
        yield None
        return
    live = LiveJudge(judge, store, settings.concurrency)
    _log.info("%s judges battles as they are voted on", live.name)
    try:
        yield live
    finally:
        live.close()


def load_enabled(settings: Settings) -> dict[str, LanguageModel]:
    """Load all enabled models; one that fails is named in the log and left out."""
    catalog = settings.catalog
    for problem in catalog.problems:
        _log.warning("Left out of the catalog: %s", problem)
    models: dict[str, LanguageModel] = {}
    for spec in catalog.enabled:
        try:
            models[spec.name] = load(spec, settings.cache)
        except ModelError as error:
            _log.warning("Left out: %s", error)
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


def load(spec: ModelSpec, cache: Path) -> LanguageModel:
    """Load one model, or find its server.

    Raises
    ------
    ModelError
        It cannot take part.
    """
    if spec.server:
        return _connect(spec, cache)
    from coupled_arena.generation.huggingface import load_model

    started = time.perf_counter()
    _log.info("Loading %s", spec.name)
    model = load_model(spec, cache)
    perplexity = model.read_text()
    seconds = time.perf_counter() - started
    _log.info("Loaded %s in %.1f s, perplexity %.3g", spec.name, seconds, perplexity)
    return model


def _connect(spec: ModelSpec, cache: Path) -> LanguageModel:
    if find_spec("openai") is None:
        raise ModelError(
            f"Model {spec.name!r} is on a server, which needs a further package: "
            "pip install 'coupled-arena[server]'."
        )
    from coupled_arena.generation.remote import connect

    model = connect(spec, cache)
    _log.info("%s is served at %s", spec.name, spec.server)
    return model
