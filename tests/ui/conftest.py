"""The apps that most tests of this folder visit: three small models, or those of the demo."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.patience import new_context
from tests.small_models import SMALL_MODELS
from tests.ui.raw_client import Visitor
from tests.ui.server import serving
from tests.ui.visiting import hears

OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SYSTEM_CHROMIUM = Path("/usr/bin/chromium")
# What Gradio says of calls and streams that are cut off because their page is left. Chromium cuts
# them off as soon as the page begins to load anew, and the old page goes on until the new one is
# there. Its server forgets a session whose stream was cut off, and answers the next stream of it
# with 404, in words and by breaking it off.
CUT_OFF = (
    "AbortError",
    "Unexpected error Connection errored out",
    "Unexpected error 404: Not Found",
    "Failed to load resource: net::ERR_INCOMPLETE_CHUNKED_ENCODING",
)

METRICS_TOKEN = "a token of sixteen signs or more"
_CONFIG = """
snapshot_seconds = 0.2
[sampling]
max_new_tokens = {}
"""


@pytest.fixture(scope="package")
def app(tmp_path_factory):
    """An app whose answers are short, see `server.Served`."""
    with serving(tmp_path_factory.mktemp("app"), _CONFIG.format(48) + SMALL_MODELS) as served:
        yield served


@pytest.fixture(scope="package")
def talkative_app(tmp_path_factory):
    """An app whose answers run for tens of seconds, unless they are stopped."""
    folder = tmp_path_factory.mktemp("talkative")
    config = f'metrics_token = "{METRICS_TOKEN}"' + _CONFIG.format(6000) + SMALL_MODELS
    with serving(folder, config) as served:
        yield served


@pytest.fixture
def visitor(app):
    """Somebody new, without a browser."""
    return Visitor(app.url)


@pytest.fixture(scope="package")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engines:
        own = Path(engines.chromium.executable_path)
        chromium = own if own.exists() else SYSTEM_CHROMIUM
        if not chromium.exists():
            pytest.skip(f"no Chromium: neither playwright's own nor {SYSTEM_CHROMIUM}")
        launched = engines.chromium.launch(executable_path=chromium, args=OPTIONS)
        yield launched
        launched.close()


def new_page(browser, script, options):
    context = new_context(browser, **options)
    context.add_init_script(script)
    return context.new_page()


def press_what_hears(page):
    """Let keys and the mouse be pressed as people do: once they can have seen the buttons."""

    def patient(press):
        def pressed(*arguments, **options):
            hears(page)
            press(*arguments, **options)

        return pressed

    page.keyboard.press, page.mouse.down = patient(page.keyboard.press), patient(page.mouse.down)
    return page


def forget_the_visitor(page):
    """Leave a page with nothing but the scripts that it has compiled."""
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.goto("about:blank")
    page.context.clear_cookies()


@pytest.fixture(scope="package")
def free_pages(browser):
    """Pages that nobody uses, each of a context of its own.

    They know the app's scripts, and nothing of a visitor: to open it takes half as long.
    """
    return []


@contextmanager
def visits(browser, free_pages):
    """Open pages, each in a browser context of its own; complain of errors and outside requests."""
    opened, requests, complaints = [], [], []

    def visited(url, *, expected=None, script="", scheme="light", **options):
        cut_off = []  # on the page as it is: whoever leaves it has cut off what it waited for

        def complain(text, place):
            if text.startswith(CUT_OFF):
                cut_off.append(text)
            elif text != expected:
                complaints.append(f"{text} {place['url']}")

        plain = not (options or script)
        kept = plain and free_pages
        page = free_pages.pop() if kept else press_what_hears(new_page(browser, script, options))
        page.set_viewport_size({"width": 1440, "height": 900})
        page.emulate_media(color_scheme=scheme)
        listeners = {
            "request": lambda request: requests.append(request.url),
            # Leaving a page aborts what it was waiting for.
            "pageerror": lambda e: e.name != "AbortError" and complaints.append(str(e)),
            "console": lambda said: said.type == "error" and complain(said.text, said.location),
            "domcontentloaded": lambda _: cut_off.clear(),
        }
        for event, listener in listeners.items():
            page.on(event, listener)
        opened.append((page, plain, listeners, cut_off))
        page.goto(url)
        return page

    yield visited
    for page, plain, listeners, cut_off in opened:
        complaints += cut_off
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        if plain and page.context.pages == [page]:
            forget_the_visitor(page)
            free_pages.append(page)
        else:
            page.context.close()
    assert complaints == []
    schemes = {"data", "blob"}  # they stay inside the page
    outside = [url for url in requests if urlsplit(url).scheme not in schemes]
    assert outside
    assert {urlsplit(url).hostname for url in outside} == {"127.0.0.1"}


@pytest.fixture
def visit(browser, free_pages):
    """Open pages that are left when the test ends, see `visits`."""
    with visits(browser, free_pages) as visited:
        yield visited


@pytest.fixture(scope="module")
def stay(browser, free_pages):
    """Open pages that are left when the last test of the file ends, see `visits`."""
    with visits(browser, free_pages) as visited:
        yield visited
