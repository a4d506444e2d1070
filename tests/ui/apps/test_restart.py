"""A server that ends and starts again, on the same port and database, under open pages."""

from __future__ import annotations

import pytest

from coupled_arena.core.passwords import hash_password
from tests.patience import new_context, until
from tests.small_models import SMALL_MODELS
from tests.ui.apps.test_annotation import stored
from tests.ui.raw_client import QUESTION
from tests.ui.server import Served, read
from tests.ui.visiting import ask, ask_and_stop, texts
from tests.ui.visiting import wait_for_words as words

CONFIG = f"""
snapshot_seconds = 0.2
[sampling]
max_new_tokens = 6000
{SMALL_MODELS}
"""
PASSWORD, OTHER_PASSWORD = "correct horse", "battery staple"
UNDO = 60.0
NOTE = "#connection"
OTHER = "Which way is up?"


class Restarted:
    """An app that can be started again where it was."""

    def __init__(self, folder, config, *options, undo=0.0, changed=None):
        self._made = folder, config, *options
        self._undo = undo
        self.start(changed=changed)

    def start(self, port=None, changed=None):
        self.app = Served(*self._made, undo=self._undo, port=port, changed=changed)
        self.app.wait_until_open()

    def again(self, changed=None, config=None):
        folder, before, *options = self._made
        self._made = folder, config or before, *options
        self.start(self.app.port, changed)


@pytest.fixture
def restarted(tmp_path):
    made = []

    def start(config=CONFIG, *options, undo=UNDO):
        made.append(Restarted(tmp_path, config, *options, undo=undo))
        return made[0]

    yield start
    for each in made:
        each.app.kill()


@pytest.fixture
def page(browser):
    """A page that may complain: its server goes away."""
    context = new_context(browser)
    yield context.new_page()
    context.close()


def loaded_again(page):
    """Return what the page says once it was loaded from another server."""
    page.wait_for_selector(f"{NOTE} button")
    return page.inner_text(f"{NOTE} span")


def open_at(page, app):
    page.goto(app.url)
    page.wait_for_selector("#ask")


def press(page, key, said):
    """Press a key, once more where the page was not ready for it, until the page has said so."""
    shown = page.locator("#round .said", has_text=said)

    def pressed():
        page.keyboard.press(key)
        page.wait_for_timeout(500)
        return shown.count()

    until(pressed)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_an_idle_page_comes_back_with_what_was_typed(restarted, page, end):
    served = restarted()
    open_at(page, served.app)
    page.fill("#question textarea", OTHER)
    getattr(served.app, end)()
    page.wait_for_selector(NOTE, state="attached")
    assert "connects again by itself" in page.inner_text(NOTE)
    served.again()
    assert "The server was started again" in loaded_again(page)
    until(lambda: page.input_value("#question textarea") == OTHER)
    page.click("#ask")
    words(page)


def test_in_mid_answer_the_page_says_so_and_has_the_question(restarted, page):
    served = restarted()
    open_at(page, served.app)
    ask(page)
    words(page)
    served.app.kill()
    page.locator("#round", has_text="The connection is lost").wait_for()
    assert "Nothing was written" not in page.inner_text("#round")
    served.again()
    assert "ask it once more" in loaded_again(page)
    until(lambda: page.input_value("#question textarea") == QUESTION)
    page.click("#ask")
    words(page)


@pytest.mark.parametrize("end", [pytest.param("stop", marks=pytest.mark.slow), "kill"])
def test_a_vote_can_be_undone_after_the_restart(restarted, page, end):
    served = restarted()
    open_at(page, served.app)
    ask_and_stop(page)
    said = texts(page)
    press(page, "a", "Recorded: A is better")
    getattr(served.app, end)()
    assert read(served.app.db, "select ranks from votes where source = 'human'") == []
    served.again()
    loaded_again(page)
    page.locator("#round .said", has_text="Recorded: A is better").wait_for()
    until(lambda: texts(page) == said)  # formatting takes blanks out, once its script is there
    press(page, "u", "Undone")
    press(page, "b", "Recorded: B is better")
    served.app.kill()
    assert read(served.app.db, "select ranks from votes where source = 'human'") == []
    assert read(served.app.db, "select ranks from pending_votes") == [([2, 1],)]


@pytest.mark.slow
def test_stored_battles_go_on_where_the_voter_was(restarted, page, tmp_path):
    stored(tmp_path, [f"Tell me a story about {n} whales." for n in range(6)])
    served = restarted("snapshot_seconds = 1\n", "--annotate", "--reveal", "each")
    page.goto(served.app.url)
    page.click("#start")
    page.wait_for_selector("#round .ballot")
    before = page.inner_text("#round .commitment")
    served.app.kill()
    page.wait_for_selector(NOTE)
    served.again()
    loaded_again(page)
    page.wait_for_selector("#round .ballot")
    assert page.inner_text("#round .commitment") == before
    press(page, "a", "Recorded")


@pytest.mark.slow
def test_a_lost_network_gives_the_page_back_as_it_was(restarted, page):
    """The server is the same: without a press nothing is loaded anew, with one the page is."""
    served = restarted()
    open_at(page, served.app)
    page.evaluate("window.stays = true")
    page.context.set_offline(True)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    page.fill("#question textarea", OTHER)
    page.click("#ask")
    page.wait_for_selector(NOTE)
    page.context.set_offline(False)
    assert "The connection is back" in loaded_again(page)
    until(lambda: page.input_value("#question textarea") == OTHER)
    assert page.evaluate("window.stays") is None
    page.click("#ask")
    words(page)


@pytest.mark.slow
def test_two_pages_of_one_visitor_come_back_each_with_its_own_words(restarted, page):
    served = restarted()
    other = page.context.new_page()
    for each, text in ((page, OTHER), (other, QUESTION)):
        open_at(each, served.app)
        each.fill("#question textarea", text)
    served.app.stop()
    served.again()
    for each, text in ((page, OTHER), (other, QUESTION)):
        each.bring_to_front()
        loaded_again(each)
        until(lambda each=each, text=text: each.input_value("#question textarea") == text)


def with_sign_in(password):
    """Return the settings of an arena that lets Ann in, and nobody else."""
    access = f'sign_in = "password"\nusers = {{ ann = "{hash_password(password)}" }}\n'
    return f"{CONFIG}\n[access]\n{access}"


def sign_in(page, password):
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask")


def vote_once(page):
    """Ask, stop, and vote; votes count at once."""
    ask_and_stop(page)
    press(page, "a", "")
    page.wait_for_selector(".reveal")


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_who_has_signed_in_still_is_after_the_restart(restarted, page, end):
    served = restarted(with_sign_in(PASSWORD), undo=0)
    page.goto(served.app.url)
    sign_in(page, PASSWORD)
    vote_once(page)
    page.fill("#question textarea", OTHER)
    getattr(served.app, end)()
    served.again()
    assert "The server was started again" in loaded_again(page)
    until(lambda: page.input_value("#question textarea") == OTHER)
    vote_once(page)
    served.app.stop()
    votes = "select count(*), count(distinct voter) from votes where source = 'human'"
    assert read(served.app.db, votes) == [(2, 1)]


def test_who_has_to_sign_in_again_is_told_and_finds_what_was_written(restarted, page):
    """A password that was changed ends what it has let in."""
    served = restarted(with_sign_in(PASSWORD))
    page.goto(served.app.url)
    sign_in(page, PASSWORD)
    assert page.url == f"{served.app.url}/"
    ask(page)
    words(page)
    page.fill("#follow-up textarea", OTHER)
    served.app.kill()
    page.wait_for_selector(NOTE)
    served.again(config=with_sign_in(OTHER_PASSWORD))
    page.get_by_label("Name").wait_for()
    assert "Sign in: the page then has your text" in page.inner_text("#kept")
    sign_in(page, OTHER_PASSWORD)
    assert "ask it once more" in loaded_again(page)
    until(lambda: page.input_value("#question textarea") == QUESTION)
    page.click("#ask")
    words(page)


def test_a_sign_in_that_has_ended_takes_no_round_away(restarted, page):
    """The server is the same: its round waits for the vote."""
    served = restarted(with_sign_in(PASSWORD), undo=0)
    page.goto(served.app.url)
    sign_in(page, PASSWORD)
    ask_and_stop(page)
    before = page.inner_text("#round .commitment")
    page.fill("#follow-up textarea", OTHER)
    page.context.clear_cookies()
    page.locator("#round .ballot button", has_text="A is better").click()
    page.get_by_label("Name").wait_for()
    assert page.locator("#kept").is_visible()
    sign_in(page, PASSWORD)
    assert "You are signed in again" in loaded_again(page)
    page.wait_for_selector("#round .ballot")
    assert page.inner_text("#round .commitment") == before
    until(lambda: page.input_value("#follow-up textarea") == OTHER)
    assert page.input_value("#question textarea") == ""
    page.locator("#round .ballot button", has_text="A is better").click()
    page.wait_for_selector(".reveal")
    served.app.stop()
    assert read(served.app.db, "select count(*) from votes where source = 'human'") == [(1,)]


def test_who_has_never_signed_in_is_told_of_nothing_that_was_kept(restarted, page):
    served = restarted(with_sign_in(PASSWORD))
    page.goto(served.app.url)
    page.get_by_label("Name").wait_for()
    assert not page.locator("#kept").is_visible()


def newer():
    """Become a newer version: of the package, and of what the page is made of."""
    from coupled_arena.core import version
    from coupled_arena.ui.parts import identity

    version.VERSION = "99.0"
    introduced = identity._introduced
    mark = '<head><meta name="version" content="99.0">'
    identity._introduced = lambda *given: introduced(*given).replace("<head>", mark, 1)


def test_a_newer_server_gives_the_page_anew_with_what_was_typed(restarted, page):
    served = restarted(undo=0)
    open_at(page, served.app)
    page.fill("#question textarea", OTHER)
    assert page.locator("meta[name=version]").count() == 0
    served.app.stop()
    served.again(newer)
    assert "The page was loaded again, with your text" in loaded_again(page)
    assert page.locator("meta[name=version]").count() == 1
    until(lambda: page.input_value("#question textarea") == OTHER)
    vote_once(page)
    served.app.stop()
    assert read(served.app.db, "select count(*) from votes where source = 'human'") == [(1,)]
