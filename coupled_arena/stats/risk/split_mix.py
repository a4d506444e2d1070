"""SplitMix64 for compiled loops: streams of 64 random bits that depend on their seeds alone [1]_.

References
----------
.. [1] G. L. Steele, D. Lea & C. H. Flood, "Fast splittable pseudorandom number generators",
   OOPSLA 2014.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

WORD = np.uint64
GAMMA = WORD(0x9E3779B97F4A7C15)  # added to the state before each word
LOW, HALF = WORD(0xFFFFFFFF), WORD(32)  # the two halves of a word
ODD = WORD(0xBF58476D1CE4E5B9)
_SECOND = WORD(0x94D049BB133111EB)
_SHIFTS = WORD(30), WORD(27), WORD(31)


@numba.njit(nogil=True, cache=True)
def word_of(state: Any) -> Any:
    """Return the word of a state."""
    word = (state ^ (state >> _SHIFTS[0])) * ODD
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND
    return word ^ (word >> _SHIFTS[2])
