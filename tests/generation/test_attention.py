"""Attention of single queries: right, and untouched by the other rows to the last bit."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers.cache_utils import DynamicCache

from coupled_arena.generation.batches import SlotCache, cache_option
from coupled_arena.generation.huggingface import _looped, exact_attention, row_attention

LENGTHS = [1, 2, 3, 15, 16, 17, 100, 511, 513, 700]
SHAPES = [(9, 3, 64, 64), (8, 4, 128, 128), (7, 7, 20, 12)]  # heads, theirs of keys, sizes


def made(heads, shared, size, width):
    generator = torch.Generator().manual_seed(size)
    rows, columns = len(LENGTHS), max(LENGTHS) + 30
    query = torch.randn(rows, heads, size, generator=generator)
    key = torch.randn(rows, shared, columns, size, generator=generator)
    value = torch.randn(rows, shared, columns, width, generator=generator)
    return query, key, value, torch.tensor(LENGTHS)[:, None, None, None]


def in_numpy(query, key, value, length):
    """Return the attention of one row: a second route."""
    group = len(query) // len(key)
    answers = []
    for head, asked in enumerate(query.double().numpy()):
        keys, values = (x[head // group, :length].double().numpy() for x in (key, value))
        weights = np.exp(keys @ asked / len(asked) ** 0.5)
        answers.append(weights / weights.sum() @ values)
    return np.array(answers)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("attend", [_looped, exact_attention])
def test_the_attention_of_a_row(attend, shape):
    query, key, value, lengths = made(*shape)
    scale = shape[2] ** -0.5
    together = attend(query, key, value, lengths, scale)
    for row, length in enumerate(LENGTHS):
        expected = in_numpy(query[row], key[row], value[row], length)
        # A score is a sum of d products, each rounded by half an ulp of a part of it, at most in
        # the same direction, and moves a weight by as much; so do the sums over all keys.
        bound = (shape[2] + length) * 2.0**-24 * float(value[row].abs().max())
        assert np.abs(together[row].numpy() - expected).max() < bound
        for columns in {length, length + 13}:
            mine = (x[row : row + 1, :, :columns].contiguous() for x in (key, value))
            alone = attend(query[row : row + 1], *mine, lengths[row : row + 1], scale)
            assert torch.equal(alone[0], together[row])


def test_rows_of_16_bits_attend_by_themselves():
    """As float32 does with the same numbers, rounded once; alone and together to the bit."""
    query, key, value, lengths = made(*SHAPES[0])
    short = [x.bfloat16() for x in (query, key, value)]
    attend = partial(row_attention, torch.nn.Identity())
    together, _ = attend(short[0][:, :, None], *short[1:], lengths)
    wide, _ = attend(*(x.float() for x in (short[0][:, :, None], *short[1:])), lengths)
    assert torch.equal(together, wide.bfloat16())
    company, _ = attend(short[0][:, :, None], *(x[:3] for x in short[1:]), lengths[:3])
    assert torch.equal(company[:3], together[:3])
    assert not company[3:].any()
    for row, length in enumerate(LENGTHS):
        mine = (x[row : row + 1, :, :length].contiguous() for x in short[1:])
        alone, _ = attend(short[0][row : row + 1, :, None], *mine, lengths[row : row + 1])
        assert torch.equal(alone[0], together[row])


def test_weights_that_vanish():
    """Scores far below the largest count for nothing, however far; nor does what lies behind."""
    query, key = torch.ones(1, 1, 1, 1), torch.tensor([5e4, -5e4, 0.0, torch.nan])
    value = torch.tensor([1.0, 2.0, 3.0, torch.inf])
    length = torch.full((1, 1, 1, 1), 3)
    attended, _ = row_attention(
        torch.nn.Identity(), query, key[None, None, :, None], value[None, None, :, None], length
    )
    assert attended.item() == 1


def test_a_padded_prompt_is_refused():
    three = torch.zeros(2, 1, 3, 4)
    with pytest.raises(ValueError, match="one by one"):
        row_attention(torch.nn.Identity(), three, three, three, torch.ones(2, 3))


# Slots


def prompt(number, length):
    """Return a prompt's cache of two layers, whose keys tell whose they are."""
    read = SlotCache()
    layers: list[Any] = read.layers
    for layer in range(2):
        keys = torch.full((1, 2, length, 4), 100.0 * number + layer)
        slots = SimpleNamespace(keys=keys, values=-keys, is_initialized=True)
        layers.append(slots)
    return read


def room(cache):
    return {(layer.keys.shape[0], layer.keys.shape[2]) for layer in cache.used}


def test_slots_grow_in_place_and_are_given_back():
    cache = SlotCache()
    cache.shape_like(prompt(0, 3))
    cache.reserve(2, 10)
    assert room(cache) == {(2, 64)}
    cache.fill(0, [prompt(1, 3), prompt(2, 60)])
    there = [layer.keys.data_ptr() for layer in cache.used]
    for column in range(3, 20):
        cache.reserve(2, column + 60)
        cache.begin(torch.tensor([column, 57 + column]))
        for number, layer in enumerate(cache.used):
            new = torch.tensor([100.0 + number, 200.0 + number])[:, None, None, None]
            layer.update(new.expand(2, 2, 1, 4), -new.expand(2, 2, 1, 4))
        if column == 3:
            assert [layer.keys.data_ptr() for layer in cache.used] == there
    assert room(cache) == {(2, 128)}
    for number, layer in enumerate(cache.used):
        assert (layer.keys[0, :, :20] == 100 + number).all()
        assert (layer.keys[1, :, :77] == 200 + number).all()
        assert (layer.values == -layer.keys).all()
        assert not layer.keys[0, :, 20:].any()
    cache.reserve(9, 78)
    assert room(cache) == {(9, 128)}
    cache.reserve(2, 20)
    assert room(cache) == {(4, 64)}
    cache.fill(1, [prompt(3, 5)])  # nothing is left of whoever was there
    assert not cache.used[0].keys[1, :, 5:].any()
    assert (cache.used[0].keys[0, :, :20] == 100).all()


@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0], [3], [1, 2, 3], [3, 1], []])
def test_no_more_rows_are_copied_than_leave(rows, monkeypatch):
    cache = SlotCache()
    cache.shape_like(prompt(0, 3))
    cache.reserve(4, 8)
    cache.fill(0, [prompt(number, 3 + number) for number in range(4)])
    moved = []
    for layer in cache.used:
        move = layer.move
        monkeypatch.setattr(layer, "move", lambda *at, move=move: moved.append(at) or move(*at))
    places = cache.keep(rows)
    assert sorted(places) == list(range(len(rows)))
    for row, place in zip(rows, places, strict=True):
        assert (cache.used[1].keys[place, :, : 3 + row] == 100 * row + 1).all()
        assert (cache.used[1].values[place] == -cache.used[1].keys[place]).all()
    assert len(moved) / 2 <= 4 - len(rows)


@pytest.mark.parametrize("name", ["cache", "past_key_values", "cache_params"])
def test_a_cache_is_handed_over_by_the_name_that_a_network_takes(name):
    """From version 5.24 of transformers on it is `cache` for all; others go in 5.40."""
    source = f"class Network:\n    def forward(self, ids, {name}=None, **more): ..."
    exec(source, made := {})
    assert cache_option(made["Network"](), cache := DynamicCache()) == {name: cache}
