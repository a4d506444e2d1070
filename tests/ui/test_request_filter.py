"""What reaches Gradio, and what is left of it where somebody sends rubbish or asks for files."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from pathlib import Path

import anyio.to_thread
import gradio as gr
import pytest
from fastapi import FastAPI
from gradio.routes import App
from gradio.utils import get_upload_folder
from PIL import Image
from starlette.testclient import TestClient

from coupled_arena.core.settings import resource
from coupled_arena.ui import server
from coupled_arena.ui.parts import request_filter
from coupled_arena.ui.parts.events import Page
from coupled_arena.ui.parts.identity import ICON, preview
from coupled_arena.ui.parts.request_filter import RequestFilter
from tests.patience import PATIENCE
from tests.ui.coroutines import completed

JOIN, PREDICT = "/gradio_api/queue/join", "/gradio_api/run/predict"
FAILED = r"An event of the page failed: \w+ in \w+\.py, line \d+\."


@pytest.fixture(scope="module")
def client():
    """A small page behind the doors: event 0 takes a choice, 1 is the browser's, 2 fails."""
    with Page() as page:
        choice, shown = gr.Radio(["a", "b"]), gr.Textbox()
        choice.change(lambda value: f"chose {value}", choice, shown, queue=False)
        choice.change(None, choice, shown, js="value => value")
        choice.select(lambda _, event: event.missing, [choice, shown], shown, queue=False)
    icon = str(resource(ICON))
    application = gr.mount_gradio_app(FastAPI(openapi_url=None), page, "/", favicon_path=icon)
    mounted = application.routes[-1]
    mounted.app = RequestFilter(mounted.app, {0, 2}, {0, 2})
    with TestClient(application, raise_server_exceptions=False) as client:
        yield client


def event(**changes):
    return {"fn_index": 0, "data": ["a"], "session_hash": "s", **changes}


def test_an_event_of_the_page_is_carried_out(client):
    assert client.post(PREDICT, json=event()).json()["data"] == ["chose a"]
    assert client.get("/").status_code == client.get("/config").status_code == 200


def test_of_events_in_one_moment_few_enter_at_a_time_and_all_do():
    inside, most, entered = 0, 0, 0

    async def gradio(scope, receive, send):
        nonlocal inside, most, entered
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        if json.loads((await receive())["body"])["data"] == ["breaks"]:
            raise ConnectionError
        entered += 1

    async def post(door, path, data):
        async def receive():
            return {"type": "http.request", "body": json.dumps(event(data=data)).encode()}

        scope = {"type": "http", "method": "POST", "path": path, "headers": []}
        await door(scope, receive, None)

    async def crowd():
        door = RequestFilter(gradio, {0}, {0})
        posts = [post(door, JOIN, ["breaks" if number % 3 else "a"]) for number in range(60)]
        await asyncio.gather(*posts, return_exceptions=True)
        await asyncio.wait_for(post(door, PREDICT, ["a"]), PATIENCE)

    completed(crowd())
    assert (most, entered) == (4, 21)


def test_events_that_have_entered_are_carried_out_before_others_enter():
    running, most, carried_out = 0, 0, []

    async def carry_out():
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20):  # other tasks go on in between
            await asyncio.sleep(0)
        running -= 1

    async def gradio(scope, receive, send):
        carried_out.append(asyncio.create_task(carry_out()))

    async def post(door):
        async def receive():
            return {"type": "http.request", "body": json.dumps(event()).encode()}

        await door({"type": "http", "method": "POST", "path": JOIN, "headers": []}, receive, None)

    async def crowd():
        door = RequestFilter(gradio, {0}, {0})
        await asyncio.gather(*(post(door) for _ in range(60)))
        await asyncio.gather(*carried_out)

    completed(crowd())
    assert (most, len(carried_out)) == (4, 60)


@pytest.mark.parametrize(
    "path",
    [
        *("/openapi.json", "/monitoring", "/monitoring/summary", "/logout", "/token", "/vibe-code"),
        *("/gradio_api/info", "/gradio_api/openapi.json", "/gradio_api/runs"),
        *("/gradio_api/proxy=http://127.0.0.1/", "/gradio_api/stream/s/1/2/playlist.m3u8"),
        *(
            "/gradio_api/call/change/1",
            "/gradio_api/profiling/traces",
            "/gradio_api/startup-events",
        ),
    ],
)
def test_there_is_nothing_else(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "size", ["12000", "0", "-1", "513", "192", "512", "0192", "1e9", "٥١٢", "512.0"]
)
def test_gradio_draws_no_icon_of_any_size(client, size):
    assert client.get(f"/pwa_icon/{size}").status_code == 404


def test_the_icons_that_the_page_names_are_there(client):
    application = FastAPI()
    application.include_router(preview())
    pictures = TestClient(application)
    for icon in client.get("/manifest.json").json()["icons"]:
        answer = pictures.get(icon["src"])
        assert answer.headers["content-type"] == "image/png"
        with Image.open(io.BytesIO(answer.content)) as drawn:
            assert f"{drawn.width}x{drawn.height}" == icon["sizes"]


@pytest.mark.parametrize(
    "body", ["[1, 1, 1]", '{"a": 1, "b": 1, "c": 1}', "[[[[]]]]", '["é", [1]]']
)
def test_an_event_has_few_parts(client, monkeypatch, body):
    monkeypatch.setattr(request_filter, "_MOST_PARTS", 2)
    answer = client.post(PREDICT, content=body.encode())
    assert answer.json() == {"detail": "An event has fewer parts."}


@pytest.mark.parametrize(
    "target",
    [
        *("http://127.0.0.1:9/", "HTTP://127.0.0.1:9/", "https://127.0.0.1:9/", "hTtPs://x"),
        *("//127.0.0.1:9/", "///127.0.0.1:9/", "\\\\127.0.0.1:9\\x", "/\\127.0.0.1:9", "\\/x"),
        *("http:%2F%2F127.0.0.1:9/", "http%3A//127.0.0.1:9/", "http%253A%252F%252F127.0.0.1:9"),
        *(
            "%68ttp://127.0.0.1:9/",
            "%2F%2F127.0.0.1:9",
            "%5C%5C127.0.0.1:9",
            "%09http://x",
            " http://x",
        ),
        *(
            "ftp://x",
            "file:///etc/hosts",
            "javascript:x",
            "data:,x",
            "/etc/hosts",
            "../../etc/hosts",
        ),
        *("http:/127.0.0.1:9", "http:127.0.0.1:9", "", ".", "%00", "a" * 5000),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_nothing_is_fetched_from_elsewhere(client, method, target):
    answer = client.request(method, f"/gradio_api/file={target}", follow_redirects=False)
    assert answer.status_code == 404
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "path", ["/?page=x", "/config?page=x", "/?deep_link=x", "/config?deep_link=x"]
)
def test_what_a_query_asks_of_gradio_is_not_heard(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert "invalid" not in answer.text.split("deep_link_state", 1)[-1][:20]


@pytest.mark.parametrize("session", ["", "x" * 65, "a b", "%00", "a/b"])
def test_a_heartbeat_is_of_a_session(client, session):
    assert client.get(f"/gradio_api/heartbeat/{session}").status_code == 404


@pytest.mark.parametrize("path", ["run/change", "api/change", "call/change", "component_server"])
def test_nothing_is_called_by_name(client, path):
    assert client.post(f"/gradio_api/{path}", json=event()).status_code == 404


@pytest.mark.parametrize("path", [JOIN, PREDICT, "/gradio_api/cancel"])
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b"{}"),
        *(event(fn_index=number) for number in (1, 3, 999, -1, "0", 0.0, True, None, 1e99)),
    ],
    ids=lambda body: repr(body)[:50],
)
def test_rubbish_is_told_in_one_line(client, path, body):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert len(answer.json()["detail"]) < 60


@pytest.mark.parametrize(
    "odd",
    [
        *({"data": "a"}, {"data": None}, {"data": {}}, {"session_hash": ["s"]}),
        *({"session_hash": "x" * 65}, {"session_hash": "\ud800"}, {"session_hash": "a b"}),
        *({"trigger_id": True}, {"trigger_id": "1"}, {"batched": True}, {"simple_format": True}),
        *({"event_id": "e"}, {"oauth_token": "t"}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("path", [JOIN, PREDICT])
def test_a_part_that_no_page_sends_is_refused(client, path, odd):
    body = json.dumps(event(**odd)).encode()
    answer = client.post(path, content=body, headers={"content-type": "application/json"})
    (name,) = odd
    assert answer.status_code == 422
    assert answer.json() == {"detail": f"This is no {name} of an event."}


def test_beside_the_queue_only_what_a_page_asks_for_there(client):
    client.app.routes[-1].app._direct = {0}
    try:
        assert client.post(PREDICT, json=event()).status_code == 200
        answer = client.post(PREDICT, json=event(fn_index=2))
        assert answer.status_code == 422
        assert answer.json() == {"detail": "This event goes through the queue."}
        assert client.post(JOIN, json=event(fn_index=2)).status_code == 200
    finally:
        client.app.routes[-1].app._direct = {0, 2}


def test_nothing_is_reset(client):
    body = b'{"event_id": "\\ud800", "x": ["\\ud800"]}'
    assert client.post("/gradio_api/reset", content=body).json() == {"success": True}


def test_an_event_of_half_a_million_numbers_is_not_read(client, monkeypatch):
    monkeypatch.setattr(request_filter, "_files", None)  # which would fail
    answer = client.post(PREDICT, content=b"[" + b"1," * 500_000 + b"1]")
    assert answer.json() == {"detail": "An event has fewer parts."}


def test_a_large_event_is_not_read_to_its_end(client):
    assert client.post(PREDICT, json=event(data=["x" * (1 << 20)])).status_code == 413

    def endless():
        for _ in range(1 << 10):
            yield b"x" * (1 << 13)

    assert client.post(PREDICT, content=endless()).status_code == 413


def named(path):
    return {"path": str(path), "meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize("at", ["data", "list", "nested", "event"])
@pytest.mark.parametrize(
    "path", [__file__, "/etc/hosts", "../../../../etc/hosts", "http://127.0.0.1/", "\0", "x" * 5000]
)
@pytest.mark.parametrize("where", [JOIN, PREDICT])
def test_no_file_of_the_host_can_be_had(client, where, path, at):
    """Without the doors Gradio copies it to where anybody can read it."""
    data = {"data": [named(path)], "list": [[named(path)]], "nested": [{"a": {"b": named(path)}}]}
    body = event(data=data.get(at, ["a"]))
    body["event_data"] = {"value": named(path)} if at == "event" else None
    assert client.post(where, json=body).json() == {
        "detail": "A file is uploaded before it is named."
    }


def test_few_files_are_looked_for_at_once(client):
    (path,) = client.post("/gradio_api/upload", files={"files": ("a.csv", b"a,b")}).json()
    assert client.post(PREDICT, json=event(data=[[named(path)] * 100])).status_code != 422
    answer = client.post(PREDICT, json=event(data=[[named(path)] * 101]))
    assert answer.json() == {"detail": "An event names at most 100 files."}


def test_a_link_among_the_uploads_leads_nowhere(client):
    folder = Path(get_upload_folder())
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "link-of-a-test"
    link.symlink_to(__file__)
    try:
        assert client.post(PREDICT, json=event(data=[named(link)])).status_code == 422
    finally:
        link.unlink()


def test_an_uploaded_file_may_be_named(client):
    (path,) = client.post("/gradio_api/upload", files={"files": ("a.csv", b"a,b")}).json()
    assert client.get(f"/gradio_api/file={path}").content == b"a,b"
    answer = client.post(PREDICT, json=event(data=[named(path)]))
    assert (
        "is not in the list of choices" in answer.json()["error"]
    )  # it is no choice, but came so far


@pytest.mark.parametrize("data", [["nobody's choice"], [], [{"a": 1}], ["a", "secret words"]])
def test_what_fails_is_one_line_of_the_log_without_what_was_sent(client, caplog, capfd, data):
    with caplog.at_level(logging.INFO):
        for number in (0, 2):
            client.post(PREDICT, json=event(fn_index=number, data=data))
    said = caplog.text + "".join(capfd.readouterr())
    assert "Traceback" not in said
    assert not any(word in said for word in ("nobody's", "secret"))
    failed = [line for line in caplog.messages if "failed" in line]
    assert failed
    assert all(re.fullmatch(FAILED, line) for line in failed)


def test_a_failure_tells_where(client, caplog):
    answer = client.post(PREDICT, json=event(fn_index=2, data=["a", "b"]))
    assert answer.json()["error"] == "This could not be done. Reload the page, and try again."
    (line,) = caplog.messages
    assert re.fullmatch(FAILED, line)
    assert "AttributeError in test_request_filter.py" in line


def test_an_event_of_a_page_of_another_server_is_not_carried_out(client):
    """The same number means another event there."""
    request_filter = client.app.routes[-1].app
    request_filter._server = "17"
    try:
        for server, status in (("17", 200), ("18", 409), ("", 409), (None, 200)):
            headers = {} if server is None else {"x-arena-page": server}
            assert client.post(PREDICT, json=event(), headers=headers).status_code == status
    finally:
        request_filter._server = ""


def test_a_page_can_ask_whether_its_server_was_started_again(client):
    told = client.get("/gradio_api/app_id").json()
    assert told == {"app_id": client.get("/config").json()["app_id"]}


def routes_of(router):
    """Yield a router's routes in the order in which a request meets them."""
    for route in router.routes:
        included = getattr(route, "original_router", None)
        yield from routes_of(included) if included else [route.path]


def test_events_are_found_before_other_paths_of_gradio():
    with Page() as page:
        gr.Textbox()
    application = App.create_app(page)
    before = list(routes_of(application.router))
    server._put_first(application.router)
    after = list(routes_of(application.router))
    assert after[:2] == [JOIN, "/gradio_api/queue/data"]
    assert sorted(after) == sorted(before)
    with TestClient(application) as client:
        assert client.get("/config").json()["version"] == gr.__version__
        assert client.get("/gradio_api/app_id").json() == {"app_id": page.app_id}


@pytest.mark.parametrize("spared", [False, True])
def test_no_event_waits_for_a_look_for_gradios_own_sign_in(monkeypatch, spared):
    with Page() as page:
        gr.Button().click(lambda: None)
    application = App.create_app(page)
    if spared:
        server._spare_sign_in(application.router)
    in_threads = []
    run = anyio.to_thread.run_sync

    async def note(work, *given, **named):
        in_threads.append(str(work))
        return await run(work, *given, **named)

    monkeypatch.setattr(anyio.to_thread, "run_sync", note)
    (number,) = page.fns
    with TestClient(application) as client:
        joined = client.post(JOIN, json=event(fn_index=number, data=[]))
        assert joined.status_code == 200
    assert any("login_check" in work for work in in_threads) is not spared
