"""The way in, where people sign in, by password or by the hub: before it, the page says nothing."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import parse_qs

from fastapi import FastAPI
from gradio.oauth import attach_oauth
from gradio.utils import get_space
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from coupled_arena.battles.limits import Limits
from coupled_arena.battles.members import SIGNED_IN, Member, Members
from coupled_arena.core.errors import LimitError, SettingsError, StoreError
from coupled_arena.core.extras import require
from coupled_arena.core.language import N_, _
from coupled_arena.store.annotators import Annotators
from coupled_arena.ui.parts.example_link import EXAMPLE
from coupled_arena.ui.parts.identity import DESCRIPTION, NAME
from coupled_arena.ui.parts.plain_page import plain_page
from coupled_arena.ui.parts.visitor import COOKIE, LINK, address_of, cookie_of

_log = logging.getLogger(__name__)
MEMBER = "coupled_arena_member"
_AT_ONCE = 2  # passwords that are checked: each takes a moment and 16 MB
_LARGEST = 1 << 12  # bytes of a form
_OPEN = frozenset({"/healthz", "/metrics", "/favicon.ico"})  # the second asks for a token itself
_PAGES = {"/": "login", f"/{EXAMPLE}/": "../login"}  # with the way from each to where one signs in
_HUB = frozenset({"/login/huggingface", "/login/callback", "/logout"})
_WRONG = N_("The name or the password is wrong.")
_BODY = Markup("""<h1>{name}</h1><p class="hint">{description}</p>
{said}<p id="kept" role="status" hidden>{kept}</p>{way}""")
_LOOK = Markup("""<script>
try {
  document.getElementById("kept").hidden = !sessionStorage.getItem("coupled-arena-kept");
} catch { /* a browser may forbid it */ }
</script>""")
# What `assets/connection.js` keeps is there once somebody is signed in.
_KEPT = N_("You are not signed in any more. Sign in: the page then has your text.")
_FORM = Markup("""<form method="post" action="login">
<label>{name} <input name="name" autocomplete="username" required autofocus></label>
<label>{password} <input name="password" type="password" autocomplete="current-password" required>
</label><button class="button">{enter}</button></form>""")
_SAID = Markup('<p role="alert">{}</p>')
# Not in a frame: the hub's own page of signing in does not show itself in one.
_LINK = Markup('<a class="button" href="login/huggingface" target="_blank" rel="opener">{}</a>')


class SignIn:
    """Middleware that knows who has signed in, and lets in nobody else where that is required.

    Whoever has an annotator's link needs no password.

    Parameters
    ----------
    limits : Limits
        How many wrong passwords are read.
    """

    def __init__(
        self, app: ASGIApp, members: Members, limits: Limits, annotators: Annotators
    ) -> None:
        self._app = app
        self._members = members
        self._limits = limits
        self._annotators = annotators
        self._checking = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        member = self._member(request)
        scope.setdefault("state", {})["member"] = member
        answer = await self._answer(request, member)
        await (answer or self._app)(scope, receive, send)

    def _member(self, request: Request) -> Member | None:
        if self._members.by_hub:
            return self._members.of_hub(request.scope.get("session", {}))
        return self._members.of_token(request.cookies.get(MEMBER, ""))

    async def _answer(self, request: Request, member: Member | None) -> Response | None:
        """Return what is answered in place of the page; None where that is open."""
        path = request.scope["path"]
        if path == "/login":
            return await self._login(request)
        if path == "/logout":
            return await asyncio.to_thread(self._sign_out, request)
        if member or not self._members.required or path in _OPEN or self._has_link(request):
            return None
        if self._members.by_hub and path in _HUB:
            return None
        if path in _PAGES and request.method == "GET":
            return RedirectResponse(_PAGES[path], 303, {"Cache-Control": "no-store"})
        return JSONResponse({"detail": "Not signed in"}, 401)

    def _sign_out(self, request: Request) -> Response | None:
        """End what lets somebody in, on the server too: a cookie may have been copied."""
        try:
            if self._members.by_hub:
                self._members.sign_out_of_hub(request.scope.get("session", {}))
            else:
                self._members.sign_out(request.cookies.get(MEMBER, ""))
        except StoreError as error:
            _log.error("Who signs out may be let in again after a start: %(why)s", {"why": error})
        # The hub's session is in a cookie that Gradio's own route takes away.
        return None if self._members.by_hub else _entering(request, "", 0)

    async def _login(self, request: Request) -> Response:
        if request.method != "POST" or self._members.by_hub:
            return self._page()
        try:
            name, password = await _form(request)
            with self._limits.sign_in(name, address_of(request)):
                async with self._checking:
                    known = await asyncio.to_thread(self._members.knows, name, password)
                if not known:
                    raise SettingsError(_(_WRONG))
        except LimitError as error:
            return self._page(str(error), 429)
        except SettingsError as error:
            return self._page(str(error), 401)
        return _entering(request, self._members.token(name), SIGNED_IN)

    def _page(self, said: str = "", status: int = 200) -> Response:
        if self._members.by_hub:
            way = _LINK.format(_("Sign in with Hugging Face"))
        else:
            way = _FORM.format(name=_("Name"), password=_("Password"), enter=_("Sign in"))
        body = _BODY.format(
            name=NAME,
            description=_(DESCRIPTION),
            said=_SAID.format(said) if said else "",
            kept=_(_KEPT),
            way=way,
        )
        page = plain_page(_("Sign in to Coupled Arena"), body, script=_LOOK)
        return HTMLResponse(page, status, {"Cache-Control": "no-store"})

    def _has_link(self, request: Request) -> bool:
        coming = request.scope["path"] == "/" and LINK in request.query_params
        return coming or self._annotators.find(request.cookies.get(COOKIE, "")) is not None


def _entering(request: Request, token: str, seconds: int) -> Response:
    """Return the way to the page, with a cookie that says who somebody is, or is no more."""
    headers = {"Set-Cookie": cookie_of(MEMBER, token, request.scope, seconds)}
    return RedirectResponse("./", 303, {**headers, "Cache-Control": "no-store"})


async def _form(request: Request) -> tuple[str, str]:
    """Return name and password of a form; of what is none the empty ones, which nobody has."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            return "", ""
    sent = parse_qs(body.decode("latin-1"), errors="replace")
    return sent.get("name", [""])[0], sent.get("password", [""])[0]


# Signing in by the hub: Gradio's routes, on the application that the page is mounted on.


def attach_hub(application: FastAPI) -> None:
    """Let the hub say who somebody is; the session that it opens is there for all that follows.

    Raises
    ------
    SettingsError
        This is no Space, or one that may not ask the hub, or a package is missing.
    """
    if get_space() is None:  # Gradio would take whoever runs the program for everybody
        raise SettingsError("sign_in = 'hub' works in a Space of the hub alone: use 'password'.")
    require("hub", "Signing in by the hub", SettingsError)
    try:
        attach_oauth(application)
    except ValueError as error:
        raise SettingsError(
            "The hub lets nobody sign in here: put hf_oauth: true into the Space's front matter."
        ) from error
