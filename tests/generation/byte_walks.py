"""Bytes coupling in plain Python, from its description: trie and loops must agree with it."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache

import numpy as np

from coupled_arena.generation.noise import noise_words, signed
from coupled_arena.generation.vocabulary import token_key

BYTE, TOKEN_END, GO_ON = 5, 6, 7


@cache
def label_key(kind, label=b""):
    return np.array([token_key(kind, label)], dtype=np.uint64).view(np.int64)


@cache
def word(seed, turn, offset, key):
    at = [np.array([value]) for value in (signed(seed), turn, offset // 4)]
    return int(noise_words(*at, np.array([key]))[offset % 4][0, 0])


def uniform(seed, turn, offset, key):
    return (word(seed, turn, offset, int(key)) + 0.5) / 2**32


def gumbel(place, key):
    return -math.log(-math.log(uniform(*place, key)))


def below(vocabulary, law):
    """Return what each beginning of a spelling weighs, and what ends there."""
    weight, ends = defaultdict(float), defaultdict(dict)
    for token, spelling in enumerate(vocabulary.spellings):
        if spelling and law[token]:
            ends[spelling][token] = law[token]
            for length in range(len(spelling) + 1):
                weight[spelling[:length]] += law[token]
    return weight, ends


def best(masses, place, keys):
    """Gumbel-max over what is possible."""
    possible = [answer for answer, mass in masses.items() if mass]
    return max(possible, key=lambda a: math.log(masses[a]) + gumbel(place, keys[a]))


def plain_draw(vocabulary, law, place):
    """Draw an outcome."""
    seed, turn, offset = place
    weight, ends = below(vocabulary, law)
    silent = [t for t in range(len(law)) if t == vocabulary.end or not vocabulary.spellings[t]]
    masses = {t: law[t] for t in silent} | {"text": weight[b""]}
    keys = {t: vocabulary.keys[t] for t in silent} | {"text": label_key(GO_ON)[0]}
    opening = best(masses, place, keys)
    if opening != "text":
        return opening
    said = b""
    while True:
        longer = [key for key in weight if key[:-1] == said and key]
        masses = {key[-1]: weight[key] for key in longer}
        keys = {byte: label_key(BYTE, bytes([byte]))[0] for byte in masses}
        ends_here = uniform(seed, turn, offset, label_key(TOKEN_END)[0]) * weight[said]
        if ends_here < sum(ends[said].values()):
            break
        said += bytes([best(masses, (seed, turn, offset), keys)])
        offset = (offset + 1) % 2**32
    return best(ends[said], (seed, turn, offset), vocabulary.keys)
