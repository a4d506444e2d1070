"""Attention of single queries to keys of any length, as a compiled loop for processors."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

_LOG2_E = np.float32(1.4426950408889634)
_LEAST = np.float32(-126)  # of the powers of two that float32 has in full
_HALF = np.float32(0.5)
# The Taylor series of 2**x; on [-1/2, 1/2] its next term is below 2**-23 / 50.
_SERIES = tuple(np.float32(math.log(2) ** n / math.factorial(n)) for n in range(7))


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _score(query: Any, keys: Any, length: Any, scale: Any, scores: Any) -> Any:
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
            largest = _score(query[row, head], key, length, scale, weights)
            total = _weigh(weights, length, largest, bits)
            answer[:] = np.float32(0)
            for place in range(length):
                for at in range(value.shape[1]):
                    answer[at] += weights[place] * value[place, at]
            for at in range(value.shape[1]):
                answer[at] /= total
