"""A page whose machine sleeps: its network is off, its timers stand still, and then it goes on."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.patience import new_context, until
from tests.ui.apps.test_restart import CONFIG, NOTE, OTHER, Restarted, loaded_again, open_at
from tests.ui.server import read
from tests.ui.visiting import ask_and_stop
from tests.ui.visiting import wait_for_words as words

LOOKED = "looked"
HUMAN = "from votes where source = 'human'"


def forgetful():
    """Forget whatever a page had open as soon as it is gone."""
    from coupled_arena.ui import server

    server._AFTER_CLOSING = timedelta(0)


def as_if_an_hour_had_passed():
    """Let Gradio forget what a closed page had, if it had it for a second; say when it looked."""
    from coupled_arena.ui.server import Sessions

    os.environ["GRADIO_IS_E2E_TEST"] = "1"
    looked = Path(os.environ["GRADIO_TEMP_DIR"]).with_name(LOOKED)
    look = Sessions.delete_all_expired_state

    def looks(self):
        used = [
            self.time_last_used[name] for name, one in self.session_data.items() if one.is_closed
        ]
        look(self)
        if any(datetime.now() - each > timedelta(seconds=2) for each in used):  # noqa: DTZ005
            looked.touch()

    Sessions.delete_all_expired_state = looks


@pytest.fixture
def served(tmp_path, request):
    """An app whose votes count at once, and which forgets pages soon."""
    restarted = Restarted(tmp_path, CONFIG, changed=getattr(request, "param", forgetful))
    yield restarted.app
    restarted.app.kill()


@pytest.fixture
def page(browser, served):
    """A page of which the test says when it sleeps."""
    context = new_context(browser)
    opened = context.new_page()
    opened.clock.install()
    open_at(opened, served)
    opened.evaluate("window.stays = true")
    yield opened
    context.close()


def sleep(page, how_long):
    """Close the lid, and open it again: what is due by then happens once."""
    page.context.set_offline(True)
    page.clock.fast_forward(how_long)
    page.context.set_offline(False)


def vote(page):
    page.locator("#round .ballot button", has_text="A is better").click()
    page.wait_for_selector(".reveal")


def votes(app):
    """Return how many votes were cast, on how many battles."""
    app.stop()
    return read(app.db, f"select count(*), count(distinct battle) {HUMAN}")


def test_a_page_that_slept_for_hours_goes_on(served, page):
    """It was forgotten, and yet has its round, its vote and its words."""
    ask_and_stop(page)
    before = page.inner_text("#round .commitment")
    page.fill("#follow-up textarea", OTHER)
    sleep(page, "02:00:00")
    assert "The connection is back" in loaded_again(page)
    assert page.evaluate("window.stays") is None
    page.wait_for_selector("#round .ballot")
    assert page.inner_text("#round .commitment") == before
    until(lambda: page.input_value("#follow-up textarea") == OTHER)
    vote(page)
    ask_and_stop(page, OTHER)
    vote(page)
    assert votes(served) == [(2, 2)]


def test_a_vote_from_before_is_there_after_and_counts_once(served, page):
    ask_and_stop(page)
    vote(page)
    told = page.inner_text(".reveal")
    page.fill("#question textarea", OTHER)
    sleep(page, "02:00:00")
    loaded_again(page)
    page.wait_for_selector(".reveal")
    assert page.inner_text(".reveal") == told
    until(lambda: page.input_value("#question textarea") == OTHER)
    page.click("#ask")
    words(page)
    assert votes(served) == [(1, 1)]


@pytest.mark.parametrize("served", [as_if_an_hour_had_passed], indirect=True)
def test_a_short_sleep_leaves_the_page_as_it_is(served, page):
    ask_and_stop(page)
    sleep(page, "00:05:00")
    until(served.db.with_name(LOOKED).exists)
    vote(page)
    assert page.evaluate("window.stays")
    assert page.locator(f"{NOTE} button").count() == 0
    assert votes(served) == [(1, 1)]


def test_the_first_press_after_a_sleep_may_come_before_any_timer(served, page):
    """The clock has gone on, and nothing else has happened yet."""
    page.fill("#question textarea", OTHER)
    page.evaluate(
        """() => {
            const later = Date.now() + 2 * 3600 * 1000;
            Date.now = () => later;
            document.querySelector("#ask").click();
        }"""
    )
    assert "The connection is back" in loaded_again(page)
    until(lambda: page.input_value("#question textarea") == OTHER)
    page.click("#ask")
    words(page)
