"""What processors compute in compiled loops: noise words, the walk of bytes coupling, attention.

Each loop is ten times as fast as array by array, and gives what the function beside its caller
gives. Nothing imports this module before a loop is wanted (`core.extras.compiled`): numba takes a
second to load.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from coupled_arena.generation.byte_coupling import token_ends
from coupled_arena.generation.noise import LOW, POSITIONS_PER_BLOCK, philox
from coupled_arena.generation.vocabulary import OFFSETS

_philox_scalar = numba.njit(philox)


@numba.njit(nogil=True, cache=True)
def fill_words(seeds: Any, turns: Any, blocks: Any, keys: Any, words: Any) -> None:
    """Fill words, uint32 of shape (4, n, v), from int64 arrays as in `noise.noise_words`."""
    for row in range(seeds.shape[0]):
        key = (seeds[row] & LOW, (seeds[row] >> 32) & LOW)
        for token in range(keys.shape[0]):
            low, high = keys[token] & LOW, (keys[token] >> 32) & LOW
            output = _philox_scalar((blocks[row], low, high, turns[row]), key)
            for offset in range(POSITIONS_PER_BLOCK):
                words[offset, row, token] = output[offset]


# The walk of bytes coupling, a row after the other.

_token_ends = numba.njit(token_ends)


@numba.njit(cache=True)
def _word(seed: int, turn: int, offset: int, key: int) -> int:
    counter = (offset // POSITIONS_PER_BLOCK, key & LOW, (key >> 32) & LOW, turn)
    return _philox_scalar(counter, (seed & LOW, (seed >> 32) & LOW))[offset % POSITIONS_PER_BLOCK]


@numba.njit(cache=True)
def _outcome_score(mass: int, seed: int, turn: int, offset: int, key: int) -> float:
    if not mass:
        return -math.inf
    uniform = (_word(seed, turn, offset, key) + 0.5) / 2**32
    return math.log(mass) - math.log(-math.log(uniform))


@numba.njit(cache=True)
def _first_outcome(
    weights: Any, text: int, silent: Any, keys: Any, go_on: int, seed: int, turn: int, offset: int
) -> int:
    """Return the outcome without bytes that is drawn where a token begins; -1: a text token."""
    drawn, best = -1, _outcome_score(text, seed, turn, offset, go_on)
    end = len(weights) - 1
    score = _outcome_score(weights[end], seed, turn, offset, keys[end])
    if score > best:
        drawn, best = end, score
    for outcome in silent:
        score = _outcome_score(weights[outcome], seed, turn, offset, keys[outcome])
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
        drawn[row] = _first_outcome(weights[row], sums[-1], silent, keys, question_keys[1], *place)
        if drawn[row] >= 0:
            continue
        node, walking = 0, True
        while walking:
            best, child = -math.inf, -1
            for one in range(first[node], first[node] + children[node]):
                mass = sums[high[one]] - sums[low[one]]
                score = _outcome_score(mass, seed, turn, offset, byte_keys[byte[one]])
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
            score = _outcome_score(weights[row, order[at]], seed, turn, offset, keys[order[at]])
            if score > best:
                best, drawn[row] = score, order[at]


# Attention of single queries to keys of any length.

_LOG2_E = np.float32(1.4426950408889634)
_LEAST = np.float32(-126)  # of the powers of two that float32 has in full
_HALF = np.float32(0.5)
# The Taylor series of 2**x; on [-1/2, 1/2] its next term is below 2**-23 / 50.
_SERIES = tuple(np.float32(math.log(2) ** n / math.factorial(n)) for n in range(7))


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _fill_scores(query: Any, keys: Any, length: Any, scale: Any, scores: Any) -> Any:
    """Fill scores, and return the largest."""
    largest = np.float32(-np.inf)
    for place in range(length):
        score = np.float32(0)
        for at in range(query.shape[0]):
            score += query[at] * keys[place, at]
        scores[place] = score * scale
        largest = max(largest, scores[place])
    return largest


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _weigh(scores: Any, length: Any, largest: Any, bits: Any) -> Any:
    """Turn scores into exp(score - largest), and return their sum.

    In steps that a processor takes for many scores at once, which the library's exp is not.
    """
    powers = bits.view(np.float32)
    for place in range(length):
        power = max((scores[place] - largest) * _LOG2_E, _LEAST)
        whole = np.floor(power + _HALF)
        x = power - whole
        bits[place] = (np.int32(whole) + np.int32(127)) << np.int32(23)
        value = _SERIES[6]
        for term in (5, 4, 3, 2, 1, 0):
            value = value * x + _SERIES[term]
        scores[place] = value
    total = np.float32(0)
    for place in range(length):
        scores[place] *= powers[place]
        total += scores[place]
    return total


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def attend(query: Any, keys: Any, values: Any, lengths: Any, scale: Any, out: Any) -> None:
    """Fill out, (n, heads, v), from query, (n, heads, d), and keys and values of each row."""
    group = query.shape[1] // keys.shape[1]
    weights = np.empty(keys.shape[2], np.float32)
    bits = np.empty(keys.shape[2], np.int32)
    for row in range(query.shape[0]):
        length = lengths[row]
        for head in range(query.shape[1]):
            key, value, answer = (
                keys[row, head // group],
                values[row, head // group],
                out[row, head],
            )
            largest = _fill_scores(query[row, head], key, length, scale, weights)
            total = _weigh(weights, length, largest, bits)
            answer[:] = np.float32(0)
            for place in range(length):
                for at in range(value.shape[1]):
                    answer[at] += weights[place] * value[place, at]
            for at in range(value.shape[1]):
                answer[at] /= total
