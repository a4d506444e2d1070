"""Models that vLLM servers hold: each on a device or machine of its own, and coupled all the same.

The noise is a function of seed, turn, position and token, so nothing is shipped. The server draws
with the same numbers (`vllm_plugin`) that a model in this process draws with. Before a server is
believed it proves it, by `served_draw.proof`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
from torch import from_numpy
from transformers.generation.configuration_utils import GenerationConfig
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.tokenization_auto import AutoTokenizer

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.language import _
from coupled_arena.core.records import Sampling
from coupled_arena.generation.asked_servers import (
    PROVEN,
    SILENCE,
    AskedModel,
    AskedServer,
    ServedStream,
    client,
    pieces,
    reached,
    refusal,
    release,
    served_model,
    wait_for,
)
from coupled_arena.generation.checkpoint_faults import NO_CODE
from coupled_arena.generation.checkpoints import reason_of
from coupled_arena.generation.devices import longest_context
from coupled_arena.generation.fingerprint import of_surprise, smoke_text
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.served_draw import (
    PROOF,
    ServedDraw,
    ServedWeights,
    objection,
    proof,
    proof_request,
    remember,
    weights_in,
)
from coupled_arena.generation.tokenization import Tokenization
from coupled_arena.generation.vocabulary import Vocabulary
from coupled_arena.generation.weights import local_folder


@dataclass
class Server(AskedServer):
    """One that draws with this noise, and whether it still proves it.

    Attributes
    ----------
    expected : list of int
        The tokens of its proof.
    weights : ServedWeights
        Those that it was met with.
    """

    expected: list[int] = field(repr=False)
    weights: ServedWeights
    proven: float = field(default_factory=time.monotonic, repr=False)
    _proof: asyncio.Task[None] | None = field(default=None, repr=False)

    async def prove(self, asked: Any = None) -> None:  # noqa: ARG002 - one proof is for all
        """Ask for the proof again, unless it is fresh."""
        if time.monotonic() - self.proven < PROVEN:
            return
        if self._proof is None or self._proof.done():
            self._proof = asyncio.create_task(self._ask())
            # Where nobody waits any more, its error is nobody's.
            self._proof.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._proof)  # of all replies that wait: one may be given up

    async def _ask(self) -> None:
        answer = await _proof_of(self.url, self.key, self.model, len(self.expected))
        if why := objection(answer, self.expected):
            raise ModelError(f"The server of {self.name} has changed: {why}.")
        if (held := weights_in(answer)) != self.weights:
            text = _(
                "The server of {name} holds other weights now: {held}, not {met}. They are "
                "another model: give them an entry of their own."
            )
            raise ModelError(text.format(name=self.name, held=held, met=self.weights))
        self.proven = time.monotonic()

    def doubt(self) -> None:
        """Ask for the proof before the next reply."""
        self.proven = -math.inf

    async def explain_silence(self) -> None:
        """Ask for the proof: with other weights than those asked, an answer ends at once."""
        self.doubt()
        await self.prove()


def ask_for_proof(url: str, key: str, model: str, tokens: int) -> list[int]:
    """Return what a server answers when it is asked for a proof, with its weights.

    Raises
    ------
    openai.OpenAIError
        It refuses; or it writes nothing for `SILENCE`.
    """
    return wait_for(_proof_of(url, key, model, tokens))


async def _proof_of(url: str, key: str, model: str, tokens: int) -> list[int]:
    asked = proof_request(PROOF, tokens)
    stream = await client(url, key).completions.create(model=model, **asked)
    return [token async for arrived, _finish in pieces(stream) for token in arrived]


_log = logging.getLogger(__name__)


class RemoteModel(AskedModel):
    """One model on a vLLM server with the plugin."""

    def __init__(
        self, spec: ModelSpec, tokenization: Tokenization, server: Server, perplexity: float
    ) -> None:
        super().__init__(spec, tokenization, server, perplexity)
        self._server = server

    @property
    def arithmetic(self) -> Mapping[str, str]:
        """What is known of how the server computes, for the record."""
        return {
            **super().arithmetic,
            "dtype": self._server.weights.dtype,
            "quantization": self._server.weights.quantization,
            "fingerprint": self._server.weights.digest,
        }

    def start_stream(
        self, prompt: Sequence[int], seed: int, turn: int, sampling: Sampling, limit: int
    ) -> ServedStream:
        """Ask the server for a reply; its tokens arrive as they are drawn."""
        asked = ServedDraw(
            seed,
            turn,
            sampling.temperature,
            sampling.top_k,
            sampling.top_p,
            tuple(sorted(self.vocabulary.stops)),
            weights=self._server.weights.digest,
        )
        return ServedStream(self._server, tuple(prompt), asked, limit)


def connect(spec: ModelSpec, cache: Path) -> RemoteModel:
    """Find the server of a catalog entry, and have it prove that it draws with this noise.

    Raises
    ------
    ModelError
        The tokenizer cannot be had, no server answers, or it would not be coupled.
    """
    with reached(spec) as (asked, url):
        served = served_model(asked, spec)
        tokenizer, tokenization = read_tokenization(spec, cache, served.get("max_model_len"))
        proven = _proven(spec, url, served["id"], tokenization.vocabulary)
        if before := remember(cache, spec.name, proven[1]):
            why = f"it holds the weights {proven[1]}, and {spec.name} is {before}"
            raise refusal(spec, f"{why}. Give these an entry of their own, by another name")
        version = f"vllm {release(asked, url)}"
        server = Server(spec.name, url, spec.server_key, str(served["id"]), version, *proven)
        ids = text_ids(tokenizer, tokenization)
        perplexity = perplexity_of(spec, chosen(asked, server.model, ids), ids)
    return RemoteModel(spec, tokenization, server, perplexity)


def _proven(
    spec: ModelSpec, url: str, served: str, vocabulary: Vocabulary
) -> tuple[list[int], ServedWeights]:
    """Ask for the proof; return the tokens that it consists of, and which weights it names."""
    expected = proof(vocabulary, GumbelCache(from_numpy(vocabulary.keys)), PROOF)
    _log.info("Asking the server of %s for its proof: its first answer may take minutes", spec.name)
    answer = ask_for_proof(url, spec.server_key, served, len(expected))
    held = weights_in(answer)
    if why := objection(answer, expected):
        raise refusal(spec, why)
    assert held is not None  # objection says so
    return expected, held


def read_tokenization(
    spec: ModelSpec, cache: Path, served_length: int | None
) -> tuple[Any, Tokenization]:
    """Return the tokenizer that an entry names, and what follows for its prompts."""
    folder = local_folder(spec, cache)
    where = str(folder or spec.hub)
    options: dict[str, Any] = {} if folder else {"revision": spec.revision}
    if spec.hub and spec.gguf:
        options["gguf_file"] = spec.gguf
    try:
        tokenizer = AutoTokenizer.from_pretrained(where, **NO_CODE, **options)
        config = AutoConfig.from_pretrained(where, **NO_CODE, **options).get_text_config()
    except Exception as error:
        reason = reason_of(error)
        raise ModelError(f"Model {spec.name!r}: no tokenizer in {where}: {reason}") from error
    try:
        generation_config = GenerationConfig.from_pretrained(where, **options)
    except OSError:  # not every checkpoint has one
        generation_config = config
    longest = longest_context(config)
    length = min(longest, served_length or longest)
    return tokenizer, Tokenization(
        spec, tokenizer, generation_config, outputs=config.vocab_size, context_length=length
    )


def text_ids(tokenizer: Any, tokenization: Tokenization) -> list[int]:
    """Return the text that models of this process read, as far as a context holds it."""
    return tokenizer(smoke_text()).input_ids[: tokenization.context_length - 1]


def chosen(asked: openai.OpenAI, served: str, ids: list[int]) -> list[float]:
    """Let the server read tokens; return the log-probability of each but the first."""
    patient = asked.with_options(timeout=SILENCE, max_retries=0)
    completion = patient.completions.create(
        model=served,
        prompt=ids,
        max_tokens=1,
        temperature=0,
        extra_body={"prompt_logprobs": 0},
    )
    entries = (completion.choices[0].model_extra or {}).get("prompt_logprobs") or []
    given = [entry for entry in entries if entry]
    return [entry[str(token)]["logprob"] for entry, token in zip(given, ids[1:], strict=False)]


def perplexity_of(spec: ModelSpec, chosen: list[float], ids: list[int]) -> float:
    """Return the perplexity of a text that a server has read.

    Raises
    ------
    ModelError
        It has not told of each token, or the number is none.
    """
    if len(chosen) != len(ids) - 1:
        raise refusal(spec, "it does not tell how it reads a text (prompt_logprobs)")
    perplexity = of_surprise(-sum(chosen) / len(chosen))
    if not math.isfinite(perplexity):
        raise refusal(spec, f"its perplexity of a plain text is {perplexity}: check its weights")
    return perplexity
