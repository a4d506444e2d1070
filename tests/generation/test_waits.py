"""What a step costs on a device: waits of the host, and memory; counted without a device.

Tensors of the kind "meta" have shapes and no numbers. Operators on them are counted as they go by.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, LlamaConfig

from coupled_arena.core.records import Sampling
from coupled_arena.generation.batches import PaddedBatch, RowBatch
from coupled_arena.generation.model_batches import LocalBatch
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.sampling import (
    NO_NUMBER,
    NOT_AMONG,
    draw,
    draw_at,
    draw_likeliest,
    has_few,
    outcome_scores,
)

ROWS, WORDS = 32, 128 * 1024
OPERATORS = torch.ops.aten
ASKED = {  # of a single number, two of them where no gradients are kept
    OPERATORS._local_scalar_dense.default,
    OPERATORS.item.default,
    OPERATORS.is_nonzero.default,
}


class Counted(TorchDispatchMode):
    """Counts waits, and bytes of new tensors; what the host asks for is made up."""

    def __init__(self):
        super().__init__()
        self.waits = self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = next((x for x in args if isinstance(x, torch.Tensor)), None)
        device = getattr(kwargs.get("device"), "type", kwargs.get("device"))
        if function in ASKED and given.is_meta:
            self.waits += 1
            return 0
        if function is OPERATORS.nonzero.default and given.is_meta:
            self.waits += 1
            return torch.empty(1, given.dim(), dtype=torch.int64, device="meta")
        if function is OPERATORS._to_copy.default and given.is_meta and device == "cpu":
            self.waits += 1
            return torch.zeros(given.shape, dtype=given.dtype)
        made = function(*args, **kwargs)
        parts = made if isinstance(made, tuple | list) else [made]
        for part, told in zip(parts, function._schema.returns, strict=False):
            if isinstance(part, torch.Tensor) and part.is_meta and told.alias_info is None:
                self.bytes += part.nbytes
        return made


class Line(SimpleNamespace):
    """One reply, as far as a draw knows it."""

    def take(self, outcome):
        self.tokens.append(outcome)


def batch_of(sampling):
    """Return a batch whose logits are on no device."""
    logits = torch.empty(ROWS, WORDS, device="meta")
    keys = torch.empty(WORDS + 1, dtype=torch.int64, device="meta")
    model = SimpleNamespace(
        device=torch.device("meta"),
        vocabulary=SimpleNamespace(stops=frozenset([2, 5])),
        start_batch=lambda _most: SimpleNamespace(logits=logits),
    )
    batch = LocalBatch(model, GumbelCache(keys), None, None)
    batch.lines = [
        Line(sampling=sampling, place=(row, 0, 0), opened=0, tokens=[], finish=None)
        for row in range(ROWS)
    ]
    return batch


@pytest.mark.parametrize(
    ("sampling", "most"),
    [
        (Sampling(), 100e6),
        (Sampling(top_k=40), 60e6),
        (Sampling(top_k=40, top_p=1.0), 60e6),
    ],
)
def test_a_draw_waits_once_and_makes_little(sampling, most, record_property):
    batch = batch_of(sampling)
    with Counted() as counted:
        batch._draw()
    record_property("bytes", counted.bytes)
    assert counted.waits == 1
    assert counted.bytes < most
    with Counted() as before:
        for position in range(4):  # which share the noise that is made for the first
            scores = outcome_scores(batch._batch.logits, batch._stops, sampling)
            draw(scores, batch._noise.at([(row, 0, position) for row in range(ROWS)]))
    record_property("bytes of all tokens", before.bytes / 4)
    assert before.bytes / 4 > 10 * counted.bytes


FILTERS = [
    Sampling(temperature=0.7, top_p=0.95),
    Sampling(temperature=1.3, top_p=0.5),
    Sampling(temperature=1.0, top_k=40, top_p=0.9),
    Sampling(temperature=0.8, top_k=7, top_p=1.0),
    Sampling(temperature=1.0, top_k=1023, top_p=0.999),
]


@pytest.mark.parametrize("sampling", FILTERS, ids=str)
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_the_likeliest_are_drawn_as_among_all(sampling, kind):
    random = torch.Generator().manual_seed(1)
    size, rows = 4000, 60
    keys = torch.randint(-(2**63), 2**63 - 1, (size + 1,), generator=random)
    noise = GumbelCache(keys)
    logits = (torch.randn(rows, size, generator=random) * 5).to(kind)
    logits[0] = 0  # all level: none may be left out
    logits[1, 9] = 80
    logits[2] = logits[2].round()
    logits[3, 7] = float("nan")
    logits[4, 100:] = float("-inf")
    logits[5:9, 2] = 25.0  # an end that is likely
    places = [(row, 0, row % 5) for row in range(rows)]
    assert has_few(sampling, size)
    for stops in ([], [2, 5, 3999]):
        ends = torch.tensor(stops, dtype=torch.int64)
        found = draw_likeliest(logits, ends, sampling, noise, places)
        known = [row for row in range(rows) if row != 3]
        chosen = [places[row] for row in known]
        whole = draw_at(outcome_scores(logits[known], ends, sampling), noise, chosen)
        among = found[known] != NOT_AMONG
        assert found[known][among].equal(whole[among])
        assert found[0] == NOT_AMONG
        assert found[3] == NO_NUMBER
        assert among.sum() > rows / 2


def test_rows_that_need_all_tokens_are_drawn_from_all(monkeypatch):
    """As on a GPU, where a first look is at the likeliest alone."""
    random = torch.Generator().manual_seed(2)
    sampling = Sampling(temperature=1.0, top_p=0.9)
    batch = batch_of(sampling)
    logits = torch.randn(ROWS, 4000, generator=random)  # flat: top-p leaves more than are looked at
    logits[::2] *= 8
    keys = torch.randint(-(2**63), 2**63 - 1, (4001,), generator=random)
    batch.model.device = torch.device("cpu")
    batch._batch, batch._noise = SimpleNamespace(logits=logits), GumbelCache(keys)
    batch._stops = torch.tensor([2, 5])
    monkeypatch.setattr(batch, "_has_few", lambda *_: True)
    looked = []
    drawn = batch._drawn

    def seen(asked, rows, *, few=True):
        looked.append((few, len(rows)))
        return drawn(asked, rows, few=few)

    monkeypatch.setattr(batch, "_drawn", seen)
    batch._draw()
    assert looked[0] == (True, ROWS)
    assert looked[1][0] is False
    assert 10 <= looked[1][1] < ROWS
    scores = outcome_scores(logits, batch._stops, sampling)
    whole = draw_at(scores, batch._noise, [(row, 0, 0) for row in range(ROWS)])
    np.testing.assert_array_equal([line.tokens[0] for line in batch.lines], whole)


# The model's part of a step


LENGTHS, LAYERS, HEADS, SIZE, HALF = (700, 900), 3, 4, 64, 2  # of 16-bit numbers


@pytest.fixture(scope="module")
def network():
    """A network on no device, in 16 bits, with the library's attention."""
    config = LlamaConfig(
        vocab_size=500,
        hidden_size=HEADS * SIZE,
        intermediate_size=2 * HEADS * SIZE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        attn_implementation="sdpa",
    )
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()


def stepped(batch):
    """Return what a few steps, and rows that leave between them, cost."""
    with Counted() as counted:
        batch.add([[1] * length for length in LENGTHS * (ROWS // 2)])
        for _ in range(3):  # has room now
            batch.advance(torch.empty(len(batch.logits), dtype=torch.int64, device="meta"))
    with Counted() as counted:
        batch.advance(torch.empty(ROWS, dtype=torch.int64, device="meta"))
        batch.keep(range(ROWS - 1))
        batch.advance(torch.empty(ROWS - 1, dtype=torch.int64, device="meta"))
    return counted


def test_a_step_of_the_model_waits_for_nothing_and_copies_no_keys(network, record_property):
    ours = stepped(RowBatch(network, masked=True))
    padded = stepped(PaddedBatch(network))
    keys = 2 * LAYERS * ROWS * HEADS * max(LENGTHS) * SIZE * HALF  # and values
    record_property("waits, bytes", (ours.waits, ours.bytes))
    record_property("waits, bytes of padded rows", (padded.waits, padded.bytes))
    record_property("bytes of keys and values", keys)
    assert ours.waits == 0
    assert padded.waits > 0
    # Those pad anew in both steps, and copy when a row leaves.
    assert padded.bytes - ours.bytes > 2 * keys
