"""Time of importing a million human votes, against parsing the same file with Python's json.

    python -m benchmarks.import_votes [--rows N]

Prints seconds, rows a second and peak memory; the file and the database are temporary.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files

WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "human.jsonl"
        write_rows(path, given.rows)
        with Store.open(Path(folder) / "arena.duckdb") as store:
            imported, again = time_import(store, path), time_import(store, path)
        memory = peak()
        parsed = time_parsing(path)
        size = path.stat().st_size
    print(
        f"{given.rows:,} rows ({size / 1e6:.0f} MB) in {imported:.1f} s: "
        f"{given.rows / imported:,.0f} rows/s; a second time {again:.1f} s; "
        f"{memory / 2**20:.2f} GiB of memory at most"
    )
    print(
        f"Python's json alone {parsed:.1f} s: the import takes {imported / parsed:.1f} times that"
    )


def write_rows(path: Path, rows: int) -> None:
    """Write rows in the form of the ranking paper's data: 20 models, random winners."""
    rng = random.Random(0)
    models = [f"model-{number:02}" for number in range(20)]
    with path.open("w") as file:
        for num in range(rows):
            model_a, model_b = rng.sample(models, 2)
            row = {
                "num": num,
                "question_id": f"{rng.getrandbits(128):032x}",
                "model_a": model_a,
                "model_b": model_b,
                "winner": rng.choice(WINNERS),
            }
            file.write(json.dumps(row) + "\n")


def time_import(store: Store, path: Path) -> float:
    started = time.perf_counter()
    import_files(store, [path])
    return time.perf_counter() - started


def time_parsing(path: Path) -> float:
    started = time.perf_counter()
    with path.open() as file:
        for line in file:
            json.loads(line)
    return time.perf_counter() - started


def peak() -> int:
    """Return the most memory this process ever had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
