"""vLLM servers of one model on this device: what the plugin draws there, and what it costs.

    python -m benchmarks.served --folder MODEL [--vllm .venv-vllm/bin/python] [--device cuda]
                                [--requests 32,256] [--tokens 128] [--seeds 4000] [--draft]
                                [--options "--enforce-eager"] [--work build/served] [--json]

Starts a server in 32 bits and one in 16 with the plugin, and the same two without; with `--draft`
one more that speculates. Each takes 2 GiB for keys and values. Then, in this order: whether pairs
of them share noise (`server-check`); how many answers of a pair are the same, with one seed and
with different ones; whether first tokens have the law that the server tells, by chi-square; the
tokens a second, at 32 and 256 requests at once; and how many replies have the words of the same
weights in this process. What a server says stands in the folder of `--work`. A server that does not
start is left out, with its last lines. `--device cpu --requests 4 --tokens 16 --seeds 200` tries
all of it with vLLM's build for processors.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np

from benchmarks.model_servers import questions, timed
from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.prompts import read_prompts
from coupled_arena.core.settings import resource
from coupled_arena.generation.loading import load
from coupled_arena.generation.served_draw import FIRST_RUNNER, SECOND_RUNNER
from coupled_arena.generation.server_check import PLAIN, PROMPT, check_servers
from tests.generation.chi_square import chi_square_p
from tests.ui.server import free_port

PATIENCE = 600  # seconds to start, on a processor with two cores
TOLD = 20  # likeliest tokens that a server tells
PROMPTS, LENGTH = 100, 48  # answers that are compared, and their tokens
DRAFT = {"method": "ngram", "num_speculative_tokens": 4}
PLUGINS = {
    "cuda": f"{SECOND_RUNNER}:AmbientNoise",
    "cpu": f"{FIRST_RUNNER}:AmbientNoise",
}
# A processor knows the first runner alone. It ends at a request with a seed whose prompt it reads
# in two parts, with or without the plugin.
OF_DEVICE = {
    # Else each would want all that is free, and more than the others leave.
    "cuda": (["--kv-cache-memory-bytes", str(2 << 30), "--gpu-memory-utilization", "0.1"], {}),
    "cpu": (
        ["--no-enable-chunked-prefill", "--enforce-eager"],
        {"VLLM_USE_V2_MODEL_RUNNER": "0", "VLLM_CPU_KVCACHE_SPACE": "2"},
    ),
}


@dataclass
class Server:
    """One that was started."""

    name: str
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def answers(self) -> bool:
        """Tell whether it is open.

        Raises
        ------
        ModelError
            It has ended.
        """
        if self.process.poll() is not None:
            last = self.log.read_text(errors="replace").splitlines()[-15:]
            raise ModelError("\n".join(last))
        try:
            return httpx.get(f"{self.url}/health", timeout=5).status_code == 200
        except httpx.TransportError:
            return False


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--folder", type=Path, required=True, help="a saved model")
    arguments.add_argument("--vllm", default=sys.executable, help="Python of vLLM's environment")
    arguments.add_argument("--device", choices=PLUGINS, default="cuda")
    arguments.add_argument("--requests", default="32,256")
    arguments.add_argument("--tokens", type=int, default=128)
    arguments.add_argument("--seeds", type=int, default=4000)
    arguments.add_argument("--draft", action="store_true")
    arguments.add_argument("--options", default="", help="further ones of each server")
    arguments.add_argument("--work", type=Path, default=Path("build/served"))
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    given.folder = given.folder.resolve()
    with started(given) as servers:
        found = tried(given, servers)
    if given.json:
        print(json.dumps(found))


def tried(given: argparse.Namespace, servers: dict[str, Server]) -> dict[str, Any]:
    """Try all of it; a step that fails is told and left out."""
    found: dict[str, Any] = {"servers": list(servers)}
    plain = [name for name in servers if name.startswith("plain")]
    coupled = [name for name in servers if name not in plain]
    pairs = [(coupled[0], other) for other in coupled[1:]] + [(plain[0], b) for b in plain[1:]]
    mixed = [(coupled[0], plain[0])] if coupled and plain else []

    def step(name: str, do: Callable[[], Any]) -> None:
        try:
            found[name] = do()
        except (ModelError, httpx.HTTPError) as error:
            found[name] = f"{type(error).__name__}: {error}"
        if not given.json:
            print(f"{name}: {json.dumps(found[name])}", flush=True)

    for one, other in pairs + mixed:
        step(f"{one}, {other}: shared", lambda a=one, b=other: shared(servers[a], servers[b]))
    for one, other in pairs:
        step(f"{one}, {other}: the same", lambda a=one, b=other: alike(servers[a], servers[b]))
    for name in coupled:
        step(f"{name}: law", lambda s=servers[name]: law(s, given.seeds))
    for at_once in map(int, given.requests.split(",")):
        for name in servers:
            what = f"{name}: tokens a second, {at_once} at once"
            step(what, lambda s=servers[name], n=at_once: rate(s, n, given.tokens))
    for name in coupled:
        step(f"{name}: words of this process", lambda s=servers[name]: as_here(given, s))
    return found


@contextmanager
def started(given: argparse.Namespace) -> Iterator[dict[str, Server]]:
    """Start all servers at once; yield those that open, by name."""
    given.work.mkdir(parents=True, exist_ok=True)
    plugin = ["--logits-processors", PLUGINS[given.device]]
    options = {
        f"{kind} {dtype}": ["--dtype", dtype, *(plugin if kind == "coupled" else [])]
        for kind in ("coupled", "plain")
        for dtype in ("float32", "bfloat16")
    }
    if given.draft:
        draft = ["--speculative-config", json.dumps(DRAFT)]
        options["drafted float32"] = ["--dtype", "float32", *plugin, *draft]
    servers, opened = dict[str, Server](), dict[str, Server]()
    began = time.monotonic()
    try:
        for name, each in options.items():
            servers[name] = start(given, name, each)
        for name, server in servers.items():
            try:
                while not server.answers():
                    if time.monotonic() - began > PATIENCE:
                        raise ModelError(f"It is not open after {PATIENCE} s.")
                    time.sleep(0.5)
                opened[name] = server
            except ModelError as error:
                print(f"{name}: it is left out.\n{error}", file=sys.stderr, flush=True)
        yield opened
    finally:
        for server in servers.values():
            with suppress(ProcessLookupError):  # its engine may live on where it has ended
                os.killpg(server.process.pid, signal.SIGKILL)
            server.process.wait()


def start(given: argparse.Namespace, name: str, options: Sequence[str]) -> Server:
    of_device, environment = OF_DEVICE[given.device]
    log, port = given.work / f"{name.replace(' ', '-')}.log", free_port()
    command = [given.vllm, "-m", "vllm.entrypoints.openai.api_server", "--model", given.folder]
    command += ["--served-model-name", given.folder.name, "--port", str(port)]
    command += ["--host", "127.0.0.1", "--max-model-len", "2048", *of_device, *options]
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*command, *shlex.split(given.options)],
            env={**os.environ, "VLLM_NO_USAGE_STATS": "1", **environment},
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Server(name, f"http://127.0.0.1:{port}", process, log)


def asked(server: Server, requests: Sequence[dict[str, Any]], at_once: int = 64) -> list[Any]:
    """Return the answers to requests, so many of them at once."""
    # By name: a server takes what is left out from defaults of the model.
    fixed: dict[str, Any] = {"return_token_ids": True, "top_p": 1.0, "top_k": -1, **PLAIN}

    async def one(to: httpx.AsyncClient, request: dict[str, Any]) -> Any:
        answer = await to.post("/completions", json={**fixed, **request})
        answer.raise_for_status()
        return answer.json()["choices"][0]

    async def all_of_them() -> list[Any]:
        limits = httpx.Limits(max_connections=at_once)
        base = f"{server.url}/v1"
        async with httpx.AsyncClient(base_url=base, limits=limits, timeout=PATIENCE) as to:
            models = (await to.get("/models")).json()["data"]
            fixed["model"] = models[0]["id"]
            return await asyncio.gather(*(one(to, request) for request in requests))

    return asyncio.run(all_of_them())


def shared(one: Server, other: Server) -> dict[str, Any]:
    """Return what `coupled-arena server-check` finds."""
    found = check_servers((one.url, other.url), ("", ""), prompt=PROMPT, seeds=16, tokens=16)
    draws = [f"{each.as_noise} of {each.tokens}" for each in found.servers]
    return {"shared": found.shared, "noise of": found.noise_of, "draws as noise": draws}


def alike(one: Server, other: Server) -> dict[str, int]:
    """Return how many answers are the same: with one seed, with another, and asked again."""

    def answers(server: Server, first: int) -> list[list[int]]:
        told = asked(server, sampled(PROMPTS, LENGTH, first))
        return [choice["token_ids"] for choice in told]

    here = answers(one, 0)
    seen = {"one seed": answers(other, 0), "another": answers(other, 1 << 20)}
    seen["asked again"] = answers(one, 0)
    equal = {name: sum(a == b for a, b in zip(here, seen[name], strict=True)) for name in seen}
    return equal | {"of": len(here)}


def sampled(count: int, tokens: int, first: int, **more: Any) -> list[dict[str, Any]]:
    """Return requests, each with a seed of its own."""
    texts = [prompt.text for prompt in read_prompts(resource("data/prompts.jsonl"))][:PROMPTS]
    same = {"temperature": 0.7, "top_p": 0.95, "max_tokens": tokens, **more}
    return [
        {"prompt": f"{texts[at % len(texts)]}\n", "seed": first + at, **same} for at in range(count)
    ]


def law(server: Server, seeds: int) -> float:
    """Return the p-value of first tokens under the law that the server tells."""
    begun = {"prompt": PROMPT, "max_tokens": 1, "temperature": 1.0}
    (told,) = asked(server, [{**begun, "seed": 0, "logprobs": TOLD}])
    chances = {text: math.exp(value) for text, value in told["logprobs"]["top_logprobs"][0].items()}
    drawn = Counter(
        choice["text"] for choice in asked(server, [{**begun, "seed": n} for n in range(seeds)])
    )
    counts = [drawn[text] for text in chances]
    laws = np.array([*chances.values(), max(1 - sum(chances.values()), 0.0)])
    return chi_square_p([*counts, seeds - sum(counts)], laws / laws.sum())


def rate(server: Server, at_once: int, tokens: int) -> float:
    """Return tokens a second, the most of three times: the first one warms up."""
    found = []
    for run in range(3):
        requests = sampled(at_once, tokens, run << 20, ignore_eos=True)
        began = time.perf_counter()
        written = sum(len(choice["token_ids"]) for choice in asked(server, requests, at_once))
        found.append(written / (time.perf_counter() - began))
    return max(found)


def as_here(given: argparse.Namespace, server: Server) -> str:
    """Return how many replies to the arena's requests have the words of this process."""
    dtype: Any = server.name.split()[1]
    device = "cuda:0" if given.device == "cuda" else "cpu"
    spec = ModelSpec(name=server.name, folder=given.folder, dtype=dtype, device_map=device)
    with TemporaryDirectory() as cache:  # which remembers the weights of each server's name
        at = replace(spec, server=server.url, served_as=given.folder.name)
        here, there = (load(each, Path(cache)) for each in (spec, at))
    requests = questions(here, 32, LENGTH)
    both = zip(timed(here, requests)[1], timed(there, requests)[1], strict=True)
    return f"{sum(a.lines[0].tokens == b.lines[0].tokens for a, b in both)} of {len(requests)}"


if __name__ == "__main__":
    main()
