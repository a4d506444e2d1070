"""Two servers prove by their draws that they share noise, or it is said why not."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.generation.huggingface import load_model
from tests.generation.model_server import ModelServer, running
from tests.small_models import NAMES, save_small_models


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two models of one vocabulary."""
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder, NAMES[:2])
    return [
        load_model(
            ModelSpec(name=name, folder=folder / name, dtype="float32", device_map="cpu"), folder
        )
        for name in NAMES[:2]
    ]


@pytest.fixture
def serve():
    """Start a server."""
    with ExitStack() as servers:
        yield lambda model, **more: servers.enter_context(running(ModelServer(model, **more)))


def checked(call, *servers, seeds=8):
    arguments = [*(server.url for server in servers), "--seeds", seeds, "--tokens", 8]
    code, out, err = call("server-check", *arguments, "--json")
    assert not err
    return code, json.loads(out)


def test_the_same_model_twice(serve, models, call):
    one, two = serve(models[0]), serve(models[0])
    code, found = checked(call, one, two)
    assert code == 0
    assert found["shared"] is True
    assert (found["same"], found["seeds"], found["same_otherwise"]) == (8, 8, 0)
    assert found["p_value"] <= 1e-3
    for told in found["servers"]:
        assert told["noise"] == "every request"
        assert told["tokens"] == told["as_noise"] == 64
        assert told["chance"] < 1e-9
        assert told["weights"] == str(one.weights)
    _, out, _ = call("server-check", one.url, two.url, "--seeds", "8", "--tokens", "8")
    assert "64 of 64 draws are those of the noise (other noise: chance" in out
    assert out.endswith("The servers share noise.\n")


def test_two_models_need_not_say_the_same(serve, models, call):
    code, found = checked(call, *map(serve, models))
    assert code == 0
    assert found["same"] < 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugin", "noise", "remedy"),
    [
        (True, "own requests", "it couples only the arena's requests"),
        (False, "none", "Start it with --logits-processors"),
    ],
)
def test_a_server_with_other_noise(serve, models, call, plugin, noise, remedy):
    one, two = serve(models[0]), serve(models[0], ambient=False, plugin=plugin)
    code, found = checked(call, one, two)
    assert code == 1
    assert found["shared"] is False
    assert [told["noise"] for told in found["servers"]] == ["every request", noise]
    assert found["servers"][1]["as_noise"] < found["servers"][1]["tokens"]
    assert found["servers"][1]["chance"] is None
    code, out, _ = call("server-check", one.url, two.url, "--seeds", "4", "--tokens", "4")
    assert code == 1
    assert remedy in out
    assert out.endswith("The servers do not share this noise.\n")


@pytest.mark.slow
def test_servers_that_tell_no_laws_are_compared_by_their_words(serve, models, call):
    one, two = serve(models[0], tells=5), serve(models[0])
    code, found = checked(call, one, two)
    assert code == 0
    assert [told["tokens"] for told in found["servers"]] == [0, 64]
    assert found["servers"][0]["noise"] == "not told"
    other = serve(models[0], tells=5, ambient=False)
    code, found = checked(call, one, other)
    assert code == 1
    assert found["p_value"] > 1e-3


def test_keys_and_addresses(serve, models, call, monkeypatch):
    server = serve(models[0], key="secret")
    code, _, err = call("server-check", server.url, server.url)
    assert (code, err.count("\n")) == (1, 1)
    assert "asks for a key: name its variable with --key-variable" in err
    code, _, err = call("server-check", server.url, server.url, "--key-variable", "MINE")
    assert (code, err) == (1, "Error: The variable MINE holds no key.\n")
    monkeypatch.setenv("MINE", "secret")
    given = ("--key-variable", "MINE", "--seeds", "8", "--tokens", "8")
    code, _, _ = call("server-check", f"{server.url}/v1/", server.url, *given)
    assert code == 0
    code, _, err = call("server-check", server.url, "http://127.0.0.1:9", *given)
    assert code == 1
    assert err == (
        "Error: No server answers at http://127.0.0.1:9. Start it there, or correct the address.\n"
    )
    code, _, _ = call("server-check", server.url, server.url, *(3 * given[:2]))
    assert code == 2


def test_a_server_that_fails_is_named(serve, models, call):
    server = serve(models[0], refuses=True)
    code, _, err = call("server-check", server.url, server.url)
    assert code == 1
    assert f"The server at {server.url} says: " in err
