"""Do two servers answer requests of any client from one noise? Told by their own draws.

Both get the same prompt with several seeds. With each token a server tells the likeliest ones and
their log-probabilities. From these and the noise, which is known here, follows which token has to
come. No tokenizer is needed: a prompt is hashed as text (`ambient.prompt_text`), and a token's
noise has the key of its bytes. Where a server tells no log-probabilities, only the answers are
compared. These also tell whether servers without a plugin share noise. That of vLLM and SGLang is a
function of seed, position and token id.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any, Literal

import numpy as np
import openai
import torch

from coupled_arena.core.errors import ModelError
from coupled_arena.generation.ambient import noise_seed
from coupled_arena.generation.asked_servers import client, wait_for
from coupled_arena.generation.checkpoints import reason_of
from coupled_arena.generation.noise import gumbel_at, signed
from coupled_arena.generation.remote import ask_for_proof
from coupled_arena.generation.served_draw import (
    PROOF_TOKENS,
    is_proof,
    weights_in,
)
from coupled_arena.generation.vocabulary import CONTROL, TEXT, token_key

PROMPT = "Once upon a time, in a small town by the sea, there lived"
_TOLD = 20  # likeliest tokens; a server of vLLM tells no more unless it is told to
_ROUNDING = 1e-4  # of log-probabilities in 32 bits, far below the distance of two draws
_CHANCE = 1e-9  # of other noise, below which a server is believed
_LEVEL = 1e-3  # of the test that answers with one seed are alike by chance
_PERMUTATIONS = 9999
PLAIN = {"min_p": 0.0, "repetition_penalty": 1.0}
"""Asked for by name: servers take what is left out from defaults of the model."""
FEWEST = 7  # seeds: of fewer there are not enough orders for the test to reach its level


@dataclass(frozen=True)
class CheckedServer:
    """What one server does.

    Attributes
    ----------
    model : str
        Its name there.
    version : str
        Of vLLM.
    noise : str
        Which requests have it: "every request", "own requests" of an arena alone, or "none". It is
        "many draws" where it explains more than chance gives, but not all. It is "not told" where
        the plugin is there and no laws are told.
    weights : str or None
        Which it holds, as it says itself; None where it does not.
    tokens : int
        How many of its draws could be checked against the noise: 0 where it tells no laws.
    as_noise : int
        How many of these the noise explains.
    chance : float or None
        How probable it is that other noise would have explained all of them too; None where this
        one does not.
    """

    url: str
    model: str
    version: str
    noise: str
    weights: str | None
    tokens: int
    as_noise: int
    chance: float | None

    @property
    def proven(self) -> bool:
        """Whether it has drawn from the noise."""
        return self.chance is not None and self.chance < _CHANCE

    @property
    def draws_otherwise(self) -> bool:
        """Whether its draws show other noise than the arena's."""
        return self.as_noise < self.tokens and self.noise != "many draws"


@dataclass(frozen=True)
class Likeness:
    """How much more alike answers of two servers are with one seed than with two.

    Attributes
    ----------
    seeds : int
    same : int
        Seeds with which both answer the same.
    same_otherwise : int
        Pairs of answers with different seeds that are the same, of seeds * (seeds - 1).
    p_value : float
        Of the hypothesis that answers with one seed are no more alike than others.
    """

    seeds: int
    same: int
    same_otherwise: int
    p_value: float

    @property
    def by_seed(self) -> bool:
        """Whether answers with one seed are more alike than others."""
        return self.p_value <= _LEVEL

    @property
    def seedless(self) -> bool:
        """Whether most answers are the same with any seed, so that seeds show nothing."""
        return 2 * self.same_otherwise > self.seeds * (self.seeds - 1)


def likeness(one: Sequence[Sequence[object]], other: Sequence[Sequence[object]]) -> Likeness:
    """Compare answers of two servers, texts or tokens, in the same order of seeds."""
    alike = np.array([[_common(a, b) for b in other] for a in one])
    equal = np.array([[a == b for b in other] for a in one])
    same = int(equal.trace())
    return Likeness(len(one), same, int(equal.sum()) - same, _p_value(alike))


@dataclass(frozen=True)
class ServerCheck(Likeness):
    """Two servers beside each other."""

    servers: tuple[CheckedServer, CheckedServer]

    @property
    def shared(self) -> bool:
        """Whether both draw from one noise."""
        told = all(server.tokens for server in self.servers)
        proven = all(server.proven for server in self.servers)
        other = all(server.draws_otherwise for server in self.servers)
        return proven if told and not other else self.by_seed

    @property
    def noise_of(self) -> Literal["arena", "servers"] | None:
        """Who makes the noise that they share; None where they share none, or nothing tells."""
        if not self.shared:
            return None
        if any(server.proven for server in self.servers):
            return "arena"
        without = (server.draws_otherwise or server.noise == "none" for server in self.servers)
        return "servers" if all(without) else None


@dataclass(frozen=True)
class _Answer:
    """One answer: its tokens, and what was told of the law of each."""

    tokens: tuple[str, ...]
    laws: tuple[Mapping[str, float], ...]


def check_servers(
    urls: Sequence[str], keys: Sequence[str], *, prompt: str, seeds: int, tokens: int
) -> ServerCheck:
    """Ask two servers the same, and compare.

    Parameters
    ----------
    urls, keys : sequence of str, length 2
        Addresses without a path, and their API keys, empty for none.
    prompt : str
        Of plain characters, for a tokenizer may change others.

    Raises
    ------
    ModelError
        One of them does not answer, or refuses.
    """
    asked = [
        _Asked(url.rstrip("/").removesuffix("/v1"), key)
        for url, key in zip(urls, keys, strict=True)
    ]
    answers = [each.answers(prompt, range(1, seeds + 1), tokens) for each in asked]
    first, second = (
        each.server(prompt, answered) for each, answered in zip(asked, answers, strict=True)
    )
    told = (["".join(answer.tokens) for answer in answered] for answered in answers)
    return ServerCheck(**asdict(likeness(*told)), servers=(first, second))


class _RefusedError(ModelError):
    """A server does not answer a request as it is."""


class _Asked:
    """A server, by what it answers."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key
        models = self._ask(_models)
        if not models:
            raise ModelError(f"The server at {url} serves no model.")
        self._model = models[0]

    def answers(self, prompt: str, seeds: Sequence[int], tokens: int) -> list[_Answer]:
        """Return an answer for each seed; without laws where it tells none."""
        request: dict[str, Any] = {
            "model": self._model,
            "prompt": prompt,
            "max_tokens": tokens,
            "temperature": 1.0,
            "top_p": 1.0,
            "logprobs": _TOLD,
            # SGLang refuses a top-k of 0; -1 keeps all tokens there and in vLLM.
            "extra_body": {"ignore_eos": True, "top_k": -1, **PLAIN},
        }

        async def all_of_them(to: openai.AsyncOpenAI) -> list[Any]:
            asked = (to.completions.create(**request, seed=seed) for seed in seeds)
            return await asyncio.gather(*asked)

        try:
            answered = self._ask(all_of_them)
        except _RefusedError:  # it tells fewer, or none
            del request["logprobs"]
            answered = self._ask(all_of_them)
        return [_read(completion.choices[0]) for completion in answered]

    def server(self, prompt: str, answers: Sequence[_Answer]) -> CheckedServer:
        """Return what its answers and its proof tell of it."""
        fit = max(
            (_of_noise(prompt, answers, spaced=spaced) for spaced in (False, True)),
            key=lambda found: (found.fits, -found.chance),
        )
        proof = self._proof()
        plugin = is_proof(proof)
        held = weights_in(proof) if plugin else None
        whole = fit.fits == fit.tokens > 0
        # Far less is needed for a doubt whether a server has noise of its own than for a proof.
        many = not whole and fit.chance < _LEVEL
        every = whole and fit.chance < _CHANCE
        other = "own requests" if fit.tokens else "not told"
        rest = "many draws" if many else other if plugin else "none"
        return CheckedServer(
            url=self._url,
            model=self._model,
            version=self._version(),
            noise="every request" if every else rest,
            weights=str(held) if held else None,
            tokens=fit.tokens,
            as_noise=fit.fits,
            chance=fit.chance if whole else None,
        )

    def _proof(self) -> list[int]:
        try:
            return ask_for_proof(self._url, self._key, self._model, PROOF_TOKENS)
        except openai.APIStatusError:  # no such argument there
            return []

    def _version(self) -> str:
        try:
            plain = client(self._url, self._key).with_options(base_url=self._url)
            answered: Any = wait_for(plain.get("/version", cast_to=object))
        except openai.APIStatusError:  # another server than vLLM
            return ""
        return str(answered.get("version", ""))

    def _ask(self, request: Any) -> Any:
        try:
            return wait_for(request(client(self._url, self._key)))
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise ModelError(
                f"The server at {self._url} asks for a key: name its variable with --key-variable."
            ) from error
        except openai.APIConnectionError as error:
            raise ModelError(
                f"No server answers at {self._url}. Start it there, or correct the address."
            ) from error
        except openai.OpenAIError as error:
            kind = _RefusedError if isinstance(error, openai.BadRequestError) else ModelError
            raise kind(f"The server at {self._url} says: {reason_of(error)}.") from error


async def _models(to: openai.AsyncOpenAI) -> list[str]:
    return [str(model.id) async for model in to.models.list()]


def _read(choice: Any) -> _Answer:
    told = choice.logprobs
    if told is None or not told.top_logprobs:
        return _Answer((choice.text,), ())
    laws = tuple(
        {drawn: chance, **(law or {})}
        for drawn, chance, law in zip(
            told.tokens, told.token_logprobs, told.top_logprobs, strict=True
        )
    )
    return _Answer(tuple(told.tokens), laws)


@dataclass(frozen=True)
class _Fit:
    """How many draws are told, how many the noise explains, and how probable that is.

    The probability is that other noise would explain as many, doubled for the two tries.
    """

    tokens: int
    fits: int
    chance: float


def _of_noise(prompt: str, answers: Sequence[_Answer], *, spaced: bool) -> _Fit:
    """Return how well the noise explains answers.

    Parameters
    ----------
    spaced : bool
        Whether a word may lack the space before it: some tokenizers do not tell it.
    """
    draws = [
        _explained(law, drawn, (noise_seed(seed, prompt.encode()), position), spaced=spaced)
        for seed, answer in enumerate(answers, 1)
        for position, (law, drawn) in enumerate(zip(answer.laws, answer.tokens, strict=False))
    ]
    known = [draw for draw in draws if draw is not None]
    fits = sum(fits for fits, _ in known)
    return _Fit(len(known), fits, min(2 * _by_chance(fits, [among for _, among in known]), 1.0))


def _by_chance(fits: int, among: Sequence[float]) -> float:
    """Return how probable so many fits are at most, where each has a probability of its own."""
    if fits == len(among):
        return math.exp(sum(math.log(max(chance, 1e-9)) for chance in among))
    # Chernoff's bound: it holds for unequal coins too, and is quick for a million of them.
    share, mean = fits / len(among), sum(among) / len(among)
    if share <= mean:
        return 1.0
    gain = (1 - share) * math.log((1 - share) / (1 - mean))
    gain += share * math.log(share / max(mean, 1e-9))
    return math.exp(-len(among) * gain)


def _explained(
    law: Mapping[str, float], drawn: str, place: tuple[int, int], *, spaced: bool
) -> tuple[bool, float] | None:
    """Return whether the noise explains a draw, and how probable that is by other noise.

    The token that is drawn has to beat all others that are told. Of some it is not clear which
    bytes they have; these count with each that they may have. None where nothing is told.

    Parameters
    ----------
    law : mapping of str to float
        Log-probabilities of the likeliest tokens and the one drawn.
    place : (seed, position)
    """
    whole = {text: value for text, value in law.items() if "\ufffd" not in text}
    reach = _reach(whole, place, spaced=spaced)
    if drawn not in reach:
        return None
    highest_low = sorted((low for low, _ in reach.values()), reverse=True)
    possible = [
        text
        for text, (low, high) in reach.items()
        if high >= (highest_low[1] if low == highest_low[0] else highest_low[0]) - _ROUNDING
    ]
    # Tokens that are not told, and characters that were cut in two, may come of any noise.
    untold = 1 - sum(math.exp(law[text]) for text in reach)
    among = sum(math.exp(law[text]) for text in possible) + max(untold, 0.0)
    return drawn in possible, min(among, 1.0)


def _reach(
    law: Mapping[str, float], place: tuple[int, int], *, spaced: bool
) -> dict[str, tuple[float, float]]:
    """Return the least and the largest sum of log-probability and noise of each token."""
    keys = [(text, key) for text in law for key in _keys(text, spaced=spaced)]
    own = torch.tensor([signed(key) for _, key in keys], dtype=torch.int64)
    seeds, turns, positions = (
        torch.full_like(own, value) for value in (signed(place[0]), 0, place[1])
    )
    noises = gumbel_at(seeds, turns, positions, own).tolist()
    found: dict[str, tuple[float, float]] = {}
    for (text, _), noise in zip(keys, noises, strict=True):
        low, high = found.get(text, (math.inf, -math.inf))
        found[text] = min(low, law[text] + noise), max(high, law[text] + noise)
    return found


def _keys(text: str, *, spaced: bool) -> list[int]:
    """Return the noise keys that a token may have, by its text."""
    keys = [token_key(TEXT, text.encode())]
    if spaced and not text.startswith(" "):
        keys.append(token_key(TEXT, b" " + text.encode()))
    if text.startswith("<"):
        keys.append(token_key(CONTROL, text.encode()))
    return keys


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many characters or tokens two answers begin with alike."""
    both = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))


def _p_value(alike: np.ndarray) -> float:
    """Return the permutation test's p-value that answers with one seed are more alike."""
    random = np.random.default_rng(0)
    rows = np.arange(len(alike))
    seen = alike.trace()
    drawn = [alike[rows, random.permutation(rows)].sum() for _ in range(_PERMUTATIONS)]
    return float((1 + np.sum(np.array(drawn) >= seen)) / (1 + _PERMUTATIONS))
