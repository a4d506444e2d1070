"""The plugin itself, by what it uses of vLLM: three names, made up here, and a configuration."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest
import torch

from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.served_draw import (
    ARGUMENT,
    PROOF,
    WEIGHTS_TOKENS,
    ServedDraw,
    ServedWeights,
    drawn_ids,
    proof_of_server,
    weights_of,
)
from tests.small_models import NAMES, TOKENS, save_small_models

MODULE = "coupled_arena.generation.vllm_plugin"
DRAW = ServedDraw(7, 0, 0.7, 40, 0.9, (2,))


def follow(rows, update, made):
    """Take in new rows, as vLLM's function of this name does."""
    for index, params, prompt, written in update or ():
        rows[index] = made(params, prompt, written)


@pytest.fixture
def plugin(monkeypatch):
    uses = ModuleType("vllm.v1.sample.logits_processor")
    uses.LogitsProcessor, uses.BatchUpdate = object, object
    uses.process_dict_updates = follow
    for name in ("vllm", "vllm.v1", "vllm.v1.sample"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, uses.__name__, uses)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield importlib.import_module(MODULE)
    sys.modules.pop(MODULE, None)


@pytest.fixture
def folder(tmp_path):
    save_small_models(tmp_path, NAMES[:1])
    return tmp_path / NAMES[0]


def processor(plugin, folder, quantization=None):
    model = SimpleNamespace(
        model=str(folder),
        tokenizer=str(folder),
        revision=None,
        tokenizer_revision=None,
        trust_remote_code=False,
        dtype=torch.float32,
        quantization=quantization,
        get_vocab_size=lambda: TOKENS,
    )
    config = SimpleNamespace(model_config=model, load_config=SimpleNamespace(download_dir=None))
    return plugin.CoupledNoise(config, torch.device("cpu"), False)


def asking(draw):
    return SimpleNamespace(extra_args={ARGUMENT: draw.to_argument()})


def said(noise, draw, count, logits=None):
    """Return the tokens that a request gets, as vLLM's sampler takes the only possible one."""
    written = []
    noise.update_state([(0, asking(draw), None, written)])
    for _ in range(count):
        given = torch.zeros(1, TOKENS) if logits is None else logits.clone()
        written.append(int(noise.apply(given).argmax()))
    return written


def test_its_proof_tells_its_weights(plugin, folder):
    noise = processor(plugin, folder, "awq")
    held = weights_of(folder, "float32", "awq")
    expected = proof_of_server(
        noise._vocabulary, GumbelCache(torch.from_numpy(noise._vocabulary.keys)), PROOF, held
    )
    told = said(noise, PROOF, len(expected))
    assert told == expected
    assert ServedWeights.from_ids(told[-WEIGHTS_TOKENS:]) == held


def test_a_proof_is_made_once(plugin, folder, monkeypatch):
    """Its twelve draws at every token would hold up everybody else's."""
    made = []

    def counted(*known):
        made.append(known)
        return proof_of_server(*known)

    monkeypatch.setattr(plugin, "proof_of_server", counted)
    noise = processor(plugin, folder)
    assert said(noise, PROOF, 20) != said(noise, replace(PROOF, turn=4), 20)
    assert len(made) == 2


def test_a_question_for_other_weights_ends_at_once(plugin, folder):
    noise = processor(plugin, folder)
    held = weights_of(folder, "float32", "none")
    logits = torch.randn(1, TOKENS, generator=torch.Generator().manual_seed(1))
    cache = GumbelCache(torch.from_numpy(noise._vocabulary.keys))
    drawn = [int(drawn_ids(logits, cache, DRAW, [(7, 0, at)])[0]) for at in range(4)]
    assert said(noise, replace(DRAW, weights=held.digest), 4, logits) == drawn
    assert said(noise, DRAW, 4, logits) == drawn
    other = replace(DRAW, weights="00112233aabbccdd")
    assert said(noise, other, 4, logits) == 4 * [min(DRAW.stops)]


def test_it_keeps_to_what_was_there_at_its_start(plugin, folder):
    noise = processor(plugin, folder)
    before = weights_of(folder, "float32", "none")
    (folder / "config.json").write_text("{}")
    assert weights_of(folder, "float32", "none") != before
    assert ServedWeights.from_ids(said(noise, PROOF, 29 + WEIGHTS_TOKENS)[29:]) == before
