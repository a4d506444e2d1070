"""What the page says of itself to browsers and to those who show a link to it; light and dark."""

from __future__ import annotations

import asyncio
import re
from io import BytesIO

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from PIL import Image
from starlette.requests import Request
from starlette.responses import HTMLResponse

from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.identity import Identity
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


class Gradio:
    """Makes a page in parallel with others, and tells what it was asked with."""

    def __init__(self, status=200):
        self.status, self.asked, self.at_once, self.most = status, [], 0, 0

    async def __call__(self, scope, receive, send):
        request = Request(scope)
        self.asked.append((scope["method"], str(request.url), sorted(request.headers)))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0)  # others could begin
        self.at_once -= 1
        page = f"<head></head>{request.url}{request.headers.get('cookie')}" + "x" * 5000
        await HTMLResponse(page, self.status)(scope, receive, send)


@pytest.fixture
def ask():
    """Ask for pages, all at once, in one loop that no browser has; return the answers."""

    async def asking(identity, asked):
        transport = httpx.ASGITransport(identity)
        async with httpx.AsyncClient(transport=transport, base_url="http://one.example") as client:
            return await asyncio.gather(*(client.request(*some, **more) for *some, more in asked))

    with start_blocking_portal() as portal:
        yield lambda identity, *asked: portal.call(asking, identity, asked)


def test_an_address_has_its_page_made_once(ask):
    gradio = Gradio()
    identity = Identity(gradio)
    kept = ("GET", "/", {"headers": {"cookie": "a=1", "accept-language": "de"}})
    plain = ("GET", "/?page=x", {"headers": {"accept-encoding": "identity"}})
    first, second, third, head = ask(identity, kept, kept, plain, ("HEAD", "/", {}))
    assert gradio.asked == [("GET", "http://one.example/", ["host"])]
    assert first.text == second.text == third.text
    assert head.headers["content-length"] == first.headers["content-length"]
    assert 'property="og:url" content="http://one.example/"' in first.text
    assert "a=1" not in first.text
    encodings = [answer.headers.get("content-encoding") for answer in (first, third)]
    assert encodings == ["gzip", None]
    settings = ask(identity, ("GET", "/config", {}), ("GET", "/config/", {}))
    assert len({answer.text for answer in settings}) == 1
    assert len(gradio.asked) == 2


def test_addresses_have_pages_of_their_own_made_one_after_the_other(ask):
    gradio = Gradio()
    hosts = [f"{n}.example" for n in range(40)]
    asked = [("GET", "/", {"headers": {"host": host}}) for host in hosts]
    identity = Identity(gradio)
    for host, answer in zip(hosts, ask(identity, *asked), strict=True):
        assert f'content="http://{host}/"' in answer.text
    assert (len(gradio.asked), gradio.most) == (40, 1)
    forwarded = {"x-forwarded-host": "far.example", "x-forwarded-proto": "https"}
    ask(identity, ("GET", "/", {"headers": forwarded}))
    assert gradio.asked[-1][2] == ["host", *forwarded]


def test_made_up_addresses_take_no_page_from_whoever_has_one(ask):
    gradio = Gradio()
    identity = Identity(gradio)
    mine = ("GET", "/", {})
    ask(identity, mine, mine)
    ask(identity, *(("GET", "/", {"headers": {"host": f"{n}.example"}}) for n in range(99)))
    assert len(gradio.asked) == 100
    assert len(identity._made) == len(identity._asked) < 99
    ask(identity, mine)
    assert len(gradio.asked) == 100


def test_a_page_that_could_not_be_made_is_made_again(ask):
    gradio = Gradio(500)
    identity = Identity(gradio)
    assert [answer.status_code for answer in ask(identity, ("GET", "/", {}))] == [500]
    gradio.status = 200
    assert [answer.status_code for answer in ask(identity, ("GET", "/", {}))] == [200]
