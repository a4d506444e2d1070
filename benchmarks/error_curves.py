"""Error by number of samples for all pairs of six models, beside pandas drawing every sample anew.

    python -m benchmarks.error_curves

1,319 prompts with ten repetitions each, 200 numbers of samples, 1,000 sub-samplings. The other
way draws a random part of the rows for each number of samples and takes the mean difference of
each pair, as a notebook would; it is timed for a few sub-samplings.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pandas as pd

from coupled_arena.analysis.coupling.savings import curve_sizes
from coupled_arena.stats.coupling.error_curves import error_curves
from coupled_arena.stats.coupling.score_tables import ScoreTable, compare_scores

MODELS, PROMPTS, SEEDS, SIZES, REPEATS = 6, 1_319, 10, 200, 1_000
NOTEBOOK_REPEATS = 2


def main() -> None:
    table = made_up()
    sizes = curve_sizes(PROMPTS * SEEDS, SIZES)
    start = time.perf_counter()
    error_curves(table, sizes, REPEATS)
    ours = time.perf_counter() - start
    pairs = MODELS * (MODELS - 1) // 2
    print(f"{REPEATS:,} sub-samplings of {pairs} pairs, {len(sizes)} sizes: {ours:.2f} s")
    start = time.perf_counter()
    for _ in range(NOTEBOOK_REPEATS):
        notebook(table, sizes)
    theirs = (time.perf_counter() - start) / NOTEBOOK_REPEATS
    print(
        f"pandas, one sub-sampling: {theirs:.2f} s, {theirs / (ours / REPEATS):.0f} times as long"
    )
    start = time.perf_counter()
    compare_scores(table)
    print(f"savings of {pairs} pairs with bootstrap intervals: {time.perf_counter() - start:.2f} s")


def made_up() -> ScoreTable:
    """Return scores of models that reach different rates with the same luck, or each its own."""
    rng = np.random.default_rng(0)
    rates = np.linspace(0.3, 0.7, MODELS) + rng.normal(0, 0.2, (PROMPTS, 1, 1))
    shared, own = (rng.random((PROMPTS, SEEDS, k)) for k in (1, MODELS))
    names = tuple(f"model-{i}" for i in range(MODELS))
    return ScoreTable(names, (shared < rates).astype(float), (own < rates).astype(float))


def notebook(table: ScoreTable, sizes: np.ndarray) -> list[float]:
    errors: list[float] = []
    for scores in (table.coupled, table.independent):
        frame = pd.DataFrame(scores.reshape(-1, MODELS), columns=list(table.models))
        for one, other in combinations(table.models, 2):
            difference = frame[one] - frame[other]
            truth = difference.mean()
            errors += [abs(difference.sample(n).mean() - truth) for n in sizes.tolist()]
    return errors


if __name__ == "__main__":
    main()
