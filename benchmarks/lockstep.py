"""Lockstep decoding against plain transformers sampling, in one run on the same models.

    python -m benchmarks.lockstep [--pair A,B] [--tokens N] [--rounds N]

Prints, as medians over rounds:
1. one battle in lockstep against `generate(do_sample=True)` on the two models one after the other,
   in tokens per second (answers of fixed length);
2. sixteen battles together against one battle;
3. the share of a step that noise and sampling take, for one battle and for sixteen, with top-p
   and over the whole vocabulary.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch

from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import load_settings
from coupled_arena.generation import lockstep
from coupled_arena.generation.huggingface import HuggingFaceModel
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.noise import compile_noise_loop
from coupled_arena.generation.running import Contender, Request
from coupled_arena.services import load_named

QUESTION = "Explain to a child why the sky is blue and why sunsets are red, with an example."


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pair", default="SmolLM2-135M,SmolLM2-135M-bnb-8bit")
    arguments.add_argument("--tokens", type=int, default=256)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    compile_noise_loop()
    models = load_named(load_settings(), given.pair.split(","))
    for model in models.values():  # answers of fixed length, in both
        model.vocabulary = replace(model.vocabulary, stops=frozenset())
    nucleus = Sampling(temperature=0.7, top_p=0.95, max_new_tokens=given.tokens)
    for _ in range(given.rounds + 1):  # the first round warms up
        measure(models, nucleus, given.tokens)
    report(given.rounds)
    for sampling in (nucleus, replace(nucleus, temperature=1.0, top_p=1.0)):
        for battles in (1, 16):
            share = sampling_share(models, sampling, battles)
            print(f"noise and sampling, {battles:2} battles, top-p {sampling.top_p}: {share:.1%}")


MEASURED: dict[str, list[float]] = {"plain": [], "one": [], "sixteen": []}


def measure(models: dict[str, HuggingFaceModel], sampling: Sampling, tokens: int) -> None:
    made = tokens * len(models)
    for name, battles, work in (
        ("plain", 1, lambda: plain(models, sampling, tokens)),
        ("one", 1, lambda: together(models, sampling, 1)),
        ("sixteen", 16, lambda: together(models, sampling, 16)),
    ):
        MEASURED[name].append(battles * made / seconds(work))


def report(rounds: int) -> None:
    rates = {name: statistics.median(values[1:]) for name, values in MEASURED.items()}
    spread = {name: f"{min(v[1:]):.1f} to {max(v[1:]):.1f}" for name, v in MEASURED.items()}
    for name, rate in rates.items():
        print(f"{name:8} {rate:7.1f} tokens/s (of {rounds} rounds: {spread[name]})")
    print(f"one battle in lockstep against plain sampling: {rates['one'] / rates['plain']:.2f}")
    print(f"sixteen battles against one: {rates['sixteen'] / rates['one']:.1f}")


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def conversation(model: HuggingFaceModel) -> tuple[int, ...]:
    return model.encode([{"role": "user", "content": QUESTION}])


def plain(models: dict[str, HuggingFaceModel], sampling: Sampling, tokens: int) -> None:
    for model in models.values():
        ours = model.network.config._attn_implementation
        model.network.set_attn_implementation("sdpa")
        ids = torch.tensor([conversation(model)])
        model.network.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=0,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
        )
        model.network.set_attn_implementation(ours)


def together(models: dict[str, HuggingFaceModel], sampling: Sampling, battles: int) -> None:
    requests = [
        Request(tuple(Contender(n, seed, conversation(m)) for n, m in models.items()), sampling)
        for seed in range(battles)
    ]
    decode(LockstepEngine(models), requests)


def sampling_share(models: dict[str, HuggingFaceModel], sampling: Sampling, battles: int) -> float:
    """Time what a step spends outside the networks: scores, noise and draws."""
    spent = 0.0

    def timed(function: Callable) -> Callable:
        def wrapped(*inputs: object) -> object:
            nonlocal spent
            started = time.perf_counter()
            result = function(*inputs)
            spent += time.perf_counter() - started
            return result

        return wrapped

    originals = lockstep.outcome_scores, lockstep.draw_at
    lockstep.outcome_scores, lockstep.draw_at = map(timed, originals)
    try:
        return spent_share(lambda: together(models, sampling, battles), lambda: spent)
    finally:
        lockstep.outcome_scores, lockstep.draw_at = originals


def spent_share(work: Callable[[], object], spent: Callable[[], float]) -> float:
    total = seconds(work)
    return spent() / total


if __name__ == "__main__":
    main()
