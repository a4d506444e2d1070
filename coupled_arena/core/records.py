"""The values that travel between the rooms of the house: frozen, and ignorant of storage."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum


class Mode(StrEnum):
    """How the models of a battle draw their noise."""

    COUPLED = "coupled"
    INDEPENDENT = "independent"
    UNKNOWN = "unknown"  # battles imported from elsewhere


class Finish(StrEnum):
    """Why a reply ended."""

    STOP = "stop"  # the model ended its answer
    LENGTH = "length"  # the token limit or the context was reached
    CANCELLED = "cancelled"  # somebody stopped it


class Source(StrEnum):
    """Who decided a vote."""

    HUMAN = "human"
    IDENTICAL = "identical"  # equal replies: a tie nobody was asked about


class Origin(StrEnum):
    """Where a battle came from."""

    ARENA = "arena"  # the battle tab
    GENERATE = "generate"  # a batch run
    IMPORT = "import"


class Swap(StrEnum):
    """In which order a judge is shown two answers."""

    BOTH = "both"  # it is asked twice, once in either
    RANDOM = "random"  # once, in an order that follows from the battle


class Outcome(StrEnum):
    """What a ranking says of the pair (first, second)."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    BOTH_BAD = "both_bad"


class Sampler(StrEnum):
    """How noise becomes a token."""

    GUMBEL = "gumbel"  # a number for each token: the largest log p + g
    INVERSE = "inverse"  # one number a step: where it lies among the probabilities, side by side
    BYTES = "bytes"  # a number for each byte of the text: see `generation.byte_coupling`
    SERVERS = "servers"  # noise of model servers themselves, by the seed of a request

    @property
    def coupling(self) -> str:
        """What `Sampling.coupling` says of it."""
        return "token" if self is Sampler.GUMBEL else self.value


AUTO = "auto"
"""A `Sampling.coupling` that `generation.turns.settled` is still to choose; no battle has it."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen; stored with every battle.

    Attributes
    ----------
    temperature : float
        0 is greedy decoding.
    top_k : int
        Keep the k most likely tokens; 0 keeps all.
    top_p : float
        Keep the smallest set of tokens whose probability reaches this; 1 keeps all.
    max_new_tokens : int
        Longest reply, in tokens.
    coupling : str
        The sampler. ``token`` is Gumbel-max with noise for each token, keyed by its bytes.
        ``bytes`` draws a token byte by byte, so that models of any vocabularies are coupled.
        ``inverse`` is inverse transform sampling, with one uniform number for each position.
        ``servers`` is noise that servers make by themselves: see `generation.stock_servers`.
    """

    temperature: float = 0.7
    top_k: int = 0
    top_p: float = 0.95
    max_new_tokens: int = 256
    coupling: str = "token"

    @property
    def by_bytes(self) -> bool:
        """Whether noise is read for each byte; a greedy answer reads none."""
        return self.coupling == Sampler.BYTES.coupling and self.temperature > 0

    @property
    def sampler(self) -> str:
        """The name of its `Sampler`, or what else a store has in its place."""
        return Sampler.GUMBEL if self.coupling == Sampler.GUMBEL.coupling else self.coupling


@dataclass(frozen=True)
class Drawn:
    """Which answers are meant, by how they were drawn; None: however.

    Attributes
    ----------
    sampler : str or None
        A `Sampler`, or what else a store has in its place.
    """

    temperature: float | None = None
    top_p: float | None = None
    sampler: str | None = None


ANYHOW = Drawn()


@dataclass(frozen=True)
class Prompt:
    """A question, with what is known of it.

    Attributes
    ----------
    system : str
        System prompt of the conversation that this question opens.
    prefix : str
        Words put into the models' mouths: their answers go on from here.
    """

    text: str
    id: str | None = None
    category: str | None = None
    language: str | None = None
    system: str = ""
    prefix: str = ""


@dataclass(frozen=True)
class Reply:
    """One model's answer in one turn.

    ``place`` is the model's index in ``Battle.models``; ``tokens`` are the ids it drew, without
    the token that ended the answer.
    """

    turn: int
    place: int
    text: str
    tokens: tuple[int, ...]
    finish: Finish


@dataclass(frozen=True)
class Battle:
    """Two or more models on one conversation, with all that is needed to replay it.

    Attributes
    ----------
    models : tuple of str
        Names in order of presentation: place 0 is shown first (as "A").
    seed : int
        64-bit seed of the noise; secret until the vote.
    nonce : bytes
        Sixteen random bytes that keep the commitment from being searched.
    arithmetic : mapping of str to str
        Versions, revisions, dtypes, thresholds and batch shape: whatever fixes the rounding.
    experiment, repetition
        The batch run's seed and the repetition within it, where a batch run made the battle.
    chance : float or None
        Probability with which these models, in any order, were drawn; None where nobody noted it.
    """

    id: str
    models: tuple[str, ...]
    mode: Mode
    seed: int
    nonce: bytes
    sampling: Sampling
    origin: Origin
    prompts: tuple[Prompt, ...]  # one a turn
    replies: tuple[Reply, ...]
    arithmetic: Mapping[str, str] = field(default_factory=dict[str, str])
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    experiment: str | None = None
    repetition: int | None = None
    chance: float | None = None

    @property
    def commitment(self) -> str:
        """SHA-256 of nonce and seed: shown before the vote, checked after it."""
        return commitment(self.seed, self.nonce)

    @property
    def identical(self) -> bool:
        """Whether all models gave the same text in every turn."""
        texts = {
            tuple(reply.text for reply in self.replies if reply.place == place)
            for place in range(len(self.models))
        }
        return len(texts) == 1


@dataclass(frozen=True)
class Vote:
    """One person's order of a battle's models.

    Attributes
    ----------
    ranks : tuple of int
        Rank of each model in order of presentation, 1 is best, equal ranks are ties.
    both_bad : bool
        All of them are bad; then all ranks are 1.
    early : bool
        Cast before the replies had ended.
    """

    id: str
    battle: str
    voter: str
    ranks: tuple[int, ...]
    both_bad: bool = False
    source: Source = Source.HUMAN
    early: bool = False
    cast_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True)
class Score:
    """A number on one reply, by a metric that the store knows.

    Attributes
    ----------
    turn, place : int
        The reply, as in `Reply`.
    answer : str or None
        What a benchmark read in the reply; None where it found no answer.
    """

    turn: int
    place: int
    metric: str
    score: float
    answer: str | None = None


def new_id() -> str:
    """Return 128 random bits as hex: unguessable, and unique without a counter."""
    return secrets.token_hex(16)


def commitment(seed: int, nonce: bytes) -> str:
    """Return the hex SHA-256 of the nonce followed by the seed, 8 bytes little-endian."""
    return hashlib.sha256(nonce + seed.to_bytes(8, "little")).hexdigest()


def seed_to_hex(seed: int) -> str:
    """Return a 64-bit seed as 16 hex digits, the form it has in JSON and HTML."""
    return f"{seed:016x}"


def is_guessable(experiment: str) -> bool:
    """Return whether the seed of a batch run, as hex, is a small number that people might try."""
    return experiment.startswith("00000000")
