"""The one place that builds models, engine, store, arena and judge from the settings.

What takes seconds to load (torch above all) is loaded by the functions that need it: a judge can
be built without.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from coupled_arena.battles.judge_feedback import Decisions
from coupled_arena.battles.judge_runs.request import Allowance, JudgeOnRequest, LiveJudge
from coupled_arena.battles.limits import Limits, Origins
from coupled_arena.battles.members import Members
from coupled_arena.core.choices import Reveals
from coupled_arena.core.errors import JudgeError, SettingsError, TaskError
from coupled_arena.core.extras import require
from coupled_arena.core.naming import own_names
from coupled_arena.core.settings import BackupSettings, JudgeSettings, Settings, resource
from coupled_arena.judging.prompt import read_prompt
from coupled_arena.judging.spec import JudgeSpec
from coupled_arena.store.annotators import Annotators, annotators_path
from coupled_arena.store.database import Store
from coupled_arena.store.sign_in_files import key_path, secret_key, signed_out_path
from coupled_arena.store.tables.derived_rows import set_own_names
from coupled_arena.store.tables.guards import set_probation
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.snapshots import SnapshotThread, open_for_writing, snapshot_path
from coupled_arena.store.transfer.targets import backup_target

if TYPE_CHECKING:
    from coupled_arena.analysis.audit.verdicts import LiveAudits
    from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates
    from coupled_arena.analysis.style.result import LiveStyle
    from coupled_arena.battles.annotation import Annotation
    from coupled_arena.battles.arena import Arena
    from coupled_arena.battles.gate_service import Gates
    from coupled_arena.battles.judge_feedback import JudgedRounds
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
    styles: LiveStyle
    live_judge: LiveJudge | None
    asked_judge: JudgeOnRequest | None
    judge_feedback: JudgedRounds | None
    annotators: Annotators
    limits: Limits
    members: Members
    origins: Origins
    gates: Gates | None = None  # where models are
    judges: tuple[Judge, ...] = ()  # who is asked behind the app and by visitors
    example: bool = False  # the store is the example of the package
    beside: bool = False  # and it is below a path of another arena


@contextmanager
def open_services(
    settings: Settings, *, annotate: bool = False, example: bool = False
) -> Iterator[Services]:
    """Open the store and what serves battles from it; close all of it on leaving.

    Parameters
    ----------
    annotate : bool
        Serve stored battles instead of loading models that make new ones.
    example : bool
        The store is the example of the package: nobody gains by guessing its seed.

    Raises
    ------
    ArenaError
        The store cannot be opened, it has no battles to vote on, or fewer models load than a
        battle needs.
    """
    from coupled_arena.analysis.audit.verdicts import LiveAudits
    from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates
    from coupled_arena.analysis.style.result import LiveStyle

    annotators, members = Annotators(annotators_path(settings.db)), _members(settings)
    # Before the models, which take a while to load. A client belongs to one thread.
    judge, other = _live_client(settings.judge), _live_client(settings.judge)
    with (
        open_store(settings, create=not annotate or settings.backup.wanted) as (store, snapshots),
        _backup(settings.backup, store) as backup,
        _annotation(settings, store, warns=not example)
        if annotate
        else _arena(settings, store) as arena,
    ):
        store.write(partial(set_probation, votes=settings.votes.probation))
        boards = LiveEstimates(store), LiveAudits(store), LiveStyle(store)
        with (
            _live_judge(judge, settings.judge, store) as live,
            _asked_judge(other, settings.judge) as asked,
        ):
            # A judge's word beside each vote would teach annotators its taste.
            blind = annotate and settings.annotate.reveal is not Reveals.EACH
            shown = None if blind else live
            judge_feedback = shown and _judge_feedback(shown, asked, settings.judge, store, arena)
            clients = tuple(client for client in (judge, other) if client)
            judges = live, asked, judge_feedback
            guards = annotators, Limits(settings.limits), members, Origins()
            parts = store, snapshots, backup, arena, *boards, *judges, *guards
            with _gates(settings, store, arena) as gates:
                yield Services(settings, *parts, gates, clients, example=example)


def _members(settings: Settings) -> Members:
    """Return who may sign in; their secret is made with the first one who may."""
    if settings.access.sign_in == "none":
        return Members(settings.access, "")
    given = settings.access.key
    key = given.get_secret_value() if given else secret_key(key_path(settings.db))
    return Members(settings.access, key, signed_out=signed_out_path(settings.db))


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
        own = own_names(settings)
        store.write(partial(set_own_names, names=own.names, words=own.words))
        path = snapshot_path(settings.db)
        with closing(SnapshotThread(store, path, settings.snapshot_seconds)) as snapshots:
            yield store, snapshots


@contextmanager
def _backup(settings: BackupSettings, store: Store) -> Iterator[Backup | None]:
    """Bring back what an empty store lacks, then send what is new."""
    if not settings.wanted:
        yield None
        return
    place = backup_target(settings.folder, settings.dataset)
    with closing(Backup(store, place, settings.minutes)) as backup:
        yield backup


@contextmanager
def _arena(settings: Settings, store: Store) -> Iterator[Arena]:
    """Start the engine, in a process of its own, which loads the models."""
    from coupled_arena.battles.arena import Arena, ArenaRules
    from coupled_arena.battles.pair_sampling import WhoseTurn
    from coupled_arena.core.choices import Pairing
    from coupled_arena.generation.capacity import Capacity
    from coupled_arena.generation.engine_process import EngineProcess
    from coupled_arena.generation.loading import load, load_enabled

    battle, sampling = settings.battle, settings.sampling.sampling()
    rules = ArenaRules(
        sampling,
        battle.coupled_share,
        undo_seconds=battle.undo_seconds,
        held_over=_holds_votes_over(settings),
    )
    capacity = Capacity(
        battle.most_at_once, battle.most_waiting, battle.kv_tokens, battle.step_seconds
    )
    loads = partial(load, cache=settings.cache, sampling=sampling)
    late = {s.name: partial(loads, s) for s in settings.catalog.enabled if s.server}
    worker = EngineProcess(partial(load_enabled, settings), capacity, late)
    try:
        worker.room.check_answers(sampling)
        with closing(WhoseTurn(store, Pairing(battle.pairing))) as whose_turn:
            yield Arena(worker.models, worker, store, rules, whose_turn=whose_turn)
    finally:
        worker.close()


@contextmanager
def _gates(settings: Settings, store: Store, arena: Arena | Annotation) -> Iterator[Gates | None]:
    """Offer the benchmarks that there are data for; none where no models are."""
    from coupled_arena.battles.annotation import Annotation

    if isinstance(arena, Annotation):
        yield None
        return
    from coupled_arena.battles.batch import marker_for
    from coupled_arena.battles.gate_service import Gates, Share
    from coupled_arena.tasks.registry import TASKS

    data = {name: place for name, place in settings.tasks.data.items() if _is_there(name, place)}
    quiz: dict[str, str | None] = {"quiz": None}
    tasks = {name: partial(marker_for, TASKS[name], place) for name, place in (quiz | data).items()}
    sampling, share = settings.sampling.sampling(), Share(settings.battle.most_at_once)
    with closing(Gates(arena.models, arena.worker, store, tasks, sampling, share)) as gates:
        yield gates


def _is_there(task: str, place: str) -> bool:
    """Tell whether a benchmark's file is there; data sets of the hub are fetched when needed."""
    from coupled_arena.tasks.data_files import HUB, locate

    if place.startswith(HUB):
        return True
    try:
        locate(place, {})
    except TaskError as error:
        _log.warning("The page does not offer %(task)s: %(why)s", {"task": task, "why": error})
        return False
    return True


@contextmanager
def _annotation(settings: Settings, store: Store, *, warns: bool) -> Iterator[Annotation]:
    """Look for stored battles to vote on."""
    from coupled_arena.battles.annotation import Annotation
    from coupled_arena.store.work_queues.battles import Backlog

    rules = settings.annotate
    with closing(Backlog(store, rules.votes_each, rules.repeats)) as backlog:
        _log.info("%s battles to vote on", f"{backlog.battles:,}")
        if warns and backlog.guessable():
            _log.warning(
                "Some of them come from a batch run with a small --seed: whoever guesses it can "
                "work out who is who. Give `generate` a random seed if voters might try."
            )
        undo, held_over = settings.battle.undo_seconds, _holds_votes_over(settings)
        yield Annotation(
            store, backlog, undo_seconds=undo, reveal=rules.reveal, held_over=held_over
        )


def _holds_votes_over(settings: Settings) -> bool:
    """Tell whether the next start finds votes that could still be undone: no backup has them."""
    return not settings.backup.wanted


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
        reasons=settings.reasons and not grades,
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
    require("judge", "A judge", JudgeError)
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


@contextmanager
def _asked_judge(judge: Judge | None, settings: JudgeSettings) -> Iterator[JudgeOnRequest | None]:
    if judge is None or not min(settings.visitor_questions, settings.daily_questions):
        yield None
        return
    allowance = Allowance(settings.visitor_questions, settings.daily_questions)
    with closing(JudgeOnRequest(judge, settings.concurrency, allowance)) as asked:
        yield asked


def _judge_feedback(
    live: LiveJudge,
    asked: JudgeOnRequest | None,
    settings: JudgeSettings,
    store: Store,
    arena: Arena | Annotation,
) -> JudgedRounds:
    from coupled_arena.battles.judge_feedback import JudgedRounds

    decisions = asked and Decisions(store, asked)
    return JudgedRounds(live, settings.swap, store, arena.round_of, decisions)
