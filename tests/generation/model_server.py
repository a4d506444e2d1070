"""A model server as vLLM is one, with the small models: the same routes, the same stream.

What stands in for vLLM is the batching and the HTTP; the draws are made by the code that vLLM's
logits processor calls, on the logits of a real network.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from torch import from_numpy, inference_mode, tensor

from coupled_arena.generation.ambient import Filters, ambient_ids, noise_seed
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.served_draw import (
    ARGUMENT,
    ServedDraw,
    ServedWeights,
    drawn_ids,
    ends_at_once,
    proof_of_server,
    weights_of,
)
from tests.patience import until
from tests.small_models import tokenizer
from tests.ui.server import free_port

SHARP = 4.0  # small models know nothing, and so the likeliest tokens say nothing of their laws


@dataclass
class ModelServer:
    """What the server does, and what it has been asked.

    Attributes
    ----------
    plugin : bool
        Whether it draws with the noise that it is told of.
    breaks_after : int
        Tokens after which the connection of each reply is cut, 0 for never.
    breaks_with : str
        Reason with which the answer is ended then, in place of a broken connection.
    refuses : bool
        Whether each question is answered with an error.
    slow : bool
        Whether a proxy gives up what is not streamed: many tokens take longer than it waits.
    silent : bool
        Whether a proof never comes, as while a first request compiles.
    rooted : bool
        Whether it tells from where it has the model, as vLLM does and others do not.
    ambient : bool
        Whether it draws requests of any client from the noise.
    own : str
        How it draws them otherwise. "apart" from all other servers, whatever the seed; "by seed",
        position and token, as servers without a plugin do; or "alike" for every seed.
    stream : int
        Which noise it has where that is "apart" from all others.
    blurs : float
        By how much it misstates each log-probability, at most.
    tells : int
        How many likeliest tokens of each law it tells of, at most, as ``--max-logprobs`` has it.
    weights : ServedWeights
        Those that it says it holds: its model's, unless others are given.
    gate : threading.Event
        While it is not set, no token is written.
    clients : set
        Addresses of the connections on which anything was streamed.
    """

    model: object
    plugin: bool = True
    key: str = ""
    length: int = 2048
    vocabulary: object = None
    breaks_after: int = 0
    breaks_with: str = ""
    name: str = "served"
    weights: ServedWeights | None = None
    refuses: bool = False
    slow: bool = False
    silent: bool = False
    rooted: bool = True
    ambient: bool = True
    own: str = "apart"
    stream: int = 1
    blurs: float = 0.0
    tells: int = 20
    alter: object = staticmethod(lambda tokens: tokens)
    gate: threading.Event = field(default_factory=threading.Event)
    requests: list = field(default_factory=list)
    clients: set = field(default_factory=set)
    writing: int = 0
    url: str = ""

    def __post_init__(self):
        self.vocabulary = self.vocabulary or self.model.vocabulary
        spec = self.model._spec
        self.weights = self.weights or weights_of(Path(spec.folder), spec.dtype, "none")
        self.gate.set()
        self._lock = threading.Lock()  # of the network

    def app(self):
        return Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/version", self._version),
                Route("/v1/completions", self._complete, methods=["POST"]),
            ]
        )

    def _allowed(self, request):
        return not self.key or request.headers.get("authorization") == f"Bearer {self.key}"

    async def _models(self, request):
        if not self._allowed(request):
            return JSONResponse({"error": {"message": "Unauthorized"}}, 401)
        served = {"id": self.name, "object": "model", "max_model_len": self.length}
        served |= {"root": self.name} if self.rooted else {}
        return JSONResponse({"object": "list", "data": [served]})

    async def _version(self, _):
        return JSONResponse({"version": "0.0.stand-in"})

    async def _complete(self, request):
        asked = await request.json()
        self.requests.append(asked)
        if self.refuses:
            return JSONResponse({"error": {"message": "out of memory"}}, 500)
        if "vllm_xargs" not in asked and "seed" in asked:
            return self._ordinary(asked)
        if asked.get("stream"):
            self.clients.add(request.client)
            return StreamingResponse(self._events(asked), media_type="text/event-stream")
        if asked.get("prompt_logprobs", 0) > self.tells:
            told = f"Requested prompt logprobs of more than {self.tells}"
            return JSONResponse({"error": {"message": told}}, 400)
        if "prompt_logprobs" in asked:
            choice = {"index": 0, "text": "", "finish_reason": "length", "token_ids": [0]}
            return JSONResponse(_completion(choice | {"prompt_logprobs": self._read(asked)}))
        if self.slow:
            return JSONResponse({"error": {"message": "Gateway Timeout"}}, 504)
        tokens = [token async for token, _ in self._tokens(asked)]
        choice = {"index": 0, "text": "", "finish_reason": "length", "token_ids": tokens}
        return JSONResponse(_completion(choice))

    def _ordinary(self, asked):
        """Answer a request of any client, with the law of each token."""
        if asked.get("logprobs", 0) > self.tells:
            told = f"Requested logprobs of more than {self.tells}"
            return JSONResponse({"error": {"message": told}}, 400)
        prompt = tokenizer().encode(asked["prompt"])
        seed = noise_seed(asked["seed"], asked["prompt"].encode())
        noise = GumbelCache(from_numpy(self.vocabulary.keys))
        filters = Filters(asked["temperature"], 0, asked["top_p"], 0.0, ())
        blur = np.random.default_rng(asked["seed"])
        batch = self.model.start_batch()
        with self._lock:
            batch.add([prompt])
        words, laws, tokens = [], [], []
        for position in range(asked["max_tokens"]):
            logits = batch.logits * SHARP
            if self.ambient or self.own == "apart":
                place = [(seed if self.ambient else self.stream, 0, position)]
                token = ambient_ids(logits, noise, filters, place)
            else:
                by = asked["seed"] if self.own == "by seed" else 0
                token = (logits + own_noise(by, len(prompt) + position, logits)).argmax(1)
            words.append(tokenizer().decode(token))
            tokens.append(int(token))
            law = logits[0].log_softmax(0)
            law = law + from_numpy(blur.uniform(-self.blurs, self.blurs, len(law)))
            told = [*law.topk(asked.get("logprobs", 0)).indices.tolist(), int(token)]
            laws.append({tokenizer().decode([number]): float(law[number]) for number in told})
            with self._lock:
                batch.advance(token)
        choice = {"index": 0, "text": "".join(words), "finish_reason": "length"}
        choice |= {"token_ids": tokens} if asked.get("return_token_ids") else {}
        own = [law[word] for law, word in zip(laws, words, strict=True)]
        if "logprobs" in asked:
            choice["logprobs"] = {"tokens": words, "token_logprobs": own, "top_logprobs": laws}
        return JSONResponse(_completion(choice))

    def _read(self, asked):
        ids = tensor([asked["prompt"]])
        with self._lock, inference_mode():
            law = self.model.network(input_ids=ids).logits[0].log_softmax(1)
        told: list = [None]
        for at, token in enumerate(ids[0, 1:].tolist()):
            likeliest = law[at].topk(asked["prompt_logprobs"]).indices.tolist()
            told.append({str(n): {"logprob": float(law[at, n])} for n in (token, *likeliest)})
        return told

    async def _events(self, asked):
        self.writing += 1
        proves = asks_for_proof(asked)
        try:
            written = 0
            async for token, finish in self._tokens(asked):
                written += 1
                breaks = written == self.breaks_after and not (finish or proves)
                reason = self.breaks_with or None if breaks else finish
                choice = {"index": 0, "text": "", "finish_reason": reason, "token_ids": [token]}
                yield f"data: {json.dumps(_completion(choice))}\n\n"
                if breaks and not self.breaks_with:
                    raise ConnectionError("pulled out")
                if breaks:
                    break
            yield "data: [DONE]\n\n"
        finally:
            self.writing -= 1

    async def _tokens(self, asked):
        """Yield tokens, and why the answer ends with the last."""
        told = ServedDraw.from_argument(asked["vllm_xargs"][ARGUMENT])
        told = told if self.plugin else replace(told, seed=0, proof=False, temperature=0.0)
        noise = GumbelCache(from_numpy(self.vocabulary.keys))
        if told.proof:
            while self.silent:
                await asyncio.sleep(0.01)
            answer = proof_of_server(self.vocabulary, noise, told, self.weights)
            for token in self.alter(answer)[: asked["max_tokens"]]:
                yield token, None
            return
        if ends_at_once(told, self.weights):
            yield min(told.stops), "stop"
            return
        batch = self.model.start_batch()
        with self._lock:
            batch.add([asked["prompt"]])
        for written in range(asked["max_tokens"]):
            while not self.gate.is_set():
                await asyncio.sleep(0.01)
            place = (told.seed, told.turn, told.position + written)
            token = int(drawn_ids(batch.logits, noise, told, [place])[0])
            ended = token in asked.get("stop_token_ids", ())
            last = written + 1 == asked["max_tokens"]
            yield token, "stop" if ended else "length" if last else None
            if ended:
                return
            with self._lock:
                batch.advance(tensor([token]))
            await asyncio.sleep(0)


def own_noise(seed, position, logits):
    """Return noise that is not the arena's: a function of seed, position and token all the same."""
    key = [*seed, position] if isinstance(seed, tuple) else [seed, position]
    return from_numpy(np.random.default_rng(key).gumbel(size=logits.shape[1]))


def asks_for_proof(asked):
    """Tell whether a request asks for a proof and not for a reply."""
    return ServedDraw.from_argument(asked["vllm_xargs"][ARGUMENT]).proof


def _completion(choice):
    return {
        "id": "x",
        "object": "text_completion",
        "created": 1,
        "model": "served",
        "choices": [choice],
    }


@contextmanager
def running(server):
    """Run the server in a thread until the block is left."""
    port = free_port()
    server.url = f"http://127.0.0.1:{port}"
    config = uvicorn.Config(server.app(), port=port, log_level="critical")
    http = uvicorn.Server(config)
    thread = threading.Thread(target=http.run, daemon=True)
    thread.start()
    try:
        until(lambda: http.started)
        yield server
    finally:
        http.should_exit = http.force_exit = True
        thread.join()
