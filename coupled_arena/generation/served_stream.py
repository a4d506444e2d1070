"""Replies that a server writes: their tokens as they arrive, on one event loop for all of them."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import openai

from coupled_arena.core.errors import ModelError
from coupled_arena.core.language import _
from coupled_arena.generation import arrivals
from coupled_arena.generation.checkpoints import reason_of
from coupled_arena.generation.served_draw import (
    ARGUMENT,
    PROOF,
    ServedDraw,
    objection,
    proof_request,
    told_weights,
)
from coupled_arena.generation.served_weights import ServedWeights

SILENCE = 300.0  # seconds without a token: the queue of a busy server may be long
_PAUSES = (0.25, 0.5, 1.0, 2.0)  # seconds before a lost stream is asked for again
_BUSY = {408, 409, 429}
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
        if (told := told_weights(answer)) != self.weights:
            text = _(
                "The server of {name} holds other weights now: {told}, not {met}. They are another "
                "model: give them an entry of their own."
            )
            raise ModelError(text.format(name=self.name, told=told, met=self.weights))
        self.proven = time.monotonic()

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
    asked = _proof_of(url, key, model, tokens)
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
            arrivals.announce()

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
                arrivals.announce()
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
    )
