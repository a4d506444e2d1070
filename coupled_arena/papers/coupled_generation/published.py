"""The paper on coupled generation: its models, numbers, and its authors' files as a store."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Mode
from coupled_arena.core.tables import Row, read_rows
from coupled_arena.papers.item import KnownNames, folded, one_of, same
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.views.tables.table import BETWEEN

_ONE, _THREE, _EIGHT = (f"Llama-3.{n}-Instruct" for n in ("2-1B", "2-3B", "1-8B"))
_BITS_8, _BITS_4, _INT4 = (f"{_EIGHT}-{kind}" for kind in ("bnb-8bit", "bnb-4bit", "AWQ-INT4"))
COMPUTER_SCIENCE = "college computer science"
SMALL = f"{COMPUTER_SCIENCE}, Llama, {BETWEEN.join((_ONE, _THREE))}"
SHARE = "share of pairs that need 10% fewer samples or better"

_LLAMA = {  # rank, mean win-rate and half its interval, coupled and independent
    _EIGHT: ((1, 0.3670, 0.0020), (1, 0.3863, 0.0020)),
    _BITS_8: ((2, 0.3562, 0.0020), (1, 0.3825, 0.0020)),
    _BITS_4: ((3, 0.3339, 0.0020), (3, 0.3463, 0.0020)),
    _INT4: ((4, 0.3164, 0.0019), (4, 0.3310, 0.0019)),
    _THREE: ((5, 0.2787, 0.0019), (5, 0.2828, 0.0019)),
    _ONE: ((6, 0.1650, 0.0015), (6, 0.1664, 0.0015)),
}
_QWEN = {
    "Qwen3-8B": ((1, 0.4486, 0.0013), (1, 0.4524, 0.0013)),
    "Qwen2.5-7B-Instruct-bnb-8bit": ((2, 0.3211, 0.0012), (2, 0.3264, 0.0012)),
    "Qwen2.5-7B-Instruct": ((3, 0.3148, 0.0012), (2, 0.3279, 0.0012)),
    "Qwen2.5-7B-Instruct-bnb-4bit": ((4, 0.2892, 0.0012), (4, 0.2862, 0.0012)),
    "Qwen2.5-7B-Instruct-AWQ-INT4": ((5, 0.2561, 0.0011), (5, 0.2591, 0.0012)),
    "Qwen2.5-3B-Instruct": ((6, 0.2072, 0.0011), (6, 0.2121, 0.0011)),
    "Qwen2.5-1.5B-Instruct": ((7, 0.1834, 0.0010), (7, 0.1875, 0.0010)),
    "DistilQwen2.5-3B-Instruct": ((8, 0.1780, 0.0010), (8, 0.1850, 0.0010)),
}
_MISTRAL = {
    f"Mistral-7B-Instruct-{name}": places
    for name, places in {
        "v0.2": ((1, 0.3310, 0.0026), (1, 0.3355, 0.0026)),
        "v0.3-bnb-4bit": ((2, 0.2861, 0.0025), (2, 0.2953, 0.0025)),
        "v0.3-bnb-8bit": ((2, 0.2844, 0.0025), (2, 0.2953, 0.0025)),
        "v0.3": ((4, 0.2757, 0.0025), (2, 0.2918, 0.0025)),
        "v0.1": ((5, 0.1598, 0.0020), (5, 0.1617, 0.0020)),
    }.items()
}
_Rows = Mapping[str, tuple[tuple[int, float, float], tuple[int, float, float]]]


def named_place(model: str, mode: Mode, rank: int, rate: float, half: float) -> dict[str, float]:
    """Return a rank, a mean win-rate and half its interval by the names that they have here."""
    return {
        f"{model}, {mode}: rank": float(rank),
        f"{model}, {mode}: mean win rate": rate,
        f"{model}, {mode}: half its interval": half,
    }


def more_ties(model: str, other: str) -> str:
    """Return the name of the change of ties between two models."""
    return f"{BETWEEN.join(sorted((model, other)))}: more ties under coupling"


def _places(rows: _Rows) -> dict[str, float]:
    return {
        what: value
        for model, both in rows.items()
        for mode, place in zip((Mode.COUPLED, Mode.INDEPENDENT), both, strict=True)
        for what, value in named_place(model, mode, *place).items()
    }


LLAMA_PLACES, QWEN_PLACES, MISTRAL_PLACES = map(_places, (_LLAMA, _QWEN, _MISTRAL))
TIES = {
    more_ties(_BITS_8, _EIGHT): 0.24,
    more_ties(_BITS_8, _BITS_4): 0.11,
    more_ties(_BITS_8, _INT4): 0.15,
}

_DISTIL, _AWQ = "DistilQwen2.5-3B-Instruct", "Qwen2.5-7B-Instruct-AWQ-INT4"
_V3 = "Mistral-7B-Instruct-v0.3"
FAMILIES: Mapping[str, KnownNames] = {
    # By the catalog `papers`, and in the authors' files where these differ from the tables.
    "Llama": KnownNames(
        {
            _EIGHT: ("Llama-3.1-8B",),
            _BITS_8: ("Llama-3.1-8B-bnb-8bit", "Llama-3.1-8q-Instruct"),
            _BITS_4: ("Llama-3.1-8B-bnb-4bit", "Llama-3.1-4q-Instruct"),
            _INT4: ("Llama-3.1-8B-AWQ-INT4", "Meta-Llama-3.1-8B-Instruct-AWQ-INT4"),
            _THREE: ("Llama-3.2-3B",),
            _ONE: ("Llama-3.2-1B",),
        }
    ),
    "Qwen": KnownNames(
        {
            "Qwen3-8B": (),
            "Qwen2.5-7B-Instruct": ("Qwen2.5-7B",),
            **{
                f"Qwen2.5-7B-Instruct-bnb-{bits}bit": (
                    f"Qwen2.5-7B-bnb-{bits}bit",
                    f"Qwen2.5-7B-Instruct-q{bits}",
                )
                for bits in (8, 4)
            },
            _AWQ: ("Qwen2.5-7B-AWQ", "Qwen2.5-7B-Instruct-AWQ"),
            "Qwen2.5-3B-Instruct": ("Qwen2.5-3B",),
            "Qwen2.5-1.5B-Instruct": ("Qwen2.5-1.5B",),
            _DISTIL: ("DistilQwen2.5-3B",),
        }
    ),
    "Mistral": KnownNames(
        {
            _V3: ("Mistral-7B",),
            **{
                f"{_V3}-bnb-{bits}bit": (f"Mistral-7B-bnb-{bits}bit", f"{_V3}-q{bits}")
                for bits in (8, 4)
            },
            "Mistral-7B-Instruct-v0.2": ("Mistral-7B-v0.2",),
            "Mistral-7B-Instruct-v0.1": ("Mistral-7B-v0.1",),
        }
    ),
}
QUESTIONS = 500
"""Of LMSYS-Chat-1M, on which the paper compares pairs of models."""
_BENCHMARKS = {1319: "GSM8K", 164: "HumanEval", 100: COMPUTER_SCIENCE}
"""By their numbers of questions, which is all that a table of scores tells of them."""


def family_of(models: Sequence[str]) -> str | None:
    """Return the family of which these are all the models that the paper has, and no others."""
    return next((name for name, known in FAMILIES.items() if known.all_of(models)), None)


def paper_names(models: Sequence[str]) -> dict[str, str]:
    """Return the paper's names of all models of one of its families, nothing for others."""
    return one_of(tuple(FAMILIES.values()), models)


def benchmark_of(questions: int, category: str | None) -> str | None:
    """Return which of the paper's benchmarks has so many questions.

    Thirteen subjects of MMLU have a hundred: only the category tells which one it is.
    """
    name = _BENCHMARKS.get(questions)
    part = folded(category) if category else ""
    return name if part == (folded(COMPUTER_SCIENCE) if questions == 100 else "") else None


def judged_as_in_the_paper(judge: str | None, questions: int) -> bool:
    """Tell whether these are verdicts of its judge on so many questions as it has."""
    return questions == QUESTIONS and same(judge, "gpt-4o-2024-11-20", "gpt-4o")


# The authors' public comparisons as a store: two files a family, one for each protocol.
#
# Their folders `outputs/LMSYS/llama`, `qwen` and `mistral` hold `coupled_comparisons.csv` and
# `independent_comparisons.csv`: a row for each comparison by their judge, with the models, the
# seeds of both answers, and `A`, `B` or `Tie`.

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
