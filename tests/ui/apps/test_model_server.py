"""A battle of a model on a server, in the page: voted on, and told where the server goes away."""

from __future__ import annotations

import multiprocessing.forkserver
from contextlib import ExitStack
from functools import partial

import httpx
import pytest

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import load_settings
from coupled_arena.generation import loading, stock_servers
from coupled_arena.generation.engine_process import EngineProcess
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.language_model import brings_noise
from coupled_arena.generation.loading import load, load_enabled
from coupled_arena.generation.running import Contender, Request
from tests.generation.model_server import ModelServer, running
from tests.generation.stock_server import StockServer
from tests.patience import PATIENCE, until
from tests.small_models import NAMES, catalog_of, save_small_models
from tests.ui.raw_client import Visitor, differ
from tests.ui.server import serving

HERE, SERVED, ALSO_HERE = NAMES
CONFIG = """
[sampling]
max_new_tokens = 12
[[models]]
name = "{here}"
folder = "{here}"
dtype = "float32"
[[models]]
name = "{served}"
folder = "{served}"
server = "{url}"
served_as = "served"
"""


@pytest.fixture
def server(tmp_path):
    save_small_models(tmp_path, (SERVED,))
    spec = ModelSpec(name=SERVED, folder=tmp_path / SERVED, dtype="float32", device_map="cpu")
    with running(ModelServer(load_model(spec, tmp_path))) as server:
        yield server


@pytest.fixture
def mixed_app(server, tmp_path):
    config = CONFIG.format(here=HERE, served=SERVED, url=server.url)
    with serving(tmp_path, config) as app:
        yield app


def ask(page, question):
    page.locator("#question textarea").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def test_a_served_model_in_the_page(server, mixed_app, visit):
    page = visit(mixed_app.url)
    ask(page, "What is a whale?")
    page.get_by_role("button", name="A is better").click()
    page.wait_for_selector(".reveal")
    assert set(page.locator("#round .name").all_inner_texts()) == {HERE, SERVED}

    server.refuses = True
    ask(page, "And why?")
    page.get_by_text("The models broke off").wait_for()
    assert page.locator("#round .question").inner_text() == "And why?"

    server.refuses = False
    ask(page, "And now?")
    page.get_by_role("button", name="Tie").click()
    page.wait_for_selector(".reveal")
    mixed_app.wait_for("select 1 from votes where source = 'human' having count(*) = 2")


# A server that is away at the start


@pytest.fixture
def two_here(server, tmp_path):
    """Settings of two models here and one on a server that refuses to answer."""
    server.refuses = True
    config = CONFIG.format(here=HERE, served=SERVED, url=server.url)
    return config + catalog_of(**{ALSO_HERE: ALSO_HERE})


def load_and_ask_again_soon(settings):
    loading._PAUSE = 0.05
    return load_enabled(settings)


def test_a_model_joins_once_its_server_answers(server, two_here, tmp_path, caplog):
    save_small_models(tmp_path)
    (tmp_path / "arena.toml").write_text(two_here)
    settings = load_settings(tmp_path / "arena.toml")
    late = {SERVED: partial(load, settings.catalog[SERVED], settings.cache)}
    multiprocessing.forkserver.ensure_running()
    engine = EngineProcess(partial(load_and_ask_again_soon, settings), late=late)
    try:
        assert ({*engine.models}, engine.away) == ({HERE, ALSO_HERE}, 1)
        asked = len(server.requests)
        # Again and again, and in vain: the client asks twice each time.
        until(lambda: len(server.requests) > asked + 4)
        assert engine.away == 1
        server.refuses = False
        until(lambda: not engine.away)
        assert {*engine.models} == {*NAMES}
        pair = tuple(Contender(name, 7, (300, 400)) for name in (SERVED, HERE))
        turn = engine.submit(Request(pair, Sampling(max_new_tokens=9)))
        assert turn.done.wait(PATIENCE)
        assert [len(line.tokens) for line in turn.lines] == [9, 9]
    finally:
        engine.close()
    assert f"{SERVED} takes part from now on" in caplog.messages


STOCK = """
[[models]]
name = "{name}"
folder = "{folder}"
server = "{url}"
served_as = "served"
server_noise = "theirs"
"""


def load_by_few_draws(settings):
    stock_servers.SEEDS, stock_servers._TOKENS = 12, 8
    return load_and_ask_again_soon(settings)


def test_models_without_the_plugin_in_a_process_of_their_own(tmp_path):
    """One comes later, once it shares their noise. The web process knows whose they draw with."""
    save_small_models(tmp_path, (SERVED,))
    spec = ModelSpec(name=SERVED, folder=tmp_path / SERVED, dtype="float32", device_map="cpu")
    model = load_model(spec, tmp_path)
    with ExitStack() as running_servers:
        servers = [running_servers.enter_context(running(StockServer(model))) for _ in NAMES]
        servers[2].refuses = True
        entries = (
            STOCK.format(name=name, folder=SERVED, url=server.url)
            for name, server in zip(NAMES, servers, strict=True)
        )
        (tmp_path / "arena.toml").write_text("".join(entries))
        settings = load_settings(tmp_path / "arena.toml")
        loads = partial(load, cache=settings.cache, sampling=settings.sampling.sampling())
        late = {spec.name: partial(loads, spec) for spec in settings.catalog.enabled}
        multiprocessing.forkserver.ensure_running()
        engine = EngineProcess(partial(load_by_few_draws, settings), late=late)
        try:
            assert ({*engine.models}, engine.away) == ({*NAMES[:2]}, 1)
            # It answers, with noise of its own: proven alone, and again, and never beside others.
            proof = len(servers[0].requests)
            servers[2].salt, servers[2].refuses = 1, False
            until(lambda: len(servers[2].requests) > 2 * proof)
            assert engine.away == 1
            servers[2].salt = 0
            until(lambda: not engine.away)
            assert all(map(brings_noise, engine.models.values()))
            asked = Contender(NAMES[0], 7, (300, 400)), Contender(NAMES[2], 7, (300, 400))
            turn = engine.submit(Request(asked, Sampling(max_new_tokens=9, coupling="servers")))
            assert turn.done.wait(PATIENCE)
            one, other = turn.lines
            assert len(one.tokens) == 9
            assert one.tokens == other.tokens
        finally:
            engine.close()


def test_the_page_says_that_a_model_is_away(two_here, tmp_path):
    with serving(tmp_path, two_here) as app:
        assert httpx.get(f"{app.url}/healthz").json() == {
            "status": "ok",
            "ailing": [],
            "parts": {"engine": "ok", "database": "ok", "disk": "ok"},
            "models_away": 1,
            "models_left_out": 0,
        }
        visitor = Visitor(app.url)
        shown = [c["props"].get("value") or "" for c in visitor.config["components"]]
        (words,) = (text for text in shown if "battles go on" in str(text))
        assert "One model is away" in words
        assert SERVED not in words
        assert not visitor.ask(stop=differ)["error"]
        assert {*visitor.vote()["models"]} == {HERE, ALSO_HERE}
