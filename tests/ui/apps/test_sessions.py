"""What the server keeps of a page that somebody has open, or had, and of events."""

from __future__ import annotations

from datetime import timedelta

import gradio as gr
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from coupled_arena.ui.sessions import Sessions, keep_sessions
from tests.patience import until


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


def test_a_closed_page_is_forgotten_an_hour_after_its_last_use(served):
    page, press = served
    sessions = page.state_holder
    assert isinstance(sessions, Sessions)
    for session in ("old", "old and open", "just closed"):
        assert [press(session), press(session)] == ["pressed 1", "pressed 2"]
    sessions.session_data["old"].is_closed = True
    sessions.session_data["just closed"].is_closed = True
    for session in ("old", "old and open"):
        sessions.time_last_used[session] -= timedelta(minutes=61)
    until(lambda: "old" not in sessions)  # Gradio looks every second
    assert {*sessions.session_data} == {*sessions.time_last_used} == {"old and open", "just closed"}
    assert press("old and open") == "pressed 3"
    assert press("just closed") == "pressed 3"
    assert press("old") == "pressed 1"


def test_a_page_keeps_the_settings_of_what_it_has_used(served):
    page, press = served
    press("used")
    kept = [c["id"] for c in page.state_holder.session_data["used"].components]
    assert len(page.blocks) == 3
    assert 0 < len(kept) < 3


def test_a_page_takes_no_time_for_what_it_has_not_used(served, monkeypatch):
    page, press = served
    asked = []
    for block in page.blocks.values():
        monkeypatch.setattr(block, "get_config", lambda block=block: asked.append(block) or {})
    assert "new" not in page.state_holder
    assert page.state_holder["new"].components
    assert asked == []
    assert press("new") == "pressed 1"
