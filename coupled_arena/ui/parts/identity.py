"""What the page is to those who keep or show a link to it: title, icon, preview picture.

And the scripts that must run before Gradio's.
"""

from __future__ import annotations

import re
from functools import partial

from fastapi import APIRouter
from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coupled_arena.core.language import N_, _, language
from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.script_texts import said_texts, script

NAME = "Coupled Arena"
DESCRIPTION = N_("Language models, side by side, with the same luck.")
ICON = "assets/icon.png"
_PREVIEW = "assets/preview.png"
_PREVIEW_PATH = "/preview.png"
# The sizes that Gradio's manifest names. It draws them anew for each request, while others wait.
_ICONS = {192: ICON, 512: "assets/icon-512.png"}
_KEPT = {"cache-control": "private, max-age=86400"}  # a visitor's cookie may come with it

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


class Identity:
    """Middleware that has the page speak of itself, where Gradio's speaks of Gradio."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressed = GZipMiddleware(self._page)  # Gradio would, before it can be changed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/"
        await (self._compressed if page else self._app)(scope, receive, send)

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the page, whole and with a head of its own."""
        parts: list[bytes] = []
        started: Message = {}

        async def changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body = b"".join(parts)
            headers = MutableHeaders(scope=started)
            if started["status"] == 200 and headers["content-type"].startswith("text/html"):
                body = _introduced(body.decode(), str(Request(scope).base_url)).encode()
                headers["content-length"] = str(len(body))
            await send(started)
            await send({"type": "http.response.body", "body": body})

        headers = [(name, said) for name, said in scope["headers"] if name != b"accept-encoding"]
        await self._app({**scope, "headers": headers}, receive, changed)


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
    first = said_texts() + script("connection")
    return _OF_GRADIO.sub("", page).replace("<head>", f"<head>{ours}{first}", 1)
