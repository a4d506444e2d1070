"""Models that vLLM servers hold: each on a device or machine of its own, and coupled all the same.

The noise is a function of seed, turn, position and token, so nothing is shipped. The server draws
with the same numbers (`vllm_plugin`) that a model in this process draws with. Before a server is
believed it proves it, by `served_draw.proof`. First the replies as they arrive, then the model.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import openai
from torch import from_numpy
from transformers.generation.configuration_utils import GenerationConfig
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.tokenization_auto import AutoTokenizer

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.language import _
from coupled_arena.core.records import Sampling
from coupled_arena.generation.checkpoint_faults import NO_CODE
from coupled_arena.generation.checkpoints import reason_of
from coupled_arena.generation.devices import longest_context
from coupled_arena.generation.fingerprint import of_surprise, smoke_text
from coupled_arena.generation.language_model import Told
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.running import announce_arrival
from coupled_arena.generation.served_draw import (
    ARGUMENT,
    PROOF,
    ServedDraw,
    ServedWeights,
    objection,
    proof,
    proof_request,
    remember,
    weights_in,
)
from coupled_arena.generation.tokenization import Message, Tokenization
from coupled_arena.generation.vocabulary import Vocabulary
from coupled_arena.generation.weights import local_folder

# Replies that a server writes: their tokens as they arrive, on one event loop for all of them.

SILENCE = 300.0  # seconds without a token: the queue of a busy server may be long
_PAUSES = (0.25, 0.5, 1.0, 2.0)  # seconds before a lost stream is asked for again
_BUSY = {408, 409, 429}
_TOLD = (100, 20, 5, 1)  # likeliest tokens of a law; a server refuses more than it may tell
Found = TypeVar("Found")
_PROVEN = 300.0  # seconds for which a proof is believed, while no connection breaks


@dataclass
class Server:
    """Where a model is served, and whether it still proves that it is coupled.

    Attributes
    ----------
    name : str
        The model's name in the catalog, for messages.
    model : str
        Its name on the server.
    expected : list of int
        The tokens of its proof.
    weights : ServedWeights
        Those that it was met with.
    """

    name: str
    url: str
    key: str = field(repr=False)
    model: str
    version: str
    expected: list[int] = field(repr=False)
    weights: ServedWeights
    told: int = 0  # tokens of each law that it tells of, once that is known
    proven: float = field(default_factory=time.monotonic, repr=False)
    _proof: asyncio.Task[None] | None = field(default=None, repr=False)

    async def prove(self) -> None:
        """Ask for the proof again, unless it is fresh: another server may stand there by now.

        Raises
        ------
        ModelError
            It proves nothing any more.
        """
        if time.monotonic() - self.proven < _PROVEN:
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

    async def laws(self, text: list[int]) -> list[Told]:
        """Return the log-probabilities that it tells at each token of a text, but the first.

        As many as it may: how many that is, only a refusal tells.

        Raises
        ------
        ModelError
            It tells none, or is lost.
        """
        failure: Exception | None = None
        for number in [self.told] if self.told else _TOLD:
            try:
                laws = await self._told(text, number)
            except openai.OpenAIError as error:
                failure = error
                if not _is_final(error):
                    break
                continue
            if laws is None:
                break
            self.told = number
            return laws
        why = f" ({reason_of(failure)})" if failure else ""
        raise ModelError(
            f"The server of {self.name} does not tell of its laws{why}. Start it with "
            "--max-logprobs 20 or more, or load the model here."
        )

    async def _told(self, text: list[int], number: int) -> list[Told] | None:
        completion = await client(self.url, self.key).completions.create(
            model=self.model,
            prompt=text,
            max_tokens=1,
            temperature=0,
            extra_body={"prompt_logprobs": number},
        )
        told: Any = (completion.choices[0].model_extra or {}).get("prompt_logprobs") or []
        if len(told) != len(text) or not all(told[1:]):
            return None
        return [{int(i): float(x["logprob"]) for i, x in (at or {}).items()} for at in told]

    def doubt(self) -> None:
        """Ask for the proof before the next reply."""
        self.proven = -math.inf


def ask_for_proof(url: str, key: str, model: str, tokens: int) -> list[int]:
    """Return what a server answers when it is asked for a proof, with its weights.

    Raises
    ------
    openai.OpenAIError
        It refuses; or it writes nothing for `SILENCE`.
    """
    return wait_for(_proof_of(url, key, model, tokens))


def wait_for(asked: Coroutine[Any, Any, Found]) -> Found:
    """Return what is asked of a server by its `client`."""
    return asyncio.run_coroutine_threadsafe(asked, _event_loop()).result()


async def _proof_of(url: str, key: str, model: str, tokens: int) -> list[int]:
    asked = proof_request(PROOF, tokens)
    stream = await client(url, key).completions.create(model=model, **asked)
    return [token async for arrived, _finish in _pieces(stream) for token in arrived]


async def _pieces(stream: Any) -> AsyncIterator[tuple[list[int], str | None]]:
    """Yield tokens as they arrive, and why the answer ends with them."""
    async with stream:
        async for chunk in stream:
            for choice in chunk.choices:
                extra: dict[str, Any] = choice.model_extra or {}
                yield list(extra.get("token_ids") or ()), choice.finish_reason


class _BrokenOffError(Exception):
    """The connection was closed in the middle of a reply."""


class ServedStream:
    """One reply as it arrives; any thread may read it.

    Where the connection breaks, the rest is asked for again: the noise depends on the position
    alone, so what follows is what would have followed.
    """

    def __init__(
        self, server: Server, prompt: tuple[int, ...], asked: ServedDraw, limit: int
    ) -> None:
        self._server = server
        self._prompt = prompt
        self._asked = asked
        self._limit = limit
        self._tokens: list[int] = []
        self._stopped = False
        self._error: Exception | None = None
        self._work = asyncio.run_coroutine_threadsafe(self._receive(), _event_loop())

    def tokens_after(self, taken: int) -> list[int]:
        """Return what has arrived beyond the first few tokens."""
        return self._tokens[taken:]

    @property
    def stopped(self) -> bool:
        """Whether the model has ended its answer after the last token."""
        return self._stopped

    def check(self) -> None:
        """Raise what has broken the stream off, if it is broken off."""
        if self._error:
            raise self._error

    def close(self) -> None:
        """Give up what has not arrived; the server stops."""
        self._work.cancel()

    async def _receive(self) -> None:
        try:
            await self._persist()
        except Exception as error:  # noqa: BLE001 - whoever waits for the tokens must hear of it
            self._error = error
        finally:
            announce_arrival()

    async def _persist(self) -> None:
        pauses = iter(_PAUSES)
        while True:
            had = len(self._tokens)
            try:
                await self._server.prove()
                await self._request()
                return
            except (openai.APIError, _BrokenOffError) as error:
                failure = error
            self._server.doubt()
            if len(self._tokens) > had:
                pauses = iter(_PAUSES)
            pause = None if _is_final(failure) else next(pauses, None)
            if pause is None:
                raise self._lost(failure) from failure
            await asyncio.sleep(pause)

    async def _request(self) -> None:
        """Ask for the tokens that are missing, and take them in."""
        stops = self._asked.stops
        position = len(self._tokens)
        finish = None
        ended = False
        if position < self._limit:
            async for tokens, finish in _pieces(await self._stream(position)):
                ended = finish == "stop" and bool(stops)
                if ended and tokens and tokens[-1] == min(stops):
                    tokens = tokens[:-1]
                self._tokens += tokens
                self._stopped = ended and len(self._tokens) > position
                announce_arrival()
            if ended and not self._stopped:  # as a server does that holds other weights
                self._server.doubt()
                await self._server.prove()
                self._stopped = True
        # A server that is told to end aborts what it writes, and one may have a limit of its own.
        if not self._stopped and len(self._tokens) < self._limit:
            raise _BrokenOffError(f"the answer broke off ({finish or 'connection closed'})")

    async def _stream(self, position: int) -> Any:
        stops = self._asked.stops
        return await client(self._server.url, self._server.key).completions.create(
            model=self._server.model,
            prompt=[*self._prompt, *self._tokens],
            max_tokens=self._limit - position,
            temperature=0,
            stream=True,
            extra_body={
                "ignore_eos": True,
                "stop_token_ids": [min(stops)] if stops else [],
                "return_token_ids": True,
                "skip_special_tokens": False,
                "vllm_xargs": {ARGUMENT: replace(self._asked, position=position).to_argument()},
            },
        )

    def _lost(self, error: Exception) -> ModelError:
        text = _("The server of {name} was lost ({why}).")
        if _is_final(error):
            text = _("The server of {name} refused the question ({why}).")
        return ModelError(text.format(name=self._server.name, why=reason_of(error)))


def _is_final(error: Exception) -> bool:
    """Tell whether a server has refused a request, which it would do again."""
    if not isinstance(error, openai.APIStatusError):
        return False
    return error.status_code < 500 and error.status_code not in _BUSY


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="model-servers", daemon=True).start()
    return loop


@cache
def client(url: str, key: str) -> openai.AsyncOpenAI:
    """Return the client of a server, one for all streams, for use on the event loop."""
    return openai.AsyncOpenAI(
        api_key=key or "none",
        base_url=f"{url}/v1",
        max_retries=0,
        timeout=openai.Timeout(SILENCE, connect=10),
        # One that was kept may be dead without a word: what is asked on it is silence.
        default_headers={"Connection": "close"},
    )


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

    def told_laws(self, prompt: Sequence[int], tokens: Sequence[int], positions: int) -> list[Told]:
        """Return what the server tells of the laws after a prompt and each of the tokens.

        Raises
        ------
        ModelError
            It tells nothing of them.
        """
        # The law of the end, too, is that of a token of the text: whichever follows.
        text = [*prompt, *tokens, min(self.vocabulary.stops, default=0)]
        asked = text[: len(prompt) + positions]
        told = asyncio.run_coroutine_threadsafe(self._server.laws(asked), _event_loop()).result()
        return told[len(prompt) :]

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
    answered: Any = client.with_options(base_url=url).get("/version", cast_to=object)
    return str(answered.get("version", ""))


def _proven(
    spec: ModelSpec, url: str, served: str, vocabulary: Vocabulary
) -> tuple[list[int], ServedWeights]:
    """Ask for the proof; return the tokens that it consists of, and which weights it names."""
    expected = proof(vocabulary, GumbelCache(from_numpy(vocabulary.keys)), PROOF)
    _log.info("Asking the server of %s for its proof: its first answer may take minutes", spec.name)
    answer = ask_for_proof(url, spec.server_key, served, len(expected))
    held = weights_in(answer)
    if why := objection(answer, expected):
        raise _refusal(spec, why)
    assert held is not None  # objection says so
    return expected, held


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
    entries = (completion.choices[0].model_extra or {}).get("prompt_logprobs") or []
    given = [entry for entry in entries if entry]
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
