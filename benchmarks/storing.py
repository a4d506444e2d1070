"""Battles stored one by one, against those of a second together: ``python -m benchmarks.storing``.

A batch run on a fast device ends more battles in a second than can be stored one by one.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from coupled_arena.battles.batch import BatchPlan
from coupled_arena.core.records import Battle, Finish, Mode, Prompt, Reply, Sampling, Score
from coupled_arena.store.database import Store

MODELS = ("model-a", "model-b")
TOKENS = 200


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--battles", type=int, default=128)
    options.add_argument("--together", type=int, default=16)
    options.add_argument("--stored", type=int, default=2_000, help="battles that are there before")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "x.duckdb") as store:
        store.add_battles(answered(0, given.stored))
        alone = answered(1, given.battles)
        groups = answered(2, given.battles)
        started = time.process_time()
        for battle, marks in alone:
            store.add_battle(battle, marks)
        one = (time.process_time() - started) / given.battles
        started = time.process_time()
        for first in range(0, given.battles, given.together):
            store.add_battles(groups[first : first + given.together])
        grouped = (time.process_time() - started) / given.battles
    print(f"one by one {1e3 * one:.1f} ms of a processor for a battle, {1 / one:.0f} a second")
    print(f"{given.together} together {1e3 * grouped:.1f} ms, {1 / grouped:.0f} a second")
    print(f"ratio {one / grouped:.1f}")


def answered(seed: int, count: int) -> list[tuple[Battle, list[Score]]]:
    """Return battles with two answers of 200 tokens, each with a score."""
    rng = random.Random(seed)
    prompts = tuple(Prompt(f"Question {number} of {seed}?") for number in range(count))
    plan = BatchPlan(prompts, MODELS, (Mode.COUPLED,), 1, seed, (Sampling(),))
    made: list[tuple[Battle, list[Score]]] = []
    for battle, prompt in plan.battles():
        replies = tuple(
            Reply(
                *(0, place, " ".join(f"{rng.random():.4f}" for _ in range(TOKENS // 2))),
                tuple(rng.randrange(50_000) for _ in range(TOKENS)),
                Finish.STOP,
            )
            for place in range(2)
        )
        scores = [Score(0, place, "quiz", float(rng.random() < 0.5), "") for place in range(2)]
        made.append((replace(battle, prompts=(prompt,), replies=replies), scores))
    return made


if __name__ == "__main__":
    main()
