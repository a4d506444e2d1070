"""The noise stream: known answers, one number whatever computes it, uniform and independent."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.generation.noise import (
    GumbelCache,
    gumbel,
    gumbel_blocks,
    noise_words,
    philox,
    signed,
)
from coupled_arena.generation.turns import model_seed
from coupled_arena.generation.vocabulary import TEXT, token_key
from tests.generation.chi_square import chi_square_p

int64s = st.integers(-(2**63), 2**63 - 1)
LEVEL = 1e-4  # of every chi-square test here; the seeds are fixed, so they never flicker

# Salmon et al. (2011), Random123's kat_vectors: philox4x32 with 10 rounds
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def hexes(text):
    return [int(word, 16) for word in text.split()]


def as_numpy(values):
    return tuple(np.array([value], dtype=np.int64) for value in values)


def as_torch(values):
    return tuple(torch.tensor([value]) for value in values)


@pytest.mark.parametrize("array", [as_numpy, as_torch])
@pytest.mark.parametrize(("counter", "key", "words"), KNOWN_ANSWERS)
def test_philox_known_answers(array, counter, key, words):
    output = philox(array(hexes(counter)), array(hexes(key)))
    assert [int(word[0]) for word in output] == hexes(words)


def test_the_word_of_hello():
    """The worked example of the design: seed 0123456789abcdef, `Hello`, position 6, turn 0."""
    key = signed(token_key(TEXT, b"Hello"))
    seed, turn, block, keys = as_numpy([0x0123456789ABCDEF, 0, 6 // 4, key])
    assert int(noise_words(seed, turn, block, keys)[6 % 4][0, 0]) == 0x9E29AF22
    cached = GumbelCache(torch.tensor([key])).at([(0x0123456789ABCDEF, 0, 6)])
    uniform = (0x9E29AF22 + 0.5) / 2**32
    # two correctly rounded logarithms: a few units in the last place
    assert float(cached[0, 0]) == pytest.approx(-np.log(-np.log(uniform)), rel=1e-15)


def python_philox(counter, key):
    """Philox4x32-10 in Python's unbounded integers, after the paper: a second route."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c2, 2**32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


@given(
    seed=int64s,
    turn=st.integers(0, 2**32 - 1),
    block=st.integers(0, 2**32 - 1),
    keys=st.lists(int64s, min_size=1, max_size=5),
)
def test_words_are_the_same_in_numpy_torch_the_compiled_loop_and_plain_python(
    seed, turn, block, keys
):
    arrays = np.array([seed]), np.array([turn]), np.array([block]), np.array(keys)
    tensors = [torch.from_numpy(array) for array in arrays]
    by_numpy = np.stack(noise_words(*arrays))
    by_torch = torch.stack(noise_words(*tensors))
    assert np.array_equal(by_numpy, by_torch.numpy())
    halves = [(key % 2**32, key // 2**32 % 2**32) for key in keys]
    by_python = [
        python_philox((block, low, high, turn), (seed % 2**32, seed // 2**32 % 2**32))
        for low, high in halves
    ]
    assert by_numpy[:, 0].T.tolist() == [list(words) for words in by_python]
    compiled = gumbel_blocks(*tensors)
    assert compiled.dtype == torch.float64
    assert compiled.shape == (1, 4, len(keys))
    assert torch.equal(words_of(compiled), by_torch.transpose(0, 1))


def words_of(noise):
    """Invert `gumbel`: exact, for neighbouring words are many units in the last place apart."""
    return torch.round(torch.exp(-torch.exp(-noise)) * 2**32 - 0.5).to(torch.int64)


def test_gumbel_is_finite_and_right_at_both_ends():
    noise = gumbel(torch.tensor([0, 2**31, 2**32 - 1]))
    uniform = [0.5 / 2**32, (2**31 + 0.5) / 2**32]
    assert noise[:2].tolist() == pytest.approx([-np.log(-np.log(u)) for u in uniform], rel=1e-14)
    # -log(1 - e) = e + e**2 / 2 + ...: the largest value, stated in the module's documentation.
    # 1 - 2**-33 is a float64, exactly, and its logarithm is good to 2**-52 of itself.
    assert float(noise[2]) == pytest.approx(33 * np.log(2) - 2.0**-34, rel=1e-14)
    assert round(float(noise[2]), 2) == 22.87


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_cuda_reads_the_same_words():
    rng = np.random.default_rng(5)
    tensors = [
        torch.from_numpy(rng.integers(low, high, size=size))
        for low, high, size in [
            (-(2**63), 2**63 - 1, 7),
            (0, 5, 7),
            (0, 1000, 7),
            (-(2**63), 2**63 - 1, 5000),
        ]
    ]
    on_cuda = noise_words(*(tensor.cuda() for tensor in tensors))
    for ours, theirs in zip(noise_words(*tensors), on_cuda, strict=True):
        assert torch.equal(ours, theirs.cpu())
    there = gumbel_blocks(*tensors[:3], tensors[3].cuda())
    # a device's logarithm may differ in its last places, never in the word
    assert torch.equal(words_of(there.cpu()), words_of(gumbel_blocks(*tensors)))


def word(seed=3, turn=0, position=0, key=17):
    arrays = as_numpy([signed(seed), turn, position // 4, signed(key)])
    return int(noise_words(*arrays)[position % 4][0, 0])


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"seed": 3 + (1 << 32)},  # both halves of the seed matter
        {"seed": 3 + (1 << 63)},
        {"turn": 1},
        {"position": 1},
        {"position": 4},
        {"key": 18},
        {"key": 17 + (1 << 32)},  # and of the key
        {"key": 17 + (1 << 63)},
    ],
    ids=str,
)
def test_every_argument_changes_the_word(change):
    assert word(**change) != word()


places = st.tuples(
    st.sampled_from([0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF]),  # seed
    st.integers(0, 2),  # turn
    st.integers(0, 30),  # position
)
KEYS = torch.from_numpy(np.random.default_rng(0).integers(-(2**63), 2**63 - 1, size=37))


@pytest.mark.slow
@settings(deadline=None)
@given(
    calls=st.lists(st.lists(places, min_size=1, max_size=6), min_size=1, max_size=6),
    data=st.data(),
)
def test_the_cache_is_the_direct_computation_in_any_order(calls, data):
    cache = GumbelCache(KEYS)
    for call in calls:
        noise = cache.at(call)
        for row, (seed, turn, position) in enumerate(call):
            # words, not values: a vectorised logarithm may round differently at a vector's tail
            block = tuple(torch.tensor([x]) for x in (signed(seed), turn, position // 4))
            direct = noise_words(*block, KEYS)[position % 4][0]
            assert torch.equal(words_of(noise[row]), direct)
        kept = data.draw(st.sets(st.sampled_from(call)), label="still running")
        cache.forget({(seed, turn, position // 4) for seed, turn, position in kept})


@settings(deadline=None)
@given(
    sequences=st.lists(places, min_size=1, max_size=5),
    picks=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 36)), max_size=40),
)
def test_single_tokens_have_the_noise_of_the_whole(sequences, picks):
    cache = GumbelCache(KEYS)
    rows = torch.tensor([row % len(sequences) for row, _ in picks], dtype=torch.int64)
    tokens = torch.tensor([token for _, token in picks], dtype=torch.int64)
    single = cache.at_tokens(sequences, rows, tokens)
    assert torch.equal(words_of(single), words_of(cache.at(sequences)[rows, tokens]))


def test_the_noise_of_a_token_does_not_depend_on_its_neighbours():
    """Bitwise: neither the other rows, nor the other tokens, nor the width of a vector."""
    keys = torch.from_numpy(np.random.default_rng(1).integers(-(2**63), 2**63 - 1, size=1001))
    place = (2**64 - 5, 1, 6)
    whole = GumbelCache(keys).at([(seed, 1, 6) for seed in range(9)] + [place])[-1]
    assert torch.equal(GumbelCache(keys).at([place])[0], whole)
    every = torch.arange(1001)
    for some in (every[:1], every[500:503], every[3::7], every.flip(0)):
        assert torch.equal(GumbelCache(keys[some]).at([place])[0], whole[some])


@pytest.fixture(scope="module")
def many_words():
    """Words of 40 seeds, 24 positions, 250 hashed keys: shape (40, 24, 250)."""
    keys = np.array([signed(token_key(TEXT, b"%d" % i)) for i in range(250)])
    seeds = np.repeat(np.arange(40), 6)
    blocks = np.tile(np.arange(6), 40)
    words = np.stack(noise_words(seeds, np.zeros_like(seeds), blocks, keys), axis=1)
    return words.reshape(40, 24, 250)


def flat(cells):
    return np.full(cells, 1 / cells)


def test_words_are_uniform(many_words):
    for shift in (24, 12, 0):  # high, middle and low bits
        bytes_ = (many_words >> shift) & 0xFF
        assert chi_square_p(np.bincount(bytes_.ravel(), minlength=256), flat(256)) > LEVEL


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["seeds", "positions", "tokens"])
def test_neighbours_are_independent(many_words, axis):
    """Pairs of high nibbles along each axis are uniform on 16 x 16 cells."""
    nibbles = np.moveaxis(many_words >> 28, axis, 0)
    pairs = (nibbles[:-1:2] * 16 + nibbles[1::2]).ravel()  # disjoint pairs: independent draws
    assert chi_square_p(np.bincount(pairs, minlength=256), flat(256)) > LEVEL


def test_gumbel_values_follow_the_gumbel_law(many_words):
    values = gumbel(torch.from_numpy(many_words.ravel().copy())).numpy()
    edges = -np.log(-np.log(np.arange(1, 64) / 64))  # 64 equally likely cells
    assert chi_square_p(np.bincount(np.searchsorted(edges, values)), flat(64)) > LEVEL


@given(
    battle=st.integers(0, 2**64 - 1),
    model=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    ordinal=st.integers(0, 2**32 - 1),
)
def test_model_seed_is_the_hash_that_the_design_names(battle, model, ordinal):
    text = bytes.fromhex(f"{battle:016x}")[::-1] + model.encode("utf-8")
    text += bytes.fromhex(f"{ordinal:08x}")[::-1]
    digest = hashlib.blake2b(text, digest_size=8).digest()
    assert model_seed(battle, model, ordinal) == int(digest[::-1].hex(), 16)


def test_model_seed_separates_its_arguments():
    seeds = [
        model_seed(battle, model, ordinal)
        for battle in (0, 1, 2**63)
        for model in ("a", "ab", "b")
        for ordinal in (0, 1)
    ]
    assert len(set(seeds)) == len(seeds)


@given(st.integers(0, 2**64 - 1))
def test_signed_keeps_the_64_bits(value):
    assert -(2**63) <= signed(value) < 2**63
    assert signed(value) % 2**64 == value


@pytest.mark.parametrize(
    ("value", "same"), [(0, 0), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)]
)
def test_signed_golden(value, same):
    assert signed(value) == same
