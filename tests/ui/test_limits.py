"""How often one voter, and one address, may press: by posting to the page, from where one likes."""

from __future__ import annotations

import random
import re

import gradio as gr
import pytest
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from coupled_arena.battles.arena import Arena, ArenaRules
from coupled_arena.battles.limits import Limits
from coupled_arena.core.guards import LimitSettings
from coupled_arena.core.prompts import read_library
from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import load_settings, resource
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.worker import EngineWorker
from coupled_arena.store.database import Store
from coupled_arena.ui.parts.visitor import VisitorCookie, place_of
from coupled_arena.ui.server import configured
from coupled_arena.ui.tabs.battle import BattleTab
from coupled_arena.ui.tabs.compare import CompareTab
from tests.battles.conftest import talking
from tests.ui.raw_client import COOKIE, Visitor

TOLD = r"At most {1} {0} a minute .*: (press|ask) again in \d+ s\."


class From:
    """Has each request come from the address that it names in a header of the test's own."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        named = dict(scope.get("headers", ())).get(b"x-test-peer", b"192.0.2.1")
        await self.app({**scope, "client": (named.decode(), 1)}, receive, send)


@pytest.fixture
def serve():
    """Serve battles and comparisons with these limits; call it once."""
    opened = []

    def make(**limits):
        settings = LimitSettings(**limits)
        models = {name: talking(name, seed) for seed, name in enumerate(["ann", "bob"])}
        worker = EngineWorker(LockstepEngine(models, Capacity()))
        store = Store.in_memory()
        sampling = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=12)
        arena = Arena(models, worker, store, ArenaRules(sampling), random.Random(0))
        counted = Limits(settings)
        with gr.Blocks() as page:
            library = read_library(resource("data/prompts.jsonl"))
            BattleTab(arena, library, 2, None, limits=counted).build(page)
            CompareTab(models, worker, sampling, None, limits=counted).build()
        application = FastAPI(middleware=[Middleware(VisitorCookie)])
        gr.mount_gradio_app(application, page, "/")
        config = configured(application, settings.proxies)
        config.load()
        client = TestClient(From(config.loaded_app))
        opened.extend((client, store, worker))
        return client.__enter__(), store

    yield make
    client, store, worker = opened
    client.__exit__(None, None, None)
    worker.close()
    store.close()


def visitor(client, peer="192.0.2.1", forwarded=None):
    """Return somebody new: a cookie that the server has just given."""
    client.cookies.clear()
    client.headers["x-test-peer"] = peer
    client.headers.pop("x-forwarded-for", None)
    if forwarded:
        client.headers["x-forwarded-for"] = forwarded
    return Visitor("", http=client)


def ask(somebody):
    """Ask, and return what one is told if it was refused, else None."""
    output = somebody.call(somebody.dependency("click", "ask"), [f"Why? {random.random()}", 2])
    return output.get("error")


def compare(somebody):
    inputs = [["ann", "bob"], "Why?", "coupled", ""]
    return somebody.call(somebody.dependency("click", "compare"), inputs).get("error")


@pytest.mark.slow
def test_a_thousand_cookies_do_not_help(serve):
    client, _ = serve(questions_by_voter=2, questions_by_address=5)
    told = [ask(visitor(client)) for _ in range(12)]
    assert told[:5] == [None] * 5
    assert all(re.fullmatch(TOLD.format("questions", 5), each) for each in told[5:])
    assert ask(visitor(client, "192.0.2.2")) is None


def test_forged_headers_of_somebody_unknown_are_not_believed(serve, caplog):
    client, _ = serve(questions_by_address=2, proxies=["10.0.0.1"])
    told = [ask(visitor(client, forwarded=f"198.51.100.{n}")) for n in range(4)]
    assert [each is None for each in told] == [True, True, False, False]


@pytest.mark.parametrize("peer", ["10.0.0.1", "::ffff:10.0.0.1"])
def test_of_what_a_named_proxy_says_the_last_that_is_none_counts(serve, peer):
    client, _ = serve(questions_by_address=1, proxies=["10.0.0.1", "10.1.0.0/16"])
    for entries, refused in (
        ("198.51.100.7", False),
        ("198.51.100.7, 10.1.2.3", True),
        ("203.0.113.9, 198.51.100.7, 10.1.2.3, 10.0.0.1", True),  # the first one is made up
        ("198.51.100.7, 198.51.100.8", False),
        ("2001:db8::1", False),
        ("2001:db8::ffff:1", True),  # of the same connection
        ("2001:db8:0:1::1", False),
    ):
        assert bool(ask(visitor(client, peer, entries))) is refused, entries


def test_without_a_named_proxy_none_is_believed_and_the_log_says_so_once(serve, caplog):
    client, _ = serve(questions_by_address=1)
    told = [ask(visitor(client, "127.0.0.1", f"198.51.100.{n}")) for n in range(3)]
    assert [each is None for each in told] == [True, False, False]
    assert [line for line in caplog.messages if "proxy" in line] == [
        "A proxy speaks for visitors, and `proxies` of [limits] names none: all who come through "
        "it count as one address."
    ]


def test_comparisons_are_questions(serve):
    client, _ = serve(questions_by_voter=3, questions_by_address=0)
    somebody = visitor(client)
    assert (ask(somebody), compare(somebody), compare(somebody)) == (None, None, None)
    assert re.fullmatch(TOLD.format("questions", 3), compare(somebody))
    assert re.fullmatch(TOLD.format("questions", 3), ask(somebody))


def test_a_vote_that_is_too_much_is_not_lost(serve):
    client, store = serve(votes_by_voter=1, votes_by_address=2)
    somebody = visitor(client)
    cookie = client.cookies[COOKIE]

    def votes():
        with store.cursor() as cursor:
            query = "select count(*) from votes where source = 'human'"
            return cursor.execute(query).fetchone()[0]

    def press(who):
        return who.call(who.dependency("vote", "round"), [None], {"ranks": [1, 1]})

    cast, told = 0, ""
    while not told:  # identical answers are a tie that nobody is asked about
        assert ask(somebody) is None
        while (view := look(somebody))["running"]:
            pass
        if view["reveal"]:
            continue
        before = votes()
        output = press(somebody)
        told = output.get("error") or ""
        cast += not told
        assert votes() == before + (not told)
    assert cast == votes() == 1
    assert re.fullmatch(TOLD.format("votes", 1), told)
    view = look(somebody)
    assert view["reveal"] is view["recorded"] is None  # it can be pressed again
    assert all(view["turns"][0]["answers"])
    assert client.cookies[COOKIE] == cookie


def look(somebody):
    """Return the round as it is."""
    output = somebody.call(somebody.dependency("look", "round"), [None])
    return next(part for part in output["data"] if isinstance(part, dict) and "turns" in part)


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_what_is_one_address(host, place):
    assert place_of(host) == place


@pytest.mark.parametrize("proxies", ['["proxy.example"]', '["10.0.0.1/8"]', '["*"]'])
def test_a_proxy_is_an_address(tmp_path, call, proxies):
    config = tmp_path / "arena.toml"
    config.write_text(f"[limits]\nproxies = {proxies}\n")
    code, _, err = call("serve", "--config", config)
    assert code == 1
    assert "limits" in err
    assert err.count("\n") == 1


def test_the_environment_names_proxies_and_a_space_has_its_own(monkeypatch):
    assert load_settings().limits.proxies == []
    monkeypatch.setenv("SPACE_ID", "lab/arena")
    assert load_settings().limits.proxies == ["10.0.0.0/8"]
    monkeypatch.setenv("COUPLED_ARENA_LIMITS_PROXIES", "192.0.2.7 fd00::/8")
    assert load_settings().limits.proxies == ["192.0.2.7", "fd00::/8"]
    monkeypatch.setenv("COUPLED_ARENA_LIMITS_VOTES_BY_VOTER", "7")
    assert load_settings().limits.votes_by_voter == 7
