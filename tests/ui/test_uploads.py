"""Files that visitors upload: how many, how large, from where, and that none stays."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient

from coupled_arena.ui.parts import uploads
from coupled_arena.ui.parts.uploads import Uploads, read_once
from tests.ui.coroutines import completed

FILE = {"files": ("scores.csv", b"a,b\n1,2\n")}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder of uploads, and a disk with much room."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "gradio"))
    monkeypatch.setattr(uploads, "LARGEST", 10_000)
    monkeypatch.setattr(uploads, "_SMALLEST", 1)
    monkeypatch.setattr(uploads, "_TOGETHER", 30_000)
    disk = SimpleNamespace(free=1 << 40)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: disk)
    return SimpleNamespace(folder=tmp_path / "gradio", disk=disk, now=0.0, reserved=0)


@pytest.fixture
def taken(here):
    return Uploads(lambda: here.reserved, lambda: here.now)


@pytest.fixture
def client(taken):
    return TestClient(taken, base_url="http://arena.example")


def lying(here):
    return [path for path in here.folder.rglob("*") if path.is_file()]


def sized(number, name="scores.csv"):
    return {"files": (name, b"x" * number)}


def test_a_file_is_taken_and_gone_once_it_was_read(here, client):
    (name,) = client.post("/", files=FILE).json()
    assert lying(here) == [Path(name)]
    with read_once(Path(name)) as path:
        assert path.read_bytes() == FILE["files"][1]
    assert list(here.folder.iterdir()) == []


def test_it_is_gone_also_where_reading_fails(here, client):
    (name,) = client.post("/", files=FILE).json()
    with pytest.raises(ZeroDivisionError), read_once(Path(name)):
        _ = 1 / 0
    assert list(here.folder.iterdir()) == []


def test_no_other_file_is_deleted(here, tmp_path):
    other = tmp_path / "upload-x" / "scores.csv"
    other.parent.mkdir()
    other.touch()
    with read_once(other):
        pass
    assert other.exists()


def test_the_same_file_of_two_visitors_is_two(here, client):
    one, two = (client.post("/", files=FILE).json()[0] for _ in range(2))
    assert one != two
    with read_once(Path(one)):
        pass
    assert Path(two).exists()


@pytest.mark.parametrize("told", [True, False])
def test_a_large_file_is_refused(here, client, told):
    def body():
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
        yield b"x" * 20_000
        yield b"\r\n--x--\r\n"

    kind = {"content-type": "multipart/form-data; boundary=x"}
    content = b"".join(body()) if told else body()
    answer = client.post("/", content=content, headers=kind)
    assert answer.status_code == 413
    assert answer.text.startswith("A file has at most ")
    assert lying(here) == []


def test_an_upload_that_breaks_off_leaves_nothing(here, taken):
    begin = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nxxxx'
    messages = [
        {"type": "http.request", "body": begin, "more_body": True},
        {"type": "http.disconnect"},
    ]
    seen = []

    async def receive():
        seen.append(len(lying(here)))
        return messages.pop(0)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(b"content-type", b"multipart/form-data; boundary=x")],
        "client": ("192.0.2.1", 1),
    }
    with pytest.raises(ClientDisconnect):
        completed(taken(scope, receive, None))
    assert seen == [0, 1]  # some of it was there
    assert list(here.folder.iterdir()) == []


def test_one_address_has_so_much_at_once(here, taken):
    one, other = (TestClient(taken, client=(f"192.0.2.{n}", 1)) for n in (1, 2))
    kept = [one.post("/", files=sized(9_000)).json()[0] for _ in range(3)]
    refused = one.post("/", files=sized(9_000))
    assert (refused.status_code, refused.text) == (
        429,
        "Too many files were uploaded from your address. Try again in 10 minutes.",
    )
    assert other.post("/", files=sized(9_000)).status_code == 200
    with read_once(Path(kept[0])):
        pass
    assert one.post("/", files=sized(9_000)).status_code == 200
    here.now = 601.0
    assert one.post("/", files=sized(9_000)).status_code == 200
    assert len(lying(here)) == 1


@pytest.mark.parametrize(("reserved", "status"), [(0, 200), (1 << 30, 507)])
def test_some_of_the_disk_is_the_database_s(here, client, reserved, status):
    here.reserved, here.disk.free = reserved, 1 << 30
    assert client.post("/", files=FILE).status_code == status
    assert len(lying(here)) == (status == 200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://arena.example"}, 200),
        ({"origin": "https://hub.example", "x-forwarded-host": "hub.example"}, 200),
        ({"sec-fetch-site": "same-origin", "origin": "https://odd.example"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "http://arena.example"}, 403),
    ],
    ids=repr,
)
def test_no_other_site_uploads_by_somebody_s_browser(here, client, headers, status):
    assert client.post("/", files=FILE, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=x", b"--x\r\n"),
        ("multipart/form-data; boundary=x", b"--x--\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: x\r\n\r\na\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x; charset=no", b"--x\r\na: b\r\n\r\na\r\n--x--\r\n"),
        ("text/plain", b"x"),
        ("", b""),
    ],
)
def test_rubbish_is_refused_and_leaves_nothing(here, client, kind, body):
    answer = client.post("/", content=body, headers={"content-type": kind})
    assert answer.status_code == 400
    assert list(here.folder.iterdir()) == []


def test_one_upload_opens_one_file(here, client):
    files = [("files", (f"{n}.csv", b"x")) for n in range(50)]
    assert client.post("/", files=files).status_code == 400
    assert lying(here) == []


@pytest.mark.parametrize(
    "name", ["../../x.csv", "/etc/x.csv", "a/b.csv", "ü" * 500 + ".csv", ".csv", "..", "con\0.csv"]
)
def test_odd_names_stay_in_their_folder(here, client, name):
    answer = client.post("/", files={"files": (name, b"x")})
    assert answer.status_code == 200
    (path,) = lying(here)
    assert path.is_relative_to(here.folder)
    assert [str(path)] == answer.json()


@pytest.mark.slow
def test_nothing_lies_when_the_server_has_ended(here, taken, client):
    client.post("/", files=FILE)
    taken.close()
    assert list(here.folder.iterdir()) == []
