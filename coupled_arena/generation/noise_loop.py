"""The noise words as a compiled loop for processors: ten times as fast as array by array."""

from __future__ import annotations

from typing import Any

import numba

from coupled_arena.generation.philox import LOW, POSITIONS_PER_BLOCK, philox

_philox_scalar = numba.njit(philox)


@numba.njit(nogil=True, cache=True)
def fill_words(seeds: Any, turns: Any, blocks: Any, keys: Any, words: Any) -> None:
    """Fill words, uint32 of shape (4, n, v), from int64 arrays as in `philox.noise_words`."""
    for row in range(seeds.shape[0]):
        key = (seeds[row] & LOW, (seeds[row] >> 32) & LOW)
        for token in range(keys.shape[0]):
            low, high = keys[token] & LOW, (keys[token] >> 32) & LOW
            output = _philox_scalar((blocks[row], low, high, turns[row]), key)
            for offset in range(POSITIONS_PER_BLOCK):
                words[offset, row, token] = output[offset]
