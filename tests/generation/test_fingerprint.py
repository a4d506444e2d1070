"""Fingerprints: equal for equal weights alone; a text tells broken weights from good ones."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from coupled_arena.core.catalog import ModelSpec, read_catalog
from coupled_arena.core.errors import ModelError
from coupled_arena.generation.fingerprint import fingerprint, perplexity, smoke_text, strangers
from coupled_arena.generation.huggingface import load_model
from tests.small_models import NAMES, save_small_models


@pytest.fixture
def load(tmp_path):
    save_small_models(tmp_path, NAMES[:2])

    def loaded(name, **more):
        spec = ModelSpec(name=name, folder=tmp_path / name, device_map="cpu", **more)
        return load_model(spec, tmp_path)

    return loaded


def test_equal_weights_have_equal_fingerprints(load):
    first, again, other = load(NAMES[0]), load(NAMES[0]), load(NAMES[1])
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint.digest != other.fingerprint.digest


@torch.no_grad()
def test_one_bit_of_one_weight_changes_it(load):
    model = load(NAMES[0], dtype="float32")
    before = model.fingerprint.digest
    weight = model.network.model.layers[1].mlp.down_proj.weight.view(torch.int32)
    weight[3, 5] ^= 1
    assert fingerprint(model.network, model._tokenizer).digest != before


@torch.no_grad()
def test_two_layers_exchanged_change_it(load):
    model = load(NAMES[0], dtype="float32")
    before = model.fingerprint.digest
    first, second = (layer.mlp.up_proj.weight for layer in model.network.model.layers)
    first[:], second[:] = second.clone(), first.clone()
    assert fingerprint(model.network, model._tokenizer).digest != before


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("bfloat16", 2)])
def test_bytes_for_each_weight(load, dtype, size):
    """The inverse frequencies of the rotary embedding, some hundred bytes, are no weights."""
    found = load(NAMES[0], dtype=dtype).fingerprint
    assert size <= found.bytes_per_weight < size + 0.01
    assert found.layers == {
        **{"Embedding": 1, "Linear": 15, "LlamaRMSNorm": 5},
        "LlamaRotaryEmbedding": 1,
    }


def test_perplexity_token_by_token(load):
    """By a second route: a prompt that grows by one token at a time."""
    model = load(NAMES[0], dtype="float32")
    ids = model._tokenizer(smoke_text()).input_ids
    batch = model.start_batch()
    batch.add([ids[:1]])
    surprise = 0.0
    for token in ids[1:]:
        surprise -= float(batch.logits[0].double().log_softmax(0)[token])
        batch.advance(torch.tensor([token]))
    expected = math.exp(surprise / (len(ids) - 1))
    assert perplexity(model.network, model._tokenizer) == pytest.approx(expected, rel=1e-5)


def test_the_demo_s_variants_are_near_and_different(demo_models, demo_catalog):
    """4 bytes, then 1 and a half where all but the embeddings are packed."""
    found = {name: model.fingerprint for name, model in demo_models.items()}
    assert len({each.digest for each in found.values()}) == 3
    full, eight, four = found.values()
    assert full.bytes_per_weight == pytest.approx(4, abs=0.001)
    assert 1 < four.bytes_per_weight < eight.bytes_per_weight < 2
    assert 20 < full.perplexity < eight.perplexity < four.perplexity < 40
    assert [spec.like for spec in demo_catalog.enabled].count(None) == 1
    assert strangers(demo_catalog, demo_models.values()) == []


@torch.no_grad()
def test_scales_of_eight_bits_count(demo_models):
    """The packed numbers are the same, and the weights are not."""
    model = next(each for name, each in demo_models.items() if name.endswith("8bit"))
    before = model.fingerprint.digest
    layer = model.network.model.layers[3].mlp.up_proj
    scales = layer.state.SCB if layer.weight.SCB is None else layer.weight.SCB
    scales *= 2
    try:
        assert fingerprint(model.network, model._tokenizer).digest != before
    finally:
        scales /= 2


class Read:
    """What is known of a model that has been loaded."""

    def __init__(self, name, perplexity, vocabulary="one"):
        self.name, self.perplexity = name, perplexity
        self.vocabulary = SimpleNamespace(fingerprint=vocabulary)


def told(*models):
    entries = [{"name": "full", "folder": "full"}]
    entries += [{"name": name, "folder": name, "like": "full"} for name in ("awq", "int8")]
    return strangers(read_catalog(entries, Path()), models)


def test_a_stranger_is_told():
    (line,) = told(Read("full", 8.0), Read("awq", 13.0), Read("int8", 8.1))
    assert line.startswith("awq has perplexity 13 on a plain text, and full, which it is like, 8: ")
    assert told(Read("awq", 13.0)) == []
    assert told(Read("full", 8.0), Read("awq", 13.0, "another vocabulary")) == []


@torch.no_grad()
def test_a_model_whose_perplexity_is_no_number_is_refused(load):
    """All weights are finite: what is computed from them is not."""
    model = load(NAMES[0], dtype="float32")
    model.network.lm_head.weight *= 1e5
    with pytest.raises(ModelError, match=r"its perplexity in float32 is inf; set dtype"):
        model.read_text()
    model = load(NAMES[0], dtype="float16")
    model.network.model.embed_tokens.weight.fill_(65_000)  # its squares are beyond 65,504
    model.network.model.layers[0].mlp.up_proj.weight.fill_(65_000)
    with pytest.raises(ModelError, match=r"its perplexity in float16 is nan; set dtype to float32"):
        model.read_text()


def test_a_model_that_fails_while_it_reads_is_one_line(load):
    model = load(NAMES[0])
    model.network.lm_head = None
    with pytest.raises(ModelError, match="cannot read a plain text: ") as refused:
        model.read_text()
    assert "\n" not in str(refused.value)
