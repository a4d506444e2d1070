"""What unpacking a GGUF takes: time, and memory at its highest beyond the program's own.

    python -m benchmarks.unpacking FILE.gguf [--folder DIR]

Unpacks the file with its tokenizer as a start does, in a process of its own for each dtype.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

from benchmarks.export_votes import peak


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("gguf", type=Path)
    arguments.add_argument("--folder", type=Path, default=None)
    given = arguments.parse_args()
    for dtype in ("bfloat16", "float32"):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            started = multiprocessing.get_context("spawn").Process(
                target=take, args=(given.gguf, Path(folder), dtype)
            )
            started.start()
            started.join()


def take(gguf: Path, folder: Path, dtype: str) -> None:
    from coupled_arena.core.catalog import ModelSpec
    from coupled_arena.generation.weights import local_folder

    spec = ModelSpec(name=dtype, gguf=str(gguf), dtype=dtype)
    before, started = peak(), time.perf_counter()
    made = local_folder(spec, folder) or folder
    taken, most = time.perf_counter() - started, peak() - before
    size = sum(path.stat().st_size for path in made.glob("*.safetensors")) / (1 << 20)
    print(
        f"{dtype}: {taken:.0f} s, {size:,.0f} MiB; memory {most:,.0f} MiB, {most / size:.2f} of it"
    )


if __name__ == "__main__":
    main()
