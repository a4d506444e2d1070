"""The page while models load: one of them is on a server that takes its time."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import contextmanager

import httpx
import pytest

from tests.patience import until
from tests.small_models import NAMES, catalog_of
from tests.ui.raw_client import NO_TLS
from tests.ui.server import Served

SLOW = """
[[models]]
name = "<i>slow</i>"
folder = "{}"
server = "http://127.0.0.1:{}"
served_as = "slow"
"""
UNAVAILABLE = (
    "Failed to load resource: the server responded with a status of 503 (Service Unavailable)"
)
SAYS = "Loading <i>slow</i>, 2 of 3."


@contextmanager
def loading(folder, config=""):
    """Start an app that loads until the server that it is yielded with is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        first, last = (catalog_of(**{name: name}) for name in NAMES[:2])
        served = Served(
            folder, config + first + SLOW.format(NAMES[2], server.getsockname()[1]) + last
        )
        try:
            yield served, server
        finally:
            served.kill()


def status(served):
    """Return what the app says of its health, None as long as it does not listen."""
    assert served.process.exitcode is None, served.stderr.read_text()
    try:
        return httpx.get(f"{served.url}/healthz", timeout=60, verify=NO_TLS)
    except httpx.ConnectError:
        return None


def refuse_all(server):
    """Answer nobody any more, whoever waits."""

    def refuse():
        while True:
            try:
                server.accept()[0].close()
            except OSError:
                return

    threading.Thread(target=refuse, daemon=True).start()


def test_the_page_says_what_is_loaded_and_opens_by_itself(tmp_path, visit):
    with loading(tmp_path) as (served, server):
        until(lambda: (found := status(served)) is not None and found.json().get("doing") == SAYS)
        health = status(served)
        assert (health.status_code, health.headers["retry-after"]) == (503, "2")
        assert health.json()["ailing"] == ["engine"]
        for method, path in (("GET", "/?tab=audit"), ("POST", "/gradio_api/queue/join")):
            answer = httpx.request(method, served.url + path)
            assert answer.status_code == 503
            assert "Loading &lt;i&gt;slow&lt;/i&gt;, 2 of 3." in answer.text
        page = visit(f"{served.url}/?tab=leaderboard", expected=UNAVAILABLE)
        assert page.get_by_role("status").inner_text() == SAYS
        refuse_all(server)
        page.get_by_role("tab", name="Leaderboard").wait_for()
        assert "tab=leaderboard" in page.url
        said = status(served).json()
        assert (said["status"], said["ailing"], said["models_away"]) == ("ok", [], 1)


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_it_ends_at_once_when_told_to_while_models_load(tmp_path, how, code):
    with loading(tmp_path) as (served, _):
        until(lambda: (found := status(served)) is not None and found.json().get("doing") == SAYS)
        assert served.stop(how) == code


def test_what_cannot_start_says_so_and_is_gone(tmp_path):
    served = Served(tmp_path, catalog_of(**{NAMES[0]: NAMES[0]}))
    served.process.join()
    assert served.process.exitcode == 1
    assert "a battle needs 2" in served.stderr.read_text().splitlines()[-1]
    with pytest.raises(httpx.ConnectError):
        httpx.get(served.url)
