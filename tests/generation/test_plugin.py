"""The plugin itself, by what it uses of vLLM: three names, made up here, and a configuration."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace

import pytest
import torch

from coupled_arena.generation.ambient import AmbientSeeds, ambient_ids, filters_of
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
from tests.generation.test_ambient import asked as ordinary
from tests.small_models import NAMES, TOKENS, save_small_models

MODULE = "coupled_arena.generation.vllm_plugin"
DRAW = ServedDraw(7, 0, 0.7, 40, 0.9, (2,))


@dataclass
class Update:
    """What vLLM tells of its batch: ``moved`` are pairs of rows and whether they change places."""

    added: tuple = ()
    removed: tuple = ()
    moved: tuple = ()


def follow(rows, update, made):
    """Take in an update in the order that vLLM's function of this name has: new, gone, moved."""
    if not update:
        return
    for index, params, prompt, written in update.added:
        rows.pop(index, None)
        if row := made(params, prompt, written):
            rows[index] = row
    for index in update.removed:
        rows.pop(index, None)
    for first, second, swapped in update.moved:
        one, other = rows.pop(first, None), rows.pop(second, None)
        if one:
            rows[second] = one
        if other and swapped:
            rows[first] = other


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


def served_config(folder, quantization=None):
    """What vLLM tells a plugin of the model that it serves."""
    model = SimpleNamespace(
        model=str(folder),
        tokenizer=str(folder),
        revision=None,
        tokenizer_revision=None,
        trust_remote_code=False,
        dtype=torch.float32,
        quantization=quantization,
        seed=5,
        get_vocab_size=lambda: TOKENS,
    )
    return SimpleNamespace(model_config=model, load_config=SimpleNamespace(download_dir=None))


def processor(plugin, folder, quantization=None, kind="CoupledNoise"):
    config = served_config(folder, quantization)
    return getattr(plugin, kind)(config, torch.device("cpu"), False)


def asking(draw):
    return SimpleNamespace(extra_args={ARGUMENT: draw.to_argument()})


def said(noise, draw, count, logits=None):
    """Return the tokens that a request gets, as vLLM's sampler takes the only possible one."""
    written = []
    noise.update_state(Update(added=[(0, asking(draw), None, written)]))
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


LOGITS = torch.randn(6, TOKENS, generator=torch.Generator().manual_seed(2))


@pytest.fixture
def ambient(plugin, folder):
    return processor(plugin, folder, kind="AmbientNoise")


def expected(ambient, params, prompt, position, logits):
    """Return the token that a request alone in its batch gets."""
    draw = AmbientSeeds(ambient._vocabulary, 5).draw_of(params, prompt, resumed=False)
    noise = GumbelCache(torch.from_numpy(ambient._vocabulary.keys))
    return int(ambient_ids(logits[None], noise, filters_of(params), [(draw.seed, 0, position)])[0])


def test_rows_keep_their_noise_as_the_batch_changes(ambient):
    """Added, gone, moved and swapped as vLLM does it; each row draws as it would alone."""
    requests = [
        (ordinary(seed=1), [300, 301]),
        (ordinary(seed=1, temperature=0.5), [302]),
        (ordinary(seed=2, top_k=5, top_p=0.9), [300, 301]),
        (ordinary(), [303]),
        (ordinary(seed=3, eos_token_id=2), [304]),
    ]
    written = [[] for _ in requests]
    added = [(at, *requests[at], written[at]) for at in range(4)]

    def step(update, places):
        ambient.update_state(update)
        given = LOGITS.clone()
        drawn = ambient.apply(given).argmax(dim=1).tolist()
        for row, request in places.items():
            params, prompt = requests[request]
            alone = expected(ambient, params, prompt, len(written[request]), LOGITS[row])
            assert drawn[row] == alone
            written[request].append(drawn[row])
        left = [row for row in range(len(LOGITS)) if row not in places]
        assert given[left].equal(LOGITS[left])

    step(Update(added=added), {0: 0, 1: 1, 2: 2, 3: 3})
    step(None, {0: 0, 1: 1, 2: 2, 3: 3})
    step(Update(removed=[1], moved=[(3, 1, False)]), {0: 0, 1: 3, 2: 2})
    step(
        Update(added=[(3, *requests[4], written[4])], moved=[(0, 3, True)]),
        {0: 4, 1: 3, 2: 2, 3: 0},
    )
    # One that is put back with what it has written goes on as if it had never left.
    step(Update(removed=[1]), {0: 4, 2: 2, 3: 0})
    step(Update(added=[(4, *requests[3], written[3])]), {0: 4, 2: 2, 3: 0, 4: 3})
    assert written[0] != written[2]


def test_its_own_requests_are_answered_as_before(plugin, folder, ambient):
    before = processor(plugin, folder)
    assert said(ambient, DRAW, 6, LOGITS[:1]) == said(before, DRAW, 6, LOGITS[:1])
    assert said(ambient, PROOF, 40) == said(before, PROOF, 40)


def test_greedy_requests_and_those_without_ids_are_left_to_vllm(ambient):
    added = [(0, ordinary(temperature=0.0), [1], []), (1, ordinary(), None, [])]
    ambient.update_state(Update(added=added))
    assert ambient.apply(LOGITS.clone()).equal(LOGITS)


def test_penalties_come_before_the_draw(ambient):
    """vLLM takes them off afterwards, when the token is drawn."""
    params = ordinary(seed=4, frequency_penalty=2.0, repetition_penalty=1.3)
    written = [7, 7, 7]
    ambient.update_state(Update(added=[(0, params, [300], written)]))
    logits = torch.zeros(1, TOKENS)
    logits[0, 7] = 30.0
    assert int(ambient.apply(logits.clone()).argmax()) == 7
    logits[0, 7] = 8.0
    assert int(ambient.apply(logits.clone()).argmax()) != 7
    ambient.update_state(Update(added=[(0, ordinary(seed=4), [300], written)]))
    logits[0, 7] = 30.0
    assert int(ambient.apply(logits.clone()).argmax()) == 7


def test_rows_wider_than_the_vocabulary(ambient):
    ambient.update_state(Update(added=[(0, ordinary(seed=4), [300], [])]))
    wide = torch.cat([LOGITS[:1], torch.full((1, 24), 50.0)], dim=1)
    assert int(ambient.apply(wide).argmax()) == expected(
        ambient, ordinary(seed=4), [300], 0, LOGITS[0]
    )
