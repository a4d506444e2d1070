"""How many connections are open, and for how long one may wait for its peer.

The database needs file descriptors, and DuckDB ends the process when there are none. So connections
take at most a part of them. A connection is closed when its peer does not send its request or does
not read its answer. An answer that goes on, such as a stream of events, is never cut.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from coupled_arena.core.language import N_, _
from coupled_arena.ui.parts.visitor import place_of

if sys.platform != "win32":
    import resource

_log = logging.getLogger(__name__)
_MOST = 4096  # connections, however many descriptors there are: each may hold 64 KB of a body
_MARGIN = 64  # descriptors that one turn of the event loop may take before others are closed
_PLENTY = 1 << 16  # descriptors; of more some programs that are started here grow slow
_REFUSED_AT_ONCE = 256  # connections, before the event loop does something else
_IDLE, _SEND_BODY = "IDLE", "SEND_BODY"  # of h11, which uvicorn alone names as a package it needs
_USED_UP = (errno.EMFILE, errno.ENFILE)
_LOOK = 5.0  # seconds between two looks at a connection
HEADER, BODY, READING = 15.0, 30.0, 60.0  # seconds that a peer has for each
_PACE = 1 << 14  # bytes; a body gets one more second for each, an answer `READING` for each
_GATHERED = 1 << 16  # bytes that are sent without waiting for more
_QUIET = 60.0  # seconds between two lines of the log
_FULL = N_("The server has too many open connections. Try again in a few seconds.")


def raise_limit() -> None:
    """Allow this process as many descriptors as the system lets it have."""
    if sys.platform == "win32":  # sockets are no descriptors there
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS has a second, lower limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, _PLENTY)), hard))


def _for_connections() -> int:
    """Return how many descriptors connections may have at most: a quarter is left to others."""
    if sys.platform == "win32":
        return _PLENTY
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 3 * min(soft, _PLENTY) // 4


class Listening(socket.socket):
    """A socket that listens, and whose connections leave descriptors to everything else.

    The kernel gives the lowest free descriptor. So the number of a new one tells how many are in
    use by the whole process, and nothing needs to be counted.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._end = _for_connections()
        self._spare = socket.socket()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; answer those for which there is no room, and close them.

        Raises
        ------
        BlockingIOError
            Nobody waits.
        """
        for _turn in range(_REFUSED_AT_ONCE):
            try:
                connection, address = super().accept()
            except OSError as error:
                if error.errno not in _USED_UP:
                    raise
                self._accept_with_the_spare()
                continue
            if sys.platform == "win32" or connection.fileno() < self._end:
                return connection, address
            _refuse(connection)
        raise BlockingIOError

    def _accept_with_the_spare(self) -> None:
        """Refuse a connection though no descriptor is free: else it would wait, and be told never.

        asyncio would log a line for each place in the queue, once a second.
        """
        self._spare.close()
        try:
            connection, _address = super().accept()
            _refuse(connection)
        finally:
            with suppress(OSError):
                self._spare = socket.socket()

    def close(self) -> None:
        """Close it."""
        self._spare.close()
        super().close()


def _refuse(connection: socket.socket) -> None:
    _tell()
    with connection, suppress(OSError):
        connection.setblocking(False)
        connection.send(_answer(503, _(_FULL)))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1 << 16)  # what lies unread would take the answer away from the peer


def _answer(status: int, words: str) -> bytes:
    """Return an answer by which a connection ends."""
    phrase = {408: "Request Timeout", 503: "Service Unavailable"}[status]
    body = words.encode()
    head = (
        f"HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Retry-After: 3\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Teller:
    """Says at most once a minute that there are too many connections."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + _QUIET
            _log.warning(
                "There are too many connections: those that have not asked for anything are "
                "closed, others refused. If so many people visit, raise the limit of open files."
            )


_tell = _Teller()


def patient(proxies: Sequence[str] = ()) -> dict[str, Any]:
    """Return what uvicorn is told so that it serves by such connections."""
    return {
        "http": partial(Patient, room=Room(proxies)),
        "ws": "none",
        # Its warnings are a line for each bad request, and anybody can send as many as they like.
        "log_level": "error",
    }


class Room:
    """The connections of a server: how many there may be, and which goes first.

    Parameters
    ----------
    proxies : sequence of str
        Addresses or networks, each of which may have all connections; others have half at most.
    most : int, optional
        Connections.
    """

    def __init__(self, proxies: Sequence[str] = (), most: int | None = None) -> None:
        self.most = min(_MOST, _for_connections() - _MARGIN) if most is None else most
        self._proxies = tuple(map(ip_network, proxies))
        self._open: dict[Patient, str] = {}  # with their addresses
        self._of_address: Counter[str] = Counter()
        self._asking: dict[Patient, None] = {}  # whose request is not complete, the oldest first

    def enter(self, connection: Patient, host: str) -> Patient | None:
        """Count a connection; return which one has to be closed for it, if any."""
        address = place_of(host)
        self._open[connection] = address
        self._of_address[address] += 1
        self._asking[connection] = None
        if len(self._open) > self.most:
            return next(iter(self._asking))
        if self._of_address[address] > self.most // 2 and not self._is_proxy(host):
            return next(each for each in self._asking if self._open[each] == address)
        return None

    def asks(self, connection: Patient, *, still: bool) -> None:
        """Learn whether the request of a connection is yet to come or to be completed."""
        if not still:
            self._asking.pop(connection, None)
        elif connection in self._open:
            self._asking.setdefault(connection)

    def leave(self, connection: Patient) -> None:
        """Count a connection no more."""
        self._asking.pop(connection, None)
        address = self._open.pop(connection)
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]

    def _is_proxy(self, host: str) -> bool:
        try:
            return any(ip_address(host) in proxy for proxy in self._proxies)
        except ValueError:
            return False


class Leaving:
    """Says nothing of peers who leave before their request is complete: anybody may, at any rate.

    Each of them was two lines of the log.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        with suppress(ClientDisconnect):
            await self._app(scope, receive, send)


class Gathering:
    """A transport that sends at once what it is given in one turn of the event loop.

    An answer is given in three pieces. To send one, Python's lock is released, and the event loop
    waits until other threads return it.

    Parameters
    ----------
    transport : asyncio.Transport
        Sends it; it also does all else that a transport does.
    loop : asyncio.AbstractEventLoop
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._given: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data before the event loop does something else."""
        if not self._given:
            self._loop.call_soon(self._send)
        self._given.append(data)
        self._size += len(data)
        if self._size >= _GATHERED:
            self._send()

    def close(self) -> None:
        """Send what there is, and close the connection."""
        self._send()
        self._transport.close()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes are not sent yet."""
        return self._size + int(self._transport.get_write_buffer_size())

    def _send(self) -> None:
        data, self._given, self._size = b"".join(self._given), [], 0
        if data and not self._transport.is_closing():
            self._transport.write(data)


class Patient(H11Protocol):
    """uvicorn's connection, which is closed when its peer does not do its part.

    Parameters
    ----------
    room : Room
        When it is full, those go first that have waited longest for a request: whoever means to
        ask does so at once.
    """

    def __init__(self, *given: Any, room: Room, **named: Any) -> None:
        super().__init__(*given, **named)
        self._room = room
        self._since, self._received, self._owed = self.loop.time(), 0, "header"
        self._unread = 0  # bytes of an answer when the peer was last known to read

    def connection_made(self, transport: Any) -> None:
        """Take a connection, if need be in place of another."""
        super().connection_made(Gathering(transport, self.loop))  # type: ignore[arg-type]
        self._look_again()
        if leaves := self._room.enter(self, self.client[0] if self.client else ""):
            _tell()
            leaves.end(503, _(_FULL))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        super().connection_lost(exc)
        self._timer.cancel()
        self._room.leave(self)

    def data_received(self, data: bytes) -> None:
        """Read what came, and learn whether a request is complete."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._begin()
        self._received += len(data)
        self._room.asks(self, still=self._is_asked())

    def on_response_complete(self) -> None:
        """Wait for the next request, which may have come already."""
        self._begin()
        super().on_response_complete()
        self._room.asks(self, still=self._is_asked())

    def pause_writing(self) -> None:
        """Wait for the peer to read."""
        self._since, self._unread = self.loop.time(), self.transport.get_write_buffer_size()
        super().pause_writing()

    def look(self) -> None:
        """Close the connection if its peer has owed something for too long."""
        owed, now = self._owes(), self.loop.time()
        unread = self.transport.get_write_buffer_size()
        # One message may have megabytes: on a slow line it is read for minutes, and goes on.
        reads = owed == "reading" and self._unread - unread >= _PACE
        if owed != self._owed or reads:
            self._owed, self._since, self._unread = owed, now, unread
        patience = {"header": HEADER, "body": BODY + self._received / _PACE, "reading": READING}
        if not owed or now - self._since <= patience[owed]:
            return
        if owed == "reading":
            self.transport.abort()
        elif self._received:
            self.end(408, _("The request did not come in time."))
        else:
            self.transport.close()

    def end(self, status: int, words: str) -> None:
        """Close the connection; say why where that is no part of another answer."""
        self._room.asks(self, still=False)
        # A browser asks again by itself, at once, where a connection that it kept ends without a
        # word. The words it would take for the answer to a question that is just under way.
        kept = self.cycle is not None and self.cycle.response_complete and not self._received
        if not kept and (
            self.cycle is None or self.cycle.response_complete or not self.cycle.response_started
        ):
            self.transport.write(_answer(status, words))
        self.transport.close()

    def _begin(self) -> None:
        self._since, self._received = self.loop.time(), 0

    def _is_asked(self) -> bool:
        """Tell whether a request is yet to come, or to be completed."""
        return repr(self.conn.their_state) in {_IDLE, _SEND_BODY}

    def _owes(self) -> str:
        """Return what the peer has yet to do, if anything."""
        if self.transport.is_closing() or self.flow.write_paused:
            return "reading"
        if repr(self.conn.their_state) == _SEND_BODY:
            # While reading is paused, it is the application that is slow.
            return "" if self.flow.read_paused else "body"
        return "header" if self.cycle is None or self.cycle.response_complete else ""

    def _look_again(self) -> None:
        self._timer = self.loop.call_later(_LOOK, self._look)

    def _look(self) -> None:
        self._look_again()
        self.look()
