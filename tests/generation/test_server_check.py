"""Two servers prove by their draws that they share noise, or it is said why not."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack

import pytest
import torch

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.served_draw import option
from tests.generation.model_server import ModelServer, running
from tests.installed import REPOSITORY
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
    assert found["noise_of"] == "arena"
    for told in found["servers"]:
        assert told["noise"] == "every request"
        assert told["tokens"] == told["as_noise"] == 64
        assert told["chance"] < 1e-9
        assert told["weights"] == str(one.weights)
    _, out, _ = call("server-check", one.url, two.url, "--seeds", "8", "--tokens", "8")
    assert "64 of 64 draws are those of the arena's noise (other noise: chance" in out
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
    assert out.endswith("The servers do not share noise.\n")


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


@pytest.mark.parametrize("plugin", ["CoupledNoise", "AmbientNoise"])
def test_the_options_name_classes_of_both_runners(plugin):
    """vLLM refuses to start with the plugin of the other runner."""
    named = re.findall(r"([\w.]+):(\w+)", option(plugin))
    assert [module.rpartition(".")[2] for module, _ in named] == ["vllm_runner_v2", "vllm_plugin"]
    for module, name in named:
        file = REPOSITORY / module.replace(".", "/")
        source = file.with_suffix(".py").read_text(encoding="utf-8")
        assert re.search(rf"^class {name}\(", source, re.MULTILINE)


def test_a_server_that_fails_is_named(serve, models, call):
    server = serve(models[0], refuses=True)
    code, _, err = call("server-check", server.url, server.url)
    assert code == 1
    assert f"The server at {server.url} says: " in err


STOCK = {"ambient": False, "plugin": False}


@pytest.fixture(scope="module")
def near(models, tmp_path_factory):
    """The first model with slightly other weights, as by quantization."""
    folder = tmp_path_factory.mktemp("near")
    save_small_models(folder, NAMES[:1])
    spec = ModelSpec(name="near", folder=folder / NAMES[0], dtype="float32", device_map="cpu")
    model = load_model(spec, folder)
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weights in model.network.parameters():
            weights += 0.04 * weights.std() * torch.randn(weights.shape, generator=random)
    return model


@pytest.mark.parametrize("same_weights", [True, False])
def test_servers_with_noise_of_their_own(serve, models, near, call, same_weights):
    """As vLLM and SGLang have it: also where the weights differ, and words agree for a while."""
    held = models[0], models[0] if same_weights else near
    pair = [serve(model, own="by seed", **STOCK) for model in held]
    code, found = checked(call, *pair, seeds=16)
    assert code == 0
    assert (found["shared"], found["noise_of"]) == (True, "servers")
    assert found["same"] == 16 if same_weights else found["same"] < 16
    assert all(told["as_noise"] < told["tokens"] for told in found["servers"])
    assert [told["noise"] for told in found["servers"]] == ["none", "none"]


def test_what_noise_of_the_servers_needs_is_said(serve, models, call):
    urls = [serve(models[0], own="by seed", **STOCK).url for _ in range(2)]
    code, out, _ = call("server-check", *urls, "--seeds", "8", "--tokens", "4")
    assert code == 0
    assert "The servers share noise of their own, by seed: " in out
    assert "a seed in each request, one vocabulary, and prompts of the same number of" in out
    assert "replay cannot check it" in out
    assert "--logits-processors" not in out


@pytest.mark.parametrize("own", ["apart", "alike"])
def test_words_that_no_seed_makes_alike_prove_nothing(serve, models, call, own):
    """Servers that ignore seeds may well answer the same each time."""
    pair = [serve(models[0], own=own, stream=n, **STOCK) for n in range(2)]
    code, found = checked(call, *pair)
    assert code == 1
    assert (found["shared"], found["noise_of"]) == (False, None)
    assert found["same"] == (8 if own == "alike" else 0)
    assert found["same_otherwise"] == (56 if own == "alike" else 0)
    assert found["p_value"] > 1e-3
    code, out, _ = call("server-check", *(each.url for each in pair), "--seeds", 6, "--tokens", 4)
    assert code == 1
    only = "most answers are the same with any seed" if own == "alike" else "only 7 or more --seeds"
    assert only in out.splitlines()[-1]


def test_noise_of_the_servers_where_no_laws_are_told(serve, models, call):
    pair = [serve(models[0], own="by seed", tells=5, **STOCK) for _ in range(2)]
    code, found = checked(call, *pair)
    assert code == 0
    assert (found["shared"], found["noise_of"]) == (True, "servers")
    of_plugins = [serve(models[0], tells=5) for _ in range(2)]
    code, found = checked(call, *of_plugins)
    assert code == 0
    assert (found["shared"], found["noise_of"]) == (True, None)


def test_noise_of_the_arena_that_explains_most_is_not_the_servers_own(serve, models, call):
    """Log-probabilities that are told too roughly hide some of its draws."""
    pair = [serve(models[0], blurs=0.5) for _ in range(2)]
    code, found = checked(call, *pair, seeds=16)
    assert code == 1
    assert (found["shared"], found["noise_of"]) == (False, None)
    assert [told["noise"] for told in found["servers"]] == ["many draws", "many draws"]
    assert found["p_value"] <= 1e-3
    few = ("--seeds", "4", "--tokens", "2")  # all of them fit, but that may be chance
    code, out, _ = call("server-check", pair[0].url, serve(models[0]).url, *few)
    assert code == 1
    assert "It is not proven that the servers share noise." in out
