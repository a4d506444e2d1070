"""Reading a prompt, chunk by chunk, so that what decodes need not wait for all of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers.cache_utils import (
    DummyLayer,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from coupled_arena.generation.transfer import to_device

# Where a prompt is cut must depend on nothing else, for rounding depends on it.
CHUNK = 512  # tokens


# What keeps keys alone, whole or a window of them: a batch can pad and stack these.
_KEYS_ALONE = (DynamicLayer, DynamicSlidingWindowLayer, DummyLayer)


def empty_cache(network: Any) -> DynamicCache:
    """Return a cache for one text, with a place for what the network's layers keep.

    Windows of keys are left to the masks: batches want all keys of a row.
    """
    own = DynamicCache(config=network.config)
    return DynamicCache() if _keeps_keys(own) else own


def keeps_keys(network: Any) -> bool:
    """Tell whether keys and values are all that a network's layers keep of a text."""
    return _keeps_keys(DynamicCache(config=network.config)) and "past_key_values" in _takes(network)


def _keeps_keys(cache: DynamicCache) -> bool:
    return all(type(layer) in _KEYS_ALONE for layer in cache.layers)


def _takes(network: Any) -> Mapping[str, Any]:
    return inspect.signature(network.forward).parameters


def cache_option(network: Any, cache: DynamicCache) -> dict[str, DynamicCache]:
    """Return a cache under the name by which a network takes it."""
    name = "cache_params" if "cache_params" in _takes(network) else "past_key_values"
    return {name: cache}


class PromptReading:
    """One prompt, read by itself.

    Parameters
    ----------
    network : PreTrainedModel
    prompt : sequence of int
    chunk : int
        Most tokens read at once. A network whose layers keep more than keys reads all at once:
        some of these begin each chunk of several tokens with an empty state.

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

    def __init__(self, network: Any, prompt: Sequence[int], chunk: int = CHUNK) -> None:
        self.cache = empty_cache(network)
        self.length = len(prompt)
        self._network = network
        self._prompt = list(prompt)
        self._read = 0
        self._chunk = chunk if _keeps_keys(self.cache) else max(1, self.length)

    @property
    def left(self) -> int:
        """How many tokens are still to be read."""
        return self.length - self._read

    @property
    def next(self) -> int:
        """How many of them are in the next chunk."""
        return min(self._chunk, self.left)

    @torch.inference_mode()
    def read(self) -> None:
        """Read the next chunk; after an error no more can be read."""
        end = self._read + self.next
        device = self._network.device
        output = self._network(
            input_ids=to_device(torch.tensor([self._prompt[self._read : end]]), device),
            position_ids=torch.arange(self._read, end, device=device)[None],
            use_cache=True,
            logits_to_keep=1,
            **cache_option(self._network, self.cache),
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
