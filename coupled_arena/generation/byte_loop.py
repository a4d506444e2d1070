"""The walk of bytes coupling as a compiled loop for processors, a row after the other."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from coupled_arena.generation.byte_trie import token_ends
from coupled_arena.generation.philox import LOW, POSITIONS_PER_BLOCK, philox
from coupled_arena.generation.vocabulary import OFFSETS

_philox_scalar = numba.njit(philox)
_token_ends = numba.njit(token_ends)


@numba.njit(cache=True)
def _word(seed: int, turn: int, offset: int, key: int) -> int:
    counter = (offset // POSITIONS_PER_BLOCK, key & LOW, (key >> 32) & LOW, turn)
    return _philox_scalar(counter, (seed & LOW, (seed >> 32) & LOW))[offset % POSITIONS_PER_BLOCK]


@numba.njit(cache=True)
def _score(mass: int, seed: int, turn: int, offset: int, key: int) -> float:
    if not mass:
        return -math.inf
    uniform = (_word(seed, turn, offset, key) + 0.5) / 2**32
    return math.log(mass) - math.log(-math.log(uniform))


@numba.njit(cache=True)
def _opening(
    weights: Any, text: int, silent: Any, keys: Any, go_on: int, seed: int, turn: int, offset: int
) -> int:
    """Return the outcome without bytes that is drawn where a token begins; -1: a text token."""
    drawn, best = -1, _score(text, seed, turn, offset, go_on)
    end = len(weights) - 1
    score = _score(weights[end], seed, turn, offset, keys[end])
    if score > best:
        drawn, best = end, score
    for outcome in silent:
        score = _score(weights[outcome], seed, turn, offset, keys[outcome])
        if score > best:
            drawn, best = outcome, score
    return drawn


@numba.njit(nogil=True, cache=True)
def fill_drawn(
    weights: Any,
    places: Any,
    order: Any,
    silent: Any,
    nodes: Any,
    keys: Any,
    byte_keys: Any,
    question_keys: Any,
    drawn: Any,
) -> None:
    """Fill drawn, int64 of shape (n,), with the outcomes that `ByteWalk.draw` describes."""
    low, high, ends, first, children, byte = nodes
    sums: Any = np.zeros(len(order) + 1, dtype=np.int64)
    for row in range(len(drawn)):
        seed, turn, offset = places[row]
        for at in range(len(order)):
            sums[at + 1] = sums[at] + weights[row, order[at]]
        place = seed, turn, offset
        drawn[row] = _opening(weights[row], sums[-1], silent, keys, question_keys[1], *place)
        if drawn[row] >= 0:
            continue
        node, walking = 0, True
        while walking:
            best, child = -math.inf, -1
            for one in range(first[node], first[node] + children[node]):
                mass = sums[high[one]] - sums[low[one]]
                score = _score(mass, seed, turn, offset, byte_keys[byte[one]])
                if score > best:
                    best, child = score, one
            if child < 0:  # the model computed what is no number
                break
            node, offset = child, (offset + 1) % OFFSETS
            begin = sums[low[node]]
            ending, below = sums[low[node] + ends[node]] - begin, sums[high[node]] - begin
            walking = not _token_ends(ending, below, _word(seed, turn, offset, question_keys[0]))
        best = -math.inf
        for at in range(low[node], low[node] + ends[node]):
            score = _score(weights[row, order[at]], seed, turn, offset, keys[order[at]])
            if score > best:
                best, drawn[row] = score, order[at]
