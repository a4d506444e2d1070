"""Nobody learns who is who before voting."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import httpx
import pytest

from coupled_arena.core.records import seed_to_hex
from tests.small_models import NAMES
from tests.ui.raw_client import BAD_BALLOTS, COOKIE, QUESTION, Visitor, completed, differ, speak
from tests.ui.server import REPOSITORY, Served

JSON = {"content-type": "application/json"}

# A whole round --------------------------------------------------------------------------------


def test_a_round_from_question_to_reveal(talkative_app):
    app, visitor = talkative_app, Visitor(talkative_app.url)
    commitment = visitor.ask(stop=lambda view: differ(view) and visitor.pieces > 3)["commitment"]
    told = visitor.vote([2, 1])
    assert told["commitment"] == commitment
    assert (told["ranks"], told["both_bad"], told["early"]) == ([2, 1], False, False)
    assert set(told["models"]) < set(NAMES)
    little_endian = bytes.fromhex(told["seed"])[::-1]
    digest = hashlib.sha256(bytes.fromhex(told["nonce"]) + little_endian).hexdigest()
    assert digest == commitment
    stored = app.wait_for(
        """
        select battle, ranks, both_bad, source, early, voter, models, mode, seed, nonce
        from votes join battles using (battle) where vote = ?
        """,
        told["vote"],
    )
    voter = hashlib.blake2b(f"cookie {visitor.cookie}".encode(), digest_size=8).hexdigest()
    assert stored[:6] == (told["battle"], [2, 1], False, "human", False, voter)
    assert stored[6:8] == (told["models"], told["mode"])
    assert (seed_to_hex(stored[8]), stored[9].hex()) == (told["seed"], told["nonce"])


# Attempts to learn who is who -----------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """A visitor with a round that nobody has voted on, or (for comparison) without one."""

    app: Served
    owner: Visitor
    commitment: str = "0" * 64
    events: str = f"rounds/{'0' * 32}/0/events"

    def stranger(self, *, cookies: bool) -> Visitor:
        """Somebody else, who knows the owner's session hash."""
        return Visitor(self.app.url, cookies=cookies, session=self.owner.session)


@pytest.fixture(scope="module")
def target(app):
    owner = Visitor(app.url)
    commitment = owner.ask(stop=differ)["commitment"]
    app.wait_for("select 1 from battles where commitment = ?", commitment)
    return Target(app, owner, commitment, owner.followed)


@pytest.fixture
def nobody(app):
    return Target(app, Visitor(app.url))


Attempt = Callable[[Target], Iterator[bytes]]
ATTEMPTS: list[Attempt] = []
OWN_WORDS: list[Attempt] = []  # attempts that answer differently where there is a round


def attempt(act: Attempt) -> Attempt:
    """Add an attempt whose answers must be those that somebody without a round gets."""
    ATTEMPTS.append(act)
    return act


def own_attempt(act: Attempt) -> Attempt:
    """Add an attempt of the owner's: only names, modes and secrets are compared."""
    OWN_WORDS.append(act)
    return attempt(act)


def getting(visitor: Visitor, *paths: str) -> Iterator[bytes]:
    """Ask for paths, one after the other."""
    for path in paths:
        try:
            yield visitor.get(path)
        except httpx.TransportError as error:
            yield type(error).__name__.encode()


def queueing(visitor: Visitor, *bodies: dict) -> Iterator[bytes]:
    """Put raw bodies into the queue, and take whatever comes back."""
    for body in bodies:
        before = len(visitor.heard)
        try:
            content = json.dumps({"session_hash": visitor.session} | body)  # half surrogates too
            joined = visitor.post("/gradio_api/queue/join", content=content, headers=JSON)
            if b"event_id" in joined:  # else nothing would ever come
                completed(visitor.listen())
        except httpx.TransportError:  # the server may break off such a stream
            pass
        yield bytes(visitor.heard[before:])


def voting(visitor: Visitor, *events: object, data: object = None) -> Iterator[bytes]:
    """Send what the vote handler gets."""
    handler = visitor.dependency("vote", "round")
    common = {"fn_index": handler["id"], "trigger_id": handler["trigger"], "data": [data]}
    return queueing(visitor, *(common | {"event_data": event} for event in events))


@attempt
def the_page_and_its_config(target):
    yield from getting(target.owner, "/", "/config", "/?__theme=dark", "/?view=api", "/config/")


@attempt
def the_list_of_endpoints(target):
    paths = ("/info", "/gradio_api/info", "/gradio_api/info?all_endpoints=true")
    yield from getting(target.owner, *paths, "/gradio_api/openapi.json")


@own_attempt
def a_deep_link_to_the_session(target):
    for visitor in (target.owner, target.stranger(cookies=True)):
        link = visitor.get(f"/gradio_api/deep_link?session_hash={target.owner.session}")
        name = json.loads(link or '""')  # no link is made
        yield from getting(visitor, f"/config?deep_link={name}", f"/?deep_link={name}")


@attempt
def monitoring(target):
    key = target.owner.config["app_id"]
    paths = ("/monitoring", f"/monitoring/{key}", "/monitoring/summary", "/monitoring/x/dashboard")
    for answer in getting(target.owner, *paths):
        yield re.sub(rb'"(?:process|success|total)_.*?[,}]', b"", answer)


@attempt
def run_history(target):
    paths = ("/runs", "/gradio_api/runs", "/gradio_api/run-history/buckets")
    yield from getting(target.owner, *paths, "/gradio_api/run-history/records")
    yield target.owner.post("/gradio_api/run-history/connect", json={})


@attempt
def what_the_server_says_of_itself(target):
    names = ("queue/status", "startup-events", "token", "user", "login_check", "profiling/traces")
    yield from getting(target.owner, *(f"/gradio_api/{name}" for name in names))
    yield from getting(target.owner, "/manifest.json", "/robots.txt", "/gradio_api/vibe-code")


@attempt
def the_heartbeat(target):
    path = f"/gradio_api/heartbeat/{target.owner.session}"
    with target.stranger(cookies=False).http.stream("GET", path) as stream:
        yield next(stream.iter_bytes())


@own_attempt
def listening_in_on_the_session(target):
    for cookies in (True, False):
        stranger, vote = target.stranger(cookies=cookies), target.owner.dependency("vote", "round")
        target.owner.join(vote, [None], {"ranks": []})
        completed(stranger.listen())  # what the owner would have heard
        yield bytes(stranger.heard)


@attempt
def what_components_serve(target):
    components = target.owner.config["components"]
    # A type decides what it serves: all names for one component of each, one name for all.
    of_each_type = {component["type"]: component["id"] for component in components}.values()
    tried = [(component["id"], "value") for component in components]
    tried += product(of_each_type, ("state", "_vote", "__dict__", "get_config", "load_fn"))
    for component, name in tried:
        body = {
            "data": None,
            "component_id": component,
            "session_hash": target.owner.session,
            "fn_name": name,
        }
        yield target.owner.post("/gradio_api/component_server", json=body)


@attempt
def reset_and_cancel(target):
    handler = target.owner.dependency("click", "ask")["id"]
    body = {"session_hash": target.owner.session, "fn_index": handler, "event_id": "0" * 32}
    yield target.owner.post("/gradio_api/reset", json={"event_id": "0" * 32})
    yield target.owner.post("/gradio_api/cancel", json=body)


@attempt
def the_database_as_a_file(target):
    files = (target.app.db, f"{target.app.db}.wal", target.app.snapshot, target.app.stderr)
    for file in files:
        spellings = (f"file={file}", f"file=/proc/self/cwd/{file}", f"file//{file}")
        yield from getting(target.owner, *(f"/gradio_api/{path}" for path in spellings))
        yield from getting(target.owner, f"/static/..{file}", f"/assets/%2e%2e/%2e%2e{file}")


@attempt
def the_source_as_a_file(target):
    files = (target.app.config, REPOSITORY / "data/presets/demo.toml", REPOSITORY / "app.py")
    for file in (*files, "app.py", "data/presets/demo.toml", "coupled_arena/settings.py"):
        yield from getting(target.owner, f"/gradio_api/file={file}", f"/file={file}")


@attempt
def the_process_as_a_file(target):
    names = ("environ", "cmdline", "maps", *(f"fd/{number}" for number in range(3, 24)))
    yield from getting(target.owner, *(f"/gradio_api/file=/proc/self/{name}" for name in names))


@attempt
def streams_and_proxies(target):
    inside = f"{target.app.url}/config"
    stream = f"/gradio_api/stream/{target.owner.session}/0/17"
    yield from getting(target.owner, f"/gradio_api/proxy={inside}", f"{stream}/playlist.m3u8")
    yield from getting(target.owner, f"{stream}/playlist-file", f"{stream}/0.ts")


@attempt
def handing_the_database_to_a_handler(target):
    file = {"path": str(target.app.db), "meta": {"_type": "gradio.FileData"}}
    for event, name in (("click", "make-files"), ("input", "library"), ("tick", None)):
        handler = target.owner.dependency(event, name)
        data = [file] * len(handler["inputs"])
        yield from queueing(target.owner, {"fn_index": handler["id"], "data": data})


@attempt
def private_endpoints_by_name(target):
    stranger = target.stranger(cookies=True)
    stranger.http.headers["connection"] = "close"  # the server breaks off some of these
    for name in [d["api_name"] for d in target.owner.config["dependencies"]]:
        body = {"data": [None], "session_hash": target.owner.session}
        for kind in ("call", "call/v2", "run", "api"):
            if (kind, name) != ("call", "_export"):  # it needs no session: see `exports`
                yield stranger.post(f"/gradio_api/{kind}/{name}", json=body)


@attempt
def voting_by_name(target):
    for visitor in (target.owner, target.stranger(cookies=False)):
        answer = visitor.post("/gradio_api/call/_vote", json={"data": []})
        path = f"/gradio_api/call/_vote/{json.loads(answer).get('event_id')}"
        yield from (answer, *getting(visitor, path))


@attempt
def voting_as_a_stranger_in_the_session(target):
    yield from voting(target.stranger(cookies=True), {"ranks": [1, 2]}, {"ranks": [1, 1]})


@attempt
def voting_without_a_cookie_in_the_session(target):
    yield from voting(target.stranger(cookies=False), {"ranks": [1, 2]}, {"ranks": [1, 1]})


@attempt
def the_stream_of_the_answers(target):
    paths = (target.events, target.events.replace("/0/", "/1/"), f"{target.events}?x=1")
    lengths = {"last-event-id": "0-0"}
    for cookies in (True, False):
        stranger = target.stranger(cookies=cookies)
        session = f"session_hash={target.owner.session}"
        for path in (*paths, f"{target.events}?{session}"):
            yield from (stranger.get(path), stranger.get(path, headers=lengths))
    owner = target.owner
    yield from getting(owner, *(target.events.replace("/0/", f"/{turn}/") for turn in (1, -1, "x")))


@attempt
def forged_cookies(target):
    voter = hashlib.blake2b(f"cookie {target.owner.cookie}".encode(), digest_size=8).hexdigest()
    session = f"session {target.owner.session}"
    stranger = target.stranger(cookies=False)
    for forged in (voter, voter * 2, "0" * 32, target.commitment[:32], session, "' or 1=1 --"):
        stranger.http.headers["cookie"] = f"{COOKIE}={forged}"
        yield from voting(stranger, {"ranks": [1, 2]})


@attempt
def continuing_and_stopping_as_a_stranger(target):
    for cookies in (True, False):
        stranger = target.stranger(cookies=cookies)
        more, stop = stranger.dependency("click", "continue"), stranger.dependency("stop", "round")
        yield from queueing(stranger, {"fn_index": more["id"], "data": [None, "Who are you?"]})
        yield from queueing(stranger, {"fn_index": stop["id"], "data": [None]})


@attempt
def guessed_round_ids_in_place_of_the_state(target):
    guesses = (target.commitment, target.commitment[:32], target.owner.session, "", 0, None)
    stranger = Visitor(target.app.url)
    for guess in (*guesses, "0" * 32, "%", "*", ["a"], {"value": "a"}, {"__type__": "update"}):
        yield from voting(stranger, {"ranks": [1, 2]}, data=guess)


@own_attempt
def malformed_ballots(target):
    yield from voting(target.owner, *BAD_BALLOTS)


@own_attempt
def malformed_requests(target):
    owner = target.owner
    handler = owner.dependency("vote", "round")["id"]
    for content in (b"", b"{", b"[]", b'{"data": 1}', b'{"data": [null], "fn_index": "x"}'):
        yield owner.post("/gradio_api/queue/join", content=content)
    bodies = [
        {"data": [None], "fn_index": 999},
        {"data": [None], "fn_index": -1},
        {"data": [], "fn_index": handler},
        {"data": [None] * 5, "fn_index": handler},
        {"data": [[None]], "fn_index": handler, "batched": True},
        {"data": [None], "fn_index": handler, "simple_format": True, "trigger_id": 10**6},
    ]
    yield from queueing(owner, *bodies)


@own_attempt
def oversized_questions(target):
    # Each is refused, the longest ones by their characters, the others by the models' context.
    more = target.owner.dependency("click", "continue")["id"]
    for question in ("a" * 40_001, "a " * 20_000, "🐋" * 20_000, "", "\x00", "\ud800"):
        yield from queueing(target.owner, {"fn_index": more, "data": [None, question]})


@attempt
def the_leaderboard(target):
    parts = {part["id"]: part["props"] for part in target.owner.config["components"]}
    tried = {
        "board-mode": ("all", "coupled", "independent", "unknown", "x"),
        "board-source": ("judge", "ppr", "x"),
        "board-mine": (True, NAMES[0]),
        "board-alpha": (0.4, -1, "x"),
        "board-category": ("x", [NAMES[0]]),
    }
    for event, name in (("tick", None), ("input", "board-mode")):
        handler = target.owner.dependency(event, name)
        given = [(parts[i].get("elem_id"), parts[i].get("value")) for i in handler["inputs"]]
        for changed, value in ((key, value) for key, values in tried.items() for value in values):
            data = [value if name == changed else default for name, default in given]
            yield from queueing(target.owner, {"fn_index": handler["id"], "data": data})


@attempt
def exports(target):
    make = target.owner.dependency("click", "make-files")
    for format in ("parquet", "jsonl", "csv", "flat", "flat-csv"):
        output = target.owner.call(make, [format])
        for file in output["data"][0]["value"]:
            yield target.owner.get(file["url"])


@attempt
def comparing_named_models_at_a_guessed_seed(target):
    compare = target.owner.dependency("click", "compare")
    for seed in (target.commitment[:16], "x", "1" * 17):
        data = [NAMES[:2], "", "coupled", seed]
        yield from queueing(target.owner, {"fn_index": compare["id"], "data": data})


@attempt
def battles_behind_numbers(target):
    """By their words, their voter and their models; a click on a number is an event like others."""
    events = [target.owner.dependency(event, "battles") for event in ("look", "replay")]
    filters = ("", "&text=e", "&mine=1", "&source=people", f"&a={NAMES[0]}", "&mode=coupled")
    queries = [*(f"?tab=battles{filter}" for filter in filters), f"?model={NAMES[0]}"]
    said = [{"query": query} for query in (*queries, f"?battle={'0' * 32}", "?battle=%25")]
    for event_data in (*said, {"query": ["?tab=battles"]}, ["?tab=battles"], None):
        for handler in events:
            call = {"fn_index": handler["id"], "data": [], "event_data": event_data}
            yield from queueing(target.owner, call)


@attempt
def going_somewhere_by_name(target):
    find = target.owner.dependency("find", "go-to")
    for words in ("", "e", NAMES[0], target.commitment[:8], QUESTION[:12], ["e"], None):
        said = {"words": words, "number": 1}
        call = {"fn_index": find["id"], "data": [], "event_data": said}
        yield from queueing(target.owner, call)


@attempt
def the_draw_at_which_answers_part(target):
    """Of a battle in the viewer, of a comparison, of somebody else's round."""
    data = {"battles": [], "comparison": [None], "round": [None]}
    stranger = target.stranger(cookies=True)
    for visitor, panels in ((target.owner, ("battles", "comparison")), (stranger, data)):
        for panel in panels:
            part = visitor.dependency("part", panel)
            for of in ("0" * 32, target.commitment[:32], "", None):
                said = {"of": of, "turn": 0, "number": 0}
                call = {"fn_index": part["id"], "data": data[panel], "event_data": said}
                yield from queueing(visitor, call)


@attempt
def reasons_for_a_vote(target):
    """Nobody has voted: there is nothing to explain."""
    for visitor in (target.owner, target.stranger(cookies=True)):
        explain = visitor.dependency("explain", "round")
        for vote in ("0" * 32, target.commitment[:32], "", None):
            said = {"vote": vote, "criteria": ["style"]}
            call = {"fn_index": explain["id"], "data": [None], "event_data": said}
            yield from queueing(visitor, call)


@attempt
def ones_own_battles(target):
    for visitor in (target.owner, target.stranger(cookies=True)):
        own = visitor.dependency("look", "history")
        yield from queueing(visitor, {"fn_index": own["id"], "data": []})


CHANGING = re.compile(
    r'"(?:duration|average_duration|eta|rank_eta|cache_duration|avg_time)":[^,}]*|[0-9a-f]{8,}'
)
MENTIONED = re.compile("|".join((*NAMES, '"(?:coupled|independent)"', '"reveal": ?[^n]')))


def text_of(answers: list[bytes]) -> str:
    return "\n".join(answer.decode("utf-8", "replace") for answer in answers).replace("\\", "")


def secrets_in(app: Served) -> list[str]:
    """Everything that must not be told of any round that has not been revealed."""
    rows = app.stored(
        "select battle, seed, nonce from battles where battle not in (select battle from reveals)"
    )
    assert rows
    return [s for battle, seed, nonce in rows for s in (battle, *spellings(seed), nonce.hex())]


def spellings(seed: int) -> tuple[str, str]:
    return f"{seed:x}", str(seed)


@pytest.mark.parametrize("act", ATTEMPTS, ids=lambda act: act.__name__)
def test_nothing_tells_who_is_who(act, target, nobody):
    told, usual = text_of(list(act(target))), text_of(list(act(nobody)))
    assert usual
    assert [secret for secret in secrets_in(target.app) if secret in told.lower()] == []
    assert MENTIONED.findall(told) == MENTIONED.findall(usual)
    if act not in OWN_WORDS:
        same = [
            CHANGING.sub("#", text.replace(t.owner.session, "#"))
            for text, t in ((told, target), (usual, nobody))
        ]
        assert same[0] == same[1]
    assert "each of the 2 answers" in target.owner.vote([])["error"]  # the round is still open


def test_there_are_twenty_attempts():
    assert len(ATTEMPTS) >= 20


def data_for(visitor: Visitor, dependency: dict) -> list[object]:
    """Return plausible inputs of a handler: the values on the page, and a question."""
    components = {c["id"]: c for c in visitor.config["components"]}
    data = []
    for component in (components[i] for i in dependency["inputs"]):
        is_question = component["type"] == "textbox" and "uestion" in component["props"]["label"]
        data.append(QUESTION if is_question else component["props"].get("value"))
    return data


def run(visitor: Visitor, dependency: dict) -> str:
    """Call a handler; stop the answers it starts at their first words. Return what it told."""
    before = len(visitor.heard)
    visitor.join(dependency, data_for(visitor, dependency))
    visitor.watch(stop=None if "_compare" in dependency["api_name"] else speak)
    return text_of([bytes(visitor.heard[before:])])


def test_no_handler_tells_who_is_who(app, visitor):
    """Every handler of the config but the vote's, with the session's own hash."""
    visitor.join(visitor.dependency("click", "ask"), [QUESTION, 2])
    view = visitor.watch(stop=speak)
    silent = re.compile(
        "_ask|_start|_next|_again|_resume|_look|_follow_up|_stop|_part|_explain|_history|lambda|_timer|unnamed"
    )
    for dependency in visitor.config["dependencies"]:
        if (name := dependency["api_name"]) != "_vote" and dependency["backend_fn"]:
            told = run(visitor, dependency | {"trigger": dependency["targets"][0][0]})
            assert '"process_completed"' in told, name
            if silent.match(name):
                assert MENTIONED.findall(told) == [], name
    assert "each of the 2 answers" in visitor.vote([])["error"]  # a round is open
    heard = text_of([bytes(visitor.heard)])
    commitments = set(re.findall(r'"commitment":"(\w+)"', heard))
    # The first question; asking by button, next, a starter. Again is for a round that is over.
    assert len(commitments) == 4
    assert view["commitment"] in commitments
    for commitment in commitments:
        app.wait_for("select 1 from battles where commitment = ?", commitment)
    assert [secret for secret in secrets_in(app) if secret in heard] == []


@pytest.mark.parametrize("size", [2, 3])
def test_the_streamed_round_does_not_tell(app, visitor, size):
    before = len(visitor.heard)
    view = visitor.ask(size=size, stop=differ)
    told = text_of([bytes(visitor.heard[before:])])
    app.wait_for("select 1 from battles where commitment = ?", view["commitment"])
    assert [secret for secret in secrets_in(app) if secret in told] == []
    assert MENTIONED.findall(told) == []
    assert len(view["turns"][0]["answers"]) == size


def test_an_export_has_the_round_only_once_it_is_revealed(app, visitor):
    def exported():
        output = visitor.call(visitor.dependency("click", "make-files"), ["jsonl"])
        return b"".join(visitor.get(file["url"]) for file in output["data"][0]["value"])

    commitment = visitor.ask(stop=differ)["commitment"]
    (battle,) = app.wait_for("select battle from battles where commitment = ?", commitment)
    assert battle.encode() not in exported()
    visitor.vote()
    assert battle.encode() in exported()
