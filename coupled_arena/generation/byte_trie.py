"""The spellings of a vocabulary as a trie of bytes: which tokens begin alike.

Text tokens are laid out by their bytes, so that all that begin alike lie side by side, and those
that end where others go on come first. A node of the trie is then a stretch of that order, and
what all its tokens weigh together is the difference of two prefix sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap
from operator import eq
from typing import Any

import numpy as np

Whole = np.ndarray


@dataclass(frozen=True)
class ByteTrie:
    """A trie whose nodes are numbered by depth, then by their bytes; the first is the root.

    Attributes
    ----------
    order : int64 array, shape (m,)
        Ids of the text tokens by their bytes, those of one spelling by id.
    silent : int64 array
        Ids that add no bytes to a text: control tokens, and such as are spelled by none.
    low, high : int64 arrays, one entry a node
        A node's tokens are ``order[low:high]``.
    ends : int64 array likewise
        How many of them end there: ``order[low : low + ends]``, more than one where spellings are
        repeated.
    first, children : int64 arrays likewise
        A node's children are numbered ``first`` to ``first + children - 1``.
    byte : int64 array likewise
        The byte that leads to a node; 0 at the root.
    most_alike : int
        How many tokens have one spelling, at most.
    """

    order: Whole
    silent: Whole
    low: Whole
    high: Whole
    ends: Whole
    first: Whole
    children: Whole
    byte: Whole

    @property
    def most_alike(self) -> int:
        """How many tokens have one spelling, at most; 1 where there are none."""
        return int(self.ends.max(initial=1))


def make_trie(spellings: Sequence[bytes | None]) -> ByteTrie:
    """Return the trie of a vocabulary.

    Parameters
    ----------
    spellings : sequence of (bytes or None)
        Raw bytes of each id; None for control tokens.
    """
    spoken = sorted((s, number) for number, s in enumerate(spellings) if s)
    texts = [text for text, _ in spoken]
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    shared = np.array([0, *starmap(_common, pairwise(texts))], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    written = np.frombuffer(b"".join(texts), dtype=np.uint8)

    levels = [(np.zeros(1, np.int64), np.full(1, len(texts), np.int64), np.zeros(1, np.int64))]
    parents: list[Whole] = []
    for depth in range(1, int(lengths.max(initial=0)) + 1):
        # Where a token does not go on from the one before it, another prefix of this depth begins.
        edges = np.append(np.flatnonzero(shared[: len(texts)] < depth), len(texts))
        low = edges[:-1][lengths[edges[:-1]] >= depth]
        high = edges[np.searchsorted(edges, low, side="right")]
        parents.append(np.searchsorted(levels[-1][0], low, side="right") - 1)
        levels.append((low, high, written[starts[low] + depth - 1].astype(np.int64)))
    low, high, byte = (np.concatenate(column) for column in zip(*levels, strict=True))
    sizes = [len(level[0]) for level in levels]
    depths = np.repeat(np.arange(len(levels)), sizes)
    # Counted among all tokens: how many have ended before a node's last, of its own length.
    counts = [np.bincount(of, minlength=size) for of, size in zip(parents, sizes, strict=False)]
    children = np.concatenate([*counts, np.zeros(sizes[-1], np.int64)])
    return ByteTrie(
        order=np.array([number for _, number in spoken], dtype=np.int64),
        silent=np.array([n for n, s in enumerate(spellings) if not s], dtype=np.int64),
        low=low,
        high=high,
        ends=_ends(low, high, depths, lengths),
        first=1 + np.cumsum(children) - children,
        children=children,
        byte=byte,
    )


def token_ends(ending: Any, below: Any, word: Any) -> Any:
    """Answer "does a token end here?" where ``ending`` of the weight ``below`` a node does.

    Where none of it does the answer is no, where all of it does it is yes, whatever the word. Of
    tensors words are float64, for 32 bits do not go into what torch makes of a whole number.
    """
    return (word + 0.5) / 2**32 * below < ending


def _common(one: bytes, other: bytes) -> int:
    """Return how many bytes two spellings begin with in common."""
    equal = map(eq, one, other)
    return next((at for at, same in enumerate(equal) if not same), min(len(one), len(other)))


def _ends(low: Whole, high: Whole, depths: Whole, lengths: Whole) -> Whole:
    """Return how many tokens of each node are as long as it is deep; they are its first."""
    ends = np.zeros(len(low), np.int64)
    at = np.flatnonzero(low < high)
    while len(at):
        here = low[at] + ends[at]
        inside = here < high[at]
        at, here = at[inside], here[inside]
        at = at[lengths[here] == depths[at]]
        ends[at] += 1
    return ends
