"""Time of importing a million human votes, against parsing the same file with Python's json.

    python -m benchmarks.import_votes [--rows N] [--form ranking|votes|reactions]

The rows are those of the ranking paper, without texts; or compar:IA's votes or reactions, with
conversations of a few thousand characters. Prints seconds, also of a processor, rows a second and
peak memory; the file and the database are temporary.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files

WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
# "ai" is in most French answers, and a name in few: the words of a real file cost as much.
SAID = (
    "le la les un une des et ou mais que qui réponse question modèle français faire j'ai je suis "
    "climat énergie **important** `code` 2025, exemple. Voilà: ainsi\n- liste"
)

Row = dict[str, Any]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--form", choices=FORMS, default="ranking")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "human.jsonl"
        with path.open("w") as file:
            for row in FORMS[given.form](given.rows):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        with Store.open(Path(folder) / "arena.duckdb") as store:
            begun = time.process_time()
            imported = time_import(store, path)
            computed, memory = time.process_time() - begun, peak()
            again = time_import(store, path)
        parsed = time_parsing(path)
        size = path.stat().st_size
    print(
        f"{given.rows:,} rows ({size / 1e6:.0f} MB) in {imported:.1f} s ({computed:.1f} s of a "
        f"processor): {given.rows / imported:,.0f} rows/s; a second time {again:.1f} s; "
        f"{memory / 2**20:.2f} GiB of memory at most"
    )
    print(
        f"Python's json alone {parsed:.1f} s: the import takes {imported / parsed:.1f} times that"
    )


def ranking_rows(rows: int) -> Iterator[Row]:
    """Yield rows in the form of the ranking paper's data: 20 models, random winners."""
    rng = random.Random(0)
    models = [f"model-{number:02}" for number in range(20)]
    for num in range(rows):
        model_a, model_b = rng.sample(models, 2)
        yield {
            "num": num,
            "question_id": f"{rng.getrandbits(128):032x}",
            "model_a": model_a,
            "model_b": model_b,
            "winner": rng.choice(WINNERS),
        }


def votes(rows: int) -> Iterator[Row]:
    """Yield compar:IA's votes: 30 models, one to three turns."""
    rng = random.Random(0)
    for number in range(rows):
        shared, tied, turns = conversation_pair(rng, number), rng.random() < 0.2, rng.choice("1123")
        yield {
            **shared,
            "chosen_model_name": None if tied else shared[f"model_{rng.choice('ab')}_name"],
            "both_equal": tied,
            "conversation_a": conversation(rng, shared["opening_msg"], int(turns)),
            "conversation_b": conversation(rng, shared["opening_msg"], int(turns)),
        }


def reactions(rows: int) -> Iterator[Row]:
    """Yield compar:IA's reactions: one or two a question, each with both conversations."""
    rng = random.Random(0)
    for number in range(rows // 2):
        shared = conversation_pair(rng, number)
        told = {side: conversation(rng, shared["opening_msg"], 1) for side in "ab"}
        for side in "ab":
            liked = rng.random() < 0.6
            yield {
                **shared,
                "model_pos": side,
                "question_id": f"{number}-0",
                "question_content": shared["opening_msg"],
                "response_content": told[side][1]["content"],
                "liked": liked,
                "disliked": not liked,
                "conversation_a": told["a"],
                "conversation_b": told["b"],
            }


FORMS = {"ranking": ranking_rows, "votes": votes, "reactions": reactions}


def conversation_pair(rng: random.Random, number: int) -> Row:
    """Return the columns that votes and reactions share."""
    model_a, model_b = rng.sample([f"maker/model-{number:02}" for number in range(30)], 2)
    return {
        "id": number,
        "timestamp": f"2025-01-05 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}",
        "model_a_name": model_a,
        "model_b_name": model_b,
        "conversation_pair_id": f"{number}",
        "opening_msg": f"{text(rng, 20)} {number}",
        "visitor_id": f"visitor-{rng.randrange(3000)}",
    }


def conversation(rng: random.Random, question: str, turns: int) -> list[dict[str, str]]:
    """Return messages; an answer has some 2,000 characters."""
    found: list[dict[str, str]] = []
    for turn in range(turns):
        asked = text(rng, 15) if turn else question
        found.append({"role": "user", "content": asked})
        found.append({"role": "assistant", "content": text(rng, rng.randint(80, 500))})
    return found


def text(rng: random.Random, words: int) -> str:
    """Return random words."""
    return " ".join(rng.choices(SAID.split(" "), k=words))


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
