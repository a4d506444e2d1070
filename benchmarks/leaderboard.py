"""The leaderboard on a large store, and against the paper's algorithms on rows.

    python -m benchmarks.leaderboard [--votes N] [--per-prompt N] [--people N] [--folder DIR]

Builds a store of N human votes among 20 models, each with a judge's verdict, half of the battles
coupled, and times what the board shows: human-only and prediction-powered rank-sets, the pair
matrix, coupled against independent; in turn for people like the voters and for exactly these. Then
times Algorithms 1 and 2 of the ranking paper on 100,000 rows (vectorised NumPy, from the tests,
where it meets the golden values) against the same from counts, which is what the board does, row
counting in the store included.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from coupled_arena.analysis.leaderboard.board_estimates import Method, read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.core.choices import BoardSource, Covariance, Cutoff, Voters, Weighting
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, rank_sets
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Cursor, Selection
from tests.stats.reference import Rows, powered, rank_sets_chi2
from tests.store.conftest import make_battle, make_vote

MODELS, ROUNDS = 20, 5


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--votes", type=int, default=1_000_000)
    arguments.add_argument("--per-prompt", type=int, default=1)
    arguments.add_argument("--people", type=int, default=5000)
    arguments.add_argument("--folder", type=Path, default=None, help="keeps the store there")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = (given.folder or Path(folder)) / "arena.duckdb"
        board_on_a_large_store(path, given.votes, given.per_prompt, given.people)
    against_rows()


def board_on_a_large_store(path: Path, votes: int, per_prompt: int, people: int) -> None:
    there = path.exists()
    with Store.open(path) as store:
        if not there:
            made = seconds(lambda: fill(store, votes, per_prompt, people))
            print(f"store of {votes:,} votes made in {made:.0f} s", flush=True)
        show(store)
        both = [[seconds(lambda v=v: show(store, v)) for v in Voters] for _ in range(ROUNDS)]
        worked = [[processor(lambda v=v: show(store, v)) for v in Voters] for _ in range(ROUNDS)]
        estimates = read_estimates(store, Selection(judge="judge"), draws=LIVE_DRAWS)
        battle = make_battle("model-00", "model-01")
        added = seconds(lambda: store.add_battle(battle))
        cast = seconds(lambda: store.cast(make_vote(battle, 1, 2)))
        again = [
            seconds(lambda a=a: leaderboard(estimates, alpha=a))
            for a in (0.01, 0.02, 0.1, 0.2, 0.3)
        ]
        with store.cursor() as cursor:
            checked = seconds(lambda: [each for each in examine(cursor) if each.wrong])
    for voters, taken in zip(Voters, zip(*both, strict=True), strict=True):
        print(
            f"board of {votes:,} votes of {people:,} people, {per_prompt} a prompt, {voters}: "
            f"{statistics.median(taken):.3f} s ({min(taken):.3f} to {max(taken):.3f})"
        )
    least = [min(taken) for taken in zip(*worked, strict=True)]
    seen = ", ".join(f"{v} {taken:.2f} s" for v, taken in zip(Voters, least, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"of the processors at least: {seen}; memory at most {peak:,.0f} MB")
    print(f"another alpha: {statistics.median(again):.3f} s")
    print(f"a battle is stored in {added:.3f} s, a vote in {cast:.3f} s")
    print(f"all that `doctor` checks: {checked:.1f} s")


def show(store: Store, voters: Voters = Voters.LIKE) -> None:
    selection, method = Selection(judge="judge"), Method(voters=voters)
    estimates = read_estimates(store, selection, method, draws=LIVE_DRAWS, judge_alone=False)
    for source in (BoardSource.HUMAN, BoardSource.PPR):
        leaderboard(estimates, source=source)


def draw(cursor: Cursor, battles: int, models: int) -> None:
    """Make a table ``drawn`` of battles: numbers i, two models a and b, and a luck each."""
    cursor.execute("select setseed(.5)")
    cursor.execute(
        f"""
        create temp table drawn as
        with pair as (
            select i, (random() * {models})::int % {models} as a,
                (random() * {models - 1})::int % {models - 1} as shift, random() as luck
            from range({battles}) as t(i)
        )
        select *, (a + 1 + shift) % {models} as b, md5(i::text) as battle from pair
        """
    )


def fill(store: Store, votes: int, per_prompt: int, people: int = 5000) -> None:
    def work(cursor) -> None:
        draw(cursor, votes, MODELS)
        cursor.execute(
            f"""
            insert into battles (battle, created_at, origin, mode, seed, nonce, commitment, models,
                temperature, top_k, top_p, max_new_tokens, coupling, arithmetic)
            select battle, now(), 'arena', if(i % 2 = 0, 'coupled', 'independent'), i, ''::blob, '',
                [printf('model-%02d', a), printf('model-%02d', b)],
                .7, 0, .95, 256, 'token', map {{}}
            from drawn;
            insert into turns (battle, turn, prompt)
            select battle, 0, 'prompt ' || (i // {per_prompt}) from drawn;
            insert into votes (vote, battle, voter, ranks, both_bad, source, early, cast_at)
            select battle, battle, 'voter ' || (i % {people}),
                case when luck < .3 + .01 * (b - a) then [1, 2] when luck < .7 then [2, 1]
                else [1, 1] end, luck > .9, 'human', false, now()
            from drawn;
            insert into judges (judge, model, prompt_hash, sampling) values ('judge', '', '', '');
            insert into verdicts (verdict, battle, judge, first_place, second_place, outcome, raw,
                judged_at)
            select battle, battle, 'judge', 0, 1, case when random() < .5 then
                if(luck < .35, 'first', if(luck < .7, 'second', 'tie')) else 'tie' end, '', now()
            from drawn;
            insert into models (model) select printf('model-%02d', i) from range({MODELS}) as t(i);
            insert into prompts (prompt_key) select distinct prompt_key from prompt_keys;
            insert into comparisons select * exclude (battle) from comparison_rows;
            update prompts set comparisons = {per_prompt};
            drop table drawn;
            """
        )

    store.write(work)


def against_rows(rows: int = 100_000) -> None:
    rng = np.random.default_rng(0)
    n = rows // 10
    a = rng.integers(0, MODELS, rows)
    b = (a + rng.integers(1, MODELS, rows)) % MODELS
    h, g = rng.integers(0, 4, (2, rows))
    human, alone = Rows(a[:n], b[:n], h[:n], g[:n]), Rows(a[n:], b[n:], h[n:], g[n:])

    def by_rows() -> None:
        theta, covariance, _ = powered(human, alone, MODELS)
        rank_sets_chi2(theta, covariance, 0.05)

    labelled = np.zeros((MODELS, MODELS, 4, 4), dtype=np.int64)
    unlabelled = np.zeros((MODELS, MODELS, 4), dtype=np.int64)
    np.add.at(labelled, (human.a, human.b, human.h, human.g), 1)
    np.add.at(unlabelled, (alone.a, alone.b, alone.g), 1)
    counts = JudgedCounts(tuple(f"m{i:02}" for i in range(MODELS)), labelled, unlabelled)

    def by_counts() -> None:
        made = estimate(counts, Weighting.COUNT, Covariance.PUBLISHED)
        rank_sets(made, 0.05, Cutoff.CHI2)

    slow = statistics.median(seconds(by_rows) for _ in range(3))
    fast = statistics.median(seconds(by_counts) for _ in range(20))
    print(
        f"Algorithms 1 and 2 on {rows:,} rows: {slow:.2f} s; from their counts: {fast * 1000:.2f} "
        f"ms, {slow / fast:.0f} times faster"
    )


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def processor(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
