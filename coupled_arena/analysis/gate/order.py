"""The random order in which prompts count: each one's place follows from its name and a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from coupled_arena.stats.counts import IntArray


def drawn_order(names: Sequence[str], seed: int) -> IntArray:
    """Return the places of names in the order that a seed draws: a random permutation.

    Two names come in the same order whatever other names there are. So a run that has ended early
    holds the first ones of the run that goes on.

    Returns
    -------
    ndarray of int64, shape (n,)
        Which name is first, which one second, and so on; of equal names the first one is first.
    """
    keys = [hashlib.blake2b(f"{seed}\0{name}".encode()).digest() for name in names]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
