"""What the page says of itself to browsers and to those who show a link to it; light and dark."""

from __future__ import annotations

import re
from io import BytesIO

import httpx
import pytest
from PIL import Image

from coupled_arena.core.settings import resource
from tests.ui.visiting import open_tab

TAG = re.compile(r'<meta (?:property|name)="((?:og|twitter):[a-z]+)" content="([^"]*)" />')


@pytest.fixture(scope="module")
def page(app, stay):
    return stay(app.url)


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity"])
def test_a_link_is_shown_as_ours(app, encoding):
    answer = httpx.get(f"{app.url}/", headers={"accept-encoding": encoding})
    said = dict(TAG.findall(answer.text))
    assert said["og:title"] == "Coupled Arena"
    assert said["og:url"] == f"{app.url}/"
    assert said["twitter:card"] == "summary_large_image"
    assert not re.search(r"<meta[^>]*gradio", answer.text, re.IGNORECASE)
    (viewport,) = re.findall(r'<meta name="viewport" content="([^"]*)" />', answer.text)
    assert viewport == "width=device-width, initial-scale=1, viewport-fit=cover"
    picture = httpx.get(said["og:image"])
    assert picture.content == resource("assets/preview.png").read_bytes()
    assert Image.open(BytesIO(picture.content)).size == (1200, 630)


def test_what_is_kept_of_the_page_is_no_one_elses(app):
    """Each answer may carry a visitor's cookie, which no cache may hand to the next."""
    for path in ("/preview.png", "/favicon.ico"):
        assert "public" not in httpx.get(f"{app.url}{path}").headers.get("cache-control", "")


def test_a_hostile_host_stays_text(app):
    answer = httpx.get(f"{app.url}/", headers={"host": 'x"><script>1</script>'})
    assert "<script>1</script>" not in answer.text


def test_the_icon_is_ours(app):
    icon = resource("assets/icon.png").read_bytes()
    assert httpx.get(f"{app.url}/favicon.ico").content == icon
    assert httpx.head(f"{app.url}/").status_code == 200


def test_a_chosen_theme_stays_and_needs_no_load(page):
    button = page.locator(".theme-switch")
    page.emulate_media(color_scheme="light")
    page.fill("#question textarea", "What was typed?")
    for _ in range(2):
        button.click()
    page.wait_for_function("document.body.classList.contains('dark')")
    open_tab(page, "Leaderboard")
    with page.expect_navigation():
        page.reload()
    page.wait_for_function("document.body.classList.contains('dark')")
    page.wait_for_function("document.querySelector('.theme-switch')?.ariaLabel?.includes('dark')")
    open_tab(page, "Battle")
    page.fill("#question textarea", "What was typed?")
    button.click()
    page.wait_for_function("!document.body.classList.contains('dark')")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.body.classList.contains('dark')")
    button.click()
    page.wait_for_function("!document.body.classList.contains('dark')")
    assert page.input_value("#question textarea") == "What was typed?"
    page.emulate_media(color_scheme="light")
