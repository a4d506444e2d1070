"""The pages beside Gradio's, such as signing in: readable in both themes, and at any width."""

from __future__ import annotations

import pytest

from coupled_arena.ui.example import _failed_page
from coupled_arena.ui.parts import sign_in
from coupled_arena.ui.parts.identity import DESCRIPTION, NAME
from coupled_arena.ui.parts.plain_page import plain_page
from coupled_arena.ui.waiting import waiting_page
from tests.ui.conftest import new_page
from tests.ui.visiting import violations

ORIGIN = "http://127.0.0.1:9"
GROUND = "getComputedStyle(document.body).backgroundColor"
WHITE, BLACK = "rgb(255, 255, 255)", "rgb(11, 15, 25)"


def signing_in():
    """Return the page as it is after a wrong password."""
    form = sign_in._FORM.format(name="Name", password="Password", enter="Sign in")
    said = sign_in._SAID.format(sign_in._WRONG)
    body = sign_in._BODY.format(name=NAME, description=DESCRIPTION, said=said, kept="", way=form)
    return plain_page("Sign in to Coupled Arena", body, script=sign_in._LOOK)


PAGES = {
    "sign-in": signing_in,
    "waiting": lambda: waiting_page("Loading <i>slow</i>, 2 of 3."),
    "failed": _failed_page,
}


@pytest.fixture
def page(browser):
    page = new_page(browser, "", {"viewport": {"width": 320, "height": 700}})
    yield page
    page.context.close()


def show(page, name):
    html = PAGES[name]()
    page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(ORIGIN)
    page.get_by_role("heading", name=NAME).wait_for()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wrong_in_either_theme(page, name):
    for scheme, ground in (("light", WHITE), ("dark", BLACK)):
        page.emulate_media(color_scheme=scheme)
        show(page, name)
        assert page.evaluate(GROUND) == ground
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_theme_that_somebody_chose_holds_there_too(page):
    page.emulate_media(color_scheme="light")
    show(page, "sign-in")
    page.evaluate("localStorage.setItem('coupled-arena-theme', 'dark')")
    page.reload()
    assert page.evaluate(GROUND) == BLACK
