"""Models of two vocabularies through the front door: coupled by bytes, stored, replayed, told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from coupled_arena.battles.compare import compare
from coupled_arena.core.records import Mode, Sampling
from coupled_arena.core.settings import load_settings
from coupled_arena.generation.loading import load_named
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.worker import EngineWorker
from coupled_arena.store.database import Store
from coupled_arena.ui.tabs.compare import show
from tests.patience import PATIENCE
from tests.small_models import NAMES, catalog_of, save_other_spellings, save_small_models

RED, GREEN, BLUE = NAMES


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spellings")
    save_small_models(folder)
    save_other_spellings(folder / BLUE)
    path = folder / "arena.toml"
    path.write_text(catalog_of(**{name: name for name in NAMES}))
    return path


def battles(db):
    with Store.open(db) as store, store.cursor() as cursor:
        ids = [name for (name,) in cursor.execute("select battle from battles").fetchall()]
        return [store.battle(name) for name in ids]


@pytest.mark.slow
def test_vocabularies_decide_and_what_is_stored_is_replayed(call, config, tmp_path):
    prompts, db = tmp_path / "prompts.txt", tmp_path / "arena.duckdb"
    prompts.write_text("What is a whale?\nName a colour.\n")
    run = ["generate", "--prompts", prompts, "--config", config, "--db", db, "--json"]
    run += ["--max-new-tokens", 8, "--mode", "coupled", "--temperature", 1.5]
    wanted = [
        (f"{RED},{GREEN}", [], "token"),
        (f"{RED},{BLUE}", [], "bytes"),
        (f"{RED},{BLUE}", ["--coupling", "token"], "token"),
    ]
    for models, more, _ in wanted:
        code, out, err = call(*run, "--models", models, *more)
        assert (code, json.loads(out)["battles"]) == (0, 2), err
    made = battles(db)
    found = {(frozenset(b.models), b.sampling.coupling) for b in made}
    assert found == {(frozenset(models.split(",")), coupling) for models, _, coupling in wanted}
    battle = next(b for b in made if b.sampling.coupling == "bytes")
    there = ["--config", config, "--db", db, "--json"]
    code, out, _ = call("replay", battle.id, *there)
    assert (code, json.loads(out)["identical"]) == (0, True)
    code, out, _ = call("explain", battle.id, *there)
    told = json.loads(out)
    assert (code, told["by_bytes"], told["again"]) == (0, True, [True, True])
    one, other = (r.text.encode() for r in battle.replies)
    assert one[: told["position"]] == other[: told["position"]]
    assert one[told["position"] :][:1] != other[told["position"] :][:1]
    code, out, err = call(
        *run, "--models", f"{RED},{BLUE}", "--sampler", "inverse", "--coupling", "bytes"
    )
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "Leave one of the two out" in err


NAMED = {
    "token": "",
    "inverse": "one random number for each token",
    "bytes": "noise for each byte, with any vocabularies",
    "servers": "noise of the model servers, which cannot be replayed",
}


def test_a_comparison_says_which_noise_is_read(config):
    models = load_named(load_settings(config), NAMES)
    sampling = Sampling(max_new_tokens=8, coupling="auto")
    worker = EngineWorker(LockstepEngine(models))
    try:
        for names, by_bytes in (((RED, BLUE), True), ((RED, GREEN), False)):
            started = compare(models, worker, names, "Why?", Mode.COUPLED, sampling, seed=5)
            assert started.running.done.wait(PATIENCE)
            view = show(started.battle, started.running.texts)
            assert ("noise for each byte" in view["note"]) == by_bytes
            one, other = view["answers"]
            assert one["common"] == other["common"]
            rest = [each["divergence"][:1] for each in (one, other)]
            assert rest[0] != rest[1]
            for coupling, named in NAMED.items():
                drawn = replace(started.battle.sampling, coupling=coupling)
                told = show(replace(started.battle, sampling=drawn), started.running.texts)["note"]
                assert told.count(" · ") == (2 if named else 1)
                assert told.endswith(named)
    finally:
        worker.close()
