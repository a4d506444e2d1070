"""What all tests share: no network for the hub, the --slow option, the real small models."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # both are read at import time
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes minutes; run with --slow"))


@pytest.fixture(scope="session")
def weights_cache() -> Path:
    """The folder that keeps the demo weights (98 MB) between runs; filled at first use."""
    default = Path.home() / ".cache" / "coupled_arena"
    return Path(os.environ.get("COUPLED_ARENA_CACHE") or default)


@pytest.fixture(scope="session")
def demo_catalog():
    from coupled_arena.generation.catalog import read_catalog

    preset = REPOSITORY / "data" / "presets" / "demo.toml"
    catalog = read_catalog(tomllib.loads(preset.read_text())["models"], preset.parent)
    assert not catalog.problems
    return catalog


@pytest.fixture(scope="session")
def demo_models(demo_catalog, weights_cache):
    """The three models of the demo preset, loaded once: full precision, 8 bits, 4 bits."""
    import torch

    from coupled_arena.generation.huggingface import load_model

    torch.set_num_threads(2)
    return {spec.name: load_model(spec, weights_cache) for spec in demo_catalog.enabled}


@pytest.fixture
def call(capsys):
    """Run the command line in this process: exit code, stdout, stderr."""

    from coupled_arena.cli import main

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return stopped.value.code or 0, printed.out, printed.err

    return run
