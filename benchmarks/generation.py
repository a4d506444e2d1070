"""Decoding against plain transformers, a joint-vocabulary loop and bare forward steps.

    python -m benchmarks.generation [--models A,B] [--rows 1,4,16,32] [--tokens N] [--rounds N]
                                    [--processor]

Prints tokens per second for each model and number of rows, as medians over rounds, prompts apart
(the time to N tokens less the time to the first): `generate(do_sample=True)`; a loop that samples
over one vocabulary with one generator, as the coupling paper does; ours; and, as the ceiling,
forward steps with a static cache and nothing beside them. Then how long ours takes to read the
prompts, and what share of a step noise and sampling take.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, StaticCache

from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import load_settings
from coupled_arena.generation import model_batches
from coupled_arena.generation.batches import cache_option
from coupled_arena.generation.huggingface import HuggingFaceModel, compile_attention_loop
from coupled_arena.generation.loading import load_named
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.noise import compile_noise_loop
from coupled_arena.generation.running import Contender, Request
from coupled_arena.generation.sampling import keep_top_p

LIBRARY = Path(__file__).parents[1] / "data" / "prompts.jsonl"
NUCLEUS = Sampling(temperature=0.7, top_p=0.95)
CLOCK: list[Callable[[], float]] = [time.perf_counter]
Prompts = list[tuple[int, ...]]
Engine = Callable[[HuggingFaceModel, Prompts, int], None]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    demo = "SmolLM2-135M,SmolLM2-135M-bnb-8bit,SmolLM2-135M-bnb-4bit"
    arguments.add_argument("--models", default=demo)
    arguments.add_argument("--rows", default="1,4,16,32")
    arguments.add_argument("--tokens", type=int, default=64)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument(
        "--processor", action="store_true", help="count processor seconds: the machine is busy"
    )
    given = arguments.parse_args()
    if given.processor:
        torch.set_num_threads(1)  # threads that wait for each other would count as busy
        CLOCK[0] = time.process_time
    compile_noise_loop()
    compile_attention_loop()
    models: dict[str, Any] = load_named(load_settings(), given.models.split(","))
    print(f"{'model':24}{'rows':>5}" + "".join(f"{name:>10}" for name in ENGINES), end="")
    print("  ours/bare  ours/generate  prompts   sampling", flush=True)
    for model in models.values():  # answers of fixed length, in all
        model.vocabulary = replace(model.vocabulary, stops=frozenset())
        for rows in map(int, given.rows.split(",")):
            row(model, questions(model, rows), given.tokens, given.rounds)


def questions(model: HuggingFaceModel, rows: int) -> Prompts:
    """Return prompts of many lengths, none of them long."""
    texts = sorted((json.loads(line)["text"] for line in LIBRARY.read_text().splitlines()), key=len)
    return [model.encode([{"role": "user", "content": text}]) for text in texts[:rows]]


def row(model: HuggingFaceModel, prompts: Prompts, tokens: int, rounds: int) -> None:
    typical, read = rated(ENGINES, model, prompts, tokens, rounds)
    share = sampling_share(lambda: ours(model, prompts, tokens))
    print(f"{model.name:24}{len(prompts):5}" + "".join(f"{r:10.1f}" for r in typical.values()),
          f"{typical['ours'] / typical['bare']:10.2f}{typical['ours'] / typical['generate']:15.2f}"
          f"{read['ours']:8.2f} s{share:11.1%}", flush=True)  # fmt: skip


def rated(
    engines: Mapping[str, Engine],
    model: HuggingFaceModel,
    prompts: Prompts,
    tokens: int,
    rounds: int,
) -> tuple[dict[str, float], dict[str, float]]:
    """Return medians over rounds: tokens per second, and seconds to the first token."""
    rates: dict[str, list[float]] = defaultdict(list)
    read: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        for name, engine in engines.items():
            first = seconds(lambda engine=engine: engine(model, prompts, 1))
            whole = seconds(lambda engine=engine: engine(model, prompts, tokens + 1))
            rates[name].append(len(prompts) * tokens / (whole - first))
            read[name].append(first)
    typical, begun = (
        {name: statistics.median(values) for name, values in each.items()} for each in (rates, read)
    )
    return typical, begun


def seconds(work: Callable[[], object]) -> float:
    started = CLOCK[0]()
    work()
    return CLOCK[0]() - started


def padded(prompts: Prompts, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and mask of prompts, padded on the left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([(0,) * (longest - len(p)) + p for p in prompts], device=device)
    mask = [[0] * (longest - len(p)) + [1] * len(p) for p in prompts]
    return ids, torch.tensor(mask, device=device)


def library_attention(engine: Callable[..., None]) -> Callable[..., None]:
    """Return an engine that computes attention as the library does by itself."""

    def switched(model: HuggingFaceModel, prompts: Prompts, tokens: int) -> None:
        ours = model.network.config._attn_implementation
        model.network.set_attn_implementation("sdpa")
        with torch.inference_mode():
            engine(model.network, *padded(prompts, model.device), tokens)
        model.network.set_attn_implementation(ours)

    return switched


@library_attention
def generate(network: Any, ids: torch.Tensor, mask: torch.Tensor, tokens: int) -> None:
    asked = {"temperature": NUCLEUS.temperature, "top_p": NUCLEUS.top_p, "top_k": 0}
    lengths = {"min_new_tokens": tokens, "max_new_tokens": tokens}
    network.generate(ids, attention_mask=mask, do_sample=True, **asked, **lengths)


@library_attention
def joint(network: Any, ids: torch.Tensor, mask: torch.Tensor, tokens: int) -> None:
    generator, past = torch.Generator(ids.device).manual_seed(7), DynamicCache()
    option = cache_option(network, past)
    for _ in range(tokens):
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = network(
            ids, attention_mask=mask, position_ids=positions, logits_to_keep=1, **option
        )
        scores = keep_top_p(output.logits[:, -1].double() / NUCLEUS.temperature, NUCLEUS.top_p)
        uniform = torch.empty_like(scores).uniform_(generator=generator)
        ids = (scores - torch.log(-torch.log(uniform))).argmax(1, keepdim=True)
        mask = torch.nn.functional.pad(mask, (0, 1), value=1)


@library_attention
def bare(network: Any, ids: torch.Tensor, _: torch.Tensor, tokens: int) -> None:
    """Take forward steps; as if no prompt were padded, which costs the same."""
    past = StaticCache(config=network.config, max_cache_len=ids.shape[1] + tokens)
    place, option = torch.arange(ids.shape[1], device=ids.device), cache_option(network, past)
    for _ in range(tokens):
        positions = place.expand(len(ids), -1)
        output = network(ids, position_ids=positions, logits_to_keep=1, **option)
        ids = output.logits[:, -1].argmax(1, keepdim=True)
        place = torch.add(place[-1:], 1)


def ours(model: HuggingFaceModel, prompts: Sequence[tuple[int, ...]], tokens: int) -> None:
    sampling = replace(NUCLEUS, max_new_tokens=tokens)
    asked = [Request((Contender(model.name, n, p),), sampling) for n, p in enumerate(prompts)]
    decode(LockstepEngine({model.name: model}), asked)


ENGINES: dict[str, Engine] = {
    "generate": generate,
    "joint": joint,
    "ours": ours,
    "bare": bare,
}


def sampling_share(work: Callable[[], object]) -> float:
    """Return the share of scores, noise and draws in a piece of work."""
    spent = 0.0

    def timed(function: Callable) -> Callable:
        def wrapped(*inputs: object) -> object:
            nonlocal spent
            started = CLOCK[0]()
            result = function(*inputs)
            spent += CLOCK[0]() - started
            return result

        return wrapped

    originals = model_batches.outcome_scores, model_batches.draw_at
    model_batches.outcome_scores, model_batches.draw_at = map(timed, originals)
    try:
        total = seconds(work)
    finally:
        model_batches.outcome_scores, model_batches.draw_at = originals
    return spent / total


if __name__ == "__main__":
    main()
