"""Philox4x32-10, the random words behind the noise: written once, for NumPy, torch and numba.

The generator is counter based (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC'11). Having no state, it gives every model, device, batch order and process the same
number without talking to another. One block serves four positions.

The operators are those that NumPy, torch and numba share, on int64: a 64-bit product wraps, and
its low and high halves are taken with masks, so the words are the same bits in NumPy, on torch CPU,
on CUDA and in the compiled loop that serves the CPU.
"""

from __future__ import annotations

from typing import Any, TypeVar

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
