"""What the engine needs of a model, wherever it computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from coupled_arena.core.records import Sampling
from coupled_arena.generation.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch


class Reading(Protocol):
    """A prompt that is read in chunks."""

    @property
    def left(self) -> int:
        """How many tokens are still to be read."""
        ...

    @property
    def next(self) -> int:
        """How many of them are in the next chunk."""
        ...

    def read(self) -> None:
        """Read the next chunk; after an error no more can be read."""
        ...


Readings = dict[tuple[str, tuple[int, ...]], Reading]
"""By model and prompt."""


Told = Mapping[int, float]
"""Log-probabilities of the tokens that a server tells of, by id."""


class Batch(Protocol):
    """Running sequences of one model."""

    logits: torch.Tensor

    def add(
        self,
        prompts: Sequence[Sequence[int]],
        read: Mapping[tuple[int, ...], Any] | None = None,
    ) -> None:
        """Append prompts as rows, and read of them what has not been; or change nothing."""
        ...

    def advance(self, tokens: torch.Tensor) -> None:
        """Append one token to every row and compute the next logits."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        ...


class Stream(Protocol):
    """A reply that arrives token by token."""

    @property
    def stopped(self) -> bool:
        """Whether the model has ended its answer after the last token."""
        ...

    def tokens_after(self, taken: int) -> list[int]:
        """Return what has arrived beyond the first few tokens."""
        ...

    def check(self) -> None:
        """Raise what has broken the stream off, if it is broken off."""
        ...

    def close(self) -> None:
        """Give up what has not arrived."""
        ...


class LanguageModel(Protocol):
    """A model that can take part in battles: a `LocalModel` or a `ServedModel`.

    Attributes
    ----------
    reading : str
        Equal for models that read every conversation alike, see `Tokenization`.
    """

    name: str
    reading: str
    vocabulary: Vocabulary
    context_length: int

    @property
    def perplexity(self) -> float:
        """How much a plain text surprises it, per token."""
        ...

    @property
    def arithmetic(self) -> Mapping[str, str]:
        """What fixes the rounding of this model's numbers, for the record."""
        ...

    def encode(self, messages: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
        """Return the token ids of a conversation, ready for the next answer."""
        ...


class LocalModel(LanguageModel, Protocol):
    """A model whose logits are computed in this process.

    Attributes
    ----------
    batchable : bool
        Whether several battles may decode in one batch.
    """

    batchable: bool

    @property
    def device(self) -> torch.device:
        """Where the logits are computed."""
        ...

    def start_reading(self, prompt: Sequence[int]) -> Reading:
        """Begin to read a prompt for a batch of this model."""
        ...

    def start_batch(self, most_tokens: int | None = None) -> Batch:
        """Return an empty batch, whose rows and columns make no more than so many tokens."""
        ...

    def read_along(
        self, prompt: Sequence[int], tokens: Sequence[int], most: int
    ) -> Iterator[torch.Tensor]:
        """Yield the next-token logits after a prompt and each further token, so many at a time."""
        ...


class ServedModel(LanguageModel, Protocol):
    """A model on a server, which draws its tokens with the same noise."""

    def start_stream(
        self, prompt: Sequence[int], seed: int, turn: int, sampling: Sampling, limit: int
    ) -> Stream:
        """Ask for a reply of at most so many tokens."""
        ...

    def told_laws(
        self, prompt: Sequence[int], tokens: Sequence[int], positions: int
    ) -> Sequence[Told]:
        """Return what the server tells of the laws after a prompt and each further token."""
        ...


def is_served(model: LanguageModel) -> TypeGuard[ServedModel]:
    """Tell whether a server computes a model's replies."""
    return hasattr(model, "start_stream")


def brings_noise(model: LanguageModel) -> bool:
    """Tell whether a model's server draws with noise of its own, by the seed of a request."""
    return getattr(model, "server_noise", "arena") == "theirs"


def holds_keys(model: LanguageModel) -> bool:
    """Tell whether a model's keys and values lie in memory of this machine."""
    return not (is_served(model) or getattr(model, "served", False))
