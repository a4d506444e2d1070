"""How long rank-sets take where few clusters tell the covariance, against where it is known.

    python -m benchmarks.rank_sets [--models 3,8,20,50,129] [--clusters 10] [--draws 20000]

Each board has equal models. Its cut-off is drawn with the normal law where the covariance is taken
for known. With so many voters or shared prompts it is drawn with a Wishart law besides. Prints
seconds and their ratio.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import combinations

import numpy as np

from coupled_arena.core.choices import Cutoff, Scope
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.estimates import Estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation

KINDS = {
    "max-t": (Cutoff.MAX_T, Scope.JOINT),
    "max-t, marginal": (Cutoff.MAX_T, Scope.MARGINAL),
    "step-down": (Cutoff.STEP_DOWN, Scope.JOINT),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--models", default="3,8,20,50,129")
    arguments.add_argument("--clusters", type=int, default=10)
    arguments.add_argument("--draws", type=int, default=LIVE_DRAWS)
    given = arguments.parse_args()
    print("| models | cut-off | known | few clusters | ratio |\n| --- | --- | --- | --- | --- |")
    for k in map(int, given.models.split(",")):
        known = board(k)
        degrees = np.full((k, k), given.clusters - 1.0)
        few = replace(known, degrees=degrees, clusters=given.clusters)
        for name, (cutoff, scope) in KINDS.items():
            one, other = (seconds(each, cutoff, scope, given.draws) for each in (known, few))
            print(f"| {k} | {name} | {one:.3f} s | {other:.3f} s | {other / one:.1f} |", flush=True)


def board(k: int) -> Estimate:
    """Return an estimate of equal models from a hundred votes on each pair."""
    rng, models = np.random.default_rng(k), [f"m{i:03}" for i in range(k)]
    wins = rng.binomial(100, 0.5, k * (k - 1) // 2)
    rows = [
        (*pair, outcome, int(times))
        for pair, won in zip(combinations(models, 2), wins, strict=True)
        for outcome, times in (("first", won), ("second", 100 - won))
    ]
    return estimate_from_votes(PairCounts.from_rows(rows))


def seconds(estimate: Estimate, cutoff: Cutoff, scope: Scope, draws: int) -> float:
    """Return the least of three runs."""
    taken: list[float] = []
    for _ in range(3):
        began = time.perf_counter()
        Separation(estimate, draws).rank_sets(0.05, cutoff, scope)
        taken.append(time.perf_counter() - began)
    return min(taken)


if __name__ == "__main__":
    main()
