"""How often two models say the same next word, by Gumbel-max and by inverse transform: exactly.

    python -m benchmarks.samplers [--questions N] [--temperature T]

Nothing is drawn: for the first word of answers to our quiz, both laws are known, and so is how
often coupled draws from them agree. Prints, for each later model of the catalog beside the first,
the mean probability of the same word under each sampler and under independent noise, and how much
more of the covariance (agreement beyond independence) Gumbel-max has.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import load_settings, resource
from coupled_arena.generation.huggingface import HuggingFaceModel
from coupled_arena.generation.loading import load_enabled
from coupled_arena.generation.sampling import outcome_scores
from coupled_arena.tasks.quiz import Quiz


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--questions", type=int, default=60)
    arguments.add_argument("--temperature", type=float, default=0.7)
    given = arguments.parse_args()
    first, *others = load_enabled(load_settings()).values()
    items = Quiz().read(resource("data/quiz.jsonl"))
    prompts = [item.prompt for item in items[:: max(1, len(items) // given.questions)]]
    asked = [
        [
            {"role": "user", "content": prompt.text},
            {"role": "assistant", "content": prompt.prefix},
        ]
        for prompt in prompts[: given.questions]
    ]
    sampling = Sampling(temperature=given.temperature, top_p=1.0)
    ours = [law(first, messages, sampling) for messages in asked]
    for other in others:
        if (first.vocabulary.keys != other.vocabulary.keys).any():
            print(f"{other.name}: another vocabulary")
            continue
        theirs = [law(other, messages, sampling) for messages in asked]
        order = np.argsort(first.vocabulary.keys)
        pairs = list(zip(ours, theirs, strict=True))
        gumbel = np.array([agreement_gumbel(p, q) for p, q in pairs])
        inverse = np.array([agreement_inverse(p[order], q[order]) for p, q in pairs])
        apart = np.array([p @ q for p, q in pairs])
        ratio = (gumbel - apart).mean() / (inverse - apart).mean()
        print(
            f"{first.name} | {other.name}: the same with gumbel {gumbel.mean():.3f}, inverse "
            f"{inverse.mean():.3f}, independent {apart.mean():.3f}; covariance {ratio:.2f} times"
        )


def law(model: HuggingFaceModel, messages: list[dict[str, str]], sampling: Sampling) -> np.ndarray:
    """Return the probabilities of all outcomes of the next draw, the end of the answer last."""
    batch = model.start_batch()
    batch.add([model.encode(messages)])
    stops = torch.tensor(sorted(model.vocabulary.stops), device=model.device)
    return outcome_scores(batch.logits, stops, sampling)[0].softmax(0).cpu().numpy()


def agreement_gumbel(p: np.ndarray, q: np.ndarray) -> float:
    """Return sum_i 1 / sum_j max(p_j/p_i, q_j/q_i), in the order of the ratios q_j/p_j."""
    both = (p > 0) & (q > 0)
    ranked = np.argsort(np.where(p > 0, q / np.where(p > 0, p, 1), np.inf), kind="stable")
    below, beyond = np.cumsum(p[ranked]), np.cumsum(q[ranked][::-1])[::-1]
    beyond = np.append(beyond[1:], 0.0)
    use = both[ranked]
    sums = below[use] / p[ranked][use] + beyond[use] / q[ranked][use]
    return float((1 / sums).sum())


def agreement_inverse(p: np.ndarray, q: np.ndarray) -> float:
    """Return how much the outcomes' intervals overlap, laid side by side in the order given."""
    ends_p, ends_q = np.cumsum(p), np.cumsum(q)
    high = np.minimum(ends_p, ends_q)
    low = np.maximum(ends_p - p, ends_q - q)
    return float(np.maximum(high - low, 0).sum())


if __name__ == "__main__":
    main()
