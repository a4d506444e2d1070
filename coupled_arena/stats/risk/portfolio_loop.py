"""The lower points of a tile as bits, in compiled loops; see `portfolio`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from coupled_arena.stats.risk.portfolio import TILE

_WORDS = TILE // 64
_NONE, _ONE = np.uint64(0), np.uint64(1)
_SIX, _LOW_SIX = np.uint64(6), np.uint64(63)
# Counting bits in parallel, in a form that compilers know.
_FIVES, _THREES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_FOUR, _TWO, _FIFTEENS = np.uint64(4), np.uint64(2), np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES, _TOP = np.uint64(0x0101010101010101), np.uint64(56)


@numba.njit(nogil=True, cache=True)
def count_lower(lower: Any, order: Any, start: Any, counts: Any) -> None:
    """Add how many points of a tile, sorted by each metric, are below each point."""
    metrics, n = lower.shape
    sets = np.empty((metrics, TILE + 1, _WORDS), np.uint64)
    place = np.empty((n, metrics), np.uint16)  # which set is a point's
    by_rank = np.empty(n + 1, np.int64)
    for metric in range(metrics):
        by_rank[:] = 0
        sets[metric, 0] = _NONE
        for rank in range(order.shape[1]):
            point = order[metric, rank]
            member = np.uint64(point - start)
            for word in range(_WORDS):
                sets[metric, rank + 1, word] = sets[metric, rank, word]
            sets[metric, rank + 1, member >> _SIX] |= _ONE << (member & _LOW_SIX)
            by_rank[lower[metric, point] + 1] += 1
        for rank in range(n):
            by_rank[rank + 1] += by_rank[rank]
        for point in range(n):
            place[point, metric] = by_rank[lower[metric, point]]
    for point in range(n):
        counts[point] += _size_of_intersection(sets, place[point])


@numba.njit(nogil=True, cache=True)
def _size_of_intersection(sets: Any, place: Any) -> Any:
    size = np.uint64(0)
    for word in range(_WORDS):
        bits = sets[0, place[0], word]
        for metric in range(1, len(place)):
            bits &= sets[metric, place[metric], word]
        bits -= (bits >> _ONE) & _FIVES
        bits = (bits & _THREES) + ((bits >> _TWO) & _THREES)
        size += (((bits + (bits >> _FOUR)) & _FIFTEENS) * _ONES) >> _TOP
    return np.int64(size)
