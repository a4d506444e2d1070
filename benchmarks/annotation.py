"""How long the next stored battle takes to come: ``python -m benchmarks.annotation``."""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.leaderboard import draw
from coupled_arena.battles.annotation import Annotation
from coupled_arena.store.database import Store
from coupled_arena.store.work_queues.battles import Backlog

MODELS = 6
WORDS = 60


def main() -> None:
    """Fill a store with battles of which a third has a vote, then serve some."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--battles", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=40)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "x.duckdb") as store:
        fill(store, given.battles)
        started = time.perf_counter()
        backlog = Backlog(store)
        print(f"{backlog.battles:,} battles found in {time.perf_counter() - started:.2f} s")
        annotation = Annotation(store, backlog, random.Random(0))
        took: dict[str, list[float]] = {"next battle": [], "vote": [], "progress": []}
        for number in range(given.rounds):
            owner = f"voter {number % 20}"
            started = time.perf_counter()
            round_id = annotation.next(owner)
            drawn = time.perf_counter()
            annotation.vote(owner, round_id or "", [1, 2])
            voted = time.perf_counter()
            annotation.progress(owner)
            ends = (drawn - started, voted - drawn, time.perf_counter() - voted)
            for times, end in zip(took.values(), ends, strict=True):
                times.append(1000 * end)
        backlog.close()
    for name, times in took.items():
        print(
            f"{name}: {statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f}), "
            f"median of {len(times)}"
        )


def fill(store: Store, battles: int) -> None:
    def work(cursor) -> None:
        draw(cursor, battles, MODELS)
        cursor.execute(
            f"""
            insert into battles (battle, created_at, origin, mode, seed, nonce, commitment, models,
                temperature, top_k, top_p, max_new_tokens, coupling, experiment, arithmetic)
            select battle, now(), 'generate', if(i % 2 = 0, 'coupled', 'independent'), i // 2,
                ''::blob, '', [printf('model-%02d', a), printf('model-%02d', b)],
                .7, 0, .95, 256, 'token', '7b00000000000000', map {{}}
            from drawn;
            insert into turns (battle, turn, prompt)
            select battle, 0, 'prompt ' || (i // 20) from drawn;
            insert into replies
            select battle, 0, place, printf('model-%02d', if(place = 0, a, b)),
                repeat(printf('word %d %d ', i, place), {WORDS}), range({WORDS}), 'stop'
            from drawn, range(2) as t(place);
            insert into votes (vote, battle, voter, ranks, both_bad, source, early, cast_at)
            select battle, battle, 'voter ' || (i % 20), [1, 2], false, 'human', false, now()
            from drawn where luck < .33;
            insert into reveals select battle, voter, now() from votes;
            insert into models (model) select printf('model-%02d', i) from range({MODELS}) as t(i);
            insert into prompts (prompt_key) select distinct prompt_key from prompt_keys;
            insert into comparisons select * exclude (battle) from comparison_rows;
            update prompts set comparisons = 20;
            drop table drawn;
            """
        )

    store.write(work)


if __name__ == "__main__":
    main()
