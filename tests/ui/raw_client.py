"""A visitor without a browser: speaks Gradio's queue and hears our stream, and keeps every byte."""

from __future__ import annotations

import json
import secrets
import ssl
import time
from collections.abc import Callable, Iterator
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from tests.patience import PATIENCE

BAD_BALLOTS = (
    *({"ranks": ranks} for ranks in ([], [1], [1, 1, 1], [2, 2], [1, 3], [0, 1], [-1, 1])),
    *({"ranks": ranks} for ranks in ("12", ["1", "2"], [1.0, 2.0], [True, 2], [[1], [2]])),
    *({"ranks": ranks} for ranks in ({"0": 1}, 12, [None, 1], [1, 10**30], [1] * 10_000)),
    {"ranks": [1, 2], "both_bad": True},
    {"ranks": None, "both_bad": "yes"},
    {},
    None,
    [1, 2],
    "a",
)

QUESTION = "Tell me a long story about a lighthouse keeper and a lost whale."
View = dict[str, Any]  # of a round, as the page gets it
COOKIE = "coupled_arena_visitor"
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # else each client reads all certificates: 0.04 s


class Visitor:
    """One visitor of the page: a cookie, a session, and all that the server has told.

    Parameters
    ----------
    url : str
        Where the app is served.
    cookies : bool
        Whether to keep the cookie that the server sets.
    session : str, optional
        A session hash to claim; else one of its own.
    http : httpx.Client, optional
        Speaks to an app in this process; `url` and `cookies` are then its own.
    """

    def __init__(
        self,
        url: str,
        *,
        cookies: bool = True,
        session: str | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        jar = CookieJar(None if cookies else DefaultCookiePolicy(allowed_domains=[]))
        self.http = http or httpx.Client(base_url=url, timeout=PATIENCE, cookies=jar, verify=NO_TLS)
        self.session = session or secrets.token_hex(6)
        self.heard = bytearray()
        self.posted = 0  # questions, stops and looks
        self.followed = ""  # the stream of answers that was heard last
        self.last_event = ""  # of it
        self.config: dict[str, Any] = json.loads(self.get("/config"))

    @property
    def cookie(self) -> str | None:
        """The secret that the server knows this visitor by."""
        return self.http.cookies.get(COOKIE)

    @property
    def pieces(self) -> int:
        """How many of the lines heard add words to an answer."""
        return sum(b'"more":' in line for line in self.heard.splitlines())

    def get(self, path: str, **options: Any) -> bytes:
        """Return what a path answers, whatever its status."""
        return self._keep(self.http.get(path, **options).content)

    def post(self, path: str, **options: Any) -> bytes:
        """Return what a path answers to a POST, whatever its status."""
        return self._keep(self.http.post(path, **options).content)

    def dependency(self, event: str, elem_id: str | None = None) -> dict[str, Any]:
        """Return the event handler that a component's event is bound to."""
        named = {c["id"]: c["props"].get("elem_id") for c in self.config["components"]}
        for dependency in self.config["dependencies"]:
            for target, name in dependency["targets"]:
                if name == event and (elem_id is None or named.get(target) == elem_id):
                    return dependency | {"trigger": target}
        raise LookupError(f"no handler of {event} of {elem_id}")

    def join(
        self, dependency: dict[str, Any], data: list[Any], event_data: Any = None, **more: Any
    ) -> bytes:
        """Put a call into the queue."""
        body = {
            "data": data,
            "event_data": event_data,
            "fn_index": dependency["id"],
            "trigger_id": dependency.get("trigger"),
            "session_hash": self.session,
        }
        return self.post("/gradio_api/queue/join", json=body | more)

    def listen(self) -> Iterator[dict[str, Any]]:
        """Yield the session's messages until the server closes the stream."""
        heard = time.monotonic()
        options = {"params": {"session_hash": self.session}}
        with self.http.stream("GET", "/gradio_api/queue/data", **options) as stream:
            for line in stream.iter_lines():
                self._keep(line.encode() + b"\n")
                if line.startswith("data: "):
                    message = json.loads(line.removeprefix("data: "))
                    if message["msg"] != "heartbeat":
                        heard = time.monotonic()
                    assert time.monotonic() - heard < PATIENCE, "nothing but heartbeats"
                    yield message

    def call(
        self, dependency: dict[str, Any], data: list[Any], event_data: Any = None
    ) -> dict[str, Any]:
        """Run a handler to its end and return its output."""
        self.join(dependency, data, event_data)
        return completed(self.listen())

    def ask(
        self, question: str = QUESTION, size: int = 2, *, stop: Callable[[View], bool] | None = None
    ) -> View:
        """Ask, watch the answers and return the last view of the round.

        With `stop`, see `watch`, the question is asked again where identical answers revealed
        themselves before they were stopped.
        """
        while True:
            self.join(self.dependency("click", "ask"), [question, size])
            self.posted += 1
            view = self.watch(stop=stop)
            if not (stop and view.get("reveal")):  # there is no view where it was refused
                return view

    def begin(self, question: str = QUESTION, size: int = 2) -> View | None:
        """Ask; return the round as it begins, None where the question was refused."""
        self.join(self.dependency("click", "ask"), [question, size])
        self.posted += 1
        return self.answer()

    def answer(self) -> View | None:
        """Return the last view of a round in the answers to what was posted."""
        views = [view for message in self.listen() if (view := view_in(message))]
        return views[-1] if views else None

    def watch(self, *, stop: Callable[[View], bool] | None = None) -> View:
        """Watch the answers that are being written; return the last view.

        They are stopped at the first view of which `stop` is true.
        """
        view = self.answer() or {}
        while view.get("events"):
            posted = self.posted
            for grown in self.follow(view):
                view = grown
                if stop and stop(view):
                    self.join(self.dependency("stop", "round"), [None])
                    self.posted += 1
                    stop = None
            if view["running"]:  # there is more to know than the answers
                self.join(self.dependency("look", "round"), [None])
                self.posted += 1
            if self.posted > posted:
                view = self.answer() or view
        return view

    def follow(self, view: View, last_event: str = "") -> Iterator[View]:
        """Yield a round as its answers grow, to the end of the turn."""
        self.followed = view["events"]
        headers = {"last-event-id": last_event} if last_event else {}
        with self.http.stream("GET", view["events"], headers=headers) as stream:
            for event, said in self._events(stream):
                *turns, turn = view["turns"]
                if event == "end":
                    ended = {"running": False, "events": None}
                    ended["turns"] = [*turns, turn | {"stopped": said["stopped"]}]
                    yield view if said["look"] else view | ended
                    return
                more = said.get("more")
                answers = said.get("answers") or list(map(str.__add__, turn["answers"], more))
                view = view | {
                    "turns": [*turns, turn | {"answers": answers}],
                    "ahead": said["ahead"],
                }
                yield view

    def _events(self, stream: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
        assert stream.status_code == 200, stream.read()
        fields: dict[str, str] = {}
        for line in stream.iter_lines():
            self._keep(line.encode() + b"\n")
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            else:
                if "data" in fields:
                    self.last_event = fields.get("id", self.last_event)
                    yield fields.get("event", "message"), json.loads(fields["data"])
                fields = {}

    def vote(self, ranks: Any = (1, 2), **more: Any) -> dict[str, Any]:
        """Vote on the session's round; return the reveal, or ``{"error": …}``."""
        output = self.call(self.dependency("vote", "round"), [None], {"ranks": ranks, **more})
        return output["data"][0]["reveal"] if "data" in output else {"error": output["error"]}

    def _keep(self, content: bytes) -> bytes:
        self.heard += content
        return content


def completed(messages: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return the output of the last event that was completed."""
    outputs = [m["output"] for m in messages if m["msg"] == "process_completed"]
    return outputs[-1] if outputs else {"error": "nothing was completed"}


def speak(view: View) -> bool:
    """Return whether a view has words."""
    return any(answer for turn in view["turns"] for answer in turn["answers"])


def differ(view: View) -> bool:
    """Return whether all answers of a view have words, and no two the same: any vote is taken."""
    answers = list(zip(*(turn["answers"] for turn in view["turns"]), strict=True))
    return all(map(any, answers)) and len({*answers}) == len(answers)


def _is_view(part: Any) -> bool:
    return isinstance(part, dict) and "turns" in part


def view_in(message: dict[str, Any]) -> View | None:
    """Return the whole view of a round that a message holds, if it holds one."""
    parts = message.get("output", {}).get("data") or []
    return next((part for part in parts if _is_view(part)), None)
