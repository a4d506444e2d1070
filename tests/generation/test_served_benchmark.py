"""What the benchmark of servers finds in servers that stand in for vLLM."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import ExitStack

import pytest

from benchmarks import served
from coupled_arena.core.catalog import ModelSpec
from coupled_arena.generation.huggingface import load_model
from tests.generation.model_server import ModelServer, running
from tests.small_models import NAMES, save_small_models


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder, NAMES[:1])
    spec = ModelSpec(name="a", folder=folder / NAMES[0], dtype="float32", device_map="cpu")
    return load_model(spec, folder)


@pytest.fixture
def serve(model):
    with ExitStack() as servers:

        def start(**more):
            url = servers.enter_context(running(ModelServer(model, **more))).url
            return served.Server("coupled float32", url, process=None, log=None)

        yield start


@pytest.fixture
def given(tmp_path):
    """Options with which nothing starts: this environment has no vLLM."""
    sizes = {"requests": "2", "tokens": 3, "seeds": 5, "draft": False, "options": "", "json": False}
    return Namespace(
        folder=tmp_path, vllm=sys.executable, device="cpu", work=tmp_path / "work", **sizes
    )


def test_answers_of_one_noise_are_the_same(serve, monkeypatch):
    monkeypatch.setattr(served, "PROMPTS", 4)
    monkeypatch.setattr(served, "LENGTH", 8)
    one, two, other = serve(), serve(), serve(ambient=False, own="by seed")
    assert served.alike(one, two) == {"one seed": 4, "another": 0, "asked again": 4, "of": 4}
    assert served.alike(one, other)["one seed"] < 4


def test_the_law_of_first_tokens(serve):
    assert served.law(serve(), 150) > 1e-3
    # The same noise for every seed: each prompt has one first token.
    assert served.law(serve(ambient=False, own="apart"), 150) < 1e-9


def test_tokens_a_second(serve, monkeypatch):
    clock = iter(range(6))
    monkeypatch.setattr(served, "time", Namespace(perf_counter=lambda: next(clock)))
    assert served.rate(serve(), 2, 3) == 6


def test_a_server_that_does_not_start_is_left_out(given, capsys):
    with served.started(given) as servers:
        assert served.tried(given, servers) == {"servers": []}
    said = capsys.readouterr().err
    assert said.count("it is left out") == 4
    assert "vllm" in said.splitlines()[1]
