"""Who is asking: somebody who has signed in; else a cookie that page scripts cannot read.

Gradio's session hash is chosen by the client and travels in query strings, so it proves nothing.
The cookie, random or that of a link of one's own, is what a round belongs to. Its hash is the
voter's name in the store. Whoever came by a link or has signed in is known by the pseudonym that
goes with it, on any device.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from http.cookies import SimpleCookie
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import parse_qs

import gradio as gr
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coupled_arena.battles.members import Member
from coupled_arena.core.language import N_, _, language
from coupled_arena.store.annotators import Annotator, Annotators

# Where a visitor comes from: the address that is counted, and stored nowhere.

_log = logging.getLogger(__name__)
_LONGEST = 64  # characters of what a proxy calls an address and is none
_HOME = 64  # bits of an IPv6 address that one connection to the internet has
_MAPPED = 96  # bits before an IPv4 address in an IPv6 one


def address_of(request: gr.Request | HTTPConnection) -> str:
    """Return where a request comes from; of IPv6 the /64, for whoever has one has all of it."""
    client = request.client
    return place_of(client.host if client else "")


def place_of(host: str) -> str:
    """Return what is counted as one address."""
    try:
        found = ip_address(host)
    except ValueError:
        return host[:_LONGEST]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(IPv6Network((int(found), _HOME), strict=False))
    return str(found)


def trusted(proxies: Sequence[str]) -> list[str]:
    """Return proxies for uvicorn, IPv4 ones also as a socket that takes both kinds sees them."""
    networks = list(map(ip_network, proxies))
    mapped = [
        str(IPv6Network((f"::ffff:{each.network_address}", _MAPPED + each.prefixlen)))
        for each in networks
        if isinstance(each, IPv4Network)
    ]
    return [*map(str, networks), *mapped]


class UnnamedProxy:
    """Says once that a proxy near by speaks for visitors, and that the settings name none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._warned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if not self._warned and scope["type"] == "http" and _is_forwarded(HTTPConnection(scope)):
            self._warned = True
            _log.warning(
                "A proxy speaks for visitors, and `proxies` of [limits] names none: all who come "
                "through it count as one address."
            )
        await self._app(scope, receive, send)


def _is_forwarded(request: HTTPConnection) -> bool:
    if "x-forwarded-for" not in request.headers or request.client is None:
        return False
    try:
        return ip_address(request.client.host).is_private
    except ValueError:
        return False


COOKIE = "coupled_arena_visitor"
LINK = "annotator"  # what a link's query string calls its token
_YEAR = 365 * 24 * 3600
_VALID = re.compile(r"[0-9a-f]{32}")
_TOKEN = re.compile(r"[0-9a-f]{40}")  # no other cookie of ours is as long
_NOT_VALID = N_("This link is not valid (any more). Ask its sender for a new one.")
_GO_ON = N_(
    'This link is not valid (any more). Ask its sender for a new one, or <a href="./">go on '
    "without it</a>. Your votes then count as those of a new voter, unless the page shows "
    "your name."
)
_REFUSED = """<!doctype html>
<html lang="{language}"><meta name="viewport" content="width=device-width">
<title>Coupled Arena</title>
<style>:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui; margin: 2rem; }}</style>
<p>{words}</p></html>
"""


class VisitorCookie:
    """Middleware that gives every new visitor a cookie, and knows the annotators' links.

    Parameters
    ----------
    arrives : callable, optional
        Called with the name of a known visitor who asks for the page: once more, then.
    annotators : Annotators, optional
        Who has a link; without them nobody has.
    """

    def __init__(
        self,
        app: ASGIApp,
        arrives: Callable[[str], object] | None = None,
        annotators: Annotators | None = None,
    ) -> None:
        self._app = app
        self._arrives = arrives
        self._annotators = annotators

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, adding the cookie to the answer where the visitor has none."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        cookies, page = HTTPConnection(scope).cookies, scope["path"] == "/"
        if page and (answer := self._door(scope, cookies)):
            await answer(scope, receive, send)
            return
        scope.setdefault("state", {})["annotator"] = self._find(cookies.get(COOKIE, ""))
        known = has_cookie(cookies)
        if self._arrives and known and page:
            self._arrives(name_of(HTTPConnection(scope), None))
        await self._app(scope, receive, send if known else _adding_cookie(scope, send))

    def _door(self, scope: Scope, cookies: Mapping[str, str]) -> Response | None:
        """Return what whoever comes by a link is answered in place of the page.

        It changes nothing on the server: programs that look at links before people do may ask.
        """
        given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        if link := given.get(LINK):
            if self._find(link[0]) is None:
                return HTMLResponse(_refused(), 404, headers)
            headers["Set-Cookie"] = cookie_of(COOKIE, link[0], scope)
            return RedirectResponse("./", 303, headers)
        mine = cookies.get(COOKIE, "")
        if _TOKEN.fullmatch(mine) and self._find(mine) is None:
            headers["Set-Cookie"] = _new_cookie(scope)
            return HTMLResponse(_refused(), 404, headers)
        return None

    def _find(self, token: str) -> Annotator | None:
        if self._annotators is None or not _TOKEN.fullmatch(token):
            return None
        return self._annotators.find(token)


def _refused() -> str:
    return _REFUSED.format(language=language(), words=_(_GO_ON))


def _adding_cookie(scope: Scope, send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).append("set-cookie", _new_cookie(scope))
        await send(message)

    return wrapped


def _new_cookie(scope: Scope) -> str:
    return cookie_of(COOKIE, secrets.token_hex(16), scope)


def cookie_of(name: str, value: str, scope: Scope, seconds: int = _YEAR) -> str:
    """Return a cookie that page scripts cannot read, as the header that sets it."""
    https = _is_https(scope)
    cookie: SimpleCookie = SimpleCookie()
    cookie[name] = value
    morsel = cookie[name]
    morsel["path"], morsel["httponly"], morsel["max-age"] = "/", True, seconds
    # Inside another site's frame (a hosted Space) browsers send only SameSite=None cookies, and
    # those that block what follows people from site to site only partitioned ones.
    morsel["samesite"], morsel["secure"] = ("None", True) if https else ("Lax", "")
    return morsel.OutputString() + ("; Partitioned" if https else "")


def _is_https(scope: Scope) -> bool:
    forwarded = HTTPConnection(scope).headers.get("x-forwarded-proto", scope["scheme"])
    return forwarded.split(",")[0].strip() == "https"


def visitor(request: gr.Request) -> str:
    """Return the name under which the visitor's rounds and votes are kept.

    A browser that refuses cookies is known by its session, until the page is reloaded.

    Raises
    ------
    gr.Error
        They came by a link that was revoked since.
    """
    by_link = _TOKEN.fullmatch(request.cookies.get(COOKIE, "")) and not member_of(request)
    if by_link and annotator_of(request) is None:
        raise gr.Error(_(_NOT_VALID), print_exception=False)
    return name_of(request, request.session_hash)


def member_of(request: gr.Request | HTTPConnection) -> Member | None:
    """Return who asks, if they have signed in."""
    return getattr(request.state, "member", None)


def annotator_of(request: gr.Request | HTTPConnection) -> Annotator | None:
    """Return who asks, if they came by a link that holds."""
    return getattr(request.state, "annotator", None)


def has_cookie(cookies: Mapping[str, str]) -> bool:
    """Tell whether a browser has sent the cookie."""
    value = cookies.get(COOKIE, "")
    return bool(_VALID.fullmatch(value) or _TOKEN.fullmatch(value))


def name_of(request: gr.Request | HTTPConnection, session: str | None) -> str:
    """Return the name of whoever asks, or else claims this session."""
    if member := member_of(request):
        return member.voter
    if annotator := annotator_of(request):
        return annotator.voter
    cookies = request.cookies
    secret = f"cookie {cookies[COOKIE]}" if has_cookie(cookies) else f"session {session}"
    return hashlib.blake2b(secret.encode(), digest_size=8).hexdigest()
