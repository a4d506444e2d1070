"""Events that hundreds press at once: their values are read as all others', but by no thread."""

from __future__ import annotations

import anyio.to_thread
import gradio as gr
import pytest
from fastapi import FastAPI
from gradio.blocks import Block
from starlette.testclient import TestClient

from coupled_arena.ui.parts.events import BRISK, FREE, Page

WAYS = {"brisk": BRISK, "in threads": FREE}


@pytest.fixture(scope="module")
def call():
    """Return what each way answers to a text and a choice that somebody sends."""
    with Page() as page:
        asked = gr.State(0)
        values = [asked, gr.Textbox(), gr.Radio([2, 3])]
        with gr.Row(visible=False) as row:
            shown = gr.HTML()
        button = gr.Button()

        async def told(asked, text, size):
            heard = {"asked": asked, "text": text, "size": size}
            return asked + 1, heard, gr.update(visible=True)

        for way in WAYS.values():
            button.click(told, values, [asked, shown, row], **way)
    application = gr.mount_gradio_app(FastAPI(openapi_url=None), page, "/")
    with TestClient(application) as client:

        def call(way, *sent, session="s"):
            body = {"fn_index": list(WAYS).index(way), "data": [None, *sent]}
            return client.post("/gradio_api/run/predict", json=body | {"session_hash": session})

        yield call


@pytest.mark.parametrize(
    "sent",
    [("Why?", 2), (5, 3), (None, None), ("Why?", 4), ("Why?", "2"), ("Why?", [2]), ()],
    ids=str,
)
def test_the_page_hears_the_same(call, sent):
    brisk, other = (call(way, *sent, session=f"{way} {sent}") for way in WAYS)
    assert brisk.status_code == other.status_code
    assert [brisk.json().get(part) for part in ("data", "error")] == [
        other.json().get(part) for part in ("data", "error")
    ]


def test_a_choice_that_is_none_is_refused(call):
    answer = call("brisk", "Why?", 4)
    assert answer.status_code == 500
    assert "not in the list of choices" in answer.json()["error"]


@pytest.mark.parametrize(("way", "in_threads"), [("brisk", 0), ("in threads", 3)])
def test_values_take_a_thread_only_where_they_may(call, monkeypatch, way, in_threads):
    run_sync, read = anyio.to_thread.run_sync, []

    async def counted(work, *given, **named):
        if isinstance(getattr(work, "__self__", None), Block):
            read.append(work)
        return await run_sync(work, *given, **named)

    monkeypatch.setattr(anyio.to_thread, "run_sync", counted)
    answer = call(way, "Why?", 2, session=f"threads {way}")
    assert answer.json()["data"][1]["text"] == "Why?"
    assert len(read) == in_threads
