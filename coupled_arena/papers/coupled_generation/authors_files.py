"""The authors' public comparisons as a store: two files a family, one for each protocol.

Their folders `outputs/LMSYS/llama`, `qwen` and `mistral` hold `coupled_comparisons.csv` and
`independent_comparisons.csv`: a row for each comparison by their judge, with the models, the seeds
of both answers, and `A`, `B` or `Tie`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Mode
from coupled_arena.core.tables import Row, read_rows
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files

JUDGE = "gpt-4o-2024-11-20"
_NEEDED = ("model_a", "model_b", "winner")
_QUESTIONS = ("question", "question_id", "prompt", "query", "query_id", "conversation_id")
_HEADER = ("num", "prompt", *_NEEDED, "mode")


def comparisons_store(folder: Path) -> Store:
    """Return a store in memory that holds the verdicts of both files of a folder.

    Raises
    ------
    StoreError
        A file is not there, cannot be read, or lacks a column.
    """
    with TemporaryDirectory() as place, ExitStack() as opened:
        store = opened.enter_context(Store.in_memory())
        for mode in (Mode.COUPLED, Mode.INDEPENDENT):
            path = folder / f"{mode}_comparisons.csv"
            if not path.is_file():
                raise StoreError(f"{folder} has no {path.name}: give a folder with both protocols.")
            written = Path(place, path.name)
            with written.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream)
                writer.writerow(_HEADER)
                writer.writerows(_rows(path, mode))
            # A dataset each: a number stands for one comparison in one of the files.
            import_files(store, [written], judge=JUDGE, dataset=f"{mode}")
        opened.pop_all()  # whoever asked closes it
    return store


def _rows(path: Path, mode: Mode) -> Iterator[tuple[str, ...]]:
    """Yield rows as `import` reads them, each a battle of its own."""
    for number, row in enumerate(read_rows(path, StoreError)):
        question = str(row.values[_question_column(path, row)])
        yield (str(number), question, *(str(row.values[name]) for name in _NEEDED), f"{mode}")


def _question_column(path: Path, row: Row) -> str:
    if lacking := [name for name in _NEEDED if name not in row.values]:
        raise StoreError(f"{path} has no column {lacking[0]}.")
    found = next((name for name in _QUESTIONS if name in row.values), None)
    if found is None:
        raise StoreError(f"{path} has no column with the question: {', '.join(_QUESTIONS)}.")
    return found
