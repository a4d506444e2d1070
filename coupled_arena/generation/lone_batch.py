"""One running sequence of a model whose layers keep a state, which no padding may reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch

from coupled_arena.generation.prompt_reading import cache_option, empty_cache, whole_readings


class LoneBatch:
    """A batch of one sequence at most.

    Attributes
    ----------
    logits : tensor, shape (n, v)
        Its next-token logits.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        self._cache, self._length = empty_cache(network), 0
        self.logits = torch.zeros((0, 0), device=network.device)

    @torch.inference_mode()
    def add(
        self, prompts: Sequence[Sequence[int]], read: Mapping[tuple[int, ...], Any] | None = None
    ) -> None:
        """Begin the sequence."""
        if not prompts:
            return
        if len(prompts) + len(self.logits) > 1:
            raise ValueError("This model decodes one reply at a time.")
        (reading,) = whole_readings(self._network, prompts, read)
        # States are written in place, and the reading stays as it is for who joins later.
        self._cache, self._length = deepcopy(reading.cache), reading.length
        self.logits = reading.logits

    @torch.inference_mode()
    def advance(self, tokens: torch.Tensor) -> None:
        """Append one token and compute the next logits."""
        output = self._network(
            input_ids=tokens[:, None],
            position_ids=tokens.new_full((1, 1), self._length),
            use_cache=True,
            logits_to_keep=1,
            **cache_option(self._network, self._cache),
        )
        self.logits, self._length = output.logits[:, -1], self._length + 1

    def keep(self, rows: Sequence[int]) -> None:
        """Keep the sequence, or none."""
        if not rows:
            self._cache, self._length = empty_cache(self._network), 0
            self.logits = self.logits[:0]
