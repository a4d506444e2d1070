"""Scores of 100,000 stored replies: by each metric, and a table of scores from elsewhere imported.

    python -m benchmarks.reply_metrics

50,000 battles of two models, ten a prompt, replies of a thousand characters on average, and a
judge's verdict on each battle.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from coupled_arena.analysis.risk.replies import COMPUTED, read_stored_scores
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Cursor, Selection
from coupled_arena.store.tables import derived_rows
from coupled_arena.store.transfer.importing_scores import import_scores

BATTLES, REPETITIONS = 50_000, 10
FILL = (
    f"""
    insert into battles (
        battle, created_at, origin, mode, seed, nonce, commitment, models,
        temperature, top_k, top_p, max_new_tokens, coupling, arithmetic
    )
    select
        md5('battle ' || n), now(), 'generate', 'coupled', n, '', '', ['left', 'right'],
        0.7, 0, 0.95, 256, 'token', map {{}}
    from range({BATTLES}) as numbered(n)
    """,
    f"""
    insert into turns (battle, turn, prompt)
    select md5('battle ' || n), 0, 'Question ' || n // {REPETITIONS}
    from range({BATTLES}) as numbered(n)
    """,
    """
    insert into replies
    select md5('battle ' || n // 2), 0, n % 2, ['left', 'right'][n % 2 + 1], text, [], 'stop'
    from written
    """,
    "insert into judges (judge, model, prompt_hash, sampling) values ('gpt', 'gpt', '', '')",
    f"""
    insert into verdicts (
        verdict, battle, judge, first_place, second_place, outcome, raw, judged_at
    )
    select
        md5('verdict ' || n), md5('battle ' || n), 'gpt', 0, 1,
        ['first', 'second', 'tie'][1 + n % 3], '', now()
    from range({BATTLES}) as numbered(n)
    """,
)
TOXICITY = """
copy (select battle, unnest(models) as model, random() as toxicity from battles) to '{}' (header)
"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "arena.duckdb") as store,
    ):
        store.write(fill)
        table = Path(folder) / "toxicity.csv"
        with store.cursor() as cursor:
            cursor.execute(TOXICITY.format(table))
        taken = seconds(lambda: import_scores(store, [table], lower_is_better=["toxicity"]))
        print(f"import of {2 * BATTLES:,} scores: {taken:.1f} s")
        for metric in ("toxicity", *COMPUTED):
            report(store, metric)
        report(store, "toxicity", *COMPUTED)


def report(store: Store, *metrics: str) -> None:
    taken = seconds(lambda: read_stored_scores(store, Selection(judge="gpt"), metrics))
    print(f"{2 * BATTLES:,} replies, {', '.join(metrics)}: {taken:.1f} s")


def fill(cursor: Cursor) -> None:
    rng = np.random.default_rng(0)
    letters = list("etaoinshrdlu")
    words = np.array(["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(5_000)])
    texts = [" ".join(rng.choice(words, rng.integers(20, 290))) for _ in range(2 * BATTLES)]
    cursor.register("written", {"n": np.arange(2 * BATTLES), "text": np.array(texts, dtype=object)})
    for statement in FILL:
        cursor.execute(statement)
    derived_rows.derive(cursor, "true", {})


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
