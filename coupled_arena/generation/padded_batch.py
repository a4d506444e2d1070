"""Running sequences of a model whose rows attend together: one cache, padded on the left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import torch
from transformers.cache_utils import DynamicCache

from coupled_arena.generation.prompt_reading import PromptReading, whole_readings


class PaddedBatch:
    """Sequences of different lengths in one left-padded key-value cache.

    Attributes
    ----------
    logits : tensor, shape (n, v)
        Next-token logits of each sequence.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        self._cache = DynamicCache()
        self._mask = torch.zeros((0, 0), dtype=torch.int64, device=network.device)
        self.logits = torch.zeros((0, 0), device=network.device)

    @torch.inference_mode()
    def add(
        self, prompts: Sequence[Sequence[int]], read: Mapping[tuple[int, ...], Any] | None = None
    ) -> None:
        """Append new prompts as rows, each read once and in the shape it has by itself."""
        self._join([self._alone(one) for one in whole_readings(self._network, prompts, read)])

    @torch.inference_mode()
    def advance(self, tokens: torch.Tensor) -> None:
        """Append one token to every row and compute the next logits."""
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)
        self.logits = self._forward(tokens[:, None], self._mask, self._cache)

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order, and drop columns that only pad."""
        chosen = torch.tensor(rows, dtype=torch.int64, device=self._mask.device)
        self._mask, self.logits = self._mask[chosen], self.logits[chosen]
        padding = int((self._mask.cumsum(1) == 0).sum(1).min()) if len(rows) else 0
        self._mask = self._mask[:, padding:]
        for layer in self._layers(self._cache):
            layer.keys = layer.keys[chosen, :, padding:]
            layer.values = layer.values[chosen, :, padding:]

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, cache: DynamicCache) -> torch.Tensor:
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = self._network(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    def _alone(self, reading: PromptReading) -> PaddedBatch:
        """Return a batch of one prompt, whose reading stays as it is for who joins later."""
        alone = PaddedBatch(self._network)
        alone._cache, alone.logits = copy(reading.cache), reading.logits
        alone._cache.layers = list(map(copy, reading.cache.layers))
        alone._mask = self._mask.new_ones((1, reading.length))
        return alone

    def _join(self, others: Sequence[PaddedBatch]) -> None:
        """Append the rows of others, all padded on the left to the longest, or change nothing."""
        parts = [self, *others] if len(self._mask) else list(others)
        length = max(part._mask.shape[1] for part in parts)

        def stack(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
            pad = torch.nn.functional.pad
            return torch.cat([pad(x, (0, 0, length - x.shape[-2], 0)) for x in tensors])

        mask = stack(part._mask[..., None] for part in parts)[..., 0]
        logits = torch.cat([part.logits for part in parts])
        rows, joined = len(parts[0]._mask), []
        try:
            for layers in zip(*(self._layers(part._cache) for part in parts), strict=True):
                first, width = layers[0], layers[0].keys.shape[-2]
                keys = stack(layer.keys for layer in layers)
                first.values = stack(layer.values for layer in layers)
                first.keys = keys
                joined.append((first, width))
        except BaseException:  # memory falls short: what has grown is a view of what it was
            for layer, width in joined:
                layer.keys = layer.keys[:rows, :, -width:]
                layer.values = layer.values[:rows, :, -width:]
            raise
        self._cache, self._mask, self.logits = parts[0]._cache, mask, logits

    @staticmethod
    def _layers(cache: DynamicCache) -> list[Any]:
        layers: list[Any] = cache.layers
        return [layer for layer in layers if layer.is_initialized]
