"""What ``/healthz`` says of each part, and that it waits for none."""

from __future__ import annotations

import re
import threading
import time
from collections import namedtuple
from contextlib import closing, contextmanager
from types import SimpleNamespace

import duckdb
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from coupled_arena.store.database import Store
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.snapshots import write_ahead_log
from coupled_arena.store.transfer.targets import BackupFolder
from coupled_arena.ui import monitoring
from tests.patience import until

WELL = {"engine": "ok", "database": "ok", "disk": "ok"}
Usage = namedtuple("Usage", "total used free")


@contextmanager
def asking(store, arena=None, backup=None):
    """Ask an application that is nothing but its health."""
    arena = arena or SimpleNamespace(trouble=lambda: "")
    application = FastAPI()
    checked = monitoring.Health(store, arena, backup)
    application.include_router(monitoring.health_check(checked, lambda: 2, lambda: 1))
    with TestClient(application) as client:

        def ask():
            answer = client.get("/healthz")
            return answer.status_code, answer.json()

        yield ask


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "arena.duckdb") as store:
        yield store


def test_all_is_well(store):
    with asking(store) as ask:
        counts = {"models_away": 2, "models_left_out": 1}
        assert ask() == (200, {"status": "ok", "ailing": [], "parts": WELL, **counts})


def test_each_part_that_stops_votes_is_told_and_is_a_503(store, tmp_path):
    arena = SimpleNamespace(trouble=lambda: "step after step fails")
    with asking(store, arena) as ask:
        store.path.rename(tmp_path / "aside.duckdb")
        code, said = ask()
    assert (code, said["status"], said["ailing"]) == (503, "unavailable", ["engine", "database"])
    assert said["parts"]["engine"] == "step after step fails"
    assert said["parts"]["database"] == "its file was moved, deleted or exchanged"
    assert str(tmp_path) not in str(said)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [(0, (200, "ok")), (1, (200, "ailing")), (None, (503, "unavailable"))],
)
def test_a_snapshot_needs_room_and_so_does_a_vote(store, monkeypatch, missing, expected):
    """Of the database, its log, and the 16 MiB that the log may grow to."""
    log = write_ahead_log(store.path)
    log.write_bytes(bytes(1000))
    needed = store.path.stat().st_size + 1000 + (16 << 20)
    free = (1 << 20) - 1 if missing is None else needed - missing
    monkeypatch.setattr(monitoring.shutil, "disk_usage", lambda _: Usage(0, 0, free))
    with asking(store) as ask:
        code, said = ask()
    assert (code, said["status"]) == expected
    words = {0: "ok", 1: "16 MiB are free, a snapshot needs 16", None: "the disk is full"}
    assert said["parts"]["disk"] == words[missing]


def test_a_backup_is_late_after_three_periods(store, tmp_path, monkeypatch):
    folder = tmp_path / "backup"
    folder.mkdir()
    with closing(Backup(store, BackupFolder(folder), minutes=5)) as backup:
        until(lambda: backup.age is not None)
        now = time.time()
        with asking(store, backup=backup) as ask:
            for minutes, said in (
                (14, "ok"),
                (16, "it lacks what was stored in the last 16 minutes"),
            ):
                at = now + 60 * minutes
                monkeypatch.setattr(time, "time", lambda at=at: at)
                code, told = ask()
                assert (code, told["parts"]["backup"]) == (200, said)
            backup._complete = None
            assert ask()[1]["parts"]["backup"] == "nothing has been sent yet"
        monkeypatch.undo()


def test_a_database_that_does_not_answer_is_waited_for_only_so_long(store, monkeypatch):
    let_go = threading.Event()
    version = store.version
    monkeypatch.setattr(store, "version", lambda: let_go.wait() and version())
    with asking(store) as ask:
        assert ask()[0] == 200  # it has answered, and busy is not ill
        monkeypatch.setattr(monitoring, "LONGEST", 0.1)
        code, said = ask()
        assert (code, said["ailing"]) == (503, ["database"])
        assert re.fullmatch(r"it has not answered for \d+ s", said["parts"]["database"])
        let_go.set()
        until(lambda: ask()[0] == 200)


def test_a_long_query_and_a_writer_hold_nobody_up(store):
    """A query that takes all processors, and a transaction that does not end."""
    cursor, holding, written = store.cursor(), threading.Event(), threading.Event()

    def query():
        with pytest.raises(duckdb.InterruptException):
            cursor.execute("select sum(sin(range)) from range(1000000000000)").fetchall()

    def write():
        store.write(lambda _: (holding.set(), written.wait()))

    threads = [threading.Thread(target=work) for work in (query, write)]
    for thread in threads:
        thread.start()
    holding.wait()
    try:
        with asking(store) as ask:
            for _ in range(10):
                assert ask()[0] == 200  # before they have ended
    finally:
        cursor.interrupt()
        written.set()
        for thread in threads:
            thread.join()
