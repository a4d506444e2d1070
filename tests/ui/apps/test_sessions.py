"""What the server keeps of a page that somebody has open, or had, and of events."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import gradio as gr
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from coupled_arena.ui.server import Heartbeats, Sessions, keep_sessions
from tests.patience import until
from tests.ui.coroutines import completed


def test_no_links_are_made_to_a_page_as_it_is(visitor):
    """They would hold the settings of all components, for which each page would have its copies."""
    visitor.ask()
    link = visitor.http.get(f"/gradio_api/deep_link?session_hash={visitor.session}")
    assert link.status_code == 404
    assert "vote" in visitor.vote()


def test_no_event_takes_a_file_of_the_host(visitor):
    """Gradio would copy it to where anybody can read it, for any event with a choice."""
    file = {"path": __file__, "meta": {"_type": "gradio.FileData"}}
    handlers = [each for each in visitor.config["dependencies"] if each["inputs"]]
    assert len(handlers) > 20
    for handler in handlers:
        data = [file] * len(handler["inputs"])
        event = {"fn_index": handler["id"], "data": data, "session_hash": visitor.session}
        for path in ("queue/join", "run/predict"):
            assert visitor.http.post(f"/gradio_api/{path}", json=event).status_code == 422


def test_progress_that_is_hidden_is_hidden_on_nothing(visitor):
    """A page copies the values of all that might show it, figures too, at each word it hears."""
    hidden = [each for each in visitor.config["dependencies"] if each["show_progress"] == "hidden"]
    assert len(hidden) > 20
    assert [each["targets"] for each in hidden if each["show_progress_on"] != []] == []


@pytest.fixture
def served():
    """A small page that is served with such sessions, and its client."""
    with gr.Blocks() as page:
        number = gr.State(0)
        button = gr.Button()
        gr.Button("never pressed")
        button.click(lambda n: (n + 1, f"pressed {n + 1}"), number, [number, button], queue=False)
    application = gr.mount_gradio_app(FastAPI(), page, "/")
    keep_sessions(application, page)
    with TestClient(application) as client:

        def press(session):
            body = {"data": [None], "fn_index": 0, "session_hash": session}
            return client.post("/gradio_api/run/predict", json=body).json()["data"][1]

        yield page, press


OPEN = {"old and open", "just used", "just closed", "open again"}


def test_a_page_is_forgotten_once_it_is_closed_and_unused_for_an_hour(served):
    page, press = served
    sessions = page.state_holder
    assert isinstance(sessions, Sessions)
    for session in ("old", *OPEN):
        assert [press(session), press(session)] == ["pressed 1", "pressed 2"]
    for session in ("old", "just used", "just closed", "open again"):
        sessions.session_data[session].is_closed = True
    sessions.open["open again"] += 1
    for session in ("old", "just used", "open again"):
        sessions.session_data[session].closed_at -= timedelta(minutes=61)
    for session in ("old", "old and open", "just closed", "open again"):
        sessions.time_last_used[session] -= timedelta(minutes=61)
        values = sessions.session_data[session]._state_ttl  # they are as old
        for key, (lives, since) in values.items():
            values[key] = lives, since - timedelta(minutes=61)
    until(lambda: "old" not in sessions)  # Gradio looks every second
    sessions.delete_all_expired_state()
    assert {*sessions.session_data} == {*sessions.time_last_used} == OPEN
    assert [press(session) for session in sorted(OPEN)] == ["pressed 3"] * len(OPEN)
    assert press("old") == "pressed 1"


def test_a_page_is_open_while_any_of_its_heartbeats_goes_on():
    """The new one may begin before the end of the old one is noticed."""
    open_pages, ends = Counter(), {}

    async def beats(scope, _receive, _send):
        await ends.setdefault(scope["n"], asyncio.Event()).wait()

    async def two():
        app = Heartbeats(beats, open_pages)
        path, seen = "/gradio_api/heartbeat/a-page", []
        tasks = [
            asyncio.create_task(app({"type": "http", "path": path, "n": n}, None, None))
            for n in range(2)
        ]
        for n in range(3):
            await asyncio.sleep(0)
            seen.append(dict(open_pages))
            if n < 2:
                ends[n].set()
                await tasks[n]
        return seen

    assert completed(two()) == [{"a-page": 2}, {"a-page": 1}, {}]


def test_a_page_keeps_no_settings_and_takes_no_time_for_them(served, monkeypatch):
    page, press = served
    asked = []
    for block in page.blocks.values():
        monkeypatch.setattr(block, "get_config", lambda block=block: asked.append(block) or {})
    assert "new" not in page.state_holder
    assert [press("new"), press("new")] == ["pressed 1", "pressed 2"]
    assert asked == list(page.state_holder["new"].components) == []
