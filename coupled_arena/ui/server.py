"""The web server: the page, its health, how it ends, and what it keeps of each open page."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import secrets
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, cast

import gradio as gr
import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from gradio.state_holder import SessionState, StateHolder
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from coupled_arena.battles.annotation import Annotation
from coupled_arena.core.guards import AccessSettings
from coupled_arena.core.settings import Settings, resource
from coupled_arena.services import Services, open_services
from coupled_arena.store.transfer.example import example_database, example_settings
from coupled_arena.store.transfer.snapshots import snapshot_needs
from coupled_arena.ui.connections import Leaving, patient
from coupled_arena.ui.example import Example
from coupled_arena.ui.layout import build, offers_example, theme
from coupled_arena.ui.monitoring import Health, health_check, metrics
from coupled_arena.ui.parts.answer_stream import answer_stream
from coupled_arena.ui.parts.events import Page
from coupled_arena.ui.parts.held_back import HeldBack
from coupled_arena.ui.parts.identity import ICON, Identity, explained_terms, preview, script
from coupled_arena.ui.parts.judge_feedback import judgement_stream
from coupled_arena.ui.parts.panel import texts
from coupled_arena.ui.parts.request_filter import ContentPolicy, RequestFilter
from coupled_arena.ui.parts.sign_in import SignIn, attach_hub
from coupled_arena.ui.parts.uploads import LARGEST, Uploads
from coupled_arena.ui.parts.visitor import UnnamedProxy, VisitorCookie, trusted
from coupled_arena.ui.waiting import holding, listen

_log = logging.getLogger(__name__)
_MAX_EVENTS = 400  # running events of all visitors; each watched round is one
_LOOK = 0.01  # seconds between looks at the queue of events while it is empty
_LAST_ANSWERS = 2  # seconds that open connections get once the server stops


def launch(settings: Settings, *, annotate: bool = False, example: bool = False) -> None:
    """Serve the page until SIGINT or SIGTERM; rounds that run are then stored as stopped.

    Until models are loaded the page says how far that is.

    Raises
    ------
    ArenaError
        The port is taken, or what `open_services` raises.
    """
    with listen(settings) as listening, ExitStack() as opened:
        with holding(listening):
            services = opened.enter_context(
                open_services(settings, annotate=annotate, example=example)
            )
            server = _Server(services, _address(listening))
        gc.collect()
        gc.freeze()  # to look through models and libraries took .3 s, in mid-answer
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
    streams += [judgement_stream(services.judge_feedback)] if services.judge_feedback else []
    health = Health(services.store, services.arena, services.backup)
    worker = watched and watched.worker
    checked = health_check(
        health,
        lambda: worker.away if worker else 0,
        lambda: len(worker.left_out) - worker.away if worker else 0,
    )
    refused: Counter[int] = Counter()  # requests, by status
    metric_routes = metrics(services, health, refused)
    for router in (*streams, texts(), preview(), checked, *metric_routes):
        application.include_router(router)
    if services.members.by_hub:
        attach_hub(application)
    if offers_example(services):
        example = Example(lambda: _example_beside(services.settings))
        application.router.routes += example.routes
        application.router.on_shutdown.append(example.close)
    _put_page(application, services, refused)
    return application


@contextmanager
def _example_beside(settings: Settings) -> Iterator[FastAPI]:
    """Open the example as an application below a path of an arena.

    The arena has the doors, the visitor's cookie and the health of the server.
    """
    with example_database() as path:
        behind = example_settings(settings, path).model_copy(update={"access": AccessSettings()})
        with open_services(behind, annotate=True, example=True) as services:
            application = FastAPI(
                middleware=[Middleware(Identity)], docs_url=None, redoc_url=None, openapi_url=None
            )
            for router in (texts(), preview()):
                application.include_router(router)
            _put_page(application, replace(services, beside=True), Counter())
            yield application


def _put_page(application: FastAPI, services: Services, refused: Counter[int]) -> None:
    path = services.store.path
    uploads = Uploads(lambda: snapshot_needs(path) if path else 0)
    application.router.on_shutdown.append(uploads.close)
    page, held_back = build(services)
    _mount(application, page, refused, uploads, held_back)


def _way_in(services: Services) -> list[Middleware]:
    if services.settings.access.sign_in == "none":
        return []
    return [Middleware(SignIn, services.members, services.limits, services.annotators)]


def _mount(
    application: FastAPI,
    page: Page,
    refused: Counter[int],
    uploads: Uploads,
    held_back: HeldBack | None,
) -> None:
    """Put the page at the root of an application, behind doors."""
    page.max_threads = _MAX_EVENTS
    if find_spec("matplotlib") is None:  # Gradio looks through all folders for it, twice an event
        sys.modules["matplotlib"] = None  # type: ignore[assignment]
    page.app_id = secrets.randbits(52)  # Gradio's has more digits than numbers in scripts
    page.queue(default_concurrency_limit=None)
    _quieten(page._queue)
    gr.mount_gradio_app(
        application,
        page,
        "/",
        theme=theme(),
        css_paths=[resource("assets/arena.css")],
        head="".join(
            [
                *map(script, ("stream", "address", "sort", "enter", "ask", "phone")),
                explained_terms(),
            ]
        ),
        favicon_path=str(resource(ICON)),
        max_file_size=LARGEST,  # the browser says so before it sends any of it
        footer_links=[],
        run_history=False,
        show_error=False,
    )
    mounted: Any = application.routes[-1]
    # The queue starts with the server; a visitor's request must not start it a second time.
    mounted.app.startup_events_triggered = True
    _spare_sign_in(mounted.app.router)
    _put_first(mounted.app.router)
    keep_sessions(application, page)
    events = {number for number, event in page.fns.items() if event.fn}
    direct = {number for number in events if page.fns[number].queue is False}
    server = str(page.app_id)
    parts = refused, uploads, server, held_back
    mounted.app = RequestFilter(mounted.app, events, direct, *parts)


def _spare_sign_in(router: APIRouter) -> None:
    """Take away Gradio's look for its own sign-in, which this page has in a middleware instead.

    Each event waited for it in a thread, twice.
    """
    for route in router.routes:
        if included := getattr(route, "original_router", None):
            _spare_sign_in(included)
        elif isinstance(route, APIRoute):
            # Of a router within another the first list is read, of the outermost the second.
            needs, asked = route.dependencies, route.dependant.dependencies
            needs[:] = [each for each in needs if not _looks(each.dependency)]
            asked[:] = [each for each in asked if not _looks(each.call)]


def _looks(called: object) -> bool:
    return getattr(called, "__name__", "") == "login_check"


def _put_first(router: APIRouter) -> None:
    """Let the paths of events be looked for before all others of Gradio's.

    A request is compared with one path after the other, and an event is two requests. These paths
    were among the last of some hundred.
    """
    for route in router.routes:
        if included := getattr(route, "original_router", None):
            _put_first(included)
    first = {"/gradio_api/queue/join", "/gradio_api/queue/data"}
    router.routes.sort(
        key=lambda route: (
            not (hasattr(route, "original_router") or getattr(route, "path", "") in first)
        )
    )


def _quieten(events: Any) -> None:
    """Keep Gradio's queue of events from work that nobody needs."""
    # It looks for events a thousand times a second, for which an idle server took a twentieth of a
    # processor.
    events.sleep_when_free = _LOOK
    # After each event it made a table of the last 10,000, in any of its threads, for a page that
    # nobody is shown: 80 MB, and more of a processor the more events there were.
    events.ANAYLTICS_CACHE_FREQUENCY = sys.maxsize  # so it is spelt there
    events.ANALYTICS_MAX_EVENTS = 1
    # It told everybody who waits, at each event that began, how many are before them. A hundred
    # people who asked and voted were sent 3,273 messages; 600 are for the page.
    events.broadcast_estimations = _tell_nobody


def _tell_nobody(concurrency_id: str, after: int | None = None) -> None:
    pass


def _address(listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


# What the server keeps of each page that somebody has open, and for how long.

_AFTER_CLOSING = timedelta(hours=1)  # a laptop wakes up, and its page goes on
_HEARTBEAT = "/gradio_api/heartbeat/"


def keep_sessions(application: FastAPI, page: gr.Blocks) -> None:
    """Give a page, as it was mounted last on an application, sessions of this kind."""
    mounted: Any = application.routes[-1]
    sessions = mounted.app.state_holder = Sessions()
    sessions.set_blocks(page)
    mounted.app = Heartbeats(mounted.app, sessions.open)


class Heartbeats:
    """Counts the heartbeats of each page: one that has any is open.

    Gradio takes a page for closed once its heartbeat has ended, though the page has another one. A
    network that was away for a moment ends heartbeats. And the end of the old one may be noticed
    when the new one has begun.

    Parameters
    ----------
    open_pages : Counter of str
        Heartbeats, by the session of their page.
    """

    def __init__(self, app: ASGIApp, open_pages: Counter[str]) -> None:
        self._app = app
        self._open = open_pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if not path.startswith(_HEARTBEAT):
            await self._app(scope, receive, send)
            return
        session = path.removeprefix(_HEARTBEAT)
        self._open[session] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[session] -= 1
            if not self._open[session]:
                del self._open[session]


class Sessions(StateHolder):
    """Gradio's sessions, small, and forgotten once their pages are closed and unused for an hour.

    Gradio's own take 0.4 MB each and are kept until there are 10,000 of them, which is 4 GB.

    Attributes
    ----------
    open : Counter of str
        Heartbeats, by session.
    """

    def __init__(self) -> None:
        super().__init__()
        self.open: Counter[str] = Counter()

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self:
            self.session_data[session_id] = _Session(self.blocks)
        return super().__getitem__(session_id)

    def delete_all_expired_state(self) -> None:
        """Forget values that have expired, and pages that were closed; Gradio asks every second."""
        super().delete_all_expired_state()
        before = datetime.now() - _AFTER_CLOSING  # noqa: DTZ005 (Gradio's times are local)
        with self.lock:
            own = cast("dict[str, _Session]", self.session_data)  # made by `__getitem__` alone
            for session_id, session in list(own.items()):
                if session.closed_at is None or session_id in self.open:
                    continue
                if max(self.time_last_used[session_id], session.closed_at) < before:
                    del self.session_data[session_id], self.time_last_used[session_id]


class _Session(SessionState):
    """A session without copies of the settings of all components.

    They are for links to a page as it is (deep links), which this page has none of. To make them
    took a twentieth of a second of the event loop for each name of a session that anybody made up.
    And at each event Gradio made anew those of all components that the event reads or changes.
    """

    closed_at: datetime | None = None  # when a heartbeat of the page ended, if one has

    def __init__(self, page: gr.Blocks) -> None:
        without: Any = SimpleNamespace(default_config=page.default_config, blocks=())
        super().__init__(without)
        self.blocks_config.config_for_block = _no_settings  # type: ignore[method-assign]
        # A round that began an hour ago would be gone with the first heartbeat that is lost. Values
        # are forgotten with their session.
        self.STATE_TTL_WHEN_CLOSED = math.inf

    @property
    def is_closed(self) -> bool:
        """Whether a heartbeat of the page has ended."""
        return self.closed_at is not None

    @is_closed.setter
    def is_closed(self, ended: bool) -> None:
        self.closed_at = datetime.now() if ended else None  # noqa: DTZ005


def _no_settings(*_block: object) -> dict[str, Any]:
    return {}
