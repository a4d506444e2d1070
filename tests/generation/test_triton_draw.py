"""Triton's kernels: the words of the noise, and the draws.

Its interpreter runs them. On a GPU the compiled ones are tried with
``TRITON_INTERPRET=0 python -m pytest -n 0 tests/generation/test_triton_draw.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from coupled_arena.generation.ambient import Filters, ambient_ids
from coupled_arena.generation.noise import GumbelCache, signed, words_at
from coupled_arena.generation.served_draw import ServedDraw, drawn_ids

pytest.importorskip("triton", reason="Triton is not installed: pip install triton")

from coupled_arena.generation.triton_draw import (
    ANY_STOP,
    FIRST_STOP,
    NOT_OURS,
    Slots,
    draw_rows,
    words_of,
)

DEVICE = torch.device("cuda" if os.environ.get("TRITON_INTERPRET") == "0" else "cpu")
WIDTH = 2500  # three blocks, of which the last is not whole
RANDOM = torch.Generator().manual_seed(3)
KEYS = torch.randint(-(2**63), 2**63 - 1, (WIDTH + 1,), generator=RANDOM).to(DEVICE)
SEED = signed(0xFEDCBA9876543210)


def slots(*requests, forced=()):
    """Return the state of requests, each in the order of the kernels' tables, then its stops."""
    count = len(requests)
    integers = torch.zeros(count, 7, dtype=torch.int64)
    reals = torch.zeros(count, 3, dtype=torch.float64)
    stops = torch.full((count, 4), -1, dtype=torch.int64)
    known = torch.zeros(count, 4, dtype=torch.int64)
    for row, (kind, seed, turn, base, top_k, temperature, top_p, min_p, ends) in enumerate(
        requests
    ):
        integers[row] = torch.tensor([kind, signed(seed), turn, base, top_k, len(ends), 0])
        reals[row] = torch.tensor([temperature, top_p, min_p], dtype=torch.float64)
        stops[row, : len(ends)] = torch.tensor(ends, dtype=torch.int64)
    for row, ids in forced:
        integers[row, 6] = len(ids)
        known[row, : len(ids)] = torch.tensor(ids)
    return Slots(*(table.to(DEVICE) for table in (integers, reals, stops, known)))


def at(*numbers):
    """Return int64 numbers on the device of the kernels."""
    return torch.tensor(numbers, device=DEVICE)


def test_a_million_words_are_those_of_the_noise():
    positions = at(0, 1, 2, 3, 4, 5, 7, 1000, 2**31 - 1, *range(10, 401))
    keys = KEYS.clone()
    keys[:3] = at(0, -1, 2**63 - 1)
    found, keys = words_of(SEED, 3, positions, keys).cpu(), keys.cpu()
    assert found.numel() > 1_000_000
    for row, position in enumerate(positions.tolist()):
        places = [torch.full_like(keys, value) for value in (SEED, 3, position)]
        assert found[row].equal(words_at(*places, keys))


FILTERS = [
    (1.0, 0, 1.0, 0.0),
    (0.7, 40, 0.9, 0.0),
    (1.3, 7, 1.0, 0.0),
    (0.5, 0, 0.6, 0.0),
    (1.0, 0, 0.95, 0.02),
    (0.9, 3, 0.99, 0.2),
    (1.0, WIDTH + 5, 0.999999, 0.9),
]


def logits(rows):
    made = torch.randn(rows, WIDTH, generator=RANDOM) * 3
    made[0, :900] = float("-inf")
    made[1] = made[1].round()  # many are level, at the edges of top-k and top-p too
    made[2, 5] = 60.0
    made[2, 17] = float("nan")
    return made.to(DEVICE)


@pytest.mark.parametrize("stops", [(), (5, 700, 2400)])
def test_draws_of_any_client_are_those_of_the_other_runner(stops):
    noise = GumbelCache(KEYS)
    rows = len(FILTERS) * 2
    given = logits(rows)
    requests = [
        (ANY_STOP, 100 + row, 0, 0, f[1], f[0], f[2], f[3], stops)
        for row, f in zip(range(rows), FILTERS * 2, strict=True)
    ]
    written = torch.arange(rows, device=DEVICE) % 9
    left = given.clone()
    drawn = draw_rows(left, KEYS, slots(*requests), torch.arange(rows, device=DEVICE), written)
    for row, (temperature, top_k, top_p, min_p) in enumerate(FILTERS * 2):
        filters = Filters(temperature, top_k, top_p, min_p, stops)
        place = [(100 + row, 0, int(written[row]))]
        assert int(drawn[row]) == int(ambient_ids(given[row : row + 1], noise, filters, place)[0])
    assert left.argmax(dim=1).equal(drawn)
    assert (left == 0).sum() == rows
    assert (left == float("-inf")).sum() == rows * (WIDTH - 1)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_draws_of_the_arena_are_those_of_the_other_runner(temperature):
    noise = GumbelCache(KEYS)
    given = logits(8)
    given[3:, 700] = 11.0  # an end that is drawn
    asked = ServedDraw(2**64 - 5, 2, temperature, 30, 0.9, (2400, 700), position=6)
    requests = [(FIRST_STOP, asked.seed, 2, 6, 30, temperature, 0.9, 0.0, asked.stops)]
    drawn = draw_rows(given.clone(), KEYS, slots(*requests), at(*[0] * 8), at(*range(8)))
    places = [(asked.seed, 2, 6 + written) for written in range(8)]
    assert drawn.equal(drawn_ids(given, noise, asked, places))
    assert 700 in drawn


def test_a_draft_s_rows_are_the_steps_without_it():
    """Each row of one request draws at its own position, in whatever order they stand."""
    given = logits(6)
    state = slots((ANY_STOP, 9, 0, 0, 0, 1.0, 0.95, 0.0, (3,)), (NOT_OURS, *[0] * 7, ()))
    slot_of, written = at(0, 1, 0, 0, -1, 0), at(4, 0, 5, 6, 0, 7)
    left = given.clone()
    together = draw_rows(left, KEYS, state, slot_of, written)
    assert (together < 0).tolist() == [False, True, False, False, True, False]
    assert left[[1, 4]].equal(given[[1, 4]])
    for row in (0, 2, 3, 5):
        alone = draw_rows(
            given[row : row + 1].clone(),
            KEYS,
            state,
            slot_of[row : row + 1],
            written[row : row + 1],
        )
        assert alone[0] == together[row]


def test_known_answers_and_hopeless_rows():
    plain = (ANY_STOP, 9, 0, 0, 5, 1.0, 0.9, 0.1, (3,))
    state = slots(plain, plain, forced=[(1, [8, 9])])
    given = torch.full((5, WIDTH), float("-inf"), device=DEVICE)
    given[4] = float("inf")
    slot_of, written = at(0, 1, 1, 1, 0), at(0, 0, 1, 5, 0)
    drawn = draw_rows(given, KEYS, state, slot_of, written).tolist()
    assert drawn[1:4] == [8, 9, 9]
    assert 0 <= drawn[0] < WIDTH
    assert 0 <= drawn[4] < WIDTH


def test_rows_wider_than_the_vocabulary():
    state = slots((ANY_STOP, 9, 0, 0, 0, 1.0, 1.0, 0.0, ()))
    wide = torch.nn.functional.pad(logits(3)[:1], (0, 60), value=99.0)
    drawn = draw_rows(wide, KEYS, state, at(0), at(0))
    assert int(drawn) < WIDTH
    assert int(wide.argmax()) == int(drawn)


def test_the_kernels_compile_for_a_gpu():
    """Triton needs none for that; and its interpreter forgives what its compiler does not."""
    code = (
        "import coupled_arena.generation.triton_draw as kernels\n"
        "from tests.generation.compiled import compiled\n"
        "print(*compiled(kernels))"
    )
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    names = ("_threshold_kernel", "_draw_kernel", "_finish_kernel", "_leave_kernel")
    assert set(names) <= set(done.stdout.split())
