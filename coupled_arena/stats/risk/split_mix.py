"""SplitMix64: streams of 64 random bits that depend on their seeds alone [1]_.

The functions take arrays of words; `split_mix_loop` compiles the same for one word.

References
----------
.. [1] G. L. Steele, D. Lea & C. H. Flood, "Fast splittable pseudorandom number generators",
   OOPSLA 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = np.uint64
GAMMA = WORD(0x9E3779B97F4A7C15)  # added to the state before each word
LOW, HALF = WORD(0xFFFFFFFF), WORD(32)  # the two halves of a word
ODD = WORD(0xBF58476D1CE4E5B9)
_SECOND = WORD(0x94D049BB133111EB)
_SHIFTS = WORD(30), WORD(27), WORD(31)


def word_of(state: Any) -> Any:
    """Return the word of a state; of an array, the word of each."""
    word = (state ^ (state >> _SHIFTS[0])) * ODD
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND
    return word ^ (word >> _SHIFTS[2])


def words(seeds: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """Return the first words of each stream, shape (count, seeds)."""
    steps = GAMMA * np.arange(1, count + 1, dtype=WORD)
    return word_of(seeds + steps[:, None])
