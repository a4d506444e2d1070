"""Noise for each byte: what a draw costs, whether it has the law, how long answers are alike.

    python -m benchmarks.byte_coupling --models A,B [--config FILE] [--seeds N] [--law N]
        [--questions N] [--top-p P] [--tokens N] [--plain | --prefix TEXT]

Prints, for each model and batch size, the milliseconds of a step, of the filters, and of a draw
with noise for each token and each byte; the p-values of chi-square tests of so many draws against
the model's own law (``--law``); and the mean number of bytes in which answers to the questions of
the library begin alike, with its standard error over questions: by bytes, by tokens, independent,
and the difference to bytes. Questions are asked as the models' templates say; or ``--plain`` as the
first half of their words, to be continued by models with and without a template; or with the words
of ``--prefix`` put into their mouths.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path

import numpy as np
import torch
from scipy import stats

from coupled_arena.core.prompts import read_library
from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import load_settings, resource
from coupled_arena.generation.byte_coupling import ByteWalk
from coupled_arena.generation.huggingface import HuggingFaceModel
from coupled_arena.generation.loading import load_named
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.running import Contender, Request, Running
from coupled_arena.generation.sampling import draw_at, outcome_scores
from coupled_arena.generation.turns import model_seed
from coupled_arena.generation.vocabulary import make_vocabulary

AT_ONCE = 15
KINDS = ("bytes", "token", "independent")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--models", required=True)
    arguments.add_argument("--config", type=Path)
    arguments.add_argument("--questions", type=int, default=100)
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--tokens", type=int, default=64)
    arguments.add_argument("--top-p", type=float, default=0.95)
    arguments.add_argument("--law", type=int, default=0)
    arguments.add_argument("--plain", action="store_true")
    arguments.add_argument("--prefix", default="")
    given = arguments.parse_args()
    pair = given.models.split(",")
    models = load_named(load_settings(given.config), pair)
    library = [p.text for p in read_library(resource("data/prompts.jsonl")).prompts]
    count = max(given.questions, 5)
    asked = [library[i * len(library) // count] for i in range(count)]
    sampling = Sampling(top_p=given.top_p, max_new_tokens=given.tokens)
    for name in dict.fromkeys(pair):
        ids = prompt_ids(models[name], library[0], given)
        for rows in (1, 8):
            say_speed(models[name], ids, rows, sampling)
        for at, question in enumerate(asked[:5] if given.law else ()):
            first = at * given.law  # other seeds for each law: no test tells of another
            say_law(models[name], prompt_ids(models[name], question, given), first, given.law)
    if given.questions:
        say_beginnings(models, pair, asked[: given.questions], sampling, given)


def prompt_ids(
    model: HuggingFaceModel, question: str, given: argparse.Namespace
) -> tuple[int, ...]:
    if given.plain:
        words = question.split(" ")
        return tuple(model._tokenizer(" ".join(words[: max(3, len(words) // 2)])).input_ids)
    begun = [{"role": "assistant", "content": given.prefix}] if given.prefix else []
    return model.encode([{"role": "user", "content": question}, *begun])


def scores_after(model: HuggingFaceModel, ids: tuple[int, ...], rows: int, sampling: Sampling):
    """Return a batch that has read the prompt, its scores, and what makes these."""
    batch = model.start_batch()
    batch.add([ids] * rows)
    stops = torch.tensor(sorted(model.vocabulary.stops))
    return batch, lambda: outcome_scores(batch.logits, stops, sampling)


def milliseconds(what: Callable[[], object], repeats: int = 5) -> float:
    what()
    started = time.perf_counter()
    for _ in range(repeats):
        what()
    return 1000 * (time.perf_counter() - started) / repeats


def say_speed(model: HuggingFaceModel, ids: tuple[int, ...], rows: int, sampling: Sampling) -> None:
    batch, filtered = scores_after(model, ids, rows, sampling)
    scores, walk = filtered(), ByteWalk(model.vocabulary, model.device)
    noise = GumbelCache(torch.from_numpy(model.vocabulary.keys))
    fresh = iter(range(0, 1 << 30, 4))  # each draw of tokens makes noise for four

    def by_tokens() -> object:
        at = next(fresh)
        return draw_at(scores, noise, [(row, 0, at) for row in range(rows)])

    step = milliseconds(lambda: batch.advance(scores.argmax(1).clamp(max=scores.shape[1] - 2)))
    bytes_ = milliseconds(lambda: walk.draw(scores, [(row, 0, 9) for row in range(rows)]))
    token, filters = milliseconds(by_tokens), milliseconds(filtered)
    print(
        f"{model.name:24} rows {rows}: step {step:.1f} ms, filters {filters:.2f}, by tokens "
        f"{token:.2f}, by bytes {bytes_:.2f}: {bytes_ / step:.1%} of a step, "
        f"{bytes_ / token:.2f} of the other draw"
    )


def say_law(model: HuggingFaceModel, ids: tuple[int, ...], first: int, seeds: int) -> None:
    _, filtered = scores_after(model, ids, 1, Sampling(temperature=1.0, top_p=0.999))
    scores = filtered()
    # Of what is possible alone, for the rest weighs nothing at any node: so a draw is a hundredth.
    left = [i for i in (scores[0] > -torch.inf).nonzero()[:, 0].tolist() if i < scores.shape[1] - 1]
    spellings = [model.vocabulary.spellings[i] for i in left]
    small = make_vocabulary([str(i) for i in left], spellings, [])
    columns, parts = [*left, scores.shape[1] - 1], []
    for start in range(0, seeds, 500):
        places = [(first + seed, 0, 3) for seed in range(start, min(seeds, start + 500))]
        few = scores[:, columns].expand(len(places), -1)
        parts.append(torch.tensor(columns)[ByteWalk(small, model.device).draw(few, places)])
    whole = ByteWalk(model.vocabulary, model.device)
    same = [int(whole.draw(scores, [(first + seed, 0, 3)])[0]) for seed in range(100)]
    if same != parts[0][:100].tolist():
        raise SystemExit("What is impossible has changed a draw.")
    counts = np.bincount(torch.cat(parts).numpy(), minlength=scores.shape[1])
    expected = torch.softmax(scores[0], 0).numpy() * seeds
    often = expected >= 5
    seen = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], expected[~often].sum())
    seen, wanted = seen[wanted > 0], wanted[wanted > 0]
    p = stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue
    print(f"{model.name:24} law: {seeds} draws, {len(seen)} cells, p {p:.3f}")


def say_beginnings(
    models: dict[str, HuggingFaceModel],
    pair: list[str],
    asked: list[str],
    sampling: Sampling,
    given: argparse.Namespace,
) -> None:
    found = {kind: np.zeros((len(asked), given.seeds)) for kind in KINDS}
    todo = [(q, s, kind) for q in range(len(asked)) for s in range(given.seeds) for kind in KINDS]
    for start in range(0, len(todo), AT_ONCE):
        engine, running = LockstepEngine(models), {}
        for question, seed, kind in todo[start : start + AT_ONCE]:
            ids = [prompt_ids(models[name], asked[question], given) for name in pair]
            request = request_of(pair, ids, question * given.seeds + seed, kind, sampling)
            running[question, seed, kind] = engine.prepare(request)
            engine.add(running[question, seed, kind])
        while not all(run.done.is_set() for run in running.values()):
            engine.step()
            for run in running.values():
                if not alike(run):
                    run.cancelled.set()
        for (question, seed, kind), run in running.items():
            one, other = (line.text.encode() for line in run.lines)
            equal = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
            found[kind][question, seed] = len(list(equal))
    for kind, line in lines(found):
        print(f"{kind:12} {line}")


def request_of(
    pair: list[str], ids: list[tuple[int, ...]], seed: int, kind: str, sampling: Sampling
) -> Request:
    coupling = "token" if kind == "token" else "bytes"
    seeds = [seed, seed]
    if kind == "independent":
        seeds = [model_seed(seed, name, pair[:at].count(name)) for at, name in enumerate(pair)]
    table = {**vars(sampling), "coupling": coupling}
    contenders = tuple(map(Contender, pair, seeds, ids))
    return Request(contenders, Sampling(**table))


def alike(run: Running) -> bool:
    one, other = run.texts
    return one.startswith(other) or other.startswith(one)


def lines(found: dict[str, np.ndarray]) -> Iterator[tuple[str, str]]:
    for kind, lengths in found.items():
        means = lengths.mean(1)
        away = means - found[KINDS[0]].mean(1)
        yield kind, f"{with_error(means)} bytes, {with_error(away)} more than by bytes"


def with_error(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1) / len(values) ** 0.5:.2f}"


if __name__ == "__main__":
    main()
