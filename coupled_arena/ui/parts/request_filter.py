"""Which requests reach Gradio, and what a browser may do for the page.

Requests pass if the page makes them, about events that it has.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coupled_arena.ui.parts.held_back import WHY, HeldBack
from coupled_arena.ui.parts.uploads import Uploads, lies_there

_READ = frozenset(
    {"/", "/config", "/favicon.ico", "/manifest.json", "/pwa_icon", "/robots.txt", "/theme.css"}
    | {f"/gradio_api/{name}" for name in ("queue/data", "upload_progress", "app_id")}
)
_FILE = "/gradio_api/file="
_HEARTBEAT = "/gradio_api/heartbeat/"
_FOLDERS = (
    *(f"/{name}/" for name in ("assets", "static", "svelte")),
    _FILE,
    _HEARTBEAT,
)
_UPLOAD = "/gradio_api/upload"
_WITHOUT_QUERY = frozenset({"/", "/config"})  # Gradio reads pages and stored states from it
_DIRECT = "/gradio_api/run/predict"
_CANCEL = "/gradio_api/cancel"
_RESET = "/gradio_api/reset"  # Gradio's does nothing, but for a 500 on half a surrogate pair
_JOIN = "/gradio_api/queue/join"
_EVENTS = frozenset({_JOIN, _DIRECT, _CANCEL})
_WRITTEN = _EVENTS | {_RESET, _UPLOAD}
_NOTHING = type(None)
_CANCELLED = {"session_hash": (str,), "event_id": (str,)}
_KINDS: dict[str, tuple[type, ...]] = {
    **{"data": (list,), "session_hash": (str, _NOTHING), "trigger_id": (int, _NOTHING)},
    # Parts that Gradio has for other programs.
    **dict.fromkeys(("batched", "event_id", "oauth_token", "simple_format"), (_NOTHING,)),
}
_SESSION = re.compile(r"[\w-]{1,64}", re.ASCII)
_PAGE = "x-arena-page"  # by which pages tell the server that they were loaded from
_LARGEST = 1 << 20  # bytes of an event; the longest question has half of it, every sign escaped
_MOST_COMMAS = 100_000  # in texts, too; to read half a million numbers takes long already
_MOST_PARTS = 20_000  # of half a million numbers one event held everybody for .3 s
# Events that enter the queue at a time, and turns of the event loop before another takes the place
# of one that has entered. Of four hundred in one moment each took a step in turn, and whoever
# opened the page waited for five seconds. So most that have entered are carried out before others.
# Where nobody else is served, so many turns take a tenth of a millisecond.
_ENTERING = 4
_TURNS = 40
_MOST_FILES = 100  # that one event names: each is looked for while everybody waits


class RequestFilter:
    """Lets requests of the page through to the application that Gradio mounts.

    Gradio answers many more: descriptions of itself, tools for its developers, calls by name, which
    nothing here needs. Others are told in one line that there is nothing, or what is wrong. And it
    copies any file of the host that an event names to where anybody can read it. Of a page that is
    mounted it does not ask whether that file was uploaded.

    Parameters
    ----------
    events : collection of int
        The numbers of the events that the server has something to do for.
    direct : collection of int
        Those of them that a page asks for beside the queue.
    refused : Counter of int
        Counts requests that were not let through, by status.
    uploads : ASGI application, optional
        Takes the files that visitors upload.
    server : str, optional
        What its pages call this server. To pages of another one the same numbers mean other
        events.
    held_back : HeldBack, optional
        Who is refused events that may tell a name, and files.
    """

    def __init__(
        self,
        app: ASGIApp,
        events: Container[int],
        direct: Container[int],
        refused: Counter[int] | None = None,
        uploads: ASGIApp | None = None,
        server: str = "",
        held_back: HeldBack | None = None,
    ) -> None:
        self._app = app
        self._events = events
        self._direct = direct
        self._refused = Counter() if refused is None else refused
        self._uploads = uploads or Uploads()
        self._server = server
        self._held_back = held_back
        self._entering = asyncio.Semaphore(_ENTERING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", "")).rstrip("/") or "/"
        reading = scope["method"] in {"GET", "HEAD"}
        if not (_is_read(path) if reading else path in _WRITTEN):
            await self._refuse(404, "Not Found")(scope, receive, send)
        elif path == _RESET:
            await JSONResponse({"success": True})(scope, receive, send)
        elif path in _EVENTS:
            await self._event(scope, receive, send, path)
        elif path == _UPLOAD:
            await self._uploads(scope, receive, send)
        elif path.startswith(_FILE) and await self._tells(scope, None):
            await self._refuse(403, WHY)(scope, receive, send)
        elif path in _WITHOUT_QUERY:
            await self._app({**scope, "query_string": b""}, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _event(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        """Serve a request about an event, once all of it is here and can be understood."""
        headers = Headers(scope=scope)
        if headers.get(_PAGE, self._server) != self._server:
            await self._refuse(409, "The server was started again.")(scope, receive, send)
            return
        body = await _body(headers, receive)
        wrong = "An event is smaller." if body is None else self._wrong(body, path)
        if body is None or wrong:
            status = 413 if body is None else 422
            await self._refuse(status, wrong)(scope, receive, send)
        elif await self._tells(scope, body):
            await self._refuse(403, WHY)(scope, receive, send)
        elif path == _JOIN:
            async with self._entering:
                await self._app(scope, _replayed(body, receive), send)
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
        else:
            await self._app(scope, _replayed(body, receive), send)

    async def _tells(self, scope: Scope, event: bytes | None) -> bool:
        """Tell whether an event, or a file, is held back from who asks for it."""
        if self._held_back is None:
            return False
        asked = {} if event is None else json.loads(event)
        if event is not None and asked["fn_index"] not in self._held_back.events:
            return False
        return await self._held_back.refuses(scope, asked.get("session_hash"))

    def _refuse(self, status: int, why: str) -> JSONResponse:
        self._refused[status] += 1
        return JSONResponse({"detail": why}, status)

    def _wrong(self, body: bytes, path: str) -> str:
        """Return what is wrong with an event for a path, empty if nothing is."""
        if body.count(b",") > _MOST_COMMAS:
            return "An event has fewer parts."
        try:
            request: Any = json.loads(body)
            files = _files(request)
        except (ValueError, RecursionError):
            return "An event is JSON, and not as deep."
        if files is None:
            return "An event has fewer parts."
        if not isinstance(request, dict):
            return "An event is a JSON object."
        number = request.get("fn_index")
        if type(number) is not int or number not in self._events:
            return "There is no such event."
        if path == _DIRECT and number not in self._direct:
            return "This event goes through the queue."
        if wrong := _misshapen(request, path):
            return f"This is no {wrong} of an event."
        if len(files) > _MOST_FILES:
            return f"An event names at most {_MOST_FILES} files."
        return "" if all(map(lies_there, files)) else "A file is uploaded before it is named."


def _is_read(path: str) -> bool:
    """Tell whether the page reads this.

    Of files only those that lie where uploads and exports do. Gradio fetches for whoever asks what
    has a scheme, in the server's name.
    """
    if path.startswith(_FILE):
        return lies_there(path.removeprefix(_FILE))
    if path.startswith(_HEARTBEAT):
        return _SESSION.fullmatch(path.removeprefix(_HEARTBEAT)) is not None
    return path in _READ or path.startswith(_FOLDERS)


def _misshapen(request: dict[str, Any], path: str) -> str:
    """Return which part of an event is of a kind that no page sends, empty if none is."""
    for name, kinds in (_CANCELLED if path == _CANCEL else _KINDS).items():
        value = request.get(name)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            return name
    session = request.get("session_hash")
    return "" if session is None or _SESSION.fullmatch(session) else "session_hash"


def _files(request: object) -> list[str] | None:
    """Return whatever looks like Gradio's name of a file; None of an event of too many parts."""
    found: list[str] = []
    left, parts = [request], 0
    while left:
        each = left.pop()
        inside = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        parts += len(inside)
        if parts > _MOST_PARTS:
            return None
        left += inside
        if isinstance(each, dict) and isinstance(name := each.get("path"), str):
            found.append(name)
    return found


async def _body(headers: Headers, receive: Receive) -> bytes | None:
    """Return what was sent; None if it is too much."""
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > _LARGEST:
        return None
    body, more = bytearray(), True
    while more and len(body) <= _LARGEST:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return None if len(body) > _LARGEST else bytes(body)


def _replayed(body: bytes, receive: Receive) -> Callable[[], Any]:
    """Return a channel that has a body once more, then what comes after it."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


# What a browser may do for the page: ask this server alone, whatever a text gets it to try.

# Gradio runs scripts that stand in the page.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors {frames}"
)


class ContentPolicy:
    """Middleware that tells browsers what they may do with what they get.

    Parameters
    ----------
    frames : sequence of str
        Sites that may show the page in a frame, beside this one.
    """

    def __init__(self, app: ASGIApp, frames: Sequence[str]) -> None:
        self._app = app
        self._policy = _POLICY.format(frames=" ".join(["'self'", *frames]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def wrapped(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-content-type-options"] = "nosniff"
                headers.setdefault("referrer-policy", "same-origin")
                if headers.get("content-type", "").startswith("text/html"):
                    headers["content-security-policy"] = self._policy
            await send(message)

        await self._app(scope, receive, wrapped if scope["type"] == "http" else send)
