"""A model on a vLLM server against the same model here, in one run.

    python -m benchmarks.model_servers --server http://gpu-1:8000 [--model NAME]

Prints tokens per second of one reply here, and of 1, 8 and 32 replies at once on the server; and
how many of the 32 are the same here, token by token.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from coupled_arena.core.prompts import read_prompts
from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import Settings, load_settings, resource
from coupled_arena.generation.language_model import LanguageModel
from coupled_arena.generation.loading import load
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.noise import compile_noise_loop
from coupled_arena.generation.running import Contender, Request, Running

AT_ONCE = (1, 8, 32)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--server", required=True)
    arguments.add_argument("--model", default="SmolLM2-135M")
    arguments.add_argument("--served-as", default="")
    arguments.add_argument("--tokens", type=int, default=48)
    given = arguments.parse_args()
    compile_noise_loop()
    here, there = both(load_settings(), given)
    asked = questions(here, max(AT_ONCE), given.tokens)
    timed(here, asked[:1])  # warms up
    alone, first = timed(here, asked[:1])
    print(f"one reply here: {alone:.1f} tokens/s")
    for count in AT_ONCE:
        rate, replies = timed(there, asked[:count])
        print(
            f"{count:2} replies on the server: {rate:.1f} tokens/s, {rate / alone:.1f} times that"
        )
    ours = first + timed(here, asked[1:])[1]
    equal = sum(a.lines[0].tokens == b.lines[0].tokens for a, b in zip(ours, replies, strict=True))
    print(f"the same words: {equal} of {len(ours)}")


def both(settings: Settings, given: argparse.Namespace) -> tuple[LanguageModel, LanguageModel]:
    """Return the model of this process, and the one that is served."""
    spec = settings.catalog[given.model]
    served = replace(spec, server=given.server, served_as=given.served_as)
    return load(spec, settings.cache), load(served, settings.cache)


def questions(model: LanguageModel, count: int, tokens: int) -> list[Request]:
    sampling = Sampling(max_new_tokens=tokens)
    texts = [prompt.text for prompt in read_prompts(resource("data/prompts.jsonl"))][:count]
    prompts = [model.encode([{"role": "user", "content": text}]) for text in texts]
    return [
        Request((Contender(model.name, seed, prompt),), sampling)
        for seed, prompt in enumerate(prompts)
    ]


def timed(model: LanguageModel, asked: list[Request]) -> tuple[float, list[Running]]:
    """Return tokens per second, and the replies."""
    started = time.perf_counter()
    replies = decode(LockstepEngine({model.name: model}), asked)
    seconds = time.perf_counter() - started
    return sum(len(reply.lines[0].tokens) for reply in replies) / seconds, replies


if __name__ == "__main__":
    main()
