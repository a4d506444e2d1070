"""What ``/healthz`` answers: which parts are well, without waiting for one that is not."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from fastapi import APIRouter
from starlette.responses import JSONResponse

from coupled_arena.core.files import reason
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

    def ails(self) -> str:
        """Return why no new rounds are answered; empty while they are."""
        ...


class Health:
    """How the parts of an application are.

    Files and the database are looked at by a thread of its own: while that waits for a disk or a
    lock, what it found last is told, for at most `LONGEST` seconds.

    Parameters
    ----------
    store : Store
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
        found = {"engine": self._arena.ails(), **await self._files.newest()}
        if self._backup:
            found["backup"] = backup_trouble(self._backup)
        return found

    def _look_at_files(self) -> dict[str, str]:
        path = self._store.path
        return {"database": self._store.ails(), "disk": disk_trouble(path) if path else ""}


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
