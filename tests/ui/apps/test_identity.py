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


def test_a_chosen_theme_stays(page):
    chooser = page.get_by_label("Theme")
    page.emulate_media(color_scheme="light")
    with page.expect_navigation():
        chooser.select_option("dark")
    page.wait_for_function("document.body.classList.contains('dark')")
    open_tab(page, "Leaderboard")
    with page.expect_navigation():
        page.reload()
    page.wait_for_function("document.body.classList.contains('dark')")
    page.wait_for_function("document.querySelector('#header select')?.value === 'dark'")
    with page.expect_navigation():
        chooser.select_option("system")
    page.wait_for_function("!document.body.classList.contains('dark')")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.body.classList.contains('dark')")
    with page.expect_navigation():
        chooser.select_option("light")
    page.wait_for_function("document.querySelector('#header select')?.value === 'light'")
    assert not page.evaluate("document.body.classList.contains('dark')")
    page.emulate_media(color_scheme="light")
    page.emulate_media(color_scheme="dark")  # Gradio follows at once
    page.evaluate("new Promise(requestAnimationFrame)")
    assert not page.evaluate("document.body.classList.contains('dark')")


def test_without_storage_a_theme_holds_for_the_visit(app, visit):
    forbidden = (
        "for (const name of ['getItem', 'setItem']) Storage.prototype[name] = () => "
        "{ throw new DOMException('no', 'SecurityError'); };"
    )
    page = visit(app.url, script=forbidden)
    page.get_by_label("Theme").select_option("dark")
    page.wait_for_function("document.body.classList.contains('dark')")
    page.get_by_label("Theme").select_option("light")
    page.wait_for_function("!document.body.classList.contains('dark')")


@pytest.mark.parametrize("path", ["/", "/preview.png", "/config", "/healthz", "/nothing"])
def test_browsers_are_told_what_they_may_do_with_an_answer(app, path):
    answer = httpx.get(f"{app.url}{path}")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    if path == "/":
        assert answer.headers["content-security-policy"].endswith("; frame-ancestors 'self'")


def test_the_cookie_works_in_a_frame_over_https_alone(app):
    plain = httpx.get(f"{app.url}/").headers["set-cookie"]
    behind = httpx.get(f"{app.url}/", headers={"x-forwarded-proto": "https"}).headers["set-cookie"]
    said, secure = ({word.strip() for word in cookie.split(";")} for cookie in (plain, behind))
    assert {"HttpOnly", "SameSite=Lax"} < said
    assert {"HttpOnly", "SameSite=None", "Secure", "Partitioned"} < secure
    assert "Partitioned" not in said
