"""Servers that hold models: how they are asked, what they refuse, their replies as they arrive.

All replies arrive on one event loop, in a thread of its own. Where a model's noise comes from is
not known here: `remote` and `stock_servers` say what is asked, and what proves that it is coupled.
"""

from __future__ import annotations

import asyncio
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, TypeVar

import openai

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.language import _
from coupled_arena.generation.checkpoints import reason_of
from coupled_arena.generation.language_model import Told
from coupled_arena.generation.running import announce_arrival
from coupled_arena.generation.tokenization import Message, Tokenization
from coupled_arena.generation.vocabulary import Vocabulary

SILENCE = 300.0  # seconds without a token: the queue of a busy server may be long
_PATIENCE = 60.0  # seconds for an answer about itself, which needs no turn of the model
_PAUSES = (0.25, 0.5, 1.0, 2.0)  # seconds before a lost stream is asked for again
_BUSY = {408, 409, 429}
_TOLD = (100, 20, 5, 1)  # likeliest tokens of a law; a server refuses more than it may tell
PROVEN = 300.0  # seconds for which a proof is believed, while no connection breaks
Found = TypeVar("Found")


@dataclass
class AskedServer(ABC):
    """A server that holds a model, and what it is asked.

    Attributes
    ----------
    name : str
        The model's name in the catalog, for messages.
    model : str
        Its name on the server.
    version : str
        Of the server's program.
    told : int
        Tokens of each law that it tells of, once that is known.
    """

    name: str
    url: str
    key: str = field(repr=False)
    model: str
    version: str
    told: int = field(default=0, init=False)

    @abstractmethod
    async def prove(self, asked: Any) -> None:
        """Ask for the proof again, unless it is fresh: another server may stand there by now.

        Parameters
        ----------
        asked : Question
            What it is needed for.

        Raises
        ------
        ModelError
            It proves nothing any more.
        """

    @abstractmethod
    def doubt(self) -> None:
        """Ask for the proof before the next reply."""

    @abstractmethod
    async def explain_silence(self) -> None:
        """Raise ModelError if an answer without a token means that the server has changed."""

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


async def pieces(stream: Any) -> AsyncIterator[tuple[list[int], str | None]]:
    """Yield tokens as they arrive, and why the answer ends with them."""
    async with stream:
        async for chunk in stream:
            for choice in chunk.choices:
                extra: dict[str, Any] = choice.model_extra or {}
                yield list(extra.get("token_ids") or ()), choice.finish_reason


class _BrokenOffError(Exception):
    """The connection was closed in the middle of a reply."""


class Question(Protocol):
    """What a server is asked for one reply."""

    @property
    def stops(self) -> tuple[int, ...]:
        """Ids that end the answer."""
        ...

    def request(self, written: int) -> dict[str, Any]:
        """Return it after so many tokens of the answer, but for the text that it goes on from."""
        ...


class ServedStream:
    """One reply as it arrives; any thread may read it.

    Where the connection breaks, the rest is asked for again: the noise depends on the position
    alone, so what follows is what would have followed.
    """

    def __init__(
        self, server: AskedServer, prompt: tuple[int, ...], asked: Question, limit: int
    ) -> None:
        self._server = server
        self._prompt = prompt
        self._asked = asked
        self._limit = limit
        self._tokens: list[int] = []
        self._stopped = False
        self._error: Exception | None = None
        self._work = asyncio.run_coroutine_threadsafe(self._receive(), event_loop())

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
                await self._server.prove(self._asked)
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
            async for tokens, finish in pieces(await self._stream(position)):
                ended = finish == "stop" and bool(stops)
                if ended and tokens and tokens[-1] in stops:
                    tokens = tokens[:-1]
                self._tokens += tokens
                self._stopped = ended and len(self._tokens) > position
                announce_arrival()
            if ended and not self._stopped:
                await self._server.explain_silence()
                self._stopped = True
        # A server that is told to end aborts what it writes, and one may have a limit of its own.
        if not self._stopped and len(self._tokens) < self._limit:
            raise _BrokenOffError(f"the answer broke off ({finish or 'connection closed'})")

    async def _stream(self, position: int) -> Any:
        return await client(self._server.url, self._server.key).completions.create(
            model=self._server.model,
            prompt=[*self._prompt, *self._tokens],
            max_tokens=self._limit - position,
            stream=True,
            **self._asked.request(position),
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


def wait_for(asked: Coroutine[Any, Any, Found]) -> Found:
    """Return what is asked of a server by its `client`."""
    return asyncio.run_coroutine_threadsafe(asked, event_loop()).result()


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all servers; it runs for as long as this process."""
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


class AskedModel:
    """One model on a server.

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
        self, spec: ModelSpec, tokenization: Tokenization, server: AskedServer, perplexity: float
    ) -> None:
        self.name = spec.name
        self.tokenization = tokenization
        self.perplexity = perplexity
        self.vocabulary: Vocabulary = tokenization.vocabulary
        self.context_length: int = tokenization.context_length
        self.reading: str = tokenization.reading
        self._facts = {
            "server": server.version,
            "source": spec.source,
            "served as": server.model,
            "perplexity": f"{perplexity:.3g}",
        }
        self._asked = server

    @property
    def arithmetic(self) -> Mapping[str, str]:
        """What is known of how the server computes, for the record."""
        return self._facts

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
        return wait_for(self._asked.laws(text[: len(prompt) + positions]))[len(prompt) :]


# What a server says of itself, and what it refuses.


@contextmanager
def reached(spec: ModelSpec) -> Iterator[tuple[openai.OpenAI, str]]:
    """Yield a client of an entry's server, and its address; tell refusals as this model's."""
    url = (spec.server or "").rstrip("/")
    if re.search(r"/v1(/|$)", url):
        raise refusal(spec, "leave out /v1 and what follows: the address ends before it")
    if spec.server_key_variable and not spec.server_key:
        raise refusal(spec, f"the variable {spec.server_key_variable} holds no key")
    with openai.OpenAI(
        api_key=spec.server_key or "none", base_url=f"{url}/v1", timeout=_PATIENCE, max_retries=1
    ) as client:
        try:
            yield client, url
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise refusal(spec, _about_key(spec)) from error
        except openai.APITimeoutError as error:
            why = f"it has written nothing for {SILENCE:g} s: it is busy, or still compiles"
            raise refusal(spec, f"{why}. Try again later") from error
        except openai.OpenAIError as error:
            raise refusal(spec, f"it says: {reason_of(error)}") from error


def _about_key(spec: ModelSpec) -> str:
    if spec.server_key_variable:
        return f"it refuses the key in the variable {spec.server_key_variable}: correct it"
    return "it asks for a key: set server_key_variable to the name of the variable that holds it"


def release(client: openai.OpenAI, url: str, path: str = "/version") -> str:
    """Return the version that a server tells at a path."""
    answered: Any = client.with_options(base_url=url).get(path, cast_to=object)
    return str(answered.get("version", ""))


def served_model(client: openai.OpenAI, spec: ModelSpec) -> dict[str, Any]:
    """Return what a server says of an entry's model."""
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
    raise refusal(
        spec, f"it serves {names}. If that is this model by another name, say so with served_as"
    )


def refusal(spec: ModelSpec, why: str) -> ModelError:
    """Return the error of a model that cannot take part for the sake of its server."""
    return ModelError(
        f"Model {spec.name!r}: the server at {spec.server} cannot take part; {why.rstrip('.')}."
    )
