"""What a model server is told of one answer's noise, and how it proves that it has understood.

Both ends import this module: the client (`remote`) and the logits processor in the server
(`vllm_plugin`). A server that lacks the processor, has another vocabulary or another version of the
noise answers the proof with other tokens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from coupled_arena.core.records import Sampling
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.sampling import draw, draw_at, outcome_scores
from coupled_arena.generation.served_weights import WEIGHTS_TOKENS, ServedWeights
from coupled_arena.generation.vocabulary import Vocabulary

PLUGIN = "coupled_arena.generation.vllm_plugin:CoupledNoise"
ARGUMENT = "coupled_arena"  # the name among a request's extra arguments
NOISE_VERSION = 1
_MOST_STOPS = 1000
_DIGITS = 16  # of a vocabulary's fingerprint
_DRAWN = 6  # tokens of a proof, with either setting


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
    weights : str
        Digest of the weights that are asked; others end the answer at once. Empty for any.
    """

    seed: int
    turn: int
    temperature: float
    top_k: int
    top_p: float
    stops: tuple[int, ...]
    position: int = 0
    proof: bool = False
    weights: str = ""

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
            fields["seed"] = int(fields["seed"], 16)
            fields["stops"] = tuple(fields["stops"])
            fields |= {name: float(fields[name]) for name in ("temperature", "top_p")}
            read = cls(**fields)
            read._check()
        except (
            *(TypeError, KeyError, AttributeError, ValueError),
            *(OverflowError, RecursionError),
        ) as error:
            raise ValueError(f"{ARGUMENT}: {error}") from error
        return read

    def _check(self) -> None:
        """Refuse what would break off the answers of everybody else in the batch."""
        counts = (self.turn, self.position, self.top_k, *self.stops)
        whole = all(type(count) is int and 0 <= count < 2**31 for count in counts)
        warm = self.temperature == 0 or 1e-6 <= self.temperature <= 1e6
        few = 0 < self.top_p <= 1 and len(self.stops) <= _MOST_STOPS
        flags = type(self.proof) is bool and type(self.weights) is str
        if not (whole and warm and few and 0 <= self.seed < 2**64 and flags):
            raise ValueError("a number in it is out of range")


PROOF = ServedDraw(
    seed=0x0123456789ABCDEF, turn=3, temperature=0.7, top_k=40, top_p=0.9, stops=(), proof=True
)


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
        Ids; the first of the stops stands for the end of the answer. Any id at all where no
        outcome is possible, for an error would end the answers of everybody in the batch.
    """
    width = logits.shape[1]
    known = [stop for stop in asked.stops if stop < width]
    stops = torch.tensor(known, dtype=torch.int64, device=logits.device)
    logits = torch.nan_to_num(logits.double(), nan=-torch.inf, neginf=-torch.inf)
    hopeless = (logits == -torch.inf).all(dim=1, keepdim=True)
    scores = outcome_scores(logits.masked_fill(hopeless, 0.0), stops, asked.sampling)
    drawn = draw_at(scores, noise, sequences) if asked.temperature else draw(scores, None)
    return drawn.masked_fill(drawn >= width, min(known, default=0)).clamp(min=0)


def proof(vocabulary: Vocabulary, noise: GumbelCache, asked: ServedDraw) -> list[int]:
    """Return the tokens that only a server with this noise and this vocabulary answers.

    16 digits of the vocabulary's fingerprint and the noise's version, as ids; then tokens drawn
    from logits that depend on nothing but the id, all of them different: with the filters that
    were asked for, and from the whole law, late in an answer that one of its likeliest ends.
    """
    digits = [int(digit, 16) for digit in vocabulary.fingerprint]
    ids = torch.arange(vocabulary.end, dtype=torch.float64, device=noise.device)
    logits = (ids * 2_654_435_761 % 2**32 / 2**28).expand(_DRAWN, -1)
    likeliest = logits[0].topk(3).indices.tolist()
    whole = replace(asked, temperature=1.0, top_k=0, top_p=1.0, stops=tuple(likeliest))
    drawn: list[int] = []
    for setting, begin in ((replace(asked, stops=()), 0), (whole, 1000)):
        places = [(asked.seed, asked.turn, begin + place) for place in range(_DRAWN)]
        drawn += drawn_ids(logits, noise, setting, places).tolist()
    return [*digits, NOISE_VERSION, *drawn]


def proof_of_server(
    vocabulary: Vocabulary, noise: GumbelCache, asked: ServedDraw, weights: ServedWeights
) -> list[int]:
    """Return the tokens that a server answers: those of `proof`, then which weights it holds."""
    return [*proof(vocabulary, noise, asked), *weights.to_ids()]


def ends_at_once(asked: ServedDraw, weights: ServedWeights) -> bool:
    """Tell whether a server must not answer, since it holds other weights than those asked."""
    return bool(asked.stops) and asked.weights not in ("", weights.digest)


def weights_in(answer: Sequence[int]) -> ServedWeights | None:
    """Return which weights a server says in its proof that it holds."""
    return ServedWeights.from_ids(answer[-WEIGHTS_TOKENS:])


def proof_request(asked: ServedDraw, tokens: int) -> dict[str, Any]:
    """Return what a server is asked for a proof of so many tokens and its weights.

    The answer is streamed: a slow server takes minutes for it, but seconds for a token.
    """
    return {
        "prompt": [0],
        "max_tokens": tokens + WEIGHTS_TOKENS,
        "temperature": 0,
        "stream": True,
        "extra_body": {
            "ignore_eos": True,
            "return_token_ids": True,
            "vllm_xargs": {ARGUMENT: asked.to_argument()},
        },
    }


def objection(answer: Sequence[int], expected: Sequence[int]) -> str | None:
    """Return why a server's answer proves nothing; None where it is the one expected."""
    marks, given = _DIGITS, list(answer[: len(expected)])
    if len(given) != len(expected) or given[marks] != NOISE_VERSION or max(given[:marks]) > 15:
        return f"it does not draw with this noise. Start vLLM with --logits-processors {PLUGIN}"
    if given[:marks] != expected[:marks]:
        theirs, ours = ("".join(f"{d:x}" for d in of[:marks]) for of in (given, list(expected)))
        return (
            f"its vocabulary is another one ({theirs}, not {ours}): name the checkpoint that it "
            "serves"
        )
    if given != list(expected):
        return "it draws other tokens from known logits: install the same version"
    if weights_in(answer) is None:
        return "it does not tell which weights it holds: install this version of the plugin there"
    return None
