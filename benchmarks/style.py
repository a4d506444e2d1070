"""Style control on a large store, and what its intervals hold.

    python -m benchmarks.style [--votes N] [--folder DIR] [--coverage N]

Builds a store of N human votes among 20 models on replies of about a thousand characters, and times
what counts the style of all replies, once, and what the board with style control takes. With
--coverage, N boards of each kind are drawn where length moves votes and better models write longer:
how often intervals and rank-sets hold the truth, and how often the ranks are the true ones.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.special import expit, ndtr

from benchmarks.leaderboard import MODELS, fill, seconds
from coupled_arena.analysis.style.result import read_style, style_board
from coupled_arena.core.choices import Control
from coupled_arena.stats.style import ELO, PairRows, PairScores, UnboundedError, fit, win_rates
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection

_LINE = (
    "some **bold** words of a reply that goes on for quite a while, as replies do, and ends here"
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--votes", type=int, default=1_000_000)
    arguments.add_argument("--folder", type=Path, default=None)
    arguments.add_argument("--coverage", type=int, default=0)
    given = arguments.parse_args()
    if given.coverage:
        coverage(given.coverage)
        return
    with (
        tempfile.TemporaryDirectory(dir=given.folder) as folder,
        Store.open(Path(folder) / "arena.duckdb") as store,
    ):
        fill(store, given.votes, per_prompt=1)
        store.write(_reply)
        print(f"style of {2 * given.votes:,} replies counted in {_counted(store):.0f} s")
        for control in (Control.LENGTH, Control.STYLE):
            begun = time.process_time()
            taken = [seconds(lambda c=control: _shown(store, c)) for _ in range(3)]
            busy = (time.process_time() - begun) / len(taken)
            print(
                f"{given.votes:,} votes, {MODELS} models, {control}: "
                f"{statistics.median(taken):.1f} s ({min(taken):.1f} to {max(taken):.1f}), "
                f"{busy:.1f} s of a processor"
            )


def _reply(cursor) -> None:
    cursor.execute("select setseed(.3)")
    cursor.execute(
        """
        insert into replies (battle, turn, place, model, text, tokens, finish)
        select battle, 0, place, models[place + 1],
            if(random() < .3, '## Heading' || chr(10), '')
                || repeat($line || chr(10), (random() * 20)::int)
                || repeat('- ' || $line || chr(10), (random() * 5)::int),
            [], 'stop'
        from battles, (values (0), (1)) as places(place)
        """,
        {"line": _LINE},
    )


def _counted(store: Store) -> float:
    insert = "insert into reply_styles select * exclude (battle) from reply_style_rows"
    return seconds(lambda: store.write(lambda cursor: cursor.execute(insert)))


def _shown(store: Store, control: Control) -> None:
    style_board(read_style(store, Selection(), control))


def coverage(repeats: int) -> None:
    error = (0.05 * 0.95 / repeats) ** 0.5
    print(f"{repeats:,} boards of each kind; three binomial errors: {3 * error:.3f}")
    for k, votes, per_prompt, spread in (
        *((2, 40, 1, 0.5), (3, 60, 1, 0.5), (5, 200, 1, 1.0), (5, 200, 1, 0.0)),
        *((5, 1000, 1, 1.0), (5, 600, 5, 0.5), (4, 200, 10, 0.5), (10, 500, 1, 1.0)),
    ):
        found = held(k, votes, per_prompt, spread, repeats)
        print(f"{k} models, {votes} votes, {per_prompt} a prompt, span {2 * spread:g}: {found}")


def held(k: int, votes: int, per_prompt: int, spread: float, repeats: int) -> dict[str, float]:
    """Return how often what is held at 95 % is true, and how often ranks are, by both scores."""
    rng = np.random.default_rng(1)
    strength = np.linspace(-spread, spread, k)
    rows: list[dict[str, float]] = []
    for _ in range(repeats):
        drawn = board(rng, strength, votes, per_prompt)
        try:
            scores = PairScores.of(fit(drawn))
        except UnboundedError:
            continue
        low, high = scores.score.interval(0.05)
        rate_low, rate_high = scores.win_rate.share_interval(0.05)
        style_low, style_high = scores.coefficient.interval(0.05)
        ranks, best = scores.ranks(0.05), k - np.arange(k)
        true, rate = 1000 + ELO * strength, win_rates(strength)
        covered = (ranks.low <= best) & (best <= ranks.high)
        if spread == 0:
            covered = (ranks.low == 1) & (ranks.high == k)
        rows.append(
            {
                "scores": ((low <= true) & (true <= high)).mean(),
                "win rates": ((rate_low <= rate) & (rate <= rate_high)).mean(),
                "length": float(style_low[0] <= 1 <= style_high[0]),
                "rank-sets": float(covered.all()),
            }
        )
    found = {name: round(float(np.mean([row[name] for row in rows])), 3) for name in rows[0]}
    return {**found, "without scores": repeats - len(rows)}


def board(rng: np.random.Generator, strength: np.ndarray, votes: int, per_prompt: int) -> PairRows:
    """Draw votes that length moves by one log-odds for a unit of (a - b)/(a + b)."""
    k = len(strength)
    a = rng.integers(0, k, votes)
    b = (a + rng.integers(1, k, votes)) % k
    prompt = np.arange(votes) // per_prompt
    longer = [np.exp(rng.normal(strength[side] / 2, 0.5)) for side in (a, b)]
    x = (longer[0] - longer[1]) / (longer[0] + longer[1])
    # Voters of one prompt have half of what moves them in common; by itself each is logistic.
    luck = np.sqrt(0.5) * rng.normal(size=votes)[prompt] + np.sqrt(0.5) * rng.normal(size=votes)
    won = ndtr(luck) < expit(strength[a] - strength[b] + x)
    return PairRows(k, a, b, won.astype(float), x[:, None], prompt)


if __name__ == "__main__":
    main()
