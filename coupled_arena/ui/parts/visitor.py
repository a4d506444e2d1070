"""Who is asking: a random cookie that page scripts cannot read.

Gradio's session hash is chosen by the client and travels in query strings, so it proves nothing.
The cookie is what a round belongs to; its hash is the voter's name in the store.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from http.cookies import SimpleCookie

import gradio as gr
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "coupled_arena_visitor"
_YEAR = 365 * 24 * 3600
_VALID = re.compile(r"[0-9a-f]{32}")


class VisitorCookie:
    """Middleware that gives every new visitor a cookie.

    Parameters
    ----------
    app : ASGIApp
    arrives : callable, optional
        Called with the name of a known visitor who asks for the page: once more, then.
    """

    def __init__(self, app: ASGIApp, arrives: Callable[[str], object] | None = None) -> None:
        self._app = app
        self._arrives = arrives

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, adding the cookie to the answer where the visitor has none."""
        cookies = HTTPConnection(scope).cookies if scope["type"] == "http" else {}
        known = scope["type"] != "http" or has_cookie(cookies)
        if self._arrives and cookies and known and scope["path"] == "/":
            self._arrives(name_of(cookies, None))
        await self._app(scope, receive, send if known else _adding_cookie(scope, send))


def _adding_cookie(scope: Scope, send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).append("set-cookie", _new_cookie(_is_https(scope)))
        await send(message)

    return wrapped


def _new_cookie(https: bool) -> str:
    cookie: SimpleCookie = SimpleCookie()
    cookie[COOKIE] = secrets.token_hex(16)
    morsel = cookie[COOKIE]
    morsel["path"], morsel["httponly"], morsel["max-age"] = "/", True, _YEAR
    # Inside another site's frame (a hosted Space) browsers send only SameSite=None cookies.
    morsel["samesite"], morsel["secure"] = ("None", True) if https else ("Lax", "")
    return morsel.OutputString()


def _is_https(scope: Scope) -> bool:
    forwarded = HTTPConnection(scope).headers.get("x-forwarded-proto", scope["scheme"])
    return forwarded.split(",")[0].strip() == "https"


def visitor(request: gr.Request) -> str:
    """Return the name under which the visitor's rounds and votes are kept.

    A browser that refuses cookies is known by its session, until the page is reloaded.
    """
    return name_of(request.cookies, request.session_hash)


def has_cookie(cookies: Mapping[str, str]) -> bool:
    """Tell whether a browser has sent the cookie."""
    return bool(_VALID.fullmatch(cookies.get(COOKIE, "")))


def name_of(cookies: Mapping[str, str], session: str | None) -> str:
    """Return the name of whoever sends these cookies, or else claims this session."""
    secret = f"cookie {cookies[COOKIE]}" if has_cookie(cookies) else f"session {session}"
    return hashlib.blake2b(secret.encode(), digest_size=8).hexdigest()
