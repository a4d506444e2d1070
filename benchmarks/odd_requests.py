"""Odd requests over all routes and events of a running app: what it answers, and how fast.

    python -m benchmarks.odd_requests URL --inputs 50000 --pid PID

Prints how many got which status, and the slowest; what the dearest arguments of each route cost;
the slowest answers of ``/healthz`` beside it all; and, of a process, its memory before and after.
Exits with 1 where one got a status of 500 or above but 503 and 507, or no answer within ten
seconds, or where ``/healthz`` took more than a second, or memory stays above 1.2 times what it was.
They are drawn from a seed, so that any can be sent again.

Other programs take processors from the app. With ``--pid`` Linux tells for how long its event loop,
and whoever asks, were ready to run and had none; that does not count as time of ``/healthz``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.ui.raw_client import NO_TLS

PATIENCE = 10.0  # seconds
_AT_ONCE = 8
_TOLD = ("503", "507")  # there is no room at the moment
_HELD = 1.0  # seconds
_GROWTH = 1.2
_RESTS = 20.0  # seconds until memory is looked at: connections and uploads are given up
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


class Health(NamedTuple):
    """An answer of ``/healthz``; times in seconds."""

    own: float  # what it took beside waiting for a processor
    took: float
    began: float


@dataclass
class Met:
    """What was answered."""

    statuses: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, Request]] = field(default_factory=list)
    failed: list[tuple[str, Request]] = field(default_factory=list)
    begun: list[tuple[float, str]] = field(default_factory=list)  # what was sent from when on


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="a running app")
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pid", type=int, help="the app's process, for its memory (Linux)")
    options = parser.parse_args(arguments)
    send_all(options.url, 200, options.seed - 1)  # what is loaded once is no growth
    before = resident(options.pid)
    began = time.monotonic()
    with beside(options.url, options.pid) as health:
        met = send_all(options.url, options.inputs, options.seed)
        print(f"{options.inputs:,} requests in {time.monotonic() - began:.0f} s")
        dear = send_dearest(options.url, met)
    for status, number in sorted(met.statuses.items()):
        print(f"{status:>12} {number:>8,}")
    for seconds, request in met.slowest:
        print(f"{seconds:.2f} s: {request.method} {request.path[:80]} {request.body[:120]!r}")
    print("The dearest arguments, eight at once:")
    for name, seconds, statuses in dear:
        print(
            f"{max(seconds):.2f} s at most, {sum(seconds) / len(seconds):.2f} s: {name} {statuses}"
        )
    for what, request in met.failed[:20]:
        print(f"{what}: {request.method} {request.path[:200]} {request.body[:500]!r}")
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"/healthz: {len(health)} answers; load averages {loads}")
    for each in sorted(health)[-5:]:
        sent = max((begun for begun in met.begun if begun[0] <= each.began), default=(0, "-"))[1]
        print(f"{each.took:.2f} s, {each.own:.2f} s beside waiting for a processor: {sent}")
    time.sleep(_RESTS)
    after = resident(options.pid)
    if options.pid:
        print(f"memory: {before >> 20} MiB before, {after >> 20} MiB after")
    held = any(each.own > _HELD for each in health) or after > _GROWTH * before
    return bool(met.failed) or held


def resident(pid: int | None) -> int:
    """Return how many bytes of memory a process has; 0 of none."""
    if pid is None:
        return 0
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def ready(pid: int | None) -> float:
    """Return for how many seconds a process's first thread could run but had no processor."""
    if pid is None:
        return 0.0
    waited = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()[1]
    return int(waited) / 1e9


@contextmanager
def beside(url: str, pid: int | None) -> Iterator[list[Health]]:
    """Have ``/healthz`` asked ten times a second while the block runs; then there are the answers.

    By a process of its own: threads that send megabytes would make another one wait.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    asking = spawn.Process(target=_ask, args=(url, pid, theirs))
    asking.start()
    ours.recv()
    found: list[Health] = []
    try:
        yield found
    finally:
        ours.send("over")
        found += ours.recv()
        asking.join()


def _ask(url: str, pid: int | None, other: Connection) -> None:
    found, own = [], os.getpid() if pid else None
    with httpx.Client(base_url=url, verify=NO_TLS, timeout=PATIENCE) as client:
        send(client, Request("GET", "/healthz"))
        other.send("begun")
        while not other.poll(0.1):
            waited, began = ready(pid) + ready(own), time.monotonic()
            took = send(client, Request("GET", "/healthz"))[2]
            waited = ready(pid) + ready(own) - waited
            found.append(Health(max(0.0, took - waited), took, began))
    other.send(found)


def send_dearest(url: str, met: Met) -> list[tuple[str, list[float], str]]:
    """Send what each route can be asked at most, some at once; return what that took, by name."""
    found = []
    with (
        httpx.Client(base_url=url, verify=NO_TLS, timeout=6 * PATIENCE) as client,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        events = [event["id"] for event in client.get("/config").json()["dependencies"]]
        for name, request in dearest(events):
            met.begun.append((time.monotonic(), name))
            told = list(pool.map(lambda each: send(client, each), [request] * 4 * _AT_ONCE))
            statuses = Counter(status for _, status, _ in told)
            met.statuses += statuses
            for _, status, _seconds in told:
                if not status.isdecimal() or (status >= "500" and status not in _TOLD):
                    met.failed.append((status, request))
            found.append((name, [seconds for *_, seconds in told], str(dict(statuses))))
    return found


def dearest(events: Sequence[int]) -> list[tuple[str, Request]]:
    """Return for each route that is let through what costs most, with its name."""
    ranges = "bytes=" + ",".join(f"{at}-{at}" for at in range(0, 20_000, 2))
    read = [
        *("/", "/?page=x&deep_link=x", "/config", "/config?deep_link=" + "x" * 2000, "/theme.css"),
        *("/manifest.json", "/pwa_icon", "/pwa_icon/192", "/pwa_icon/512", "/pwa_icon/12000"),
        *("/pwa_icon/0", "/pwa_icon/-1", "/preview.png", "/favicon.ico", "/robots.txt"),
        *(f"/{name}/{'../' * 900}x" for name in ("assets", "static", "svelte")),
        *(f"/gradio_api/file={name}" for name in ("http://127.0.0.1:9/", "//x", "/" * 9000 + "x")),
        *(f"/gradio_api/heartbeat/{'x' * size}" for size in (64, 9000)),
        "/gradio_api/queue/data?session_hash=" + "x" * 9000,
        "/gradio_api/upload_progress?upload_id=" + "x" * 9000,
        *("/rounds/" + "x" * 9000 + "/0/events", "/judged/x/verdicts", "/judged/x/deciding"),
    ]
    form = {"content-type": "multipart/form-data; boundary=x"}
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\n'
    many = b"".join(head + b"x\r\n" for _ in range(1000)) + b"--x--\r\n"
    uploads = [
        ("an upload of 4 MB", head + b"1,2\n" * 1_000_000 + b"\r\n--x--\r\n"),
        ("an upload of 60 MB", head + b"x" * 60_000_000 + b"\r\n--x--\r\n"),
        ("an upload of 1,000 files", many),
    ]
    said = json.dumps({"fn_index": events[0], "data": [], "session_hash": "x"}).encode()
    bodies = [
        ("an event of 1 MB", said[:-1] + b', "x": "' + b"y" * ((1 << 20) - len(said) - 99) + b'"}'),
        ("an event of brackets", b"[" * 1_000_000),
        ("an event of numbers", said[:-1] + b', "x": [' + b"1," * 500_000 + b"1]}"),
        ("an event of one long number", said[:-1] + b', "x": ' + b"9" * 1_000_000 + b"}"),
    ]
    json_head = {"content-type": "application/json"}
    return [
        *((path[:60], Request("GET", path)) for path in read),
        ("many ranges", Request("GET", "/preview.png", headers={"range": ranges})),
        *((name, Request("POST", "/gradio_api/upload", body, form)) for name, body in uploads),
        *(
            (f"{name} to {path[12:]}", Request("POST", path, body, json_head))
            for name, body in bodies
            for path in _POSTED[:2]
        ),
        ("a form of 1 MB", Request("POST", "/login", b"name=" + b"x" * (1 << 20))),
    ]


def send_all(url: str, inputs: int, seed: int) -> Met:
    """Send so many odd requests, some at once."""
    met = Met(begun=[(time.monotonic(), "odd requests")])
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
