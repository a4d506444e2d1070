"""What the port answers while the arena gets ready: models take a while to load."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.files import reason
from coupled_arena.core.language import _
from coupled_arena.core.settings import Settings
from coupled_arena.generation import loading
from coupled_arena.ui.connections import Listening, patient, raise_limit
from coupled_arena.ui.parts.plain_page import plain_page

_BACKLOG = 2048  # connections that wait to be taken, as uvicorn has it
_LAST_ANSWERS = 1  # seconds that open connections get once the arena is ready
_POLICY = "default-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
HEADERS = {"Retry-After": "2", "Cache-Control": "no-store", "Content-Security-Policy": _POLICY}
_METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
_BODY = Markup("""<h1>Coupled Arena</h1>
<p role="status">{doing}</p>
<p class="hint">{opens}</p>""")
_RELOADED = Markup('<noscript><meta http-equiv="refresh" content="3"></noscript>')
_LOOK = Markup("""<script>
const said = document.querySelector("[role=status]");
const look = async () => {
  try {
    const answer = await fetch("healthz", { cache: "no-store" });
    const { doing } = await answer.json();
    if (doing === undefined) { window.location.reload(); return; }
    if (said.textContent !== doing) said.textContent = doing;
  } catch { /* it stops, or it changes over */ }
  setTimeout(look, 1000);
};
setTimeout(look, 1000);
</script>""")


class _Progress(logging.Handler):
    """Remembers which model the log says is being loaded."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.line = _("The arena gets ready.")

    def emit(self, record: logging.LogRecord) -> None:
        loads = getattr(record, loading.LOADS, None)
        if loads:  # other lines may name files and servers of the host
            name, *place = loads
            words = _("Loading {name}, {n} of {all}.") if place else _("Loading {name}.")
            self.line = words.format(name=name, **dict(zip(("n", "all"), place, strict=False)))


@contextmanager
def holding(listening: socket.socket) -> Iterator[None]:
    """Answer everybody how far the loading of models has come, until the block is left."""
    progress, log = _Progress(), logging.getLogger(loading.__name__)
    config = uvicorn.Config(
        _application(progress),
        **patient(),
        log_config=None,
        timeout_graceful_shutdown=_LAST_ANSWERS,
    )
    server = uvicorn.Server(config)
    # uvicorn closes the sockets it was given; this one goes on to listen.
    own = [listening.dup()]
    thread = threading.Thread(target=server.run, args=(own,), name="waiting-page", daemon=True)
    log.addHandler(progress)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        log.removeHandler(progress)


def _application(progress: _Progress) -> Starlette:
    def health(_: Request) -> Response:
        status = {
            "status": "unavailable",
            "ailing": ["engine"],
            "parts": {"engine": "models are being loaded"},
            "doing": progress.line,
        }
        return JSONResponse(status, 503, HEADERS)

    def page(_: Request) -> Response:
        return HTMLResponse(waiting_page(progress.line), 503, HEADERS)

    return Starlette(
        routes=[Route("/healthz", health), Route("/{path:path}", page, methods=_METHODS)]
    )


def waiting_page(doing: str) -> str:
    """Return the page that says what goes on, and loads itself once ``healthz`` says nothing."""
    opens = _("The page opens by itself as soon as it is ready.")
    body = _BODY.format(doing=doing, opens=opens)
    # The server that waits has no icon, and a request for it would be answered by this page.
    title = _("Coupled Arena gets ready")
    return plain_page(title, body, script=_LOOK, head=_RELOADED, icon="data:,")


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say.

    Raises
    ------
    SettingsError
        The port is taken.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Of sockets that do not name their protocol asyncio holds back small answers, for 40 ms each.
    raise_limit()
    listening = Listening(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(_BACKLOG)
    except (OSError, TypeError) as error:  # of names that cannot be one of a host
        listening.close()
        raise SettingsError(
            f"Port {settings.port} of {settings.host} cannot be used ({reason(error)}): "
            "choose another with --port or --host."
        ) from error
    return listening
