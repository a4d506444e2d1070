"""Models that vLLM servers hold: each on a device or machine of its own, and coupled all the same.

The noise is a function of seed, turn, position and token, so nothing is shipped: the server draws
with the same numbers (`vllm_plugin`) that a model in this process draws with. Before a server is
believed it proves it, by `served_draw.proof`.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openai
from torch import from_numpy
from transformers.generation.configuration_utils import GenerationConfig
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.tokenization_auto import AutoTokenizer

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import Sampling
from coupled_arena.generation.checkpoint_files import NO_CODE
from coupled_arena.generation.checkpoints import reason_of
from coupled_arena.generation.fingerprint import of_surprise, smoke_text
from coupled_arena.generation.memory import longest_context
from coupled_arena.generation.met_servers import remember
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.prompt_encoding import Message
from coupled_arena.generation.served_draw import (
    PROOF,
    ServedDraw,
    objection,
    proof,
    told_weights,
)
from coupled_arena.generation.served_stream import SILENCE, ServedStream, Server, ask_for_proof
from coupled_arena.generation.served_weights import ServedWeights
from coupled_arena.generation.tokenization import Tokenization
from coupled_arena.generation.vocabulary import Vocabulary
from coupled_arena.generation.weights import local_folder

_log = logging.getLogger(__name__)
_PATIENCE = 60.0  # seconds for an answer about itself, which needs no turn of the model


class RemoteModel:
    """One model on a vLLM server.

    Attributes
    ----------
    name : str
    vocabulary : Vocabulary
    context_length : int
        Most tokens of prompt and reply together.
    perplexity : float
        How much a plain text surprises it, per token.
    """

    def __init__(
        self, spec: ModelSpec, tokenization: Tokenization, server: Server, perplexity: float
    ) -> None:
        self.name = spec.name
        self._spec = spec
        self.tokenization = tokenization
        self._server = server
        self.perplexity = perplexity
        self.vocabulary: Vocabulary = tokenization.vocabulary
        self.context_length: int = tokenization.context_length

    @property
    def arithmetic(self) -> Mapping[str, str]:
        """What is known of how the server computes, for the record."""
        return {
            "server": f"vllm {self._server.version}",
            "source": self._spec.source,
            "served as": self._server.model,
            "dtype": self._server.weights.dtype,
            "quantization": self._server.weights.quantization,
            "fingerprint": self._server.weights.digest,
            "perplexity": f"{self.perplexity:.3g}",
        }

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return the token ids of a conversation; see `Tokenization.encode`."""
        return self.tokenization.encode(messages)

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
    url = (spec.server or "").rstrip("/")
    if re.search(r"/v1(/|$)", url):
        raise _refusal(spec, "leave out /v1 and what follows: the address ends before it")
    if spec.server_key_variable and not spec.server_key:
        raise _refusal(spec, f"the variable {spec.server_key_variable} holds no key")
    with openai.OpenAI(
        api_key=spec.server_key or "none", base_url=f"{url}/v1", timeout=_PATIENCE, max_retries=1
    ) as client:
        try:
            served = _served_model(client, spec)
            tokenizer, tokenization = _tokenization(spec, cache, served.get("max_model_len"))
            proven = _proven(spec, url, served["id"], tokenization.vocabulary)
            if before := remember(cache, spec.name, proven[1]):
                why = f"it holds the weights {proven[1]}, and {spec.name} is {before}"
                raise _refusal(spec, f"{why}. Give these an entry of their own, by another name")
            server = Server(
                spec.name,
                url,
                spec.server_key,
                str(served["id"]),
                _release(client, url),
                *proven,
            )
            ids = tokenizer(smoke_text()).input_ids[: tokenization.context_length - 1]
            perplexity = _perplexity(client, spec, server.model, ids)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise _refusal(spec, _about_key(spec)) from error
        except openai.APITimeoutError as error:
            why = f"it has written nothing for {SILENCE:g} s: it is busy, or still compiles"
            raise _refusal(spec, f"{why}. Try again later") from error
        except openai.OpenAIError as error:
            raise _refusal(spec, f"it says: {reason_of(error)}") from error
    return RemoteModel(spec, tokenization, server, perplexity)


def _about_key(spec: ModelSpec) -> str:
    if spec.server_key_variable:
        return f"it refuses the key in the variable {spec.server_key_variable}: correct it"
    return "it asks for a key: set server_key_variable to the name of the variable that holds it"


def _release(client: openai.OpenAI, url: str) -> str:
    told: Any = client.with_options(base_url=url).get("/version", cast_to=object)
    return str(told.get("version", ""))


def _proven(
    spec: ModelSpec, url: str, served: str, vocabulary: Vocabulary
) -> tuple[list[int], ServedWeights]:
    """Ask for the proof; return the tokens that it consists of, and which weights it names."""
    expected = proof(vocabulary, GumbelCache(from_numpy(vocabulary.keys)), PROOF)
    _log.info("Asking the server of %s for its proof: its first answer may take minutes", spec.name)
    answer = ask_for_proof(url, spec.server_key, served, len(expected))
    told = told_weights(answer)
    if why := objection(answer, expected):
        raise _refusal(spec, why)
    assert told is not None  # objection says so
    return expected, told


def _served_model(client: openai.OpenAI, spec: ModelSpec) -> dict[str, Any]:
    try:
        served = [model.model_dump() for model in client.models.list()]
    except openai.APIConnectionError as error:
        raise ModelError(
            f"Model {spec.name!r}: no server answers at {spec.server}. Start it there, or correct "
            "the address."
        ) from error
    own = (spec.served_as,) if spec.served_as else (spec.hub, spec.folder)
    wanted = {str(name) for name in own if name}
    for model in served:
        names = [name for name in (model["id"], model.get("root")) if name]
        if wanted & {form for name in names for form in (name, name.rstrip("/"))}:
            return model
    names = ", ".join(str(model["id"]) for model in served) or "nothing"
    raise _refusal(
        spec, f"it serves {names}. If that is this model by another name, say so with served_as"
    )


def _tokenization(
    spec: ModelSpec, cache: Path, served_length: int | None
) -> tuple[Any, Tokenization]:
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


def _perplexity(client: openai.OpenAI, spec: ModelSpec, served: str, ids: list[int]) -> float:
    """Let the server read the text that models of this process read."""
    patient = client.with_options(timeout=SILENCE, max_retries=0)
    completion = patient.completions.create(
        model=served,
        prompt=ids,
        max_tokens=1,
        temperature=0,
        extra_body={"prompt_logprobs": 0},
    )
    told = (completion.choices[0].model_extra or {}).get("prompt_logprobs") or []
    given = [entry for entry in told if entry]
    if len(given) != len(ids) - 1:
        raise _refusal(spec, "it does not tell how it reads a text (prompt_logprobs)")
    chosen = [entry[str(token)]["logprob"] for entry, token in zip(given, ids[1:], strict=True)]
    perplexity = of_surprise(-sum(chosen) / len(chosen))
    if not math.isfinite(perplexity):
        raise _refusal(spec, f"its perplexity of a plain text is {perplexity}: check its weights")
    return perplexity


def _refusal(spec: ModelSpec, why: str) -> ModelError:
    return ModelError(
        f"Model {spec.name!r}: the server at {spec.server} cannot take part; {why.rstrip('.')}."
    )
