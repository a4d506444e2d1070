"""The word of SplitMix64 for compiled loops."""

from __future__ import annotations

import numba

from coupled_arena.stats.risk import split_mix

word_of = numba.njit(nogil=True, cache=True)(split_mix.word_of)
