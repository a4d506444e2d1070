"""An HTTP server on loopback that answers as a test tells it to and remembers its requests."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = {"content-type": "application/json"}
KEY = "sk-scripted-0123456789"


@dataclass(frozen=True)
class Reply:
    """What the server sends; ``drip`` seconds pass before each byte of the body."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: dict(JSON))
    drip: float = 0.0
    reset: bool = False


def completion(content: Any, *, usage: bool = True, **choice: Any) -> Reply:
    """Return an answer of the API with this content."""
    message = {"role": "assistant", "content": content}
    answer: dict[str, Any] = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message, **choice}],
    }
    if usage:
        answer["usage"] = {"prompt_tokens": 300, "completion_tokens": 6, "total_tokens": 306}
    return Reply(json.dumps(answer).encode())


def verdict(label: str = "A") -> Reply:
    """Return a readable answer."""
    return completion(json.dumps({"verdict": label}))


def failure(status: int, message: str = "no", **more: Any) -> Reply:
    """Return an error of the API."""
    headers = JSON | {name: str(value) for name, value in more.pop("headers", {}).items()}
    return Reply(json.dumps({"error": {"message": message, **more}}).encode(), status, headers)


def html(status: int = 200) -> Reply:
    """Return a page for people."""
    page = b'<!DOCTYPE html><html><body>Log in to see {"verdict": "A"}</body></html>'
    return Reply(page, status, {"content-type": "text/html"})


RESET = Reply(b"", reset=True)

Script = Callable[[dict[str, Any]], Reply]


class Scripted:
    """The running server."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                served.serve(self)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        with self._lock:
            self.asked.append(body)
            self.headers.append({k.lower(): v for k, v in handler.headers.items()})
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            reply = self.script(body)
            self._send(handler, reply)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True
        finally:
            with self._lock:
                self.at_once -= 1

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        if reply.reset:
            # With no time to linger the socket is closed by a reset.
            linger = b"\x01\0\0\0\0\0\0\0"
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.connection.close()
            raise ConnectionResetError
        handler.send_response(reply.status)
        for name, value in {**reply.headers, "content-length": str(len(reply.body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if not reply.drip:
            handler.wfile.write(reply.body)
            return
        for i in range(len(reply.body)):
            time.sleep(reply.drip)
            handler.wfile.write(reply.body[i : i + 1])
            handler.wfile.flush()

    def close(self) -> None:
        """Stop listening; connections that are open stay so."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def scripted(script: Script) -> Iterator[Scripted]:
    """Serve a script until the block is left."""
    server = Scripted(script)
    try:
        yield server
    finally:
        server.close()
