"""Bytes coupling: drawing a token byte by byte, so that any two vocabularies read one noise.

A model's next token is a string of bytes. It is drawn by a walk from the root of the trie of all
spellings, one question after the other, each answered with the probability that it has given the
answers before it; so the token has the model's probability. Each question reads noise of its own:

================== ============================ ============================= ================
question           asked                        answered by                   noise at offset
================== ============================ ============================= ================
stop, or text?     where a token begins         Gumbel-max: the end, each     o, its beginning
                                                control token, text
which next byte?   where the token goes on      Gumbel-max over bytes         of that byte
does it end here?  where both are possible      a uniform number              of the next byte
which of these?    where spellings are repeated Gumbel-max, by tokens' keys   of the next byte
================== ============================ ============================= ================

The offset counts the bytes of the answer; a token that adds none moves it by one. The noise of the
next byte at an offset is read by the token that goes on there or else by the one that begins there,
never by both, and so is no other number read twice: whole answers have the model's own law, up to
uniform numbers of 32 bits. `docs/byte-coupling.md` has the proof. Asking "does it end, or which
byte?" as one Gumbel-max would read the bytes' noise twice, and break it.

Weights are whole numbers of 2**-60. Sums of them are exact in any order, so that a node weighs the
same here and on a GPU, and nothing exactly when nothing below it is possible.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np
import torch

from coupled_arena.core.extras import compiled
from coupled_arena.generation.byte_trie import ByteTrie, make_trie, token_ends
from coupled_arena.generation.noise import gumbel, signed, words_at
from coupled_arena.generation.philox import POSITIONS_PER_BLOCK, noise_words
from coupled_arena.generation.sampling import NO_NUMBER
from coupled_arena.generation.transfer import to_device
from coupled_arena.generation.vocabulary import BYTE_KEYS, OFFSETS, QUESTION_KEYS, Vocabulary

Places = list[tuple[int, int, int]]
_ONE = 2.0**60
_ROOT = 0
_CACHED = 1 << 18  # weights that a processor's cache holds: two megabytes


class ByteWalk:
    """Draws for one vocabulary.

    Attributes
    ----------
    vocabulary : Vocabulary

    Parameters
    ----------
    device : torch.device
    """

    def __init__(self, vocabulary: Vocabulary, device: torch.device) -> None:
        self.vocabulary = vocabulary
        self._device = device

    @cached_property
    def trie(self) -> ByteTrie:
        """Its spellings; made when first asked for, in a second for the largest vocabularies."""
        return make_trie(self.vocabulary.spellings)

    def draw(self, scores: torch.Tensor, places: Places) -> torch.Tensor:
        """Return the drawn outcome of each row.

        Parameters
        ----------
        scores : float64 tensor, shape (n, v + 1)
            As `outcome_scores` returns them.
        places : list of (seed, turn, offset), length n

        Returns
        -------
        int64 tensor, shape (n,)
            `NO_NUMBER` where the model computed what is no number.
        """
        table = torch.tensor([(signed(seed), turn, offset) for seed, turn, offset in places])
        loop = _loop() if self._device.type == "cpu" else None
        if loop is None:
            places_there = to_device(table, self._device).unbind(1)
            return self._draw_together(whole_weights(scores), *places_there)
        drawn = torch.empty(len(scores), dtype=torch.int64)
        rows = max(1, _CACHED // scores.shape[1])
        parts = (scores.split(rows), table.split(rows), drawn.split(rows))
        for part, at, into in zip(*parts, strict=True):
            loop(whole_weights(part).numpy(), at.numpy(), *self._arrays, into.numpy())
        return drawn

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """All that the loop needs of the vocabulary: the trie, and keys."""
        trie = self.trie
        nodes = (trie.low, trie.high, trie.ends, trie.first, trie.children, trie.byte)
        keys = self.vocabulary.keys
        return trie.order, trie.silent, nodes, keys, BYTE_KEYS, QUESTION_KEYS

    @cached_property
    def _tensors(self) -> dict[str, torch.Tensor]:
        """The same on the device."""
        names = ("order", "silent", "low", "high", "ends", "first", "children", "byte")
        on_device = {name: getattr(self.trie, name) for name in names}
        silent_keys = self.vocabulary.keys[np.append(self.trie.silent, self.vocabulary.end)]
        on_device |= {"bytes": BYTE_KEYS, "keys": self.vocabulary.keys}
        on_device |= {"token_end": QUESTION_KEYS[:1]}
        on_device |= {"openings": np.append(silent_keys, QUESTION_KEYS[1])}
        return {name: to_device(torch.from_numpy(x), self._device) for name, x in on_device.items()}

    def _draw_together(
        self,
        weights: torch.Tensor,
        seeds: torch.Tensor,
        turns: torch.Tensor,
        offsets: torch.Tensor,
    ) -> torch.Tensor:
        """Walk all rows at once, a level of the trie after the other."""
        on = self._tensors
        rows = torch.arange(len(weights), device=weights.device)
        sums = torch.nn.functional.pad(weights[:, on["order"]].cumsum(1), (1, 0))
        silent = torch.cat((weights[:, on["silent"]], weights[:, -1:], sums[:, -1:]), dim=1)
        opening = _largest(silent, _words(seeds, turns, offsets, on["openings"]))
        outcomes = torch.cat((on["silent"], on["silent"].new_tensor([weights.shape[1] - 1, -1])))
        drawn = outcomes[opening]
        node = torch.full_like(rows, _ROOT)
        walking = drawn < 0
        while walking.any():
            node = torch.where(walking, self._child(node, sums, seeds, turns, offsets), node)
            offsets = torch.where(walking, (offsets + 1) % OFFSETS, offsets)
            low, ends = on["low"][node], on["ends"][node]
            begin = sums[rows, low]
            ending, all_below = sums[rows, low + ends] - begin, sums[rows, on["high"][node]] - begin
            words = _words(seeds, turns, offsets, on["token_end"])[:, 0].to(torch.float64)
            walking = walking & ~token_ends(ending, all_below, words)
        token = self._alike(node, weights, seeds, turns, offsets)
        return torch.where(drawn < 0, token, drawn).masked_fill(~weights.any(dim=1), NO_NUMBER)

    def _alike(
        self, node: torch.Tensor, weights: torch.Tensor, *place: torch.Tensor
    ) -> torch.Tensor:
        """Return one of the tokens that end at each row's node."""
        on = self._tensors
        if not len(on["order"]):
            return node  # of rows that have drawn a token without a spelling
        at = torch.arange(self.trie.most_alike, device=node.device)
        there = at < on["ends"][node][:, None]
        token = on["order"][torch.where(there, on["low"][node][:, None] + at, 0)]
        masses = weights.gather(1, token).masked_fill(~there, 0)
        seeds, turns, offsets = (x[:, None].expand(token.shape).flatten() for x in place)
        words = words_at(seeds, turns, offsets, on["keys"][token].flatten()).view(token.shape)
        return token.gather(1, _largest(masses, words)[:, None])[:, 0]

    def _child(
        self,
        node: torch.Tensor,
        sums: torch.Tensor,
        seeds: torch.Tensor,
        turns: torch.Tensor,
        offsets: torch.Tensor,
    ) -> torch.Tensor:
        """Return the child of each row's node that its next byte leads to."""
        on = self._tensors
        at = torch.arange(int(on["children"][node].max()), device=node.device)
        there = at < on["children"][node][:, None]
        child = torch.where(there, on["first"][node][:, None] + at, _ROOT)
        masses = sums.gather(1, on["high"][child]) - sums.gather(1, on["low"][child])
        words = _words(seeds, turns, offsets, on["bytes"]).gather(1, on["byte"][child])
        best = _largest(masses.masked_fill(~there, 0), words)
        return child.gather(1, best[:, None])[:, 0]


def whole_weights(scores: torch.Tensor) -> torch.Tensor:
    """Return each outcome's probability in whole 2**-60, int64 of the shape of ``scores``.

    Where the model computed what is no number, all are 0.
    """
    return torch.softmax(scores, dim=1).nan_to_num_(0.0).mul_(_ONE).to(torch.int64)


def _largest(masses: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Return the place of each row's largest log weight plus noise, int64 of shape (n,)."""
    return (masses.to(torch.float64).log() + gumbel(words)).argmax(dim=1)


def _words(
    seeds: torch.Tensor, turns: torch.Tensor, offsets: torch.Tensor, keys: torch.Tensor
) -> torch.Tensor:
    """Return the noise word of each row for each key, int64 of shape (n, k)."""
    made = torch.stack(noise_words(seeds, turns, offsets // POSITIONS_PER_BLOCK, keys))
    return made[offsets % POSITIONS_PER_BLOCK, torch.arange(len(seeds), device=keys.device)]


@cache
def _loop() -> Any:
    """Return the compiled walk; None where numba is not installed."""
    loops = compiled("coupled_arena.generation.byte_loop")
    return loops and loops.fill_drawn
