"""What the server keeps of each page that somebody has open, and for how long."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import gradio as gr
from fastapi import FastAPI
from gradio.state_holder import SessionState, StateHolder
from starlette.types import ASGIApp, Receive, Scope, Send

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

    Gradio takes a page for closed once its heartbeat has ended, though the page has another one: a
    network that was away for a moment ends heartbeats. And the end of the old one may be noticed
    when the new one has begun.

    Parameters
    ----------
    app : ASGI application
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
    Gradio makes anew those that it misses.
    """

    closed_at: datetime | None = None  # when a heartbeat of the page ended, if one has

    def __init__(self, page: gr.Blocks) -> None:
        without: Any = SimpleNamespace(default_config=page.default_config, blocks=())
        super().__init__(without)
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
