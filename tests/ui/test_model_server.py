"""A battle of a model on a server, in the page: voted on, and told where the server goes away."""

from __future__ import annotations

import pytest

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.generation.huggingface import load_model
from tests.generation.model_server import ModelServer, running
from tests.small_models import NAMES, save_small_models
from tests.ui.server import serving

HERE, SERVED = NAMES[:2]
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
    page.get_by_role("button", name="Ask").click()


def test_a_served_model_in_the_page(server, mixed_app, visit):
    page = visit(mixed_app.url)
    ask(page, "What is a whale?")
    page.get_by_role("button", name="A is better").click()
    page.get_by_text("Seed", exact=True).wait_for()
    assert set(page.locator("#round .name").all_inner_texts()) == {HERE, SERVED}

    server.refuses = True
    ask(page, "And why?")
    page.get_by_text("The models broke off").wait_for()
    assert page.locator("#round .question").inner_text() == "And why?"

    server.refuses = False
    ask(page, "And now?")
    page.get_by_role("button", name="Tie").click()
    page.get_by_text("Seed", exact=True).wait_for()
    mixed_app.wait_for("select 1 from votes where source = 'human' having count(*) = 2")
