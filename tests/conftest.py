"""What all tests share: no network for the hub, the --slow option, the real small models."""

from __future__ import annotations

import gc
import os

os.environ["HF_HUB_OFFLINE"] = "1"  # all are read at import time
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
# The workers, the apps they start and the browser share the processor. Several threads of torch
# spin while they wait for each other, and become ten times slower once one of them has to wait.
os.environ["OMP_NUM_THREADS"] = "1"

import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from tests.installed import REPOSITORY, Installed, copy_source, install

# Times would tell what else the machine does.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

# Two workers share the files. What takes longest comes first, so that both end at the same time.
# The files of a group share what takes long to start: a wheel and the model of the demo, or the
# browser and the process that apps are forked from. The last files visit one app, which costs
# processor time for as long as it runs.
APPS = ["installation", "judging/real_server", "ui/front_door", "ui/annotation", "ui/board"]
APPS += ["ui/presses", "ui/analysis_tabs", "ui/durability", "ui/live_judge", "ui/benchmark_tabs"]
APPS += ["ui/model_server", "ui/report", "ui/backup", "ui/lost_database"]
APPS += ["ui/blindness", "ui/browser", "ui/texts", "ui/typing", "ui/reload", "ui/crowd"]
DEMO = ["generation/huggingface", "cli/cli", "cli/benchmark", "cli/protocols", "api/models"]
DEMO += ["generation/failures", "generation/fingerprint", "generation/quantized"]
# Side by side, for the browser and the app that most of them visit end with their folder.
LONG_PAGES = ["ui/whole_page", "ui/battles", "ui/accessibility", "ui/engine_process"]
LONG_PAGES += ["ui/flow", "ui/judged", "ui/meant_votes", "ui/sorting"]
FIRST = [
    *(*APPS, *DEMO, "quality", *LONG_PAGES, "cli/ranking_paper", "tasks/sandbox", "cli/judge"),
    *("store/backup", "store/importing", "store/round_trip", "judge_runs/bulk"),
    *("generation/remote", "analysis/audit"),
]


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")


def pytest_xdist_auto_num_workers(config):
    """Two for folders; files and single tests run in this process."""
    return 2 if all((config.invocation_params.dir / arg).is_dir() for arg in config.args) else 0


def short(nodeid):
    """Return the file of a test as it is named above: ``ui/board`` for tests/ui/test_board.py."""
    file = nodeid.partition("::")[0].removeprefix("tests/").removesuffix(".py")
    return file.replace("test_", "", 1)


class FileByFile(LoadFileScheduling):
    """A file is one worker's, and so are all files that share what takes long to load."""

    def _split_scope(self, nodeid):
        file = short(nodeid)
        return next((all[0] for all in (APPS, DEMO) if file in all), file)


def pytest_xdist_make_scheduler(config, log):
    return FileByFile(config, log)


def pytest_collection_modifyitems(config, items):
    rank = {file: number for number, file in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(short(item.nodeid), len(FIRST)))
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes minutes; run with --slow"))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Look for no garbage among the million objects that imports leave, neither now nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def source(tmp_path_factory) -> Path:
    """What is published."""
    folder = tmp_path_factory.mktemp("source")
    copy_source(folder)
    return folder


@pytest.fixture(scope="session")
def installed(source, tmp_path_factory) -> Installed:
    """The package as others install it, and an empty folder to work in."""
    return install(source, *map(tmp_path_factory.mktemp, ("built", "prefix", "work")))


@pytest.fixture(scope="session")
def weights_cache() -> Path:
    """The folder that keeps the demo weights (98 MB) between runs; filled at first use."""
    default = Path.home() / ".cache" / "coupled_arena"
    return Path(os.environ.get("COUPLED_ARENA_CACHE") or default)


@pytest.fixture(scope="session")
def demo_catalog():
    from coupled_arena.core.catalog import read_catalog

    preset = REPOSITORY / "data" / "presets" / "demo.toml"
    catalog = read_catalog(tomllib.loads(preset.read_text())["models"], preset.parent)
    assert not catalog.problems
    return catalog


@pytest.fixture(scope="session")
def demo_models(demo_catalog, weights_cache):
    """The three models of the demo preset, loaded once: full precision, 8 bits, 4 bits."""
    from coupled_arena.generation.huggingface import load_model

    return {spec.name: load_model(spec, weights_cache) for spec in demo_catalog.enabled}


@contextmanager
def loaded_already(models):
    """Let commands take models that are loaded already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "coupled_arena.generation.loading.load_named",
            lambda settings, names: {name: models[name] for name in names},
        )
        yield


@pytest.fixture
def demo_loaded(demo_models):
    """Commands take the models of the demo that are loaded already."""
    with loaded_already(demo_models):
        yield


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
