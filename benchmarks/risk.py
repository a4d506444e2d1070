"""Ranking by risk: all tests of twelve models, the empirical copula, and deepsig beside them.

    python -m benchmarks.risk [--deepsig-python PYTHON]

Twelve models, 5,000 prompts, both orders, relative and absolute tests by percentile and the
ranking, from unsorted scores to ranks; the empirical copula of 60,000 points with 8 metrics; and
what compiling costs the first call. deepsig 1.2.8 (GPL) is never imported here: where PYTHON has
it in an environment of its own, it compares two of the same models, in the same run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from coupled_arena.core.choices import PValues
from coupled_arena.stats.risk.dominance_tests import DominancePlan, compare_models
from coupled_arena.stats.risk.portfolio import empirical_copula

MODELS, PROMPTS, ROUNDS = 12, 5_000, 5
PAIRS = MODELS * (MODELS - 1) // 2
DEEPSIG_BOOTSTRAPS = 3
DEEPSIG = f"""
import sys, time
import numpy as np
from deepsig import aso
a, b = np.load(sys.argv[1])[[0, 1]]
start = time.perf_counter()
aso(a, b, num_bootstrap_iterations={DEEPSIG_BOOTSTRAPS}, num_jobs=1, show_progress=False, seed=1)
print(time.perf_counter() - start)
"""
FIRST_CALL = """
import time
import numpy as np
from coupled_arena.stats.risk.dominance_tests import DominancePlan, compare_models
from coupled_arena.stats.risk.portfolio import empirical_copula
scores = np.random.default_rng(0).normal(size=(3, 10))
start = time.perf_counter()
compare_models(scores, DominancePlan(bootstraps=2))
empirical_copula(scores.T.copy())
print(time.perf_counter() - start)
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--deepsig-python", type=Path, default=None)
    given = arguments.parse_args()
    first_calls()
    rng = np.random.default_rng(0)
    prompts = rng.normal(size=PROMPTS)
    scores = rng.normal(size=(MODELS, PROMPTS)) + prompts + np.linspace(0, 0.3, MODELS)[:, None]
    compare_models(scores[:, :10], DominancePlan(bootstraps=2))
    ours = 0.0
    for paired in (False, True):
        for bootstraps in (1_000, 10_000):
            plan = DominancePlan(bootstraps=bootstraps, paired=paired, p_values=PValues.PERCENTILE)
            ours = median(lambda plan=plan: compare_models(scores, plan))
            print(
                f"{MODELS} models, {PROMPTS:,} prompts, {'' if paired else 'not '}paired, B = "
                f"{bootstraps:,}, both orders, all tests: {ours:.3f} s"
            )
    swaps = median(lambda: compare_models(scores, DominancePlan()))
    print(f"the same paired, with the default's test by swaps too: {swaps:.3f} s")
    points = rng.normal(size=(60_000, 8)) + rng.normal(size=(60_000, 1))
    empirical_copula(points[:10])
    print(f"empirical copula of 60,000 x 8: {median(lambda: empirical_copula(points)):.3f} s")
    if given.deepsig_python is None:
        print("deepsig: skipped; name a Python that has it with --deepsig-python")
        return
    against_deepsig(given.deepsig_python, scores, ours / (PAIRS * 10_000))


def first_calls() -> None:
    """Compile into an empty cache, then start again from that cache."""
    with tempfile.TemporaryDirectory() as folder:
        for what in ("compiled", "from the cache"):
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            said = output([sys.executable, "-c", FIRST_CALL], environment)
            print(f"first call, {what}: {float(said):.2f} s")


def against_deepsig(python: Path, scores: np.ndarray, ours: float) -> None:
    """Compare time a pair and bootstrap sample; deepsig's is of one order alone."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.npy"
        np.save(file, scores)
        taken = [float(output([str(python), "-c", DEEPSIG, str(file)])) for _ in range(3)]
    theirs = statistics.median(taken) / DEEPSIG_BOOTSTRAPS
    print(
        f"a pair and bootstrap sample: deepsig {theirs:.3g} s, here {ours:.3g} s for both orders: "
        f"{theirs / ours:,.0f} times"
    )


def output(command: list[str], environment: dict[str, str] | None = None) -> str:
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


def median(work: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
