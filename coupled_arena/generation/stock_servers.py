"""Models on servers without the plugin, coupled by noise that the servers make by themselves.

vLLM's second runner and SGLang with deterministic inference draw with noise of a request's seed,
the position and the token's id. Positions count the prompt. So models of one vocabulary share noise
where their prompts have as many tokens. Nothing of this noise is known here, so draws have to show
it. They show it of each server: alone, in a batch with other filters, and from within an answer.
Then they show it of each further server beside the first.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import openai

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import Sampler, Sampling
from coupled_arena.generation.asked_servers import (
    PROVEN,
    AskedModel,
    AskedServer,
    ServedStream,
    client,
    reached,
    refusal,
    release,
    served_model,
    wait_for,
)
from coupled_arena.generation.language_model import LanguageModel
from coupled_arena.generation.remote import chosen, perplexity_of, read_tokenization, text_ids
from coupled_arena.generation.server_check import PLAIN, PROMPT, Likeness, likeness
from coupled_arena.generation.tokenization import Tokenization
from coupled_arena.generation.vocabulary import Vocabulary

_log = logging.getLogger(__name__)
SEEDS = 64
_TOKENS = 16
_BEGUN = 1  # tokens of an answer from which it goes on: much is left that may differ
_AGAIN = 16  # seeds of a later look: enough orders for the test, and a quarter of the work
# A story may go on in many ways. It is begun, since many models begin theirs with the same words.
_MESSAGES = (
    {"role": "user", "content": "Tell me a story."},
    {"role": "assistant", "content": PROMPT},
)
_VERSIONS = (("vllm", "/version"), ("sglang", "/get_server_info"), ("sglang", "/server_info"))


class Filters(NamedTuple):
    """Which tokens can be drawn; SGLang orders its noise by them."""

    top_k: int
    top_p: float

    def __str__(self) -> str:
        """Return them in words."""
        return f"top-k {self.top_k}, top-p {self.top_p:g}"


_WHOLE, _CUT = Filters(0, 1.0), Filters(40, 0.9)
Answers = Sequence[tuple[int, ...]]
"""Tokens by seed."""


@dataclass(frozen=True)
class StockDraw:
    """One answer, as any client asks for it.

    Attributes
    ----------
    seed : int
        63 bits, unsigned.
    stops : tuple of int
        Ids that end the answer, besides those that the server knows.
    """

    seed: int
    temperature: float
    filters: Filters
    stops: tuple[int, ...] = ()

    def request(self, written: int) -> dict[str, Any]:  # noqa: ARG002 - the prompt tells it
        """Return what a server is asked: the same after any number of tokens."""
        return {
            "seed": self.seed,
            "temperature": self.temperature,
            "top_p": self.filters.top_p,
            "extra_body": {
                **PLAIN,
                "top_k": self.filters.top_k or -1,
                "stop_token_ids": list(self.stops),
                "return_token_ids": True,
            },
        }


def request_seed(seed: int, turn: int) -> int:
    """Return the seed of a request: 63 bits, which every server takes.

    It is the BLAKE2b hash, with an 8-byte digest, of the noise seed as uint64 and the turn as
    uint32, little-endian. The hash is read as a little-endian integer, without its highest bit.
    """
    digest = hashlib.blake2b(struct.pack("<QI", seed, turn), digest_size=8).digest()
    return int.from_bytes(digest, "little") % 2**63


class _UnprovenError(ModelError):
    """The draws of a server show no noise that it shares."""


@dataclass
class StockServer(AskedServer):
    """A server, and what it has drawn.

    Attributes
    ----------
    prompt : tuple of int
        What it continues for a proof.
    peers : list of StockServer
        All of this process that share noise, this one too.
    known : mapping of Filters to Answers
        What it has drawn where it is proven.
    """

    prompt: tuple[int, ...] = field(repr=False)
    vocabulary: Vocabulary = field(repr=False)
    peers: list[StockServer] = field(default_factory=list["StockServer"], repr=False)
    known: dict[Filters, Answers] = field(default_factory=dict[Filters, Answers], repr=False)
    _seen: dict[Filters, float] = field(default_factory=dict[Filters, float], repr=False)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def prove(self, asked: StockDraw) -> None:
        """Prove that noise is shared under an answer's filters, unless that is fresh.

        Raises
        ------
        ModelError
            Its draws do not show it.
        """
        if not asked.temperature:  # no noise is read
            return
        async with self._asking:
            if asked.filters not in self.known:
                try:
                    await self.learn(asked.filters)
                except _UnprovenError as error:
                    raise ModelError(
                        f"The server of {self.name} is not coupled: {error}."
                    ) from error
            elif time.monotonic() - self._seen.get(asked.filters, -math.inf) >= PROVEN:
                await self._look_again(asked.filters)

    def doubt(self) -> None:
        """Look again before the next reply."""
        self._seen.clear()

    async def explain_silence(self) -> None:
        """Return: an answer without a token is one."""

    async def learn(self, filters: Filters) -> None:
        """Draw alone, in a mixed batch and from amid the answers; compare with who is known.

        Raises
        ------
        ModelError
            The draws show no noise that is shared.
        """
        alone, beside = await self._answers(filters), await self._answers(filters, mixed=True)
        if (found := likeness(alone, beside)).seedless:
            raise _UnprovenError(
                f"most of its answers with {filters} are the same with any seed, so that its draws "
                "show no noise"
            )
        if not _steady(found):
            again = likeness(alone, await self._answers(filters))
            raise _UnprovenError(_CHANGING if _steady(again) else _UNSEEDED)
        # Noise by the steps of a request, as vLLM's first runner has it, would begin anew there.
        rest = zip(alone, await self._rest(alone, filters), strict=True)
        if 2 * sum(whole[_BEGUN:] == part for whole, part in rest) < len(alone):
            raise _UnprovenError(_STEPWISE)
        self.compare(filters, alone)
        self.known[filters], self._seen[filters] = alone, time.monotonic()

    def compare(self, filters: Filters, answers: Answers) -> None:
        """Compare answers with those of the first peer that has given any.

        Raises
        ------
        ModelError
            They are no more alike with one seed than with two.
        """
        peers = (peer for peer in self.peers if peer is not self and filters in peer.known)
        if (peer := next(peers, None)) is None:
            return
        found = likeness(answers, peer.known[filters])
        if found.seedless or not found.by_seed:
            raise _UnprovenError(
                f"with one seed its answers are no more like those of {peer.name} than with two "
                f"({filters}, p = {found.p_value:.2g}). The servers share no noise, or the models "
                "are too different to tell: take servers of one kind and version, and variants of "
                "one model"
            )

    async def _look_again(self, filters: Filters) -> None:
        before = self.known[filters][:_AGAIN]
        if not _steady(likeness(before, await self._answers(filters, seeds=_AGAIN))):
            raise ModelError(
                f"The server of {self.name} has changed: with the same seeds it draws otherwise "
                "now. Load the model again."
            )
        self._seen[filters] = time.monotonic()

    async def _answers(
        self, filters: Filters, *, seeds: int = 0, mixed: bool = False
    ) -> list[tuple[int, ...]]:
        """Draw answers by seed; in turn with requests of other filters, where they are mixed."""
        # Temperature scales the law and not the noise: a low one would only hide it.
        wanted = [StockDraw(seed, 1.0, filters) for seed in range(1, (seeds or SEEDS) + 1)]
        others = [
            StockDraw(each.seed, each.seed % 2, _CUT if filters == _WHOLE else _WHOLE)
            for each in wanted
        ]
        pairs = zip(wanted, others, strict=True)
        asked = [draw for pair in pairs for draw in pair] if mixed else wanted
        answered = await asyncio.gather(*(self._answer(each, self.prompt) for each in asked))
        told = answered[::2] if mixed else answered
        alike = sum(self._spells(tokens, text) for tokens, text in told)
        if 2 * alike < len(told):
            raise _UnprovenError(
                "its tokens spell other words here than there: name the checkpoint that it serves"
            )
        return [tokens for tokens, _text in told]

    async def _rest(self, answers: Answers, filters: Filters) -> list[tuple[int, ...]]:
        """Let it go on from amid its answers, as after a broken connection."""
        asked = (
            self._answer(StockDraw(seed, 1.0, filters), (*self.prompt, *tokens[:_BEGUN]))
            for seed, tokens in enumerate(answers, 1)
        )
        return [tokens for tokens, _text in await asyncio.gather(*asked)]

    async def _answer(
        self, asked: StockDraw, prompt: tuple[int, ...]
    ) -> tuple[tuple[int, ...], str]:
        request = asked.request(0)
        request["extra_body"]["ignore_eos"] = True
        written = len(prompt) - len(self.prompt)
        completion = await client(self.url, self.key).completions.create(
            model=self.model, prompt=list(prompt), max_tokens=_TOKENS - written, **request
        )
        choice = completion.choices[0]
        tokens = (choice.model_extra or {}).get("token_ids")
        if not tokens:
            raise _UnprovenError(
                "it does not tell the ids of its tokens (return_token_ids): take a newer version"
            )
        return tuple(tokens), choice.text

    def _spells(self, tokens: tuple[int, ...], text: str) -> bool:
        known = max(tokens) < self.vocabulary.end
        # The last character may be incomplete, and the first space is not everybody's.
        return known and self.vocabulary.text(tokens).strip(" \ufffd") == text.strip(" \ufffd")


_UNSEEDED = (
    "its answers do not follow from the seed of a request. Take vLLM's second runner, or SGLang "
    "with --enable-deterministic-inference"
)
_CHANGING = (
    "with the same seed it draws otherwise beside requests with other filters (SGLang 35697). Take "
    "a version that does not, or set top_p below 1"
)
_STEPWISE = (
    "with the same seed it draws otherwise where an answer goes on, so that its noise is not by "
    "position. Take vLLM's second runner"
)


def _steady(found: Likeness) -> bool:
    """Tell whether answers follow from seeds: rounding in another batch changes only few.

    A server that ignores seeds fails at this each time that it is asked, as often as that may be.
    By the test alone it would pass once in a thousand times.
    """
    return found.by_seed and not found.seedless and 2 * found.same >= found.seeds


class StockModel(AskedModel):
    """One model on a server without the plugin.

    Attributes
    ----------
    server_noise : str
        Whose noise it draws with: "theirs".
    """

    server_noise = "theirs"

    def __init__(
        self, spec: ModelSpec, tokenization: Tokenization, server: StockServer, perplexity: float
    ) -> None:
        super().__init__(spec, tokenization, server, perplexity)
        self._spec = spec
        self._server = server
        server.peers.append(server)

    def join(self, models: Mapping[str, LanguageModel]) -> None:
        """Prove that noise is shared with those models that draw likewise.

        Raises
        ------
        ModelError
            It is not, or it could never be.
        """
        first = next((each for each in models.values() if isinstance(each, StockModel)), None)
        if first is None or first is self:
            return
        if self.vocabulary.fingerprint != first.vocabulary.fingerprint:
            raise refusal(
                self._spec,
                f"its vocabulary is another one than that of {first.name}. Noise of the servers is "
                "by token id: take models of one vocabulary",
            )
        own, other = len(self._server.prompt), len(first._server.prompt)
        if own != other:
            raise refusal(
                self._spec,
                f"it reads a question as {own} tokens, and {first.name} as {other}. Noise of the "
                "servers is by position: take models of one chat template and system prompt",
            )
        self._server.peers = first._server.peers
        try:
            for filters, answers in self._server.known.items():
                self._server.compare(filters, answers)
        except _UnprovenError as error:
            raise refusal(self._spec, str(error)) from error
        self._server.peers.append(self._server)

    def start_stream(
        self, prompt: Sequence[int], seed: int, turn: int, sampling: Sampling, limit: int
    ) -> ServedStream:
        """Ask the server for a reply; its tokens arrive as they are drawn.

        Raises
        ------
        ModelError
            Other noise is asked for than the server's.
        """
        if sampling.coupling != Sampler.SERVERS.coupling:
            raise ModelError(f"{self.name} draws only with the noise of its server.")
        filters = Filters(sampling.top_k, sampling.top_p)
        stops = tuple(sorted(self.vocabulary.stops))
        asked = StockDraw(request_seed(seed, turn), sampling.temperature, filters, stops)
        return ServedStream(self._server, tuple(prompt), asked, limit)


def connect(spec: ModelSpec, cache: Path, sampling: Sampling | None = None) -> StockModel:
    """Find the server of a catalog entry, and have it show that its draws follow from seeds.

    Parameters
    ----------
    sampling : Sampling, optional
        With which filters; under others it does so when they are first asked for.

    Raises
    ------
    ModelError
        The tokenizer cannot be had, no server answers, or seeds do not decide its draws.
    """
    with reached(spec) as (asked, url):
        served = served_model(asked, spec)
        tokenizer, tokenization = read_tokenization(spec, cache, served.get("max_model_len"))
        name = str(served["id"])
        ids = text_ids(tokenizer, tokenization)
        perplexity = perplexity_of(spec, _chosen(asked, name, ids), ids)
        server = StockServer(
            *(spec.name, url, spec.server_key, name, _version(asked, url)),
            prompt=tokenization.encode(_MESSAGES),
            vocabulary=tokenization.vocabulary,
        )
        if sampling and sampling.temperature:
            _log.info("Asking the server of %s for draws that show its noise", spec.name)
            try:
                wait_for(server.learn(Filters(sampling.top_k, sampling.top_p)))
            except _UnprovenError as error:
                raise refusal(spec, str(error)) from error
    return StockModel(spec, tokenization, server, perplexity)


def _chosen(asked: openai.OpenAI, served: str, ids: list[int]) -> list[float]:
    """Let the server read tokens, as vLLM is asked for it or, else, as SGLang is."""
    try:
        if told := chosen(asked, served, ids):
            return told
    except openai.BadRequestError:  # it knows no such field
        pass
    completion = asked.completions.create(
        model=served, prompt=ids, max_tokens=1, temperature=0, echo=True, logprobs=1
    )
    told_of = completion.choices[0].logprobs
    read = (told_of.token_logprobs if told_of else None) or []
    return [value for value in read[1 : len(ids)] if value is not None]


def _version(asked: openai.OpenAI, url: str) -> str:
    """Return which program a server is, and its version, as far as it tells."""
    for program, path in _VERSIONS:
        try:
            return f"{program} {release(asked, url, path)}".rstrip()
        except openai.APIStatusError:
            continue
    return "unknown"
