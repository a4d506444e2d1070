"""A model server without the plugin, with the small models: noise of its own, by seed.

What stands in for vLLM or SGLang is HTTP, streams and batching; the logits are those of a network.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

import torch
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from coupled_arena.core.records import Sampling
from coupled_arena.generation.sampling import outcome_scores
from tests.generation.model_server import SHARP, ModelServer, own_noise
from tests.small_models import tokenizer

_WINDOW = 0.03  # seconds in which requests meet in one batch


@dataclass
class StockServer(ModelServer):
    """What it does, and what it has been asked; see `ModelServer`.

    Attributes
    ----------
    own : str
        Its noise: "by seed", position and token; "by rank" of a token where any request of the
        batch has filters, as SGLang has it; "by step" of a request, as vLLM's first runner
        has it; "apart", whatever the seed; "alike" for every seed.
    salt : int
        Of its noise: another version, or another kind of server.
    kind : str
        What it says that it is, and what it tells: "vllm" or "sglang".
    ids : bool
        Whether it tells the ids of tokens.
    shift : int
        By how much it misspells tokens: another vocabulary than the catalog's.
    """

    own: str = "by seed"
    salt: int = 0
    kind: str = "vllm"
    ids: bool = True
    shift: int = 0
    batch: list = field(default_factory=list)

    def __post_init__(self):
        super().__post_init__()
        self._laws = {}
        self._drawn = 0

    def app(self):
        app = super().app()
        if self.kind == "sglang":
            app.routes[:] = [route for route in app.routes if route.path != "/version"]
            app.routes.append(Route("/get_server_info", self._version))
        return app

    async def _complete(self, request):
        asked = await request.json()
        self.requests.append(asked)
        if self.refuses:
            return JSONResponse({"error": {"message": "out of memory"}}, 500)
        if "vllm_xargs" in asked:
            return JSONResponse({"error": {"message": "no such argument"}}, 400)
        if asked.get("prompt_logprobs") is not None:
            told = {"prompt_logprobs": self._read(asked)} if self.kind == "vllm" else {}
            return JSONResponse(_answer({"text": "", "finish_reason": "length"} | told))
        if asked.get("echo"):
            read = self._read(asked | {"prompt_logprobs": 0})
            both = zip(read, asked["prompt"], strict=True)
            chances = [each and each[str(token)]["logprob"] for each, token in both]
            told = {"tokens": [], "token_logprobs": [*chances, -1.0], "top_logprobs": None}
            return JSONResponse(_answer({"text": "", "finish_reason": "length", "logprobs": told}))
        self.batch.append(asked)
        await asyncio.sleep(_WINDOW)
        if asked.get("stream"):
            self.clients.add(request.client)
            return StreamingResponse(self._events(asked), media_type="text/event-stream")
        drawn = [each async for each in self._tokens(asked)]
        tokens = [token for token, _ in drawn]
        text = tokenizer().decode([token + self.shift for token in tokens])
        choice = {"text": text, "finish_reason": drawn[-1][1]}
        return JSONResponse(_answer(choice | ({"token_ids": tokens} if self.ids else {})))

    async def _events(self, asked):
        self.writing += 1
        written = 0
        try:
            async for token, finish in self._tokens(asked):
                written += 1
                breaks = written == self.breaks_after and not finish
                choice = {"text": tokenizer().decode([token]), "finish_reason": finish}
                choice |= {"token_ids": [token]} if self.ids else {}
                yield f"data: {json.dumps(_answer(choice))}\n\n"
                if breaks:
                    raise ConnectionError("pulled out")
            yield "data: [DONE]\n\n"
        finally:
            self.writing -= 1

    async def _tokens(self, asked):
        """Yield tokens, and why the answer ends with the last."""
        context = tuple(asked["prompt"])
        stops = {*asked.get("stop_token_ids", ()), *self.vocabulary.stops}
        stops = set() if asked.get("ignore_eos") else stops
        try:
            for written in range(asked["max_tokens"]):
                while not self.gate.is_set():
                    await asyncio.sleep(0.01)
                token = self._draw(asked, context)
                context = (*context, token)
                last = written + 1 == asked["max_tokens"]
                ended = token in stops
                yield token, "stop" if ended else "length" if last else None
                if ended:
                    return
                await asyncio.sleep(0)
        finally:
            if asked in self.batch:
                self.batch.remove(asked)

    def _draw(self, asked, context):
        sampling = Sampling(asked["temperature"], max(asked["top_k"], 0), asked["top_p"])
        logits = self._logits(context)[None].double() * SHARP
        scores = outcome_scores(logits, torch.tensor([], dtype=torch.int64), sampling)[0, :-1]
        if not sampling.temperature:
            return int(scores.argmax())
        steps = len(asked["prompt"]) if self.own == "by step" else 0
        noise = self._noise(asked["seed"], len(context) - steps, scores[None])
        if self.own == "by rank" and any(map(_filters, self.batch)):
            order = scores.argsort(descending=True)
            return int(order[(scores[order] + noise).argmax()])
        return int((scores + noise).argmax())

    def _noise(self, seed, position, scores):
        self._drawn += 1
        by = {"apart": [self.stream, self._drawn], "alike": [0]}.get(self.own, [seed])
        return own_noise((self.salt, *by), position, scores)

    def _logits(self, context):
        if context not in self._laws:
            with self._lock, torch.inference_mode():
                self._laws[context] = self.model.network(
                    input_ids=torch.tensor([context]), logits_to_keep=1
                ).logits[0, -1]
        return self._laws[context]


def _filters(asked):
    """Tell whether a request makes SGLang sort the probabilities of its whole batch."""
    return asked["temperature"] == 0 or asked["top_k"] > 0 or asked["top_p"] < 1


def _answer(choice):
    whole = {"index": 0, "logprobs": None} | choice
    return {"id": "x", "object": "text_completion", "created": 1, "model": "s", "choices": [whole]}
