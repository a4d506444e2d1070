"""What the engine needs of a model, wherever it computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch

from coupled_arena.generation.vocabulary import Vocabulary


class Batch(Protocol):
    """Running sequences of one model."""

    logits: torch.Tensor

    def add(self, prompts: Sequence[Sequence[int]]) -> None:
        """Read new prompts and append them as rows; where that fails, nothing has changed."""
        ...

    def advance(self, tokens: torch.Tensor) -> None:
        """Append one token to every row and compute the next logits."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        ...


class LanguageModel(Protocol):
    """A model that can take part in battles."""

    name: str
    vocabulary: Vocabulary
    context_length: int
    batchable: bool

    @property
    def arithmetic(self) -> Mapping[str, str]:
        """What fixes the rounding of this model's numbers, for the record."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the logits are computed."""
        ...

    def encode(self, messages: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
        """Return the token ids of a conversation, ready for the next answer."""
        ...

    def start_batch(self) -> Batch:
        """Return an empty batch."""
        ...
