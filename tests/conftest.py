"""What all tests share: no network for the hub, two sets, the real small models."""

from __future__ import annotations

import gc
import os

os.environ["HF_HUB_OFFLINE"] = "1"  # all are read at import time
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
# Kernels run on the processor, where TRITON_INTERPRET=0 does not say that a GPU is there. Torch
# imports Triton early.
os.environ.setdefault("TRITON_INTERPRET", "1")
# The workers, the apps they start and the browser share the processor. Several threads of torch
# spin while they wait for each other, and become ten times slower once one of them has to wait.
os.environ["OMP_NUM_THREADS"] = "1"
# Workers and programs that tests start would compile the package each time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import tomllib
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import HealthCheck, settings

from coupled_arena.store import connection
from coupled_arena.store.database import Store
from tests.installed import REPOSITORY, Installed, copy_source, install

# Times would tell what else the machine does. Only the second set draws new examples: what they
# find is no fault of the change that is tested.
settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", parent=settings.get_profile("new"), derandomize=True)

# What only the second set starts: the demo's weights, and the package as others install it.
COSTLY = {"weights_cache", "installed"}


def pytest_addoption(parser):
    parser.addoption(
        *("--all", "--slow"),
        dest="all",
        action="store_true",
        help="also run the second set: apps, browsers, real weights, installation, long runs",
    )


def pytest_configure(config):
    settings.load_profile("new" if config.getoption("all") else "same")
    if not config.getoption("all"):
        connection.CONFIG["threads"] = 1  # a few rows have no work for two
        begin_databases_by_copy()


def copy_whole(source, target):
    try:
        copyfile(source, target)
    except OSError:
        target.unlink()
        raise


def begin_databases_by_copy():
    """Let a new database be a copy of one that was made by the steps: half the time of a store."""
    folder = TemporaryDirectory(prefix="coupled-arena-tests-")
    template = Path(folder.name) / "template.duckdb"
    by_steps = connection.connect_to
    by_steps(str(template), read_only=False).close()

    def by_copy(name, *, read_only):
        if name == connection.IN_MEMORY:
            made = duckdb.connect(name, config=connection.CONFIG)
            made.execute(f"attach '{template}' as template (read_only)")
            made.execute("copy from database template to memory")
            made.execute("detach template")
            return made
        with suppress(OSError):  # by the steps it is said why
            if not read_only and not Path(name).exists():
                copy_whole(template, Path(name))
        return by_steps(name, read_only=read_only)

    by_copy.folder = folder  # goes with the process
    connection.connect_to = by_copy


def pytest_xdist_auto_num_workers(config):
    """Three for folders, for one mostly waits; files and single tests run in this process."""
    return 0 if names_files(config) else 3


def names_files(config):
    return not all((config.invocation_params.dir / arg).is_dir() for arg in config.args)


def is_costly(item):
    return "tests/ui/apps/" in item.nodeid or not COSTLY.isdisjoint(item.fixturenames)


def pytest_collection_modifyitems(config, items):
    """Leave the second set out; whoever names a file means its apps and weights, too.

    The file that takes longest comes first, so that neither worker waits for the other at the end.
    """
    items.sort(key=lambda item: "tests/ui/walks/" not in item.nodeid)
    if config.getoption("all"):
        return
    named = names_files(config)
    kept, left = [], []
    for item in items:
        second = "slow" in item.keywords or (not named and is_costly(item))
        (left if second else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


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


@pytest.fixture
def store():
    """An empty store that vanishes; some files have another one."""
    with Store.in_memory() as opened:
        yield opened
