"""Messages between the web server and the process that decodes; the times of its steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coupled_arena.core.catalog import ServerNoise
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Finish
from coupled_arena.generation.draws import Draw
from coupled_arena.generation.running import Request
from coupled_arena.generation.tokenization import Message, Tokenization
from coupled_arena.generation.vocabulary import Vocabulary


class StandIn:
    """All of a model but its weights, which another process holds; see `LanguageModel`.

    Attributes
    ----------
    served : bool
        Whether it is a server that holds them.
    server_noise : str
        Whose noise that server draws with, see `ModelSpec`.
    """

    def __init__(
        self,
        name: str,
        tokenization: Tokenization,
        perplexity: float,
        arithmetic: Mapping[str, str],
        *,
        served: bool,
        server_noise: ServerNoise = "arena",
    ) -> None:
        self.name = name
        self.served = served
        self.server_noise = server_noise
        self.perplexity = perplexity
        self.arithmetic = arithmetic
        self.vocabulary: Vocabulary = tokenization.vocabulary
        self.context_length: int = tokenization.context_length
        self.reading: str = tokenization.reading
        self._tokenization = tokenization

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return the token ids of a conversation; see `Tokenization.encode`."""
        return self._tokenization.encode(messages)


@dataclass(frozen=True)
class Submit:
    """Decode a turn; reports will call it by its number."""

    number: int
    request: Request


@dataclass(frozen=True)
class Cancel:
    """Stop a turn where it is."""

    number: int


@dataclass(frozen=True)
class Close:
    """End the process."""


@dataclass(frozen=True)
class Ready:
    """The models that were loaded, and what they have room for; turns are taken from now on.

    Attributes
    ----------
    away : int
        How many more are asked for, on servers that do not answer.
    """

    models: dict[str, StandIn]
    kv_tokens: int | None
    away: int


@dataclass(frozen=True)
class Joined:
    """A model whose server answers at last, and how many are still away."""

    model: StandIn
    away: int


@dataclass(frozen=True)
class Refused:
    """Too little could be loaded; the process ends."""

    error: ArenaError


@dataclass(frozen=True)
class Stuck:
    """A step has not ended for so many seconds: the process is of no more use."""

    seconds: float


@dataclass(frozen=True)
class Ended:
    """A turn as it is to be stored: tokens, text and end of each line, in order.

    `draws` has the first draw of each, where that was asked for.
    """

    lines: tuple[tuple[list[int], str, Finish], ...]
    begun: bool
    most_rows: int
    error: ArenaError | None
    draws: tuple[Draw | None, ...] = ()


@dataclass(frozen=True)
class Report:
    """What has changed since the last report; now and then nothing, to show that somebody lives.

    Attributes
    ----------
    grown : mapping of int to tuple of str
        By turn, what each of its texts has gained.
    places : mapping of int to int or None
        How many turns begin before one; None once it has begun.
    failing : bool
        Whether step after step has failed, and none gone well since.
    speeds : mapping of str to float
        Where a turn has ended, as `LockstepEngine.speeds` has them.
    """

    grown: dict[int, tuple[str, ...]]
    places: dict[int, int | None]
    ended: dict[int, Ended]
    failing: bool
    speeds: dict[str, float] = field(default_factory=dict[str, float])


# Seconds: from a small model on a GPU to a large one on a processor that reads a prompt.
BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
# What is told moves with a thousand steps of everybody. With every step it would tell somebody who
# reads a lone round how many tokens its words are, and so perhaps which of two models wrote which.
BLOCK = 1000


@dataclass
class StepTimes:
    """Steps that are over.

    Attributes
    ----------
    counts : list of int
        Steps by the first of `BOUNDS` that they did not exceed; last, those beyond all.
    seconds : float
        Of all steps together.
    tokens : int
        Of all replies that ended in them, whole or not.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0
    tokens: int = 0

    @property
    def is_block(self) -> bool:
        """Whether there are enough of them to be told."""
        return sum(self.counts) >= BLOCK

    def add(self, seconds: float, tokens: int) -> None:
        """Count a step."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds
        self.tokens += tokens

    def join(self, other: StepTimes) -> None:
        """Count the steps of another one, too."""
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        self.seconds += other.seconds
        self.tokens += other.tokens
