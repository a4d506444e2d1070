"""The flat table of votes of a large store: time, and memory at its highest.

    python -m benchmarks.export_votes [--votes N] [--memory LIMIT] [--folder DIR]

Builds a store of N votes among 20 models on prompts of 1,000 characters, with a judge's verdict and
two answers of 200 tokens each, and exports it in a process of its own for each format. `--memory`
limits what DuckDB keeps of the file, else most of the machine's memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import tempfile
import time
from pathlib import Path

from benchmarks.leaderboard import fill
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.export import export

_ANSWERS = """
update turns set prompt = prompt || repeat(' and why is that so?', 50);
insert into replies (battle, turn, place, model, text, tokens, finish)
select battle, 0, place, models[place + 1], repeat('because it is so ', 50), range(200), 'stop'
from (select battle, models, unnest([0, 1]) as place from battles);
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--votes", type=int, default=1_000_000)
    arguments.add_argument("--memory", default=None)
    arguments.add_argument("--folder", type=Path, default=None)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "arena.duckdb"
        with Store.open(path) as store:
            fill(store, given.votes, 1)
            store.write(lambda cursor: cursor.execute(_ANSWERS) and None)
        print(f"a store of {given.votes:,} votes has {path.stat().st_size / 1e6:,.0f} MB")
        for format in ("flat", "flat-csv"):
            started = multiprocessing.get_context("spawn").Process(
                target=take, args=(path, Path(folder) / "out", format, given.memory)
            )
            started.start()
            started.join()


def take(path: Path, out: Path, format: str, memory: str | None) -> None:
    with Store.open(path, read_only=True) as store:
        if memory:
            with store.cursor() as cursor:
                cursor.execute(f"set memory_limit = '{memory}'")
        before = peak()
        started = time.perf_counter()
        (written,) = export(store, out, format)
        taken = time.perf_counter() - started
    print(
        f"{format}: {taken:.0f} s, {written.stat().st_size / 1e6:,.0f} MB; memory at most "
        f"{peak():,.0f} MB, {before:,.0f} MB before it"
    )


def peak() -> float:
    """Return the most memory that this process had, in MB; `getrusage` tells its parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


if __name__ == "__main__":
    main()
