"""Noise for requests of any client: what a server knows of a request gives its draw.

Two servers that load `vllm_plugin.AmbientNoise` answer the same request from the same noise. It is
a function of the request's `seed`, the text of its prompt, the position and the token. The law is
that of vLLM: the request's penalties, temperature, min-p, top-k and top-p act in vLLM's order.

Nothing of vLLM is imported here: a request is an object with the names of its `SamplingParams`.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from coupled_arena.core.records import Sampling
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.sampling import draw_at, outcome_scores
from coupled_arena.generation.vocabulary import Vocabulary

_GREEDY = 1e-5  # vLLM takes the likeliest token below this temperature
_KNOWN_PROMPTS = 1 << 20  # some 100 MB; a prompt that was forgotten counts as new


@dataclass(frozen=True)
class Filters:
    """What gives the law of a request's next token; rows that share it are drawn together.

    Attributes
    ----------
    min_p : float
        Drop tokens less likely than this share of the likeliest; 0 keeps all.
    stops : tuple of int
        Ids that end the answer, in order.
    """

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    stops: tuple[int, ...]


@dataclass(frozen=True)
class Penalties:
    """What a request takes off tokens that are there already; these values take off nothing."""

    repetition: float = 1.0
    presence: float = 0.0
    frequency: float = 0.0


@dataclass(frozen=True)
class AmbientDraw:
    """One ordinary request.

    Attributes
    ----------
    seed : int
        Of its noise: 64 bits, unsigned.
    """

    seed: int
    filters: Filters
    penalties: Penalties


class AmbientSeeds:
    """The seeds of the noise of a server's requests.

    Parameters
    ----------
    vocabulary : Vocabulary
    server_seed : int
        Of requests without a seed; the same on servers that are to share noise.
    """

    def __init__(self, vocabulary: Vocabulary, server_seed: int) -> None:
        self._vocabulary = vocabulary
        self._server_seed = server_seed
        self._asked: dict[bytes, int] = {}

    def draw_of(self, params: Any, prompt: Sequence[int], *, resumed: bool) -> AmbientDraw | None:
        """Return a request's draw; None where it is greedy.

        Parameters
        ----------
        params : vllm.SamplingParams
        prompt : sequence of int
        resumed : bool
            Whether the request has tokens already: vLLM made room and takes it up again.
        """
        if is_greedy(params):
            return None
        text = prompt_text(self._vocabulary, prompt)
        if params.seed is not None:
            seed = noise_seed(params.seed, text)
        else:
            seed = noise_seed(self._server_seed, text, self._ordinal(text, resumed=resumed))
        return AmbientDraw(seed, filters_of(params), penalties_of(params))

    def _ordinal(self, text: bytes, *, resumed: bool) -> int:
        """Count the requests without a seed for one prompt: each has noise of its own.

        With the same noise, five answers to one question would be one answer five times.
        """
        known = hashlib.blake2b(text, digest_size=16).digest()
        before = self._asked.pop(known, 0)
        # Of several, which one is resumed is not known: new noise keeps the law, and no other does.
        ordinal = 0 if resumed and before == 1 else before
        self._asked[known] = max(before, ordinal + 1)
        while len(self._asked) > _KNOWN_PROMPTS:
            del self._asked[next(iter(self._asked))]
        return ordinal


def is_greedy(params: Any) -> bool:
    """Tell whether vLLM takes the likeliest tokens for a request."""
    return params.temperature < _GREEDY


def noise_seed(seed: int, prompt: bytes, ordinal: int | None = None) -> int:
    """Return the seed of a request's noise: 64 bits, unsigned.

    It is the BLAKE2b hash, with an 8-byte digest, of three little-endian 64-bit integers and the
    prompt. They are 1 or 0 for a seed of the request's own or the server's; the seed; the ordinal.

    Parameters
    ----------
    seed : int
        The request's, or the server's.
    prompt : bytes
        See `prompt_text`. Prompts therefore have noise of their own, also where a harness gives all
        of its requests one seed.
    ordinal : int, optional
        Of requests without a seed: how many asked this prompt before. None: the seed is its own.
    """
    own = ordinal is None
    begin = struct.pack("<qqq", int(own), _signed(seed), 0 if ordinal is None else ordinal)
    return int.from_bytes(hashlib.blake2b(begin + prompt, digest_size=8).digest(), "little")


def _signed(seed: int) -> int:
    return (seed + (1 << 63)) % (1 << 64) - (1 << 63)


def prompt_text(vocabulary: Vocabulary, ids: Iterable[int]) -> bytes:
    """Return the bytes of a prompt's text, the same for every vocabulary.

    Control tokens, such as the mark of the beginning, are no part of the text. Nor is a space that
    a tokenizer writes before the first word.
    """
    known = vocabulary.end
    text = b"".join(vocabulary.spellings[number] or b"" for number in ids if 0 <= number < known)
    return text.removeprefix(b" ") if vocabulary.strips_first_space else text


def filters_of(params: Any) -> Filters:
    """Return the filters of vLLM's ``SamplingParams``."""
    stops = {*(params.stop_token_ids or ())}
    if params.eos_token_id is not None:  # None too where the request says ignore_eos
        stops.add(params.eos_token_id)
    top_k = max(params.top_k, 0)
    return Filters(params.temperature, top_k, params.top_p, params.min_p, tuple(sorted(stops)))


def penalties_of(params: Any) -> Penalties:
    """Return the penalties of vLLM's ``SamplingParams``."""
    return Penalties(params.repetition_penalty, params.presence_penalty, params.frequency_penalty)


def penalised(
    logits: torch.Tensor, penalties: Penalties, prompt: Sequence[int], written: Sequence[int]
) -> torch.Tensor:
    """Return a row's logits less its penalties, as vLLM would take them off after the plugin.

    Parameters
    ----------
    logits : tensor, shape (v,)
    penalties : Penalties
    prompt, written : sequence of int
        Ids; those outside of the vocabulary count for nothing.
    """
    if penalties == Penalties():
        return logits
    width = len(logits)
    known = torch.tensor([i for i in written if 0 <= i < width], dtype=torch.int64)
    count = torch.bincount(known, minlength=width).to(logits.device)
    there = count > 0
    if penalties.repetition != 1:
        seen = there.clone()
        seen[[i for i in prompt if 0 <= i < width]] = True
        less = torch.where(logits > 0, logits / penalties.repetition, logits * penalties.repetition)
        logits = torch.where(seen, less, logits)
    return logits - penalties.frequency * count - penalties.presence * there


def ambient_ids(
    logits: torch.Tensor,
    noise: GumbelCache,
    filters: Filters,
    places: list[tuple[int, int, int]],
) -> torch.Tensor:
    """Draw the next token of requests that share filters.

    Tokens that end the answer are one outcome in the draw, as in all of the arena's draws. Which of
    them it was is drawn from their own noise, so that the law of the ids is that of the model.

    Parameters
    ----------
    logits : tensor, shape (n, v)
        Less the penalties.
    filters : Filters
    places : list of (seed, turn, position), length n

    Returns
    -------
    int64 tensor, shape (n,)
        Ids; any at all where no token is possible, for an error would end all answers of the batch.
    """
    width = logits.shape[1]
    logits = torch.nan_to_num(logits.double(), nan=-torch.inf, neginf=-torch.inf)
    logits = logits.masked_fill((logits == -torch.inf).all(dim=1, keepdim=True), 0.0)
    if filters.min_p > 0:
        least = logits.amax(dim=1, keepdim=True) + filters.temperature * math.log(filters.min_p)
        logits = logits.masked_fill(logits < least, -torch.inf)
    sampling = Sampling(filters.temperature, filters.top_k, filters.top_p)
    none = torch.empty(0, dtype=torch.int64, device=logits.device)
    scores = outcome_scores(logits, none, sampling)
    known = [stop for stop in filters.stops if 0 <= stop < width]
    if not known:
        return draw_at(scores, noise, places).clamp(min=0, max=width - 1)
    stops = torch.tensor(known, dtype=torch.int64, device=logits.device)
    own = scores[:, stops]
    scores[:, width] = own.logsumexp(dim=1)
    scores.index_fill_(1, stops, -torch.inf)
    drawn = draw_at(scores, noise, places)
    rows = torch.arange(len(places), device=logits.device).repeat_interleave(len(known))
    own = own + noise.at_tokens(places, rows, stops.repeat(len(places))).view_as(own)
    return torch.where(drawn >= width, stops[own.argmax(dim=1)], drawn).clamp(min=0)


@dataclass
class AmbientRow:
    """An ordinary request of the batch; ``written`` grows as vLLM appends to it."""

    draw: AmbientDraw
    prompt: Sequence[int]
    written: list[int]

    @property
    def place(self) -> tuple[int, int, int]:
        """Seed, turn and position of the next token's noise."""
        return self.draw.seed, 0, len(self.written)

    @property
    def alike(self) -> Filters:
        """What rows must share to be drawn together."""
        return self.draw.filters

    def penalised(self, logits: torch.Tensor) -> torch.Tensor:
        """Return its logits, shape (v,), less the penalties."""
        return penalised(logits, self.draw.penalties, self.prompt, self.written)
