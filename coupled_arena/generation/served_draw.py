"""What a model server is told of one answer's noise, and how it proves that it has understood.

Both ends import this module: the client (`remote`) and the logits processor in the server
(`vllm_plugin`). A server that lacks the processor, has another vocabulary or another version of the
noise answers the proof with other tokens.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from coupled_arena.core.records import Sampling
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.sampling import draw, draw_at, outcome_scores
from coupled_arena.generation.vocabulary import Vocabulary

ARGUMENT = "coupled_arena"  # the name among a request's extra arguments
NOISE_VERSION = 1
_PROOFS = 8  # drawn tokens


@dataclass(frozen=True)
class ServedDraw:
    """One answer's noise and filters.

    Attributes
    ----------
    seed : int
        64 bits, unsigned.
    position : int
        Index in the reply of the first token asked for: above 0 where a lost stream goes on.
    stops : tuple of int
        Ids that end the answer.
    proof : bool
        The tokens asked for are those of `proof`, whatever the model says.
    """

    seed: int
    turn: int
    temperature: float
    top_k: int
    top_p: float
    stops: tuple[int, ...]
    position: int = 0
    proof: bool = False

    @property
    def sampling(self) -> Sampling:
        """Its filters."""
        return Sampling(temperature=self.temperature, top_k=self.top_k, top_p=self.top_p)

    def to_argument(self) -> str:
        """Return it as JSON; the seed in hex, for not all readers have integers of 64 bits."""
        return json.dumps({**asdict(self), "seed": f"{self.seed:016x}", "noise": NOISE_VERSION})

    @classmethod
    def from_argument(cls, text: Any) -> ServedDraw:
        """Read `to_argument`.

        Raises
        ------
        ValueError
            It is of another version, or incomplete.
        """
        try:
            fields = json.loads(text)
            if (version := fields.pop("noise")) != NOISE_VERSION:
                raise ValueError(f"noise version {version} is asked for, {NOISE_VERSION} is here")
            seed, stops = int(fields["seed"], 16), tuple(int(stop) for stop in fields["stops"])
            read = cls(**{**fields, "seed": seed, "stops": stops})
            read._check()
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise ValueError(f"{ARGUMENT}: {error}") from error
        return read

    def _check(self) -> None:
        """Refuse what would break off the answers of everybody else in the batch."""
        counts = (self.turn, self.position, self.top_k, *self.stops)
        whole = all(type(count) is int and 0 <= count < 2**31 for count in counts)
        filters = self.temperature >= 0 and 0 < self.top_p <= 1
        if not (whole and filters and 0 <= self.seed < 2**64 and type(self.proof) is bool):
            raise ValueError("a number in it is out of range")


def drawn_ids(
    logits: torch.Tensor,
    noise: GumbelCache,
    asked: ServedDraw,
    sequences: list[tuple[int, int, int]],
) -> torch.Tensor:
    """Draw the next token of answers that share filters and stops.

    Parameters
    ----------
    logits : tensor, shape (n, v)
    asked : ServedDraw
        Of any of them.
    sequences : list of (seed, turn, position), length n

    Returns
    -------
    int64 tensor, shape (n,)
        Ids; the first of the stops stands for the end of the answer.
    """
    known = [stop for stop in asked.stops if stop < logits.shape[1]]
    stops = torch.tensor(known, dtype=torch.int64, device=logits.device)
    scores = outcome_scores(logits, stops, asked.sampling)
    drawn = draw_at(scores, noise, sequences) if asked.temperature else draw(scores, None)
    return drawn.masked_fill(drawn == logits.shape[1], min(known, default=0))


def proof(vocabulary: Vocabulary, noise: GumbelCache, asked: ServedDraw) -> list[int]:
    """Return the tokens that only a server with this noise and this vocabulary answers.

    16 digits of the vocabulary's fingerprint and the noise's version, as ids; then tokens drawn
    with the filters that were asked for from logits that depend on nothing but the id.
    """
    digits = [int(digit, 16) for digit in vocabulary.fingerprint]
    ids = torch.arange(vocabulary.end, dtype=torch.float64, device=noise.device)
    logits = -(ids % 97) / 8
    unending = replace(asked, stops=())
    sequences = [(asked.seed, asked.turn, place) for place in range(_PROOFS)]
    drawn = drawn_ids(logits.expand(_PROOFS, -1), noise, unending, sequences)
    return [*digits, NOISE_VERSION, *drawn.tolist()]
