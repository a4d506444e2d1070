"""What the Python API costs: importing it, and ranking a table of votes without a database.

Beside the ranking: the same votes by evalica's Bradley-Terry fit, which gives no rank-sets.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import evalica
import numpy as np
import pandas as pd

import coupled_arena as ca


def seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def votes(rows, models, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(models, size=rows)
    second = (first + rng.integers(1, models, size=rows)) % models
    ahead = rng.random(rows) < 1 / (1 + np.exp((first - second) / models))
    tie = rng.random(rows) < 0.2
    names = np.array([f"model-{n:02}" for n in range(models)])
    return pd.DataFrame(
        {
            "model_a": names[first],
            "model_b": names[second],
            "winner": np.where(tie, "tie", np.where(ahead, "model_a", "model_b")),
        }
    )


def fit(frame):
    meanings = {
        "model_a": evalica.Winner.X,
        "model_b": evalica.Winner.Y,
        "tie": evalica.Winner.Draw,
    }
    winners = [meanings[winner] for winner in frame.winner]
    return evalica.bradley_terry(frame.model_a.tolist(), frame.model_b.tolist(), winners)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--models", type=int, default=20)
    options = parser.parse_args()
    timed = [
        "import time; started = time.perf_counter(); import coupled_arena; "
        "print(time.perf_counter() - started)"
    ]
    spent = [
        float(subprocess.check_output([sys.executable, "-c", *timed], text=True)) for _ in range(5)
    ]
    print(f"import coupled_arena: {1000 * sorted(spent)[2]:.1f} ms (median of 5)")
    ca.rank(votes(1000, options.models))  # compiles
    frame = votes(options.rows, options.models)
    ours = seconds(lambda: ca.rank(frame))
    own = frame.assign(prompt=np.arange(len(frame)) // 10)
    clustered = seconds(lambda: ca.rank(own))
    theirs = seconds(lambda: fit(frame))
    print(f"rank-sets of {options.rows:,} votes, {options.models} models: {ours:.2f} s")
    print(f"ten votes a prompt: {clustered:.2f} s")
    print(f"evalica's Bradley-Terry fit, no rank-sets: {theirs:.2f} s")
    print(f"ratio: {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
