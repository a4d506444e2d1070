"""What the page is to those who keep or show a link to it: title, icon, preview picture.

Also its head, and the scripts that must run before Gradio's.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import astuple
from functools import partial
from typing import NamedTuple

import gradio as gr
from fastapi import APIRouter
from markupsafe import Markup
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coupled_arena.core.language import N_, _, language, script_texts
from coupled_arena.core.settings import resource
from coupled_arena.views.figures.theme import DARK, LIGHT
from coupled_arena.views.words.glossary import glossary

# What the scripts of the page say, in the language of the arena.


def script(name: str) -> str:
    """Return a script of ours as an element of the page."""
    return f"<script>{resource(f'assets/{name}.js').read_text(encoding='utf-8')}</script>"


def translated_texts() -> str:
    """Return the script that gives the others their texts; it comes before them."""
    texts = json.dumps(script_texts()).replace("<", "\\u003c")  # no text ends the script
    code = resource("assets/translations.js").read_text(encoding="utf-8")
    known = f"const LANGUAGE = {json.dumps(language())}; const TRANSLATED = {texts};"
    return f"<script>(() => {{ {known}\n{code}}})();</script>"


def explained_terms() -> str:
    """Return the script that explains terms, with the glossary in the language of the arena."""
    terms = json.dumps(glossary()).replace("<", "\\u003c")
    code = resource("assets/terms.js").read_text(encoding="utf-8")
    return f"<script>(() => {{ const TERMS = {terms};\n{code}}})();</script>"


NAME = "Coupled Arena"
DESCRIPTION = N_("Language models answer with the same random numbers: no model is luckier.")
ICON = "assets/icon.png"
_PREVIEW = "assets/preview.png"
_PREVIEW_PATH = "/preview.png"
# The sizes that Gradio's manifest names. It draws them anew for each request, while others wait.
_ICONS = {192: ICON, 512: "assets/icon-512.png"}
_KEPT = {"cache-control": "private, max-age=86400"}  # a visitor's cookie may come with it

_MADE_ONCE = frozenset({("GET", "/"), ("HEAD", "/"), ("GET", "/config"), ("GET", "/config/")})
_ADDRESS = frozenset({b"host", b"x-forwarded-host", b"x-forwarded-proto"})  # as Gradio reads it
_MOST_ADDRESSES = 16  # of 1 MB each; whoever asks for many makes others wait for none they had
_Address = tuple[object, ...]

_OF_GRADIO = re.compile(r"""<meta\s+(?:property="og:|name="(?:twitter:|viewport"))[^>]*>\s*""")
# The bar of the vote keeps clear of a phone's rounded edge only where the page reaches it.
_VIEWPORT = "width=device-width, initial-scale=1, viewport-fit=cover"


def preview() -> APIRouter:
    """Return the routes of the preview picture and of the icon in the sizes that are named."""
    router = APIRouter()

    @router.get(_PREVIEW_PATH)
    def picture() -> FileResponse:
        return FileResponse(resource(_PREVIEW), headers=_KEPT)

    for size, file in _ICONS.items():
        router.add_api_route(f"/pwa_icon/{size}", partial(_icon, file))
    return router


def _icon(file: str) -> FileResponse:
    return FileResponse(resource(file), headers=_KEPT)


class _Made(NamedTuple):
    """A page or its settings, as an address has them."""

    status: int
    kind: str
    plain: bytes
    packed: bytes


class Identity:
    """Middleware that has the page speak of itself, where Gradio's speaks of Gradio.

    Gradio makes the page, and its settings, anew for each request. That is a tenth of a second of a
    processor, in any of forty threads, while the event loop waits for all of them. Here an address
    has them made once, and one is made at a time.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._made: dict[_Address, _Made] = {}
        self._asked: Counter[_Address] = Counter()
        self._one = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or (scope["method"], _path(scope)) not in _MADE_ONCE:
            await self._app(scope, receive, send)
            return
        made = await self._find(scope, receive)
        headers = {"content-type": made.kind, "vary": "Accept-Encoding"}
        packed = "gzip" in Headers(scope=scope).get("accept-encoding", "")
        if packed:
            headers["content-encoding"] = "gzip"
        body = made.packed if packed else made.plain
        await Response(body, made.status, headers)(scope, receive, send)

    async def _find(self, scope: Scope, receive: Receive) -> _Made:
        """Return what an address has, made already or now.

        Nothing else of a request takes part, so nobody can send what others are then shown.
        """
        path, root = _path(scope).rstrip("/") or "/", scope.get("root_path", "")
        named = [each for each in scope["headers"] if each[0] in _ADDRESS]
        address = (path, scope["scheme"], root, *named)
        async with self._one if address not in self._made else nullcontext():
            if address not in self._made:
                asked = {"method": "GET", "path": root + path, "raw_path": (root + path).encode()}
                asked |= {"query_string": b"", "headers": named}
                made = await self._make({**scope, **asked}, receive)
                if made.status != 200:
                    return made
                self._keep(address, made)
        self._asked[address] += 1
        return self._made[address]

    def _keep(self, address: _Address, made: _Made) -> None:
        """Keep what was made; if need be in place of what was asked for least."""
        if len(self._made) >= _MOST_ADDRESSES:
            rarest = min(self._made, key=self._asked.__getitem__)
            del self._made[rarest], self._asked[rarest]
        self._made[address] = made

    async def _make(self, scope: Scope, receive: Receive) -> _Made:
        parts: list[bytes] = []
        started: Message = {}

        async def keeping(message: Message) -> None:
            started.update(message if message["type"] == "http.response.start" else {})
            parts.append(message.get("body", b""))

        await self._app(scope, receive, keeping)
        kind, body = Headers(raw=started["headers"]).get("content-type", ""), b"".join(parts)
        if started["status"] == 200 and kind.startswith("text/html"):
            body = _introduced(body.decode(), str(Request(scope).base_url)).encode()
        packed = await asyncio.to_thread(gzip.compress, body)
        return _Made(started["status"], kind, body, packed)


def _path(scope: Scope) -> str:
    """Return what is asked for, below the path of the application."""
    return scope["path"].removeprefix(scope.get("root_path", ""))


def _introduced(page: str, address: str) -> str:
    """Return the page with tags of ours in place of Gradio's."""
    tags = (
        ("name", "viewport", _VIEWPORT),
        ("property", "og:title", NAME),
        ("property", "og:type", "website"),
        ("property", "og:url", address),
        ("property", "og:description", _(DESCRIPTION)),
        ("property", "og:image", address.rstrip("/") + _PREVIEW_PATH),
        ("name", "twitter:card", "summary_large_image"),
        ("name", "description", _(DESCRIPTION)),
    )
    ours = Markup("").join(Markup('<meta {}="{}" content="{}" />').format(*tag) for tag in tags)
    page = page.replace('lang="en"', f'lang="{language()}"', 1)
    # Scripts that Gradio is given for the head run when its client already has a connection.
    first = script("opening") + translated_texts() + script("connection")
    return _OF_GRADIO.sub("", page).replace("<head>", f"<head>{ours}{first}", 1)


# The head of the page: what it is, and the choice of light or dark.


_HEADER = """<header class="page-header">
<div><h1>{name}</h1><p>{description}</p></div>
<div class="page-tools">
<button type="button" class="go-to-open" aria-label="{go_to}">{glass}</button>
<button type="button" class="theme-switch">{icons}</button></div>
</header>"""
_GLASS = '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="10.5" cy="10.5" r="6.5"/>'
_GLASS += '<path d="M15.5 15.5 21 21"/></svg>'
_ICON = '<svg viewBox="0 0 24 24" aria-hidden="true" data-theme="{}" hidden>{}</svg>'
_RAYS = (
    "M12 2v2M12 20v2M2 12h2M20 12h2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M4.9 19.1l1.4-1.4"
    "M17.7 6.3l1.4-1.4"
)
_THEMES = {
    "light": f'<circle cx="12" cy="12" r="4"/><path d="{_RAYS}"/>',
    "dark": '<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z"/>',
    "system": '<circle cx="12" cy="12" r="8"/><path class="filled" d="M12 4a8 8 0 0 1 0 16Z"/>',
}


def header() -> gr.HTML:
    """Return the head of the page."""
    scripts = (resource(f"assets/{name}.js") for name in ("remembered", "appearance"))
    code = (script.read_text(encoding="utf-8") for script in scripts)
    colours = json.dumps({"light": astuple(LIGHT), "dark": astuple(DARK)})
    return gr.HTML(
        _HEADER.format(
            name=NAME,
            description=_(DESCRIPTION),
            go_to=_("Go to a tab, a model or a battle"),
            glass=_GLASS,
            icons="".join(_ICON.format(*each) for each in _THEMES.items()),
        ),
        js_on_load="\n".join([f"const COLOURS = {colours};", *code]),
        apply_default_css=False,
        padding=False,
        elem_id="header",
    )
