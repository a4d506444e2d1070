"""The real app, served by a process of its own.

Importing what the app stands on takes ten times as long as the rest of its start. So one process
imports it, and apps are forks of that process.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import httpx

from coupled_arena.cli import main
from coupled_arena.store.transfer import snapshots
from coupled_arena.store.transfer.snapshots import snapshot_path
from tests.patience import PATIENCE, until
from tests.small_models import NAMES, catalog_of, save_small_models
from tests.ui.raw_client import NO_TLS

REPOSITORY = Path(__file__).resolve().parents[2]
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "coupled_arena.battles.arena",
        "coupled_arena.generation.huggingface",
        "coupled_arena.ui.layout",
    ]
)

# All visitors of a test come from one address, and at once.
NO_LIMITS = {
    f"COUPLED_ARENA_LIMITS_{what}_BY_{whom}": "0"
    for what, whom in (
        *(("VOTES", "VOTER"), ("VOTES", "ADDRESS"), ("VOTERS", "ADDRESS")),
        *(("QUESTIONS", "VOTER"), ("QUESTIONS", "ADDRESS"), ("SIGN_INS", "ADDRESS")),
    )
}

_LEFT: list[int] = []  # ports of apps that have ended

EQUAL_MODELS = catalog_of(left=NAMES[0], right=NAMES[0])


class Served:
    """A running app and the files it writes.

    Its votes count at once, unless it is told for how many seconds they can be undone. What is
    `changed` is called in its process before it begins: there it may be another version.
    """

    def __init__(
        self,
        folder: Path,
        config: str,
        *options: str,
        undo: float = 0,
        port: int | None = None,
        changed: Callable[[], object] | None = None,
    ) -> None:
        self.db = folder / "arena.duckdb"
        self.snapshot = snapshot_path(self.db)
        self.config = folder / "arena.toml"
        self.stderr = folder / "stderr.txt"
        self.config.write_text(config)
        save_small_models(folder, tuple(name for name in NAMES if name in config))
        self.port = port or a_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = ["serve", "--config", str(self.config), "--db", str(self.db)]
        command += ["--port", str(self.port)]
        command += options
        environment = {
            **os.environ,
            "GRADIO_TEMP_DIR": str(folder / "gradio"),
            "COUPLED_ARENA_BATTLE_UNDO_SECONDS": str(undo),
            **({} if "[limits]" in config else NO_LIMITS),
        }
        self.process = _FORKS.Process(
            target=_run, args=(command, environment, self.stderr, changed)
        )
        self.process.start()

    def wait_until_open(self) -> None:
        """Return once the page answers."""
        until(self._answers)

    def _answers(self) -> bool:
        assert self.process.exitcode is None, self.stderr.read_text()
        return answers(f"{self.url}/config")

    def stored(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return what the newest snapshot of the database answers."""
        if not self.snapshot.exists():
            return []
        return read(self.snapshot, query, *parameters)

    def wait_for(self, query: str, *parameters: Any) -> tuple[Any, ...]:
        """Return the first row, as soon as the snapshot has one."""
        return until(lambda: self.stored(query, *parameters))[0]

    def stop(self, how: signal.Signals = signal.SIGINT) -> int | None:
        """End the app as Ctrl-C does and return its exit code, None if it goes on."""
        assert self.process.pid
        os.kill(self.process.pid, how)
        self.process.join(timeout=PATIENCE)
        return self.process.exitcode

    def kill(self) -> None:
        """End the app as a power cut does."""
        self.process.kill()
        self.process.join(timeout=PATIENCE)


def _run(
    command: list[str],
    environment: dict[str, str],
    stderr: Path,
    changed: Callable[[], object] | None,
) -> None:
    from coupled_arena.battles.judge_runs import request
    from coupled_arena.ui.parts import notices

    os.environ.update(environment)
    os.chdir(REPOSITORY)
    # The process that decodes is one more fork of the process that has imported everything, whose
    # address it knows. It would start one of its own, for it has not started that one.
    multiprocessing.forkserver._forkserver.ensure_running = resource_tracker.ensure_running
    # A shell that starts the checks in the background lets them, and all they start, ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for path, stream in ((os.devnull, 1), (stderr, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    # After a snapshot the app waits twenty times as long as it took, and tests would wait for it,
    # as they would for the seconds between two looks.
    snapshots._SHARE = 1
    request._LOOK, notices._JUDGE_LOOK = 0.2, 1.0
    if changed:
        changed()
    main(command)


@contextmanager
def serving(folder: Path, config: str, *options: str, undo: float = 0) -> Iterator[Served]:
    """Serve the app until the block is left."""
    served = Served(folder, config, *options, undo=undo)
    try:
        served.wait_until_open()
        yield served
    finally:
        served.kill()
        sys.stderr.write(served.stderr.read_text(errors="replace")[-20_000:])  # shown if one fails
        _LEFT.append(served.port)


@contextmanager
def serving_page(launch: Callable[[int], object]) -> Iterator[str]:
    """Serve a page of a test's own until the block is left; yield its address."""
    port = a_port()
    process = _FORKS.Process(target=launch, args=(port,))
    process.start()
    url = f"http://127.0.0.1:{port}"

    def open_or_ended() -> bool:
        assert process.exitcode is None
        return answers(url)

    try:
        until(open_or_ended)
        yield url
    finally:
        process.kill()
        process.join(timeout=PATIENCE)
        _LEFT.append(port)


def answers(url: str) -> bool:
    """Tell whether a page is there, be it behind a password.

    To look whether anybody listens costs next to nothing.
    """
    at = urlsplit(url)
    try:
        socket.create_connection((at.hostname or "", at.port or 80)).close()
        return httpx.get(url, verify=NO_TLS).status_code in (200, 401)
    except (OSError, httpx.TransportError):
        return False


def read(db: Path, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Query a database file that no process owns."""
    with duckdb.connect(str(db), read_only=True) as connection:
        return connection.execute(query, list(parameters)).fetchall()


def a_port() -> int:
    """Return a port for an app, one that another has left if it can be.

    A browser keeps the scripts of an address, and those of all apps are the same.
    """
    while _LEFT:
        if not _taken(port := _LEFT.pop()):
            return port
    return free_port()


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port that nobody listens on, below those that the system gives to clients.

    A server takes seconds until it takes its port, and the clients of other tests come and go.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        if not _taken(port):
            return port
