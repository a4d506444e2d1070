"""A press while the server has no room for a connection: nothing is lost, and the page says why."""

from __future__ import annotations

import pytest

from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.identity import translated_texts
from tests.ui.conftest import new_page

ORIGIN = "http://127.0.0.1:9"
JOIN, DATA = "/gradio_api/queue/join", "/gradio_api/queue/data"
PRESS = """path => { window.answered = null;
    fetch(path, path.endsWith("join") ? { method: "POST", body: "{}" } : {})
        .then(async (answer) => { window.answered = [answer.status, await answer.text()]; }); }"""


class Server:
    """What answers the page: "no room" for so many times, then "done"."""

    def __init__(self, page, refusals, headers):
        self.asked, self._left, self._headers = [], refusals, headers
        script = resource("assets/connection.js").read_text(encoding="utf-8")
        self._html = (
            f'<!doctype html><meta charset="utf-8">{translated_texts()}<script>{script}</script>'
        )
        page.route("**/*", self._answer)
        page.clock.install()
        page.goto(ORIGIN)
        self._page = page

    def _answer(self, route):
        if route.request.url.endswith("/app_id"):
            route.fulfill(json={"app_id": "undefined"})  # the server that the page is of
            return
        if not route.request.url.endswith((JOIN, DATA)):
            route.fulfill(body=self._html, content_type="text/html")
            return
        self.asked.append(route.request.post_data)
        self._left -= 1
        if self._left < 0:
            route.fulfill(body="done")
        else:
            route.fulfill(status=503, body="no room", headers=self._headers)

    def press(self, path):
        self._page.evaluate(PRESS, path)

    def times(self, number):
        """Let three seconds pass so often, each time once the request before is answered."""
        for turn in range(number):
            self._page.wait_for_function("() => document.querySelector('#connection')")
            while len(self.asked) <= turn:
                self._page.wait_for_timeout(10)
            self._page.clock.run_for(3000)

    def answered(self):
        return self._page.wait_for_function("() => window.answered").json_value()

    def note(self):
        return self._page.evaluate("document.querySelector('#connection')?.textContent ?? ''")


@pytest.fixture
def page(browser):
    page = new_page(browser, "", {})
    yield page
    page.context.close()


@pytest.mark.parametrize("path", [JOIN, DATA])
def test_a_press_without_room_is_carried_out_when_there_is(page, path):
    server = Server(page, 2, {"Retry-After": "3"})
    server.press(path)
    page.wait_for_function("() => document.querySelector('#connection')")
    assert "too many visitors" in server.note()
    server.times(2)
    assert server.answered() == [200, "done"]
    assert server.asked == ["{}" if path == JOIN else None] * 3
    assert not server.note()


def test_a_press_that_finds_no_room_for_a_minute_is_given_up(page):
    server = Server(page, 99, {"Retry-After": "3"})
    server.press(JOIN)
    server.times(20)
    assert server.answered() == [503, "no room"]
    assert len(server.asked) == 21
    assert not server.note()


def test_a_full_queue_is_for_the_client_to_tell(page):
    server = Server(page, 99, {})
    server.press(JOIN)
    assert server.answered() == [503, "no room"]
    assert len(server.asked) == 1
