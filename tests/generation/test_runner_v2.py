"""The plugin for vLLM's second runner: what it uses of vLLM, its slots and rows, is made up."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from coupled_arena.generation.ambient import AmbientSeeds, ambient_ids, filters_of
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.served_draw import (
    PROOF,
    ServedDraw,
    drawn_ids,
    proof_of_server,
    weights_of,
)
from tests.generation.test_ambient import asked as ordinary
from tests.generation.test_plugin import asking, folder, served_config  # noqa: F401
from tests.small_models import TOKENS

pytest.importorskip("triton", reason="Triton is not installed: pip install triton")

MODULE = "coupled_arena.generation.vllm_runner_v2"
DRAW = ServedDraw(7, 0, 0.7, 40, 0.9, (2,))
SLOTS = 6
LOGITS = torch.randn(6, TOKENS, generator=torch.Generator().manual_seed(2))


@pytest.fixture
def runner(monkeypatch):
    uses = ModuleType("vllm.v1.worker.gpu.sample.logits_processor")
    uses.LogitsProcessor = object
    parts = uses.__name__.split(".")
    for count in range(1, len(parts)):
        name = ".".join(parts[:count])
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, uses.__name__, uses)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield importlib.import_module(MODULE)
    sys.modules.pop(MODULE, None)


class Batch:
    """What vLLM holds of its requests, and the steps that it takes with them."""

    def __init__(self, runner, folder, kind):  # noqa: F811
        lengths = torch.zeros(SLOTS, dtype=torch.int32)
        filled = torch.zeros(SLOTS, dtype=torch.int32)
        self.ids = torch.zeros(SLOTS, 50, dtype=torch.int32)
        self.states = SimpleNamespace(
            device=torch.device("cpu"),
            max_num_reqs=SLOTS,
            prompt_len=SimpleNamespace(gpu=lengths, np=lengths.numpy()),
            prefill_len=SimpleNamespace(gpu=filled, np=filled.numpy()),
            all_token_ids=SimpleNamespace(gpu=self.ids),
        )
        self.noise = getattr(runner, kind)(served_config(folder), self.states)
        self.vocabulary = self.noise._model.vocabulary
        self.cache = GumbelCache(torch.from_numpy(self.vocabulary.keys))

    def add(self, slot, params, prompt, written=()):
        self.states.prompt_len.np[slot] = len(prompt)
        self.states.prefill_len.np[slot] = len(prompt) + len(written)
        self.ids[slot, : len(prompt) + len(written)] = torch.tensor([*prompt, *written])
        ours = self.noise.add_request(slot, params)
        self.noise.apply_staged_writes()
        return ours

    def step(self, rows, logits=LOGITS):
        """Return the logits after a step with rows of (slot, tokens written before)."""
        slot_of = torch.tensor([slot for slot, _ in rows], dtype=torch.int32)
        before = torch.tensor([written for _, written in rows])
        lengths = self.states.prompt_len.gpu[slot_of.clamp(min=0).long()]
        context = SimpleNamespace(expanded_idx_mapping=slot_of, pos=lengths + before - 1)
        return self.noise.apply(logits[: len(rows)].clone(), context)

    def alone(self, params, prompt, position, row):
        """Return what the other runner's plugin draws of a row of `LOGITS`."""
        draw = AmbientSeeds(self.vocabulary, 5).draw_of(params, prompt, resumed=False)
        place = [(draw.seed, 0, position)]
        return int(ambient_ids(LOGITS[row][None], self.cache, filters_of(params), place)[0])


@pytest.fixture
def batch(runner, folder):  # noqa: F811
    return Batch(runner, folder, "AmbientNoise")


def test_requests_of_any_client_are_drawn_as_in_the_other_runner(batch):
    first = ordinary(seed=1, temperature=0.8, top_p=0.9)
    second = ordinary(eos_token_id=2, stop_token_ids=[3], min_p=0.01)
    assert batch.add(4, first, [300, 301])
    assert batch.add(0, second, [303])
    assert not batch.add(2, ordinary(temperature=0.0), [300])
    left = batch.step([(0, 3), (4, 0), (2, 5), (-1, 0)])
    assert int(left[0].argmax()) == batch.alone(second, [303], 3, 0)
    assert int(left[1].argmax()) == batch.alone(first, [300, 301], 0, 1)
    assert left[2:].equal(LOGITS[2:4])


def test_a_draft_has_a_row_for_each_token(batch):
    params = ordinary(seed=1)
    batch.add(1, params, [300])
    drawn = batch.step([(1, 4), (1, 5), (1, 6)]).argmax(dim=1).tolist()
    assert drawn == [batch.alone(params, [300], 4 + row, row) for row in range(3)]


def test_a_slot_forgets_the_request_before(batch):
    batch.add(1, ordinary(seed=1, eos_token_id=2), [300])
    batch.add(1, ordinary(temperature=0.0), [301])
    assert batch.step([(1, 0)]).equal(LOGITS[:1])
    params = ordinary(seed=2)
    batch.add(1, params, [301])
    assert int(batch.step([(1, 0)]).argmax()) == batch.alone(params, [301], 0, 0)


def test_a_resumed_request_goes_on(batch):
    params = ordinary()
    batch.add(1, params, [300])
    batch.add(3, params, [300], written=[7, 8])
    assert int(batch.step([(3, 2)]).argmax()) == batch.alone(params, [300], 2, 0)


def test_as_many_stops_as_a_request_has(batch):
    params = ordinary(seed=1, stop_token_ids=list(range(100, 120)))
    batch.add(1, params, [300])
    assert int(batch.step([(1, 0)]).argmax()) == batch.alone(params, [300], 0, 0)


@pytest.mark.parametrize("kind", ["CoupledNoise", "AmbientNoise"])
def test_the_arena_s_requests(runner, folder, kind):  # noqa: F811
    batch = Batch(runner, folder, kind)
    held = weights_of(folder, "float32", "none")
    assert batch.add(0, asking(DRAW), [300])
    assert batch.add(1, asking(PROOF), [0])
    other = ServedDraw(7, 0, 0.7, 40, 0.9, (2,), weights="00112233aabbccdd")
    assert batch.add(2, asking(other), [300])
    proof = proof_of_server(batch.vocabulary, batch.cache, PROOF, held)
    rows = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 500), (2, 3)]
    drawn = batch.step(rows).argmax(dim=1).tolist()
    own = [int(drawn_ids(LOGITS[at][None], batch.cache, DRAW, [(7, 0, at)])[0]) for at in (0, 1)]
    assert drawn == [*own, proof[0], proof[1], proof[-1], 2]
    assert [int(batch.step([(1, at)]).argmax()) for at in range(len(proof))] == proof
    if kind == "CoupledNoise":
        assert not batch.add(0, ordinary(), [300])
        assert batch.step([(0, 0)]).equal(LOGITS[:1])


def test_what_cannot_be_read_is_refused(runner):
    with pytest.raises(ValueError, match="coupled_arena"):
        runner.CoupledNoise.validate_params(SimpleNamespace(extra_args={"coupled_arena": "{"}))
