"""The web server: the page, its health, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from typing import Any

import gradio as gr
import uvicorn
from fastapi import FastAPI
from gradio.themes import Soft
from starlette.middleware import Middleware
from starlette.responses import JSONResponse

from coupled_arena.battles.annotation import Annotation
from coupled_arena.core.errors import SettingsError
from coupled_arena.core.settings import Settings, resource
from coupled_arena.services import Services
from coupled_arena.ui.layout import build
from coupled_arena.ui.parts.answer_stream import answer_stream
from coupled_arena.ui.parts.visitor import VisitorCookie

_log = logging.getLogger(__name__)
_MAX_EVENTS = 400  # running events of all visitors; each watched round is one
_LOOK = 0.01  # seconds between looks at the queue of events while it is empty
_BACKLOG = 2048  # connections that wait to be taken, as uvicorn has it
_LAST_ANSWERS = 2  # seconds that open connections get once the server stops


def launch(services: Services) -> None:
    """Serve the page until SIGINT or SIGTERM; rounds that run are then stored as stopped.

    Raises
    ------
    SettingsError
        The port is taken.
    """
    with _listening(services.settings) as listening:
        config = uvicorn.Config(
            _application(services),
            log_level="warning",
            timeout_graceful_shutdown=_LAST_ANSWERS,
        )
        # The signal that stopped the server comes again once it has stopped.
        with suppress(KeyboardInterrupt):
            _Server(config, services, _address(listening)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Says where it is open; ends rounds before connections."""

    def __init__(self, config: uvicorn.Config, services: Services, address: str) -> None:
        super().__init__(config)
        self._services = services
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _log.info("Coupled Arena is open at %s", self._address)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # While pages are still connected: they show where their answers stopped.
        await asyncio.to_thread(self._services.arena.close)
        await super().shutdown(sockets)


def _application(services: Services) -> FastAPI:
    """Return the page and ``/healthz`` as one application."""
    page = build(services)
    page.max_threads = _MAX_EVENTS
    page.queue(default_concurrency_limit=None)
    # It looks for events a thousand times a second, for which an idle server took a twentieth of a
    # processor.
    page._queue.sleep_when_free = _LOOK
    watched = None if isinstance(services.arena, Annotation) else services.arena
    cookie = Middleware(VisitorCookie, watched and watched.expect)
    application = FastAPI(middleware=[cookie], docs_url=None, redoc_url=None, openapi_url=None)
    if watched:
        application.include_router(answer_stream(watched))

    @application.get("/healthz")
    def healthz() -> JSONResponse:
        """Answer 200 while people can vote, else 503; the log says what exactly is wrong."""
        ailing = services.ailing()
        status = {"status": "unavailable" if ailing else "ok", "ailing": ailing}
        return JSONResponse(status, 503 if ailing else 200)

    gr.mount_gradio_app(
        application,
        page,
        "/",
        theme=Soft(font="sans-serif", font_mono="monospace"),
        css_paths=[resource("assets/arena.css")],
        head=f"<script>{resource('assets/stream.js').read_text(encoding='utf-8')}</script>",
        footer_links=[],
        run_history=False,
        show_error=False,
    )
    mounted: Any = application.routes[-1]
    # The queue starts with the server; a visitor's request must not start it a second time.
    mounted.app.startup_events_triggered = True
    return application


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Of sockets that do not name their protocol asyncio holds back small answers, for 40 ms each.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"Port {settings.port} of {settings.host} cannot be used; choose another with --port."
        ) from error
    return listening


def _address(listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
