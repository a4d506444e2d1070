"""A backup's chunks and the way back, on a large store, beside somebody who votes.

    python -m benchmarks.backup [--votes N] [--folder DIR]

Times the first chunk, which has everything; one of thirty new votes, while another thread votes
on; how long those votes take with and without it; a start beside the whole database; and a start on
an empty disk, which brings everything back.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from benchmarks.leaderboard import fill, seconds
from coupled_arena.core.records import Vote
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.snapshots import count_rows
from coupled_arena.store.transfer.targets import BackupFolder
from tests.store.conftest import make_battle, make_vote

ROUNDS = 3
NEW = 30
NEVER = 1440.0  # minutes
_REPLIES = """
insert into replies
select
    battle, 0, i - 1, models[i], repeat(sha256(concat(battle, i)), 8), range(100)::integer[], 'stop'
from (select battle, models, unnest([1, 2]) as i from battles)
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--votes", type=int, default=100_000)
    arguments.add_argument("--folder", type=Path, default=None)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        beside_voting(Path(folder), given.votes)


def beside_voting(folder: Path, votes: int) -> None:
    kept = folder / "kept"
    kept.mkdir()
    with Store.open(folder / "arena.duckdb") as store:
        fill(store, votes, 1)
        store.write(lambda cursor: cursor.execute(_REPLIES))
        print(f"first chunk of {votes:,} votes: {seconds(lambda: send(store, kept)):.2f} s")
        with store.cursor() as cursor:
            held = count_rows(cursor)
        alone = [seconds(lambda: vote(store)) for _ in range(NEW)]
        print(f"start beside the database, and a chunk: {seconds(lambda: send(store, kept)):.2f} s")
        chunks, beside = [], []
        for _ in range(ROUNDS):
            taken, during = voting_during(store, kept)
            chunks.append(taken)
            beside += during
        print(f"chunk of {NEW} new votes: {statistics.median(chunks):.2f} s")
        for name, times in (("alone", alone), ("beside a chunk", beside)):
            print(
                f"a vote {name}: {1000 * statistics.median(times):.0f} ms, "
                f"at most {1000 * max(times):.0f} ms"
            )
        print(f"the store began with {held}")
    size = sum(file.stat().st_size for file in kept.rglob("*.parquet"))
    with Store.open(folder / "empty.duckdb") as empty:
        print(f"restore of {size / 1e6:.0f} MB: {seconds(lambda: send(empty, kept)):.1f} s")
        with empty.cursor() as cursor:
            print(f"there are now {count_rows(cursor)}")


def voting_during(store: Store, kept: Path) -> tuple[float, list[float]]:
    """Return how long a chunk took, and each of the votes that were cast meanwhile."""
    backup = Backup(store, BackupFolder(kept), NEVER)
    wait(backup)
    for _ in range(NEW):
        vote(store)
    done, times = threading.Event(), []

    def votes() -> None:
        while not done.is_set():
            times.append(seconds(lambda: vote(store)))

    voter = threading.Thread(target=votes)
    voter.start()
    taken = seconds(backup.close)  # the last chunk
    done.set()
    voter.join()
    return taken, times


def send(store: Store, kept: Path) -> None:
    with closing(Backup(store, BackupFolder(kept), NEVER)) as backup:
        wait(backup)


def wait(backup: Backup) -> None:
    """Return once the first chunk is sent."""
    while backup.age is None:
        time.sleep(0.01)


def vote(store: Store) -> Vote:
    battle = make_battle("model-00", "model-01")
    store.add_battle(battle)
    cast = make_vote(battle, 1, 2)
    store.cast(cast)
    return cast


if __name__ == "__main__":
    main()
