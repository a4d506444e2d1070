"""An output layer that sums in 32 bits: its logits, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.generation.huggingface import load_model
from tests.small_models import NAMES, save_small_models

TEXT = [{"role": "user", "content": "Hello"}]


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder, NAMES[:1])

    def loaded(**options):
        named = {"name": "one", "folder": folder / NAMES[0], "device_map": "cpu"}
        return load_model(ModelSpec(**(named | options)), Path())

    return loaded


def logits_and_hidden(model):
    """Return the next logits, and what the output layer was given for them."""
    seen = []
    layer = model.network.get_output_embeddings()
    hook = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    batch = model.start_batch()
    batch.add([model.encode(TEXT)])
    hook.remove()
    return batch.logits, seen[-1][0, -1:]


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_logits_have_32_bits_and_are_those_of_the_products(load, kind):
    narrow, wide = load(dtype=kind), load(dtype=kind, head_dtype="float32")
    rounded, hidden = logits_and_hidden(narrow)
    logits, same = logits_and_hidden(wide)
    assert same.equal(hidden)
    assert logits.dtype == torch.float32
    weight = wide.network.get_output_embeddings().weight
    exact = hidden.double() @ weight.double().T
    # A sum of n products in 32 bits is off by at most n rounding errors of the sum of sizes.
    sizes = hidden.double().abs() @ weight.double().abs().T
    bound = hidden.shape[1] * torch.finfo(torch.float32).eps * sizes
    assert ((logits - exact).abs() <= bound).all()
    assert ((rounded - exact).abs() > bound).any()
    tokens = torch.tensor([5])
    for batch in (wide.start_batch(), narrow.start_batch()):
        batch.add([wide.encode(TEXT)])
        batch.advance(tokens)
        assert batch.logits.isfinite().all()


def test_the_record_tells_it_where_it_changes_the_law(load):
    narrow, wide = load(), load(head_dtype="float32")
    assert narrow.fingerprint.digest == wide.fingerprint.digest  # the same weights
    assert wide.arithmetic["head"] == "float32"
    assert "head" not in narrow.arithmetic
    full = load(dtype="float32", head_dtype="float32")
    assert full.arithmetic == load(dtype="float32").arithmetic
    assert wide.check_itself().sound


def test_a_packed_layer_cannot_be_widened(load, monkeypatch):
    def packed(_, network):
        network.set_output_embeddings(torch.nn.Linear(64, 1000, dtype=torch.float32))

    monkeypatch.setattr("coupled_arena.generation.huggingface._compute_as_asked", packed)
    with pytest.raises(ModelError, match="head_dtype"):
        load(head_dtype="float32")


def test_a_server_decides():
    with pytest.raises(ValueError, match="leave head_dtype out"):
        ModelSpec(name="a", hub="a/b", server="http://localhost:1", head_dtype="float32")
