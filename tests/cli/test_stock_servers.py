"""Battles through servers without the plugin, by the front door: made, stored, never mixed."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import ExitStack
from dataclasses import replace

import pytest

from coupled_arena.battles.arena import Arena, ArenaRules
from coupled_arena.core.errors import ModelError, PromptError, SettingsError
from coupled_arena.core.records import Mode, Prompt
from coupled_arena.core.settings import load_settings
from coupled_arena.generation import loading, stock_servers
from coupled_arena.generation.engine_child import _stand_in
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.language_model import brings_noise
from coupled_arena.generation.loading import LateModels, join, load, load_enabled, load_named
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.worker import EngineWorker
from coupled_arena.harness.answers import Answers
from coupled_arena.store.database import Store
from tests.generation.model_server import running
from tests.generation.stock_server import StockServer
from tests.patience import PATIENCE, until
from tests.small_models import NAMES, catalog_of, save_small_models

HERE, RED, GREEN = NAMES
ENTRY = """
[[models]]
name = "{name}"
folder = "{HERE}"
server = "{url}"
served_as = "served"
server_noise = "theirs"
"""


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(stock_servers, "SEEDS", 12)
    monkeypatch.setattr(stock_servers, "_TOKENS", 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stock")
    save_small_models(folder, (HERE,))
    return folder


@pytest.fixture(scope="module")
def held(folder):
    (folder / "here.toml").write_text(catalog_of(**{HERE: HERE}))
    return load_model(load_settings(folder / "here.toml").catalog[HERE], folder)


@pytest.fixture
def serve(held):
    with ExitStack() as servers:
        yield lambda **more: servers.enter_context(running(StockServer(held, **more)))


@pytest.fixture
def configured(folder, tmp_path):
    """Write a catalog of servers, and what else there is; return its path."""

    def written(*servers, more="", table=""):
        entries = [
            ENTRY.format(name=name, HERE=folder / HERE, url=server.url)
            for name, server in zip((RED, GREEN), servers, strict=False)
        ]
        path = tmp_path / "arena.toml"
        path.write_text(f"{table}\n{''.join(entries)}\n{more}")
        return path

    return written


def run(call, config, db, *more, models=f"{RED},{GREEN}"):
    prompts = config.parent / "prompts.txt"
    prompts.write_text("What is a whale?\nName a colour.\n")
    given = ["--config", config, "--db", db, "--prompts", prompts, "--models", models]
    return call("generate", *given, "--max-new-tokens", 6, "--json", *more)


def battles(db):
    with Store.open(db) as store, store.cursor() as cursor:
        ids = [name for (name,) in cursor.execute("select battle from battles").fetchall()]
        return [store.battle(name) for name in ids]


def test_from_generate_to_an_import(serve, configured, call, tmp_path):
    config, db = configured(serve(), serve()), tmp_path / "arena.duckdb"
    code, out, err = run(call, config, db, "--mode", "both")
    assert (code, json.loads(out)["battles"]) == (0, 4), err
    made = battles(db)
    assert {battle.sampling.coupling for battle in made} == {"servers"}
    assert all(b.identical == (b.mode is Mode.COUPLED) for b in made)
    assert made[0].arithmetic[f"{RED}/server"] == "vllm 0.0.stand-in"
    for command in ("replay", "explain"):
        code, out, err = call(command, made[0].id, "--config", config, "--db", db)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "was drawn with noise of its model servers, which is not known here" in err

    files, again = tmp_path / "files", tmp_path / "again.duckdb"
    assert call("export", "--out", files, "--db", db)[0] == 0
    assert call("import", files, "--db", again)[0] == 0
    kept = {(battle.id, battle.mode, battle.sampling) for battle in battles(again)}
    assert kept == {(battle.id, battle.mode, battle.sampling) for battle in made}


def test_runs_that_would_mix_noise_stop(serve, configured, call, tmp_path, folder):
    here = catalog_of(**{HERE: folder / HERE})
    config, db = configured(serve(), serve(), more=here), tmp_path / "arena.duckdb"
    told = 'noise of a server is shared only by models with server_noise = "theirs"'
    for models, more in (
        (f"{RED},{HERE}", ()),
        (f"{RED},{GREEN}", ("--coupling", "token")),
        (f"{RED},{GREEN}", ("--sampler", "inverse")),
    ):
        code, out, err = run(call, config, db, *more, models=models)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert told in err
    assert not battles(db)


def test_an_arena_of_both_kinds_does_not_start(serve, configured, folder):
    here = catalog_of(**{HERE: folder / HERE})
    settings = load_settings(configured(serve(), more=here))
    with pytest.raises(SettingsError, match=rf"{RED}: these models .* and {HERE} with the arena's"):
        load_enabled(settings)
    bytewise = configured(serve(), table='[sampling]\ncoupling = "bytes"')
    with pytest.raises(SettingsError, match="Leave out coupling = 'bytes' of"):
        load_enabled(load_settings(bytewise))


def test_a_server_with_other_noise_is_left_out(serve, configured, caplog):
    settings = load_settings(configured(serve(), serve(salt=1)))
    with pytest.raises(SettingsError, match="Only 1 of the enabled models can be used"):
        load_enabled(settings)
    (told,) = [r.getMessage() for r in caplog.records if getattr(r, "left_out", "") == GREEN]
    assert f"with one seed its answers are no more like those of {RED} than with two" in told
    with pytest.raises(ModelError, match="no more like those of"):
        load_named(settings, (RED, GREEN))


def test_models_check_says_so_too(serve, configured, call):
    config = configured(serve(), serve(salt=1))
    code, out, err = call("models", "check", "--config", config, "--json")
    assert (code, [row["name"] for row in json.loads(out)["models"]]) == (1, [RED])
    assert f"no more like those of {RED}" in err


def test_a_model_that_comes_later_proves_itself_too(serve, configured, monkeypatch):
    monkeypatch.setattr(loading, "_PAUSE", 0.05)
    monkeypatch.setattr(loading, "_LONGEST_PAUSE", 0.1)
    other = serve(salt=1)
    settings = load_settings(configured(serve(), other))
    sampling = settings.sampling.sampling()
    models = {RED: load(settings.catalog[RED], settings.cache, sampling=sampling)}
    come = []
    missing = {GREEN: lambda: load(settings.catalog[GREEN], settings.cache, sampling=sampling)}
    late = LateModels(missing, lambda model: join(model, models), come.append)
    until(lambda: come or len(other.requests) > 110)  # it has been asked again, in vain
    assert (late.away, come) == (1, [])
    other.salt = 0
    until(lambda: come)
    assert late.away == 0


def test_rounds_of_the_arena(serve, configured, store):
    """The web process knows models by stand-ins. A next question needs equal lengths."""
    models = load_enabled(load_settings(configured(serve(), serve())))
    known = {name: _stand_in(model) for name, model in models.items()}
    assert all(map(brings_noise, known.values()))
    worker = EngineWorker(LockstepEngine(models))
    sampling = load_settings(sampling={"max_new_tokens": 12}).sampling.sampling()
    try:
        rules = ArenaRules(sampling, coupled_share=0.0)
        arena = Arena(known, worker, store, rules, random.Random(0))
        round_id = arena.ask("eve", Prompt("What is a whale?"))
        current = arena._rounds.of("eve", round_id)
        assert current.state.pending[1].done.wait(PATIENCE)
        asyncio.run(arena.look("eve", round_id))
        battle = current.state.battle
        assert battle.sampling.coupling == "servers"
        one, other = battle.replies
        uneven = replace(battle, replies=(replace(one, text="No."), other))
        current.state = replace(current.state, battle=uneven)
        with pytest.raises(PromptError, match="Start a new round"):
            arena.follow_up("eve", round_id, "Why?")
        assert arena.ask("eve", Prompt("Name a colour."))
        arena.close()
    finally:
        worker.close()


def test_a_harness_takes_no_such_model(serve, configured):
    config = configured(serve())
    with pytest.raises(SettingsError, match="a harness takes models with the arena's"):
        Answers(RED, config=config)
