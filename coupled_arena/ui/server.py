"""The web server: the page, its health, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

import gradio as gr
import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware

from coupled_arena.battles.annotation import Annotation
from coupled_arena.core.settings import Settings, resource
from coupled_arena.services import Services, open_services
from coupled_arena.store.transfer.snapshots import snapshot_needs
from coupled_arena.ui.connections import Leaving, patient
from coupled_arena.ui.health import Health, health_check
from coupled_arena.ui.layout import build
from coupled_arena.ui.metrics import metrics
from coupled_arena.ui.parts.answer_stream import answer_stream
from coupled_arena.ui.parts.doors import Doors
from coupled_arena.ui.parts.hub import attach_hub
from coupled_arena.ui.parts.identity import ICON, Identity, preview
from coupled_arena.ui.parts.judged import judgement_stream
from coupled_arena.ui.parts.origin import UnnamedProxy, trusted
from coupled_arena.ui.parts.page import Page
from coupled_arena.ui.parts.policy import ContentPolicy
from coupled_arena.ui.parts.script_texts import script
from coupled_arena.ui.parts.sign_in import SignIn
from coupled_arena.ui.parts.texts import texts
from coupled_arena.ui.parts.uploads import LARGEST, Uploads
from coupled_arena.ui.parts.visitor import VisitorCookie
from coupled_arena.ui.sessions import keep_sessions
from coupled_arena.ui.theme import theme
from coupled_arena.ui.waiting import holding, listen

_log = logging.getLogger(__name__)
_MAX_EVENTS = 400  # running events of all visitors; each watched round is one
_LOOK = 0.01  # seconds between looks at the queue of events while it is empty
_LAST_ANSWERS = 2  # seconds that open connections get once the server stops


def launch(settings: Settings, *, annotate: bool = False) -> None:
    """Serve the page until SIGINT or SIGTERM; rounds that run are then stored as stopped.

    Until models are loaded the page says how far that is.

    Raises
    ------
    ArenaError
        The port is taken, or what `open_services` raises.
    """
    with listen(settings) as listening, ExitStack() as opened:
        with holding(listening):
            services = opened.enter_context(open_services(settings, annotate=annotate))
            server = _Server(services, _address(listening))
        # The signal that stopped the server comes again once it has stopped.
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Says where it is open; ends rounds before connections."""

    def __init__(self, services: Services, address: str) -> None:
        proxies = services.settings.limits.proxies
        super().__init__(configured(_application(services), proxies))
        self._services = services
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _log.info("Coupled Arena is open at %(address)s", {"address": self._address})

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # While pages are still connected: they show where their answers stopped.
        await asyncio.to_thread(self._services.arena.close)
        await super().shutdown(sockets)


def configured(application: FastAPI, proxies: Sequence[str]) -> uvicorn.Config:
    """Return how an application is served, behind these proxies if any."""
    if not proxies:
        application.add_middleware(UnnamedProxy)
    return uvicorn.Config(
        Leaving(application),
        **patient(trusted(proxies)),
        log_config=None,  # the program has one log
        # By itself uvicorn believes whoever speaks from this machine, or is in a variable.
        proxy_headers=bool(proxies),
        forwarded_allow_ips=trusted(proxies),
        timeout_graceful_shutdown=_LAST_ANSWERS,
    )


def _application(services: Services) -> FastAPI:
    """Return the page and ``/healthz`` as one application."""
    watched = None if isinstance(services.arena, Annotation) else services.arena
    policy = Middleware(ContentPolicy, services.settings.frames)
    cookie = Middleware(VisitorCookie, watched and watched.expect, services.annotators)
    application = FastAPI(
        middleware=[policy, *_way_in(services), cookie, Middleware(Identity)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    streams = [answer_stream(watched)] if watched else []
    streams += [judgement_stream(services.judged)] if services.judged else []
    health = Health(services.store, services.arena, services.backup)
    worker = watched and watched.worker
    checked = health_check(
        health,
        lambda: worker.away if worker else 0,
        lambda: len(worker.left_out) - worker.away if worker else 0,
    )
    refused: Counter[int] = Counter()  # requests, by status
    told = metrics(services, health, refused)
    for router in (*streams, texts(), preview(), checked, *told):
        application.include_router(router)
    if services.members.by_hub:
        attach_hub(application)
    path = services.store.path
    uploads = Uploads(lambda: snapshot_needs(path) if path else 0)
    application.router.on_shutdown.append(uploads.close)
    _mount(application, build(services), refused, uploads)
    return application


def _way_in(services: Services) -> list[Middleware]:
    if services.settings.access.sign_in == "none":
        return []
    return [Middleware(SignIn, services.members, services.limits, services.annotators)]


def _mount(application: FastAPI, page: Page, refused: Counter[int], uploads: Uploads) -> None:
    """Put the page at the root of an application, behind doors."""
    page.max_threads = _MAX_EVENTS
    page.app_id = secrets.randbits(52)  # Gradio's has more digits than numbers in scripts
    page.queue(default_concurrency_limit=None)
    _quieten(page._queue)
    gr.mount_gradio_app(
        application,
        page,
        "/",
        theme=theme(),
        css_paths=[resource("assets/arena.css")],
        head="".join(map(script, ("stream", "address", "sort", "enter"))),
        favicon_path=str(resource(ICON)),
        max_file_size=LARGEST,  # the browser says so before it sends any of it
        footer_links=[],
        run_history=False,
        show_error=False,
    )
    mounted: Any = application.routes[-1]
    # The queue starts with the server; a visitor's request must not start it a second time.
    mounted.app.startup_events_triggered = True
    keep_sessions(application, page)
    events = {number for number, event in page.fns.items() if event.fn}
    direct = {number for number in events if page.fns[number].queue is False}
    server = str(page.app_id)
    mounted.app = Doors(mounted.app, events, direct, refused, uploads, server)


def _quieten(events: Any) -> None:
    """Keep Gradio's queue of events from work that nobody needs."""
    # It looks for events a thousand times a second, for which an idle server took a twentieth of a
    # processor.
    events.sleep_when_free = _LOOK
    # After each event it made a table of the last 10,000, in any of its threads, for a page that
    # nobody is shown: 80 MB, and more of a processor the more events there were.
    events.ANAYLTICS_CACHE_FREQUENCY = sys.maxsize  # so it is spelt there
    events.ANALYTICS_MAX_EVENTS = 1


def _address(listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
