"""How long answers begin in common: coupled against independent, on the demo models.

    python -m benchmarks.common_beginning [--questions N] [--tokens N] [--at-once N]

Prints, per opponent of the first model, the mean number of common first tokens with its standard
error, and the share of answers that are equal throughout.
"""

from __future__ import annotations

import argparse
from itertools import takewhile

import numpy as np

from coupled_arena.core.prompts import read_library
from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import load_settings, resource
from coupled_arena.generation.huggingface import HuggingFaceModel
from coupled_arena.generation.loading import load_enabled
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Contender, Request, Running
from coupled_arena.generation.turns import model_seed


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--questions", type=int, default=50)
    arguments.add_argument("--tokens", type=int, default=64)
    arguments.add_argument("--at-once", type=int, default=10)
    given = arguments.parse_args()
    models = load_enabled(load_settings())
    first, *_ = models
    prompts = [p.text for p in read_library(resource("data/prompts.jsonl")).prompts]
    questions = prompts[:: max(1, len(prompts) // given.questions)][: given.questions]
    sampling = Sampling(max_new_tokens=given.tokens)
    for other in models:
        for mode in ("coupled", "independent"):
            requests = [
                request(models, (first, other), question, seed, mode, sampling)
                for seed, question in enumerate(questions)
            ]
            report(f"{other:24} {mode:12}", in_batches(models, requests, given.at_once))


def request(
    models: dict[str, HuggingFaceModel],
    pair: tuple[str, str],
    question: str,
    seed: int,
    mode: str,
    sampling: Sampling,
) -> Request:
    seeds = (seed, seed)
    if mode == "independent":
        seeds = (model_seed(seed, pair[0], 0), model_seed(seed, pair[1], int(pair[0] == pair[1])))
    asked = [{"role": "user", "content": question}]
    contenders = (
        Contender(n, s, models[n].encode(asked)) for n, s in zip(pair, seeds, strict=True)
    )
    return Request(tuple(contenders), sampling)


def in_batches(
    models: dict[str, HuggingFaceModel], requests: list[Request], at_once: int
) -> list[Running]:
    done: list[Running] = []
    for start in range(0, len(requests), at_once):
        done += decode(LockstepEngine(models), requests[start : start + at_once])
    return done


def report(label: str, runs: list[Running]) -> None:
    pairs = [(run.lines[0].tokens, run.lines[1].tokens) for run in runs]
    lengths = np.array(
        [len(list(takewhile(lambda t: t[0] == t[1], zip(*p, strict=False)))) for p in pairs]
    )
    equal = np.mean([first == second for first, second in pairs])
    error = lengths.std(ddof=1) / len(lengths) ** 0.5
    print(f"{label} {lengths.mean():5.1f} ± {error:.1f} tokens, equal throughout {equal:.0%}")


if __name__ == "__main__":
    main()
