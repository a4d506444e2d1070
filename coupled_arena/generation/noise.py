"""Gumbel noise as a pure function of (seed, turn, position, token key).

The generator is Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC'11). Being counter based it has no state, so every model, device, batch order and
process reads the same number without talking to another. One Philox block serves four positions.

`philox` is written once, in operators that NumPy, torch and numba share, on int64: a 64-bit
product wraps, and its low and high halves are taken with masks, so the words are the same bits
in NumPy, on torch CPU, on CUDA and in the compiled loop that serves the CPU.

Words are 32 bits wide, so an outcome whose probability is below about 2**-33 is under-drawn: the
largest noise value is -log(-log(1 - 2**-33)) = 22.87. Rounding each of V uniforms to the middle
of its cell of width 2**-32 moves the law of the drawn token by at most V * 2**-33 in total
variation (1.8e-5 for V = 151,936): far below what 1e9 votes could see.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

import numba
import numpy as np
import torch

Array = TypeVar("Array", bound=Any)  # np.ndarray or torch.Tensor of int64

POSITIONS_PER_BLOCK = 4
_ROUNDS = 10
_MULTIPLIER_0, _MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85
_LOW = 0xFFFFFFFF


def philox(
    counter: tuple[Array, Array, Array, Array], key: tuple[Array, Array]
) -> tuple[Array, ...]:
    """Return the four output words of Philox4x32-10.

    Parameters
    ----------
    counter : four int64 arrays with values below 2**32, broadcastable against each other
    key : two int64 arrays likewise

    Returns
    -------
    tuple of four int64 arrays with values below 2**32
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        product_0, product_1 = c0 * _MULTIPLIER_0, c2 * _MULTIPLIER_1
        high_0, high_1 = (product_0 >> 32) & _LOW, (product_1 >> 32) & _LOW
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, product_1 & _LOW, high_0 ^ c3 ^ k1, product_0 & _LOW
        k0, k1 = (k0 + _WEYL_0) & _LOW, (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


def noise_words(seeds: Array, turns: Array, blocks: Array, keys: Array) -> tuple[Array, ...]:
    """Return the noise words of four consecutive positions for each sequence and token.

    Parameters
    ----------
    seeds, turns, blocks : int64 arrays, shape (n,)
        Seed as the signed view of its 64 bits, turn of the conversation, position // 4.
    keys : int64 array, shape (v,)
        Token keys as the signed views of their 64 bits (`coupled_arena.generation.vocabulary`).

    Returns
    -------
    tuple of four int64 arrays, shape (n, v)
        The words of positions 4 * block, ..., 4 * block + 3.
    """
    seeds, turns, blocks = seeds[:, None], turns[:, None], blocks[:, None]
    counter = (blocks, (keys & _LOW)[None, :], ((keys >> 32) & _LOW)[None, :], turns)
    return philox(counter, (seeds & _LOW, (seeds >> 32) & _LOW))


_philox_scalar = numba.njit(philox)


@numba.njit(nogil=True, cache=True)
def _fill_words(seeds: Any, turns: Any, blocks: Any, keys: Any, words: Any) -> None:
    for row in range(seeds.shape[0]):
        key = (seeds[row] & _LOW, (seeds[row] >> 32) & _LOW)
        for token in range(keys.shape[0]):
            low, high = keys[token] & _LOW, (keys[token] >> 32) & _LOW
            output = _philox_scalar((blocks[row], low, high, turns[row]), key)
            for offset in range(POSITIONS_PER_BLOCK):
                words[offset, row, token] = output[offset]


def gumbel(words: torch.Tensor) -> torch.Tensor:
    """Return standard Gumbel values, float64: -log(-log((word + 1/2) / 2**32))."""
    return -torch.log(-torch.log((words.to(torch.float64) + 0.5) / 2**32))


def gumbel_blocks(
    seeds: torch.Tensor, turns: torch.Tensor, blocks: torch.Tensor, keys: torch.Tensor
) -> torch.Tensor:
    """Return the Gumbel noise of four consecutive positions, on the device of ``keys``.

    Parameters are those of `noise_words` as torch tensors.

    Returns
    -------
    float64 tensor, shape (n, 4, v)
    """
    if keys.device.type != "cpu":
        device = keys.device
        made = noise_words(seeds.to(device), turns.to(device), blocks.to(device), keys)
        return gumbel(torch.stack(made, dim=1))
    words = np.empty((POSITIONS_PER_BLOCK, len(seeds), len(keys)), dtype=np.uint32)
    _fill_words(seeds.numpy(), turns.numpy(), blocks.numpy(), keys.numpy(), words)
    return gumbel(torch.as_tensor(words).transpose(0, 1))


def gumbel_at(
    seeds: torch.Tensor, turns: torch.Tensor, positions: torch.Tensor, keys: torch.Tensor
) -> torch.Tensor:
    """Return the Gumbel noise of single tokens: the numbers of `gumbel_blocks`, one at a time.

    Parameters
    ----------
    seeds, turns, positions, keys : int64 tensors, shape (m,), on one device
        Seeds and keys as the signed views of their 64 bits.

    Returns
    -------
    float64 tensor, shape (m,)
    """
    counter = (positions // POSITIONS_PER_BLOCK, keys & _LOW, (keys >> 32) & _LOW, turns)
    words = torch.stack(philox(counter, (seeds & _LOW, (seeds >> 32) & _LOW)))
    return gumbel(words.gather(0, (positions % POSITIONS_PER_BLOCK)[None])[0])


def compile_noise_loop() -> None:
    """Compile the loop that serves the CPU: a second or two once, kept on disk for later runs."""
    one = torch.zeros(1, dtype=torch.int64)
    gumbel_blocks(one, one, one, one)


class GumbelCache:
    """The noise of running sequences over one vocabulary, computed once per four positions.

    Coupled models that share a vocabulary share the cache, and so each number is made once.

    Parameters
    ----------
    keys : int64 tensor, shape (v,)
        Keys of the vocabulary's outcomes, on the device of the models.
    """

    def __init__(self, keys: torch.Tensor) -> None:
        self._keys = keys
        self._blocks: dict[tuple[int, int, int], torch.Tensor] = {}

    def at(self, sequences: list[tuple[int, int, int]]) -> torch.Tensor:
        """Return the noise of each (seed, turn, position), float64 of shape (n, v)."""
        wanted = [(seed, turn, at // POSITIONS_PER_BLOCK) for seed, turn, at in sequences]
        missing = list(dict.fromkeys(w for w in wanted if w not in self._blocks))
        if missing:
            table = torch.tensor([(signed(seed), turn, block) for seed, turn, block in missing])
            made = gumbel_blocks(table[:, 0], table[:, 1], table[:, 2], self._keys)
            self._blocks.update(zip(missing, made, strict=True))
        return torch.stack(
            [self._blocks[w][s[2] % 4] for w, s in zip(wanted, sequences, strict=True)]
        )

    def at_tokens(
        self, sequences: list[tuple[int, int, int]], rows: torch.Tensor, tokens: torch.Tensor
    ) -> torch.Tensor:
        """Return the noise of single tokens, float64 of shape (m,), and remember none of it.

        ``rows`` index `sequences`, ``tokens`` the vocabulary: int64 of shape (m,).
        """
        table = torch.tensor([(signed(seed), turn, at) for seed, turn, at in sequences])
        seeds, turns, positions = table.to(self._keys.device)[rows].unbind(1)
        return gumbel_at(seeds, turns, positions, self._keys[tokens])

    def forget(self, running: set[tuple[int, int, int]]) -> None:
        """Drop every block but those of the (seed, turn, position // 4) still running."""
        self._blocks = {key: block for key, block in self._blocks.items() if key in running}


def model_seed(battle_seed: int, model: str, ordinal: int) -> int:
    """Return the seed of one model of an independent battle.

    Parameters
    ----------
    battle_seed : int
        64-bit seed of the battle.
    model : str
        The model's name.
    ordinal : int
        How often that name occurred earlier in the battle: a model against itself differs too.
    """
    text = battle_seed.to_bytes(8, "little") + model.encode() + ordinal.to_bytes(4, "little")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def signed(value: int) -> int:
    """Return the int64 with the same 64 bits as an unsigned value."""
    return value - (1 << 64) if value >> 63 else value
