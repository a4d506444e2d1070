"""Gumbel noise as a pure function of (seed, turn, position, token key).

The words are those of Philox, below. They are 32 bits wide, so an outcome whose probability is
below about 2**-33 is under-drawn: the largest noise value is -log(-log(1 - 2**-33)) = 22.87.
Rounding each of V uniforms to the middle of its cell of width 2**-32 moves the law of the drawn
token. It does so by at most V * 2**-33 in total variation (1.8e-5 for V = 151,936), far below what
1e9 votes could see.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np
import torch

from coupled_arena.core.extras import compiled
from coupled_arena.generation.devices import to_device
from coupled_arena.generation.vocabulary import UNIFORM, token_key

# Philox4x32-10, the random words behind the noise: written once, for NumPy, torch and numba.
#
# The generator is counter based (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as
# 1, 2, 3", SC'11). Having no state, it gives every model, device, batch order and process the same
# number without talking to another. One block serves four positions.
#
# The operators are those that NumPy, torch and numba share, on int64: a 64-bit product wraps, and
# its low and high halves are taken with masks, so the words are the same bits in NumPy, on torch
# CPU, on CUDA and in the compiled loop that serves the CPU.

Array = TypeVar("Array", bound=Any)  # np.ndarray or torch.Tensor of int64

POSITIONS_PER_BLOCK = 4
LOW = 0xFFFFFFFF
_ROUNDS = 10
_MULTIPLIER_0, _MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85


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
        high_0, high_1 = (product_0 >> 32) & LOW, (product_1 >> 32) & LOW
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, product_1 & LOW, high_0 ^ c3 ^ k1, product_0 & LOW
        k0, k1 = (k0 + _WEYL_0) & LOW, (k1 + _WEYL_1) & LOW
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
    counter = (blocks, (keys & LOW)[None, :], ((keys >> 32) & LOW)[None, :], turns)
    return philox(counter, (seeds & LOW, (seeds >> 32) & LOW))


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
    loop = _loop() if keys.device.type == "cpu" else None
    if loop is None:
        device = keys.device
        made = noise_words(seeds.to(device), turns.to(device), blocks.to(device), keys)
        return gumbel(torch.stack(made, dim=1))
    words = np.empty((POSITIONS_PER_BLOCK, len(seeds), len(keys)), dtype=np.uint32)
    loop(seeds.numpy(), turns.numpy(), blocks.numpy(), keys.numpy(), words)
    return gumbel(torch.as_tensor(words).transpose(0, 1))


@cache
def _loop() -> Any:
    """Return the compiled loop; None where numba is not installed, as beside a model server."""
    loops = compiled("coupled_arena.generation.compiled_loops")
    return loops and loops.fill_words


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
    return gumbel(words_at(seeds, turns, positions, keys))


def words_at(
    seeds: torch.Tensor, turns: torch.Tensor, positions: torch.Tensor, keys: torch.Tensor
) -> torch.Tensor:
    """Return the words behind `gumbel_at`: 32 bits each, as int64."""
    counter = (positions // POSITIONS_PER_BLOCK, keys & LOW, (keys >> 32) & LOW, turns)
    words = torch.stack(philox(counter, (seeds & LOW, (seeds >> 32) & LOW)))
    return words.gather(0, (positions % POSITIONS_PER_BLOCK)[None])[0]


def compile_noise_loop() -> None:
    """Compile the loop that serves the CPU: a second or two once, kept on disk for later runs."""
    one = torch.zeros(1, dtype=torch.int64)
    gumbel_blocks(one, one, one, one)


def uniform_at(seeds: torch.Tensor, turns: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Return the one uniform number of each position, for samplers that know no tokens.

    It is the word of a key of its own, which no token has: (word + 1/2) / 2**32.

    Parameters
    ----------
    seeds, turns, positions : int64 tensors, shape (m,), on one device

    Returns
    -------
    float64 tensor, shape (m,)
    """
    keys = torch.full_like(seeds, signed(token_key(UNIFORM, b"")))
    return (words_at(seeds, turns, positions, keys).to(torch.float64) + 0.5) / 2**32


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
        self.device = keys.device
        self._blocks: dict[tuple[int, int, int], torch.Tensor] = {}

    def at(self, sequences: list[tuple[int, int, int]]) -> torch.Tensor:
        """Return the noise of each (seed, turn, position), float64 of shape (n, v)."""
        wanted = [(seed, turn, at // POSITIONS_PER_BLOCK) for seed, turn, at in sequences]
        missing = list(dict.fromkeys(w for w in wanted if w not in self._blocks))
        if missing:
            table = torch.tensor([(signed(seed), turn, block) for seed, turn, block in missing])
            table = to_device(table, self.device)
            made = gumbel_blocks(table[:, 0], table[:, 1], table[:, 2], self._keys)
            # Each by itself: a view would keep all that were made together.
            self._blocks.update((w, block.clone()) for w, block in zip(missing, made, strict=True))
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
        seeds, turns, positions = to_device(table, self.device)[rows].unbind(1)
        return gumbel_at(seeds, turns, positions, self._keys[tokens])

    @cached_property
    def order(self) -> torch.Tensor:
        """Outcomes by their keys, int64 of shape (v,): the same order in every vocabulary."""
        return torch.argsort(self._keys)

    def uniforms(self, sequences: list[tuple[int, int, int]]) -> torch.Tensor:
        """Return the uniform number of each (seed, turn, position), float64 of shape (n,)."""
        table = torch.tensor([(signed(seed), turn, at) for seed, turn, at in sequences])
        return uniform_at(*to_device(table, self.device).unbind(1))

    def forget(self, running: set[tuple[int, int, int]]) -> None:
        """Drop every block but those of the (seed, turn, position // 4) still running."""
        self._blocks = {key: block for key, block in self._blocks.items() if key in running}


def signed(value: int) -> int:
    """Return the int64 with the same 64 bits as an unsigned value."""
    return value - (1 << 64) if value >> 63 else value
