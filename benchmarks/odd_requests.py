"""Odd requests over all routes and events of a running app: what it answers, and how fast.

    python -m benchmarks.odd_requests URL --inputs 50000

Prints how many got which status, and the slowest. Exits with 1 where one got a status of 500 or
above, or no answer within ten seconds. They are drawn from a seed, so that any can be sent again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.ui.raw_client import NO_TLS

PATIENCE = 10.0  # seconds
_AT_ONCE = 8
_PATHS = (
    *("/", "/config", "/healthz", "/metrics", "/theme.css", "/robots.txt", "/manifest.json"),
    *("/preview.png", "/favicon.ico", "/pwa_icon", "/pwa_icon/512", "/assets/x.js", "/static/x"),
    *("/svelte/x.js", "/texts", "/monitoring", "/openapi.json", "/gradio_api/info", "/login"),
    *("/gradio_api/queue/data", "/gradio_api/queue/join", "/gradio_api/run/predict"),
    *("/gradio_api/cancel", "/gradio_api/reset", "/gradio_api/upload", "/gradio_api/call/x"),
    *("/gradio_api/upload_progress", "/gradio_api/heartbeat/x", "/gradio_api/file=x"),
    *("/rounds/x/0/events", "/rounds/x/judgement/events", "/rounds/x/-1/events", "//", "/%00"),
)
_POSTED = tuple(
    f"/gradio_api/{name}" for name in ("queue/join", "run/predict", "cancel", "reset", "upload")
)
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW")
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**63, 1e308, 0.5, "", "x", "é\u2028\U0001f40b", "\0", "\ud800"),
    *("a" * 5000, "../../etc/passwd", "<b>", "{}", "coupled", "red", "0" * 32, "inf", "%s%n"),
)
_NAMES = (
    *("data", "event_data", "fn_index", "session_hash", "trigger_id", "event_id", "batched"),
    *("simple_format", "request", "path", "meta", "ranks", "vote", "category", "of", "x", ""),
)


@dataclass
class Request:
    """One odd request."""

    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Met:
    """What was answered."""

    statuses: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, Request]] = field(default_factory=list)
    failed: list[tuple[str, Request]] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="a running app")
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    met = send_all(options.url, options.inputs, options.seed)
    print(f"{options.inputs:,} requests in {time.monotonic() - began:.0f} s")
    for status, number in sorted(met.statuses.items()):
        print(f"{status:>12} {number:>8,}")
    for seconds, request in met.slowest:
        print(f"{seconds:.2f} s: {request.method} {request.path[:80]} {request.body[:120]!r}")
    for what, request in met.failed[:20]:
        print(f"{what}: {request.method} {request.path[:200]} {request.body[:500]!r}")
    return bool(met.failed)


def send_all(url: str, inputs: int, seed: int) -> Met:
    """Send so many odd requests, some at once."""
    met = Met()
    with httpx.Client(base_url=url, verify=NO_TLS, timeout=PATIENCE) as client:
        events = [event["id"] for event in client.get("/config").json()["dependencies"]]
        drawn = [odd(random.Random(f"{seed} {number}"), events) for number in range(inputs)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for request, status, seconds in pool.map(lambda each: send(client, each), drawn):
                met.statuses[status] += 1
                met.slowest = sorted([*met.slowest, (seconds, request)], key=_seconds)[-5:]
                if status.startswith("5") or not status.isdecimal():
                    met.failed.append((status, request))
    return met


def _seconds(entry: tuple[float, Request]) -> float:
    return entry[0]


def send(client: httpx.Client, request: Request) -> tuple[Request, str, float]:
    """Send one; return the status, and how long it took until that was known.

    Bodies are not waited for: there are streams among them that go on as long as one listens.
    """
    began = time.monotonic()
    try:
        with client.stream(
            request.method, request.path, content=request.body, headers=request.headers
        ) as answer:
            status = str(answer.status_code)
    except httpx.HTTPError as error:
        status = type(error).__name__
    return request, status, time.monotonic() - began


def odd(draw: random.Random, events: Sequence[int]) -> Request:
    """Draw a request: most are nearly what a page sends, for others are refused at the door."""
    if draw.random() < 0.35:
        return anywhere(draw)
    path = draw.choice(_POSTED)
    headers = {"content-type": "application/json"}
    if path.endswith("upload"):
        kind = draw.choice(("multipart/form-data", "multipart/form-data; boundary=x", "text/plain"))
        parts = (b"", b"--x\r\n", b'--x\r\nContent-Disposition: form-data; name="files"; ')
        return Request("POST", path, draw.choice(parts) + draw.randbytes(9), {"content-type": kind})
    if draw.random() < 0.1:
        body = draw.choice((b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 9999, b'{"a":' * 999))
        return Request("POST", path, body, headers)
    said = {
        "data": [value(draw) for _ in range(draw.randrange(6))],
        "event_data": value(draw),
        "fn_index": draw.choice(events),
        "session_hash": f"odd{draw.randrange(50)}",
        "trigger_id": draw.choice((None, 1, 7)),
    }
    if path.endswith(("cancel", "reset")):
        said["event_id"] = draw.choice(("0" * 32, "x", ""))
    for _ in range(draw.randrange(3)):
        name = draw.choice(_NAMES)
        if draw.random() < 0.3:
            said.pop(name, None)
        else:
            said[name] = value(draw)
    return Request("POST", path, json.dumps(said).encode(), headers)


def anywhere(draw: random.Random) -> Request:
    """Draw a request for any path, by any method, with odd headers and queries."""
    path = draw.choice(_PATHS)
    if draw.random() < 0.4:
        names = ("session_hash", "upload_id", "tab", "id", "view", "x", "__theme")
        texts = (
            "",
            "x",
            "%00",
            "%ff",
            "%C3%A9",
            "a" * 2000,
            "../..",
            "1e9",
            "-1",
            "null",
            "%22%3E",
        )
        path += f"?{draw.choice(names)}={draw.choice(texts)}"
    odd_headers = {
        "cookie": ("coupled_arena_visitor=x", "coupled_arena_visitor=" + "0" * 3000, "=;="),
        "last-event-id": ("1-2", "-", "9" * 400, "x-y"),
        "authorization": ("Bearer", "Bearer x", "Basic eDp5"),
        "range": ("bytes=5-1", "bytes=-1", "x"),
        "accept-language": ("xx" * 99,),
        "x-forwarded-proto": ("https", "ftp", "javascript:"),
        "x-forwarded-for": ("1.2.3.4", "x"),
        "accept-encoding": ("zstd;q=x", "*"),
    }
    headers = {}
    for name in draw.sample(sorted(odd_headers), draw.randrange(3)):
        headers[name] = draw.choice(odd_headers[name])
    return Request(draw.choice(_METHODS), path, draw.choice((b"", b"x", b"{}")), headers)


def value(draw: random.Random, depth: int = 0) -> Any:
    """Draw a JSON value."""
    kind = draw.random()
    if depth > 2 or kind < 0.7:
        return draw.choice(ODD_VALUES)
    size = draw.randrange(4)
    if kind < 0.85:
        return [value(draw, depth + 1) for _ in range(size)]
    return {draw.choice(_NAMES): value(draw, depth + 1) for _ in range(size)}


if __name__ == "__main__":
    sys.exit(main())
