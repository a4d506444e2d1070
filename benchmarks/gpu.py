"""Decoding on a GPU against plain transformers, vLLM, bare steps and the memory's bandwidth.

    python -m benchmarks.gpu [--config FILE] [--preset papers] [--models A,B] [--rows 1,4,16,32]
                             [--tokens N] [--rounds N] [--device cuda] [--json]

First whether the noise made there is the processor's, to the bit. Then tokens per second, prompts
apart, and ours as a share of each of the others: `generate`; vLLM with its own sampler and with the
plugin, where it is installed; bare forward steps; and the floor, which is to read all weights once
a step, as fast as a large copy moves bytes. Last how often a step of ours waits for the device, and
in which lines. Without a GPU it can be tried with `--device cpu`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from benchmarks import generation
from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.settings import load_settings
from coupled_arena.generation.loading import load
from coupled_arena.generation.noise import gumbel_blocks, noise_words
from coupled_arena.generation.served_draw import ARGUMENT, SECOND_RUNNER, ServedDraw
from coupled_arena.generation.weights import local_folder

COMPARED = ("generate", "ours", "bare")
COPIED = 1 << 29  # bytes


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    defaults = dict.fromkeys(("config", "preset", "models")) | {"rows": "1,4,16,32"}
    for name, default in (defaults | {"device": "cuda", "tokens": 128, "rounds": 3}).items():
        arguments.add_argument(f"--{name}", default=default, type=type(default or ""))
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    device = torch.device(given.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SystemExit("torch finds no GPU here: install its CUDA build, or try --device cpu.")
    settings = load_settings(given.config and Path(given.config), preset=given.preset)
    named = given.models.split(",") if given.models else [m.name for m in settings.catalog.enabled]
    generation.CLOCK[0] = lambda: clock(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    found = {"device": name, "bandwidth": bandwidth(device), "noise": noise(device)}
    say = (lambda _: None) if given.json else (lambda text: print(text, flush=True))
    say("{device}: a copy moves {bandwidth:.3g} bytes a second; noise: {noise}".format(**found))
    rows: list[dict[str, Any]] = []
    for spec in map(settings.catalog.__getitem__, named):
        model: Any = load(replace(spec, device_map=given.device), settings.cache)
        engines = {name: generation.ENGINES[name] for name in COMPARED} | vllm(spec, settings.cache)
        model.vocabulary = replace(model.vocabulary, stops=frozenset())  # answers of fixed length
        for prompts in (generation.questions(model, int(count)) for count in given.rows.split(",")):
            generation.rated(engines, model, prompts, 2, 1)  # warms up
            rates = generation.rated(engines, model, prompts, given.tokens, given.rounds)[0]
            rates["floor"] = len(prompts) * found["bandwidth"] / read_in_a_step(model.network)
            waits = host_waits(model, prompts, 16) if device.type == "cuda" else {}
            rows.append({"model": spec.name, "rows": len(prompts), "rates": rates, "waits": waits})
            say(line(rows[-1]))
    if given.json:
        print(json.dumps(found | {"decoding": rows}))
    if not found["noise"]["same words"]:
        raise SystemExit("The noise made on this device is not the processor's: couple nothing.")


def line(row: dict[str, Any]) -> str:
    rates, waits = row["rates"], row["waits"]
    speeds = "  ".join(f"{name} {rate:.1f}" for name, rate in rates.items())
    shares = ", ".join(f"{rates['ours'] / r:.2f} of {n}" for n, r in rates.items() if n != "ours")
    where = ", ".join(f"{place} {count:g}" for place, count in list(waits.items())[:4])
    waits = f"waits for the device a step: {sum(waits.values()):g} ({where or 'none'})"
    return f"{row['model']}, {row['rows']} rows: {speeds}\n  ours is {shares}; {waits}"


def clock(device: torch.device) -> float:
    """Return the time at which the device has done all that it was asked."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def bandwidth(device: torch.device) -> float:
    """Return the bytes a second that a large copy moves: those it reads and those it writes."""
    source = torch.ones(COPIED, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * COPIED / min(generation.seconds(lambda: target.copy_(source)) for _ in range(10))


def noise(device: torch.device) -> dict[str, Any]:
    """Compare the noise of a few million outcomes with the processor's."""
    random = torch.Generator().manual_seed(7)
    seeds, keys = (torch.randint(-(2**63), 2**63 - 1, (n,), generator=random) for n in (8, 2**17))
    here = seeds, torch.arange(8) % 3, torch.arange(8) * 1000, keys
    there = [each.to(device) for each in here]
    words = zip(noise_words(*here), noise_words(*there), strict=True)
    same = all(torch.equal(ours, theirs.cpu()) for ours, theirs in words)
    # Logarithms may differ in the last bit, which decides a draw only where two outcomes tie.
    apart = gumbel_blocks(*here) - gumbel_blocks(*there).cpu()
    return {"same words": same, "values apart": float(apart.abs().max())}


def read_in_a_step(network: Any) -> int:
    """Return the bytes of all weights but an embedding that is not the output layer as well."""
    output, embedding = network.get_output_embeddings(), network.get_input_embeddings()
    looked_up = 0 if output.weight is embedding.weight else embedding.weight.nbytes
    return sum(weight.nbytes for weight in network.parameters()) - looked_up


def host_waits(model: Any, prompts: generation.Prompts, tokens: int) -> dict[str, float]:
    """Return how often a step of ours waits for the device, by file and line, most often first."""
    counts: Counter[str] = Counter()
    for asked, sign in ((1, -1), (tokens + 1, 1)):  # prompts apart
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            generation.ENGINES["ours"](model, prompts, asked)
            torch.cuda.set_sync_debug_mode("default")
        for each in told:
            if "synchronizing" in str(each.message):
                counts[f"{Path(each.filename).name}:{each.lineno}"] += sign
    return {place: count / tokens for place, count in counts.most_common() if count > 0}


def vllm(spec: ModelSpec, cache: Path) -> dict[str, generation.Engine]:
    """Return vLLM as engines, where it can be imported and reads the same weights.

    One draws by vLLM's own sampler, the other by the plugin from the arena's noise.
    """
    if find_spec("vllm") is None or spec.quantization.startswith("bnb"):
        return {}
    from vllm import LLM, SamplingParams  # pyright: ignore[reportMissingImports]

    nucleus, where = generation.NUCLEUS, str(local_folder(spec, cache) or spec.hub)
    held = {"dtype": spec.dtype, "max_model_len": 2048, "gpu_memory_utilization": 0.3}

    def engine(plugins: list[str], params: Callable[[int], dict[str, Any]]) -> generation.Engine:
        server = LLM(where, **held, logits_processors=plugins or None)

        def answer(_: Any, prompts: generation.Prompts, tokens: int) -> None:
            length = {"min_tokens": tokens, "max_tokens": tokens, "ignore_eos": True}
            sampling = [SamplingParams(**length, **params(at)) for at in range(len(prompts))]
            asked = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
            server.generate(asked, sampling, use_tqdm=False)

        return answer

    def coupled(at: int) -> dict[str, Any]:
        draw = ServedDraw(at, 0, nucleus.temperature, nucleus.top_k, nucleus.top_p, ())
        return {"temperature": 0, "extra_args": {ARGUMENT: draw.to_argument()}}

    own = {"temperature": nucleus.temperature, "top_p": nucleus.top_p}
    return {
        "vllm": engine([], lambda _: own),
        "vllm coupled": engine([f"{SECOND_RUNNER}:CoupledNoise"], coupled),
    }


if __name__ == "__main__":
    main()
