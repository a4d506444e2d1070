"""How close models are: time against a plain loop over logits, and what comes out of it.

    python -m benchmarks.closeness [--questions N] [--tokens N] [--plain N]

Of each later model of the catalog beside the first: what `coupled-arena closeness` says of fresh
answers to our library's prompts, with what is counted in the same battles. Then the same figures
by a plain loop over the library's logits, a text at a time and a position at a time: seconds of
both, and the largest difference. Last, how far the law that reads a whole answer at once is from
the law that writes it token by token, by rounding alone.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from coupled_arena.analysis.closeness import closeness
from coupled_arena.battles.closeness import Asked, fresh_answers, read_answers
from coupled_arena.core.prompts import read_library
from coupled_arena.core.records import Finish, Sampling
from coupled_arena.core.settings import load_settings, resource
from coupled_arena.generation.huggingface import HuggingFaceModel
from coupled_arena.generation.laws import reads_otherwise
from coupled_arena.generation.loading import load_enabled
from coupled_arena.generation.sampling import outcome_scores
from coupled_arena.views.words.closeness import closeness_words

_MEASURES = ("total_variation", "coupled", "independent", "best")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--questions", type=int, default=20)
    arguments.add_argument("--tokens", type=int, default=32)
    arguments.add_argument("--plain", type=int, default=4, help="answers of the plain loop")
    arguments.add_argument("--temperature", type=float, default=0.7)
    arguments.add_argument("--top-p", type=float, default=0.95)
    given = arguments.parse_args()
    loaded = load_enabled(load_settings())
    models = {name: each for name, each in loaded.items() if isinstance(each, HuggingFaceModel)}
    first, *others = models
    library = read_library(resource("data/prompts.jsonl")).prompts
    prompts = library[:: max(1, len(library) // given.questions)][: given.questions]
    sampling = Sampling(given.temperature, 0, given.top_p, given.tokens)
    for name in others:
        names = (first, name)
        asked = fresh_answers(prompts, names, models, sampling, seed=1, at_once=8)
        started = time.perf_counter()
        found = closeness(read_answers(asked, names, models, sampling))
        seconds = time.perf_counter() - started
        positions = len(found.readings.place)
        print(*closeness_words(found), sep="\n")
        print(f"{positions} positions in {seconds:.1f} s, {positions / seconds:.1f} a second")
        beside_plain_loop(asked[: given.plain], names, models, sampling)
        for which in names:
            far = rounding(models[which], asked[0], sampling)
            print(f"{which}: reading and writing differ by {far:.1e} in total variation")


def beside_plain_loop(
    asked: list[Asked],
    names: tuple[str, str],
    models: dict[str, HuggingFaceModel],
    sampling: Sampling,
) -> None:
    started = time.perf_counter()
    ours = read_answers(asked, names, models, sampling).laws
    middle = time.perf_counter()
    plain = np.array([row for one in asked for row in plain_rows(one, names, models, sampling)])
    end = time.perf_counter()
    far = max(abs(getattr(ours, name) - plain[:, at]).max() for at, name in enumerate(_MEASURES))
    ratio = (end - middle) / (middle - started)
    print(
        f"{len(plain)} positions: ours {middle - started:.1f} s, plain loop {end - middle:.1f} s, "
        f"{ratio:.1f} times as long; largest difference {far:.1e}"
    )


def plain_rows(
    asked: Asked,
    names: tuple[str, str],
    models: dict[str, HuggingFaceModel],
    sampling: Sampling,
) -> list[list[float]]:
    """Return the measures at each position of an answer, by plain lines."""
    laws = [laws_of(models[name], asked, sampling) for name in names]
    rows: list[list[float]] = []
    for p, q in zip(*laws, strict=True):
        shared = np.flatnonzero((p > 0) & (q > 0))
        here = np.flatnonzero((p > 0) | (q > 0))
        agreed = [1 / np.maximum(p[here] / p[i], q[here] / q[i]).sum() for i in shared]
        rows.append([abs(p - q).sum() / 2, sum(agreed), p @ q, np.minimum(p, q).sum()])
    return rows


def laws_of(model: HuggingFaceModel, asked: Asked, sampling: Sampling) -> np.ndarray:
    """Return the laws along an answer, in the way in which `closeness` reads it."""
    return (written_laws if reads_otherwise(model) else read_laws)(model, asked, sampling)


def read_laws(model: HuggingFaceModel, asked: Asked, sampling: Sampling) -> np.ndarray:
    """Return them from the logits of the whole text at once."""
    prompt = model.encode(conversation(asked))
    ids = torch.tensor([[*prompt, *asked.reply.tokens]], device=model.device)
    with torch.inference_mode():
        logits = model.network(input_ids=ids).logits[0, len(prompt) - 1 :]
    return probabilities(model, logits[: positions(asked)], sampling)


def written_laws(model: HuggingFaceModel, asked: Asked, sampling: Sampling) -> np.ndarray:
    """Return them as the model writes, token by token."""
    batch = model.start_batch()
    batch.add([model.encode(conversation(asked))])
    written = [batch.logits]
    for token in asked.reply.tokens[: positions(asked) - 1]:
        batch.advance(torch.tensor([token], device=model.device))
        written.append(batch.logits)
    return probabilities(model, torch.cat(written), sampling)


def conversation(asked: Asked) -> list[dict[str, str]]:
    return [{"role": "user", "content": asked.battle.prompts[0].text}]


def positions(asked: Asked) -> int:
    return len(asked.reply.tokens) + (asked.reply.finish is Finish.STOP)


def probabilities(model: HuggingFaceModel, logits: torch.Tensor, sampling: Sampling) -> np.ndarray:
    stops = torch.tensor(sorted(model.vocabulary.stops), device=model.device)
    return outcome_scores(logits, stops, sampling).softmax(1).cpu().numpy()


def rounding(model: HuggingFaceModel, asked: Asked, sampling: Sampling) -> float:
    """Return the mean total variation of the laws that read an answer and that write it."""
    read, written = (way(model, asked, sampling) for way in (read_laws, written_laws))
    return float(abs(written - read).sum(1).mean() / 2)


if __name__ == "__main__":
    main()
