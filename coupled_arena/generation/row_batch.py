"""Running sequences of a model whose rows attend by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from coupled_arena.generation.prompt_reading import whole_readings
from coupled_arena.generation.slots import SlotCache
from coupled_arena.generation.transfer import to_device


class RowBatch:
    """Sequences of different lengths, each in a slot of its own.

    Attributes
    ----------
    logits : tensor, shape (n, v)
        Next-token logits of each sequence.
    """

    def __init__(self, network: Any, most_tokens: int | None = None) -> None:
        self._network = network
        self._cache = SlotCache(most_tokens)
        self._lengths: list[int] = []  # of the slots, as are the columns
        self._columns = torch.zeros(0, dtype=torch.int64, device=network.device)
        self._slots: list[int] = []  # of the rows
        self.logits = torch.zeros((0, 0), device=network.device)

    @torch.inference_mode()
    def add(
        self, prompts: Sequence[Sequence[int]], read: Mapping[tuple[int, ...], Any] | None = None
    ) -> None:
        """Append new prompts as rows, each read once and in the shape it has by itself."""
        new = whole_readings(self._network, prompts, read)
        if not new:
            return
        old, lengths = len(self._lengths), [*self._lengths, *map(len, prompts)]
        logits = torch.cat([*([self.logits] if old else []), *(one.logits for one in new)])
        self._cache.shape_like(new[0].cache)
        self._cache.reserve(len(lengths), max(lengths) + 1)
        self._cache.fill(old, [one.cache for one in new])
        self._settle(lengths, [*self._slots, *range(old, len(lengths))], logits)

    @torch.inference_mode()
    def advance(self, tokens: torch.Tensor) -> None:
        """Append one token to every row and compute the next logits.

        Processors multiply one row of 16-bit numbers in another order than several: it is computed
        twice, so that it comes out as it does in company.
        """
        self._cache.reserve(len(self._lengths), max(self._lengths) + 1)
        self._cache.begin(self._columns)
        slots = None
        if self._slots != sorted(self._slots):
            slots = to_device(torch.tensor(self._slots), self._columns.device)
            tokens = torch.empty_like(tokens).scatter_(0, slots, tokens)
        alone = self._network.dtype.itemsize < 4 and len(tokens) == 1
        repeats = 2 if alone else 1
        output = self._network(
            input_ids=tokens.repeat(repeats)[:, None],
            # Four dimensions, as of a mask that is ready: it is handed on as it is.
            attention_mask=(self._columns + 1)[:, None, None, None],
            position_ids=self._columns.repeat(repeats)[:, None],
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits = output.logits[: len(tokens), -1]
        self.logits = logits if slots is None else logits[slots]
        self._lengths = [length + 1 for length in self._lengths]
        self._columns = self._columns + 1

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        chosen = to_device(torch.tensor(rows, dtype=torch.int64), self._columns.device)
        slots = [self._slots[row] for row in rows]
        lengths = [0] * len(rows)
        places = self._cache.keep(slots)
        for slot, place in zip(slots, places, strict=True):
            lengths[place] = self._lengths[slot]
        self._settle(lengths, places, self.logits[chosen])
        self._cache.reserve(len(lengths), max(lengths, default=-1) + 1)

    def _settle(self, lengths: list[int], slots: list[int], logits: torch.Tensor) -> None:
        columns = torch.tensor(lengths, dtype=torch.int64)
        self._columns = to_device(columns, self._columns.device)
        self._lengths, self._slots, self.logits = lengths, slots, logits
