"""Reading a prompt, chunk by chunk, so that what decodes need not wait for all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers.cache_utils import DynamicCache

from coupled_arena.generation.transfer import to_device

# Where a prompt is cut must depend on nothing else, for rounding depends on it.
CHUNK = 512  # tokens


class PromptReading:
    """One prompt, read by itself.

    Attributes
    ----------
    cache : DynamicCache
        Keys and values of what has been read.
    logits : tensor, shape (1, v)
        After the last token that has been read.
    length : int
        Tokens of the whole prompt.
    """

    logits: torch.Tensor

    def __init__(self, network: Any, prompt: Sequence[int]) -> None:
        self.cache = DynamicCache()
        self.length = len(prompt)
        self._network = network
        self._prompt = list(prompt)
        self._read = 0

    @property
    def left(self) -> int:
        """How many tokens are still to be read."""
        return self.length - self._read

    @property
    def next(self) -> int:
        """How many of them are in the next chunk."""
        return min(CHUNK, self.left)

    @torch.inference_mode()
    def read(self) -> None:
        """Read the next chunk; after an error no more can be read."""
        end = self._read + self.next
        device = self._network.device
        output = self._network(
            input_ids=to_device(torch.tensor([self._prompt[self._read : end]]), device),
            position_ids=torch.arange(self._read, end, device=device)[None],
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self.logits, self._read = output.logits[:, -1], end

    def finish(self) -> None:
        """Read all that is left."""
        while self.left:
            self.read()


def whole_readings(
    network: Any,
    prompts: Sequence[Sequence[int]],
    begun: Mapping[tuple[int, ...], PromptReading] | None = None,
) -> list[PromptReading]:
    """Return the reading of each prompt, the same one for equal prompts; finish those begun."""
    known = begun or {}
    different = dict.fromkeys(map(tuple, prompts))
    readings = {p: known.get(p) or PromptReading(network, p) for p in different}
    for reading in readings.values():
        reading.finish()
    return [readings[tuple(prompt)] for prompt in prompts]
