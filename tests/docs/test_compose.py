"""The compose file of the page on model servers fits together, and with the catalog beside it."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import yaml

from tests.docs.pages import REPOSITORY, TEXTS, blocks

PAGE = TEXTS["docs/model-servers.md"]
PLUGIN = "coupled_arena.generation.vllm_plugin:CoupledNoise"
# Of the Compose specification, what is in use here: a key spelled otherwise would be refused.
KEYS = {"build", "command", "depends_on", "deploy", "environment", "healthcheck", "ports"}
KEYS |= {"restart", "volumes"}
(TEXT,) = blocks(PAGE, "yaml")
FILE = yaml.safe_load(TEXT)
SERVICES = FILE["services"]
SERVERS = {name: service for name, service in SERVICES.items() if "command" in service}


def test_all_parts_are_there():
    assert FILE.keys() == {"services", "volumes"}
    for service in SERVICES.values():
        assert service.keys() <= KEYS
        assert not service.get("depends_on", {}).keys() - SERVICES.keys()
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in FILE["volumes"] or source.startswith("./")
    # What waits for a healthy service waits for ever if that has no check.
    waited_for = SERVICES["arena"]["depends_on"]
    assert waited_for.keys() == SERVERS.keys()
    assert {each["condition"] for each in waited_for.values()} == {"service_healthy"}
    assert all("test" in server["healthcheck"] for server in SERVERS.values())


def test_every_server_draws_with_the_noise_on_a_gpu_of_its_own():
    module, name = PLUGIN.split(":")
    source = REPOSITORY / Path(*module.split(".")).with_suffix(".py")
    assert f"class {name}(" in source.read_text()
    gpus = []
    for server in SERVERS.values():
        model, *options = shlex.split(server["command"])
        assert not model.startswith("-")
        assert options == ["--logits-processors", PLUGIN]
        assert server["environment"]["VLLM_USE_V2_MODEL_RUNNER"] == "0"
        (device,) = server["deploy"]["resources"]["reservations"]["devices"]
        gpus += device["device_ids"]
    assert len(gpus) == len(set(gpus)) == len(SERVERS)
    lines = SERVICES["full"]["build"]["dockerfile_inline"].splitlines()
    assert [line.split()[0] for line in lines] == ["FROM", "COPY", "RUN"]


def test_the_arena_is_told_where_its_settings_and_votes_are():
    arena = SERVICES["arena"]
    config = arena["environment"]["COUPLED_ARENA_CONFIG"]
    dockerfile = (REPOSITORY / "Dockerfile").read_text()
    assert [volume for volume in arena["volumes"] if volume.endswith(f":{config}:ro")]
    assert "votes:/data" in arena["volumes"]
    assert re.search(r"^ENV .*COUPLED_ARENA_DB=/data/", dockerfile, flags=re.MULTILINE | re.DOTALL)
    assert arena["ports"] == ["7860:7860"]


def test_the_models_of_the_compose_file_are_those_of_the_catalog():
    catalog, _without_plugin = blocks(PAGE, "toml")
    served = {shlex.split(server["command"])[0] for server in SERVERS.values()}
    assert served == {model["hub"] for model in tomllib.loads(catalog)["models"]}
