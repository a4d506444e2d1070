"""The example beside an arena: the same page once more, below a path of the arena.

Nothing is there until somebody asks for it: then a second application is opened, once, on a
database of its own. Until it is there, whoever asks gets a page that waits. It is closed with the
server. This file knows nothing of what the application shows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from fastapi import FastAPI
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from coupled_arena.core.language import _
from coupled_arena.ui.parts.example_link import EXAMPLE
from coupled_arena.ui.parts.identity import NAME
from coupled_arena.ui.parts.plain_page import plain_page
from coupled_arena.ui.waiting import HEADERS, waiting_page

_log = logging.getLogger(__name__)
_FAILED = Markup("""<h1>{title}</h1><p role="alert">{words}</p>
<p><a href="./">{again}</a></p><p><a href="../">{back}</a></p>""")

_WAITS = "/healthz"  # what the page that waits asks; it loads itself once nothing goes on
Opened = AbstractContextManager[FastAPI]


class Example:
    """An application that is opened when it is first asked for.

    Parameters
    ----------
    opened : callable
        Opens it, which may take seconds, and closes it on leaving.
    """

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened
        self._application: ASGIApp | None = None
        self._task: asyncio.Task[None] | None = None
        self._failed = False  # and nobody has been told so yet
        self._closing = asyncio.Event()

    @property
    def routes(self) -> list[BaseRoute]:
        """Where it is asked for; they come before those of the arena's page."""
        return [Route(f"/{EXAMPLE}", _to_the_folder), Mount(f"/{EXAMPLE}", self)]

    async def close(self) -> None:
        """Close what was opened; what is being opened is waited for."""
        self._closing.set()
        if self._task:
            await self._task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if self._application and path != _WAITS:
            await self._application(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(path)(scope, receive, send)

    def _answer(self, path: str) -> Response:
        """Return what is said while there is no application."""
        if path == _WAITS:
            opens = self._runs and not self._application
            return JSONResponse({"doing": _doing()} if opens else {}, headers=HEADERS)
        if path == "/gradio_api/app_id" and not self._closing.is_set():
            # A page of before a restart asks it until some server answers, and then loads itself.
            return JSONResponse({"app_id": None}, headers=HEADERS)
        if path != "/" or self._closing.is_set():
            return JSONResponse({"detail": "Not ready"}, 503, HEADERS)
        if self._failed:
            self._failed = False
            return HTMLResponse(_failed_page(), 500, {"Cache-Control": "no-store"})
        if not self._runs:
            self._task = asyncio.create_task(self._serve(), name="example")
        return HTMLResponse(waiting_page(_doing()), headers=HEADERS)

    @property
    def _runs(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _serve(self) -> None:
        """Open the application, let it serve until the server stops, and close it."""
        with ExitStack() as opened:
            try:
                application = await asyncio.to_thread(opened.enter_context, self._opened())
                async with application.router.lifespan_context(application):
                    self._application = application
                    await self._closing.wait()
            except Exception:  # noqa: BLE001 (nobody else hears of what happens in this task)
                self._failed = True
                _log.exception("The example could not be opened")
            finally:
                self._application = None
                await asyncio.to_thread(opened.close)


def _to_the_folder(_: Request) -> Response:
    return RedirectResponse(f"{EXAMPLE}/", 307)


def _doing() -> str:
    return _("The example is being opened.")


def _failed_page() -> str:
    body = _FAILED.format(
        title=NAME,
        words=_("The example could not be opened; the log says why."),
        again=_("Try again"),
        back=_("Back to the arena"),
    )
    return plain_page(NAME, body, icon="../favicon.ico")
