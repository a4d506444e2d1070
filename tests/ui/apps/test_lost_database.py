"""What visitors and hosts meet when the database is moved away, and when the app is told to end."""

from __future__ import annotations

import json
import signal

import duckdb
import gradio as gr
import httpx
import pytest

from coupled_arena.store.database import Store
from coupled_arena.store.transfer.snapshots import snapshot_path
from coupled_arena.ui.parts.events import user_errors
from tests.patience import until
from tests.ui.raw_client import NO_TLS, Visitor, differ, speak
from tests.ui.server import EQUAL_MODELS, Served, read, serving

CONFIG = f"""
snapshot_seconds = 0.2
[battle]
coupled_share = 0
[sampling]
max_new_tokens = 400
{EQUAL_MODELS}
"""


def health(served):
    answer = httpx.get(f"{served.url}/healthz", verify=NO_TLS)
    return answer.status_code, answer.json()["ailing"]


def votes(db):
    return set(read(db, "select vote from votes"))


def voted(served):
    visitor = Visitor(served.url)
    visitor.ask(stop=differ)
    return (visitor.vote()["vote"],)


def test_a_moved_database_stops_the_voting_and_a_restart_saves_the_votes(tmp_path, call):
    with serving(tmp_path, CONFIG) as served:
        cast = {voted(served) for _ in range(3)}
        until(lambda: served.snapshot.exists() and votes(served.snapshot) == cast)
        assert health(served) == (200, [])
        waiting = Visitor(served.url)
        waiting.ask(stop=differ)
        served.db.rename(tmp_path / "aside.duckdb")
        # A machine that is busy for a second tells what it found last.
        until(lambda: health(served) == (503, ["database"]))
        assert "No vote can be stored at the moment" in waiting.vote()["error"]
        assert str(tmp_path).encode() not in waiting.heard  # visitors need no paths
        newcomer = Visitor(served.url)
        assert newcomer.ask() == {}
        assert b"No vote can be stored at the moment" in newcomer.heard
        until(lambda: "coupled-arena restore" in served.stderr.read_text())
        assert served.stop(signal.SIGTERM) == 0
    again = Served(tmp_path, CONFIG)
    again.process.join()
    assert again.process.exitcode == 1
    error = again.stderr.read_text().splitlines()[-1]
    assert error.startswith(f"Error: {served.db} is missing. Its snapshot {served.snapshot} holds")
    assert "coupled-arena restore" in error
    assert votes(served.snapshot) == cast
    code, out, _ = call("restore", "--db", served.db, "--json")
    assert (code, json.loads(out)["votes"]) == (0, 3)
    assert votes(served.db) == cast


def test_told_to_end_the_app_stores_running_rounds_as_stopped(tmp_path):
    with serving(tmp_path, CONFIG) as served:
        visitor = Visitor(served.url)
        views = visitor.follow(visitor.begin("Tell me a long story."))
        before = next(filter(speak, views))
        assert served.stop(signal.SIGTERM) == 0
        last = list(views)[-1]  # the page shows where they stopped
        assert not last["running"]
        assert all(map(str.startswith, *(v["turns"][0]["answers"] for v in (last, before))))
    assert read(served.db, "select distinct finish from replies") == [("cancelled",)]
    assert read(served.db, "select count(*) from replies where len(tokens) > 0") == [(2,)]
    left = {path.name for path in tmp_path.iterdir() if path.name.startswith("arena.")}
    assert left <= {
        "arena.toml",
        "arena.duckdb",
        snapshot_path(served.db).name,
        "arena.snapshot-hour.duckdb",
    }
    assert "Traceback" not in served.stderr.read_text()


def test_what_a_disk_says_is_for_the_host(tmp_path, caplog):
    path = tmp_path / "arena.duckdb"

    def fill(_):
        raise duckdb.IOException(
            f'Could not write all bytes to file "{path}": No space left on device'
        )

    with Store.open(path) as store, pytest.raises(gr.Error) as told, user_errors():
        store.write(fill)
    assert told.value.message.startswith("This arena's database cannot be read or written")
    assert str(tmp_path) not in told.value.message
    assert f"{path} cannot be written: the disk is full" in caplog.text
