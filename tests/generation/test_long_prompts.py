"""Prompts that are read in chunks, and keys that stay within their room, on small real models."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from transformers.cache_utils import DynamicCache

from coupled_arena.core.catalog import read_catalog
from coupled_arena.core.records import Sampling
from coupled_arena.generation.batches import CHUNK, PromptReading, RowBatch, cache_option
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.devices import tokens_that_fit
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Contender, Request
from tests.small_models import NAMES, TOKENS, save_small_models

NAME = NAMES[0]
BRIEF = Sampling(temperature=0.9, top_p=0.95, max_new_tokens=12)
FIRST_WORD = 300


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder, (NAME,))

    def loaded(dtype="float32"):
        entry = {"name": NAME, "folder": NAME, "dtype": dtype, "device_map": "cpu"}
        (spec,) = read_catalog([entry], folder).models
        return load_model(spec, folder)

    return loaded


@pytest.fixture(scope="module")
def model(load):
    return load()


def prompt(length, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randint(FIRST_WORD, TOKENS, (length,), generator=generator).tolist())


def request(seed, read, sampling=BRIEF):
    return Request((Contender(NAME, seed, read),), sampling)


@torch.inference_mode()
def in_one_go(model, ids):
    """Return what the network says of a prompt that it reads at once, and its keys."""
    cache = DynamicCache()
    output = model.network(
        input_ids=torch.tensor([ids]),
        position_ids=torch.arange(len(ids))[None],
        **cache_option(model.network, cache),
        use_cache=True,
        logits_to_keep=1,
    )
    return output.logits[:, -1], cache


def read(model, ids):
    reading = PromptReading(model.network, ids)
    reading.finish()
    return reading


@pytest.mark.parametrize("length", [1, 40, CHUNK - 1, CHUNK])
def test_a_prompt_of_one_chunk_is_read_as_it_always_was(model, length):
    ids = prompt(length)
    logits, cache = in_one_go(model, ids)
    reading = read(model, ids)
    assert torch.equal(reading.logits, logits)
    assert torch.equal(reading.cache.layers[1].keys, cache.layers[1].keys)


@pytest.mark.parametrize("attention", ["row_sdpa", "sdpa", "eager"])
@pytest.mark.parametrize("length", [CHUNK + 1, CHUNK + 2, 2 * CHUNK, 1500])
def test_chunks_are_one_prompt_but_for_rounding(model, length, attention):
    """Ours and the library's attention; a key too many or too few moves logits by whole units."""
    ours = model.network.config._attn_implementation
    model.network.set_attn_implementation(attention)
    ids = prompt(length)
    logits, cache = in_one_go(model, ids)
    reading = read(model, ids)
    model.network.set_attn_implementation(ours)
    # Four blocks, each of sums of up to 1,500 products, as a random walk of half-ulps.
    bound = math.sqrt(4 * 1500) * 2.0**-24 * float(logits.abs().max())
    assert float((reading.logits - logits).abs().max()) < bound
    assert reading.cache.get_seq_length() == length
    keys, expected = reading.cache.layers[1].keys, cache.layers[1].keys
    assert float((keys - expected).abs().max()) < bound


@pytest.mark.usefixtures("passes")
def test_answers_grow_while_a_long_prompt_is_read_and_nobody_is_moved_by_a_bit(model):
    """Alone, beside others, and read by one step after the other: the same words."""
    asked = [request(1, prompt(20)), request(2, prompt(3 * CHUNK + 7, 1)), request(3, prompt(700))]
    longer = [replace(one, sampling=replace(BRIEF, max_new_tokens=n)) for one, n in
              zip(asked, (40, 12, 30), strict=True)]  # fmt: skip
    alone = [decode(LockstepEngine({NAME: model}), [one])[0].lines[0].tokens for one in longer]
    engine = LockstepEngine({NAME: model})
    runs = [engine.prepare(one) for one in longer]
    for running in runs:
        engine.add(running)
    grown = []
    while engine.battles:
        engine.step()
        grown.append([len(running.lines[0].tokens) for running in runs])
    ahead = [[1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0]]  # three chunks, and seven tokens
    assert grown[:7] == [*ahead, [5, 1, 0], [6, 2, 0], [7, 3, 1]]
    assert [running.lines[0].tokens for running in runs] == alone


@pytest.mark.slow
def test_keys_stay_within_their_room(model, monkeypatch):
    """Rows come and go and widths double; rows times columns never exceed what was allowed."""
    from coupled_arena.generation import batches

    sizes, resized = [], batches._resized

    def measured(old, rows, columns):
        sizes.append(rows * columns)
        return resized(old, rows, columns)

    monkeypatch.setattr(batches, "_resized", measured)
    asked = [
        request(n, prompt(length), replace(BRIEF, max_new_tokens=most))
        for n, (length, most) in enumerate([(30, 100), (300, 9), (5, 20), (60, 70), (99, 50)] * 2)
    ]
    free = decode(LockstepEngine({NAME: model}), asked)
    assert max(sizes) > 520
    sizes.clear()
    bound = decode(LockstepEngine({NAME: model}, Capacity(kv_tokens=520)), asked)
    assert 400 < max(sizes) <= 520
    assert [run.texts for run in bound] == [run.texts for run in free]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_library_reads_as_rows_do(load, dtype):
    """By a second route: the network's own attention over each row by itself, without a cache."""
    model = load(dtype)
    prompts = [prompt(length, length) for length in (5, 90, 31)]
    batch = model.start_batch()
    batch.add(prompts)
    histories = [list(ids) for ids in prompts]
    logits = batch.logits
    for _ in range(4):
        tokens = logits.argmax(1)
        for history, token in zip(histories, tokens.tolist(), strict=True):
            history.append(token)
        batch.advance(tokens)
        logits = batch.logits
    ulp = 2.0 ** -(23 if dtype == "float32" else 7)
    model.network.set_attn_implementation("sdpa")
    for row, history in zip(logits, histories, strict=True):
        expected, _ = in_one_go(model, history)
        # A token too many or too few moves logits by whole units.
        assert float((row - expected[0]).abs().max()) < 8 * ulp * float(expected.abs().max())


def test_a_lone_row_of_16_bits_is_computed_in_company(load):
    """One row multiplies in another order than several, at least on some processors."""
    model = load("bfloat16")
    seen = []
    model.network.register_forward_pre_hook(
        lambda _, args, given: seen.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    alone, together = model.start_batch(), model.start_batch()
    assert isinstance(alone, RowBatch)
    alone.add([prompt(9)])
    together.add([prompt(9), prompt(40, 1)])
    for token in (FIRST_WORD, FIRST_WORD + 1):
        alone.advance(torch.tensor([token]))
        together.advance(torch.tensor([token, FIRST_WORD + 7]))
    assert seen == [(1, 9), (1, 9), (1, 40), *[(2, 1)] * 4]
    assert alone.logits.shape == (1, TOKENS)
    # Which processor multiplies rows of several all alike is its own affair: some roundings apart.
    apart = (alone.logits[0] - together.logits[0]).abs().max()
    assert float(apart) < 8 * 2.0**-7 * float(alone.logits.abs().max())


def test_what_a_token_takes(load):
    """Two layers, keys and values, one head of 32 numbers of 4 bytes, or of 2."""
    full, half = load(), load("bfloat16")
    assert (full.kv_bytes, half.kv_bytes) == (512, 256)
    batch = full.start_batch()
    batch.add([prompt(64)])
    layers = batch._cache.used
    taken = sum(
        x.numel() * x.element_size() for layer in layers for x in (layer.keys, layer.values)
    )
    rows, columns = layers[0].keys.shape[0], layers[0].keys.shape[2]
    assert taken == full.kv_bytes * rows * columns
    both = tokens_that_fit([full, half])
    alone = tokens_that_fit([full])
    assert both == pytest.approx(alone * 512 / 768, rel=0.2)  # what is free moves meanwhile
