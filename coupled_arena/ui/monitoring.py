"""What ``/healthz`` and ``/metrics`` answer: which parts are well, and how much goes on."""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from fastapi import APIRouter, Header, HTTPException, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from pydantic import SecretStr
from starlette.responses import JSONResponse

from coupled_arena.core.files import reason
from coupled_arena.generation.engine_messages import BOUNDS
from coupled_arena.generation.engine_process import EngineProcess
from coupled_arena.services import Services
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.snapshots import snapshot_needs

_log = logging.getLogger(__name__)
PATIENCE = 0.5  # seconds that an answer waits for files and the database
LONGEST = 30.0  # seconds that a busy database may take before it is ailing
_VOTE = 1 << 20  # bytes; with fewer no commit is sure to find room
_FULL = "the disk is full"


class Served(Protocol):
    """Who serves battles, made here or stored."""

    def trouble(self) -> str:
        """Return why no new rounds are answered; empty while they are."""
        ...


class Health:
    """How the parts of an application are.

    A thread of its own looks at files and the database. While that waits for a disk or a lock, what
    it found last is told, for at most `LONGEST` seconds.

    Parameters
    ----------
    arena : Arena or Annotation
    backup : Backup or None
        None where no place is named: then there is no such part.
    """

    def __init__(self, store: Store, arena: Served, backup: Backup | None) -> None:
        self._store = store
        self._arena = arena
        self._backup = backup
        self._files = _Looks(self._look_at_files)

    async def parts(self) -> dict[str, str]:
        """Return by part what is wrong with it in a few words; empty where it is well."""
        found = {"engine": self._arena.trouble(), **await self._files.newest()}
        if self._backup:
            found["backup"] = backup_trouble(self._backup)
        return found

    def _look_at_files(self) -> dict[str, str]:
        path = self._store.path
        return {"database": self._store.trouble(), "disk": disk_trouble(path) if path else ""}


def stops_votes(parts: dict[str, str]) -> bool:
    """Tell whether parts that are not well keep people from voting."""
    return bool(parts["engine"] or parts["database"] or parts["disk"] == _FULL)


def health_check(health: Health, away: Callable[[], int], left_out: Callable[[], int]) -> APIRouter:
    """Return the route ``/healthz``.

    Parameters
    ----------
    away : callable
        How many models have not come yet.
    left_out : callable
        How many cannot take part; no name is told, `models` and the log say why.
    """
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> JSONResponse:
        """Answer 200 while people can vote, else 503; the log says what exactly is wrong."""
        parts = await health.parts()
        ailing = [part for part, trouble in parts.items() if trouble]
        unavailable = stops_votes(parts)
        status = {
            "status": "unavailable" if unavailable else "ailing" if ailing else "ok",
            "ailing": ailing,
            "parts": {part: trouble or "ok" for part, trouble in parts.items()},
            "models_away": away(),
            "models_left_out": left_out(),
        }
        return JSONResponse(status, 503 if unavailable else 200, {"Cache-Control": "no-store"})

    return router


def disk_trouble(db: Path) -> str:
    """Return whether there is too little room beside a database; empty if there is enough.

    The next snapshot is a second copy of it, and until then its write-ahead log grows.
    """
    try:
        free = shutil.disk_usage(db.parent).free
        needed = snapshot_needs(db)
    except OSError as error:
        _log.warning("The disk of the database is not well: %(why)s", {"why": reason(error)})
        return "the disk does not answer"
    if free < _VOTE:
        return _FULL
    if free < needed:
        return f"{free >> 20} MiB are free, a snapshot needs {needed >> 20}"
    return ""


def backup_trouble(backup: Backup) -> str:
    """Return how long a backup has lacked what is new, if that is too long."""
    if not backup.is_late:
        return ""
    if backup.age is None:
        return "nothing has been sent yet"
    return f"it lacks what was stored in the last {backup.age / 60:.0f} minutes"


class _Looks:
    """A look that may take long, by a thread, one at a time."""

    def __init__(self, look: Callable[[], dict[str, str]]) -> None:
        self._look = look
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="health")
        self._running: asyncio.Future[dict[str, str]] | None = None
        self._since = 0.0
        self._known = {"database": "", "disk": ""}

    async def newest(self) -> dict[str, str]:
        """Return what a look finds now; if that takes too long, what was found last."""
        if self._running is None:
            loop = asyncio.get_running_loop()
            self._running = loop.run_in_executor(self._thread, self._look)
            self._since = time.monotonic()
        running = self._running
        await asyncio.wait({running}, timeout=PATIENCE)
        if running.done():
            if self._running is running:
                self._running = None
            self._known = running.result()
        elif (waited := time.monotonic() - self._since) > LONGEST:
            return self._known | {"database": f"it has not answered for {waited:.0f} s"}
        return self._known


# What ``/metrics`` tells Prometheus: how much goes on, and never who is who.
#
# Nothing here has a model's name, a voter or an address. What moves while a round runs is of all
# rounds together, and in steps that are too large to follow one round by; the mode of a battle is
# counted once its visitor has been told it.


_PREFIX = "coupled_arena_"


def metrics(services: Services, health: Health, refused: Counter[int]) -> list[APIRouter]:
    """Return the route ``/metrics``; none where the settings have no token for it.

    Parameters
    ----------
    refused : Counter of int
        Requests that the page's doors refused, by status.
    """
    token = services.settings.metrics_token
    return [_route(_Figures(services, refused), health, token)] if token else []


def _route(figures: _Figures, health: Health, token: SecretStr) -> APIRouter:
    expected = f"Bearer {token.get_secret_value()}".encode()
    registry = CollectorRegistry()  # not the process's: it may have several applications
    registry.register(figures)
    ProcessCollector(registry=registry)
    router = APIRouter()

    @router.get("/metrics")
    async def answer(authorization: str = Header("")) -> Response:
        if not secrets.compare_digest(authorization.encode(), expected):
            raise HTTPException(401, "Bearer token needed", {"WWW-Authenticate": "Bearer"})
        figures.parts = await health.parts()
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router


class _Figures(Collector):
    """Reads what the parts of one application have counted since it was started."""

    def __init__(self, services: Services, refused: Counter[int]) -> None:
        self._services = services
        self._refused = refused
        self.parts: Mapping[str, str] = {}

    def collect(self) -> Iterator[Metric]:
        """Yield all of it."""
        yield from self._battles()
        if isinstance(worker := getattr(self._services.arena, "worker", None), EngineProcess):
            yield from _engine(worker)
        yield from self._judges()
        yield _counts(
            "refused_requests", "Requests for what the page does not ask", self._refused, "status"
        )
        yield _by_part(self.parts)
        backup = self._services.backup
        if backup and backup.age is not None:
            text = "Seconds since the backup had everything"
            yield GaugeMetricFamily(f"{_PREFIX}backup_age_seconds", text, backup.age)

    def _battles(self) -> Iterator[Metric]:
        named = dict(self._services.arena.named)
        votes = sum(number for (_, source), number in named.items() if source == "human")
        yield CounterMetricFamily(f"{_PREFIX}votes", "Votes of people that count", votes)
        judge_feedback = self._services.judge_feedback
        if judge_feedback and judge_feedback.decisions:
            named |= {
                (mode, "judge"): n for mode, n in dict(judge_feedback.decisions.named).items()
            }
        text = "Battles whose models were named, by mode and who decided"
        yield _counts("battles", text, named, "mode", "decided")

    def _judges(self) -> Iterator[Metric]:
        judges = self._services.judges
        if judges:
            requests, errors = (
                sum(getattr(judge, name) for judge in judges) for name in ("requests", "errors")
            )
            yield CounterMetricFamily(f"{_PREFIX}judge_requests", "Requests to judges", requests)
            text = "Requests to judges without an answer"
            yield CounterMetricFamily(f"{_PREFIX}judge_errors", text, errors)


def _engine(worker: EngineProcess) -> Iterator[Metric]:
    waiting, all_of_them = worker.waiting, worker.battles
    text = "Turns that wait for their first word, and that decode"
    turns = GaugeMetricFamily(f"{_PREFIX}turns_now", text, labels=["state"])
    turns.add_metric(["waiting"], waiting)
    turns.add_metric(["running"], max(0, all_of_them - waiting))
    yield turns
    yield _counts("turns", "Turns that are over, by how they ended", worker.ended, "ended")
    steps = worker.steps
    buckets, below = [], 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), steps.counts, strict=True):
        below += count
        buckets.append((bound, below))
    text = "What decoding steps took, in whole thousands of steps"
    yield HistogramMetricFamily(f"{_PREFIX}step_seconds", text, buckets, sum_value=steps.seconds)
    text = "Tokens of replies that ended within those steps"
    yield CounterMetricFamily(f"{_PREFIX}tokens", text, steps.tokens)
    text = "Models whose servers have not answered yet"
    yield GaugeMetricFamily(f"{_PREFIX}models_away", text, worker.away)


def _by_part(parts: Mapping[str, str]) -> Metric:
    family = GaugeMetricFamily(f"{_PREFIX}ailing", "1 where a part is not well", labels=["part"])
    for part, trouble in parts.items():
        family.add_metric([part], bool(trouble))
    return family


def _counts(name: str, text: str, counts: Mapping[Any, int], *labels: str) -> Metric:
    family = CounterMetricFamily(f"{_PREFIX}{name}", text, labels=labels)
    for key, number in dict(counts).items():  # a copy: others count meanwhile
        family.add_metric(list(map(str, key if isinstance(key, tuple) else (key,))), number)
    return family
