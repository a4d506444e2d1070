"""HTTP for many visitors in one process, who share its processors with the server they load.

With httpx they took twice as much of them: 4 s in place of 2 s for 400 rounds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse, RemoteDisconnected
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.patience import PATIENCE


class Answer(NamedTuple):
    """A whole answer."""

    content: bytes
    status_code: int


class Stream:
    """An answer that is read while it is written."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self.status_code = response.status

    def read(self) -> bytes:
        """Return the rest."""
        return self._response.read()

    def iter_lines(self) -> Iterator[str]:
        """Yield lines as they come."""
        while line := self._response.readline():
            yield line.decode().rstrip("\n")


class Http:
    """What a `Visitor` needs of httpx.Client: its connections to one server, and its cookies."""

    def __init__(self, url: str) -> None:
        self.base_url = url
        self.cookies: dict[str, str] = {}
        self._host = urlsplit(url).netloc
        self._free: list[HTTPConnection] = []

    def get(self, path: str) -> Answer:
        """Return what a path answers."""
        with self.stream("GET", path) as answer:
            return Answer(answer.read(), answer.status_code)

    def post(self, path: str, json: object) -> Answer:
        """Return what a path answers to a POST."""
        with self.stream("POST", path, json=json) as answer:
            return Answer(answer.read(), answer.status_code)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        json: object = None,
    ) -> Iterator[Stream]:
        """Ask for a path, below the server's root, and keep the connection if all was read."""
        connection, response = self._ask(method, path, params or {}, headers or {}, json)
        for cookie in response.headers.get_all("set-cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        try:
            yield Stream(response)
        finally:
            if response.isclosed() and not response.will_close:
                self._free.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close what is open."""
        while self._free:
            self._free.pop().close()

    def _ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        asked: object,
    ) -> tuple[HTTPConnection, HTTPResponse]:
        more: dict[str, Any] = {**headers}
        if self.cookies:
            more["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        body = None
        if asked is not None:
            body, more["content-type"] = json.dumps(asked).encode(), "application/json"
        whole = "/" + path.lstrip("/") + (f"?{urlencode(params)}" if params else "")
        while True:
            kept = bool(self._free)
            connection = self._free.pop() if kept else HTTPConnection(self._host, timeout=PATIENCE)
            try:
                connection.request(method, whole, body, more)
                return connection, connection.getresponse()
            except (RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                connection.close()
                if not kept:
                    raise
