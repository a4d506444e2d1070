"""Rigged votes: what they do to a board, who is named, and what a board is like without them.

    python -m benchmarks.rigging [--honest 1000] [--boards 100]

1,000 honest voters cast twenty votes each on six models, drawn from a Bradley-Terry law with ties;
made-up ones cast theirs among them, at the same pace, for one model. The votes are imported into a
database, and who `voters` names is excluded, as `exclude` does. Printed are the board before,
during and after the attack; how many votes of which attacker make the second model the first, with
and without exclusion; and how many boards of honest voters alone have anybody named.
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from tqdm import tqdm

import coupled_arena as ca
from benchmarks.coverage import row
from coupled_arena.analysis.voter_report import read_voters
from coupled_arena.core.records import new_id
from coupled_arena.stats.unusual_voters import OUTCOMES, TOLERANCE, Votes, capitals
from coupled_arena.store.database import Store
from coupled_arena.store.tables.exclusions import Decision, Exclusion, exclude
from coupled_arena.store.transfer.importing import import_files

MODELS = tuple("abcdef")
SPREAD, TIES = 1.2, 0.2
EACH = 20  # votes of a voter
ALPHA = 0.05
TOLERANCES = (TOLERANCE, 0.0)  # in this order: the less is tolerated, the more are named
PAIRS = np.array(list(combinations(range(len(MODELS)), 2)))
WINNERS = ("model_a", "model_b", "tie")
FIRST, SECOND, LAST = 0, 1, len(MODELS) - 1
Draw = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Attacker:
    """Somebody who wants a model to win: which pairs, and what is said of them."""

    name: str
    draw: Draw
    votes_each: int = EACH


def laws() -> np.ndarray:
    """Return the chances of each pair's outcomes, shape (pairs, 3)."""
    strengths = np.linspace(SPREAD / 2, -SPREAD / 2, len(MODELS))
    first = (1 - TIES) / (1 + np.exp(strengths[PAIRS[:, 1]] - strengths[PAIRS[:, 0]]))
    return np.column_stack([first, 1 - TIES - first, np.full(len(PAIRS), TIES)])


LAWS = laws()


def drawn(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    return (rng.random(len(chances))[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)


def honest(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    pair = rng.integers(len(PAIRS), size=n)
    return pair, drawn(rng, LAWS[pair])


def only_for_it(rng: np.random.Generator, n: int, target: int) -> tuple[np.ndarray, np.ndarray]:
    pair = rng.choice(np.flatnonzero((target == PAIRS).any(axis=1)), size=n)
    return pair, _place(pair, target)


def agrees_elsewhere(
    rng: np.random.Generator, n: int, target: int
) -> tuple[np.ndarray, np.ndarray]:
    pair, outcome = honest(rng, n)
    return pair, np.where((PAIRS[pair] == target).any(axis=1), _place(pair, target), outcome)


def within_tolerance(
    rng: np.random.Generator, n: int, target: int
) -> tuple[np.ndarray, np.ndarray]:
    pair, outcome = honest(rng, n)
    place, mine = _place(pair, target), (PAIRS[pair] == target).any(axis=1)
    usual = LAWS[pair, place]
    more = np.minimum(TOLERANCE * usual, 1 - usual) / (1 - usual)
    return pair, np.where(mine & (rng.random(n) < more), place, outcome)


def _place(pair: np.ndarray, target: int) -> np.ndarray:
    return (PAIRS[pair, 1] == target).astype(np.int64)


ATTACKERS = (
    Attacker("votes only where it takes part, always for it", only_for_it),
    Attacker("votes on all, as most do, but always for it", agrees_elsewhere),
    Attacker("the same, no oftener than the tolerance allows", within_tolerance),
    Attacker("a new voter for each vote, always for it", only_for_it, votes_each=1),
)


@dataclass(frozen=True)
class Cast:
    """All votes, in order; made-up voters have numbers from `honest` on."""

    voter: np.ndarray
    pair: np.ndarray
    outcome: np.ndarray
    honest: int


def cast(voters: int, rigged: int, attacker: Attacker, target: int, seed: int = 0) -> Cast:
    """Draw the honest votes, the same for each seed, and put rigged ones among them."""
    good, bad, order = (np.random.default_rng([seed, part]) for part in range(3))
    kinds = [honest(good, voters * EACH), attacker.draw(bad, rigged, target)]
    voter = [np.arange(voters * EACH) // EACH, voters + np.arange(rigged) // attacker.votes_each]
    at = order.permutation(voters * EACH + rigged)
    pair, outcome = (np.concatenate(part)[at] for part in zip(*kinds, strict=True))
    return Cast(np.concatenate(voter)[at], pair, outcome, voters)


@dataclass(frozen=True)
class Seen:
    """A board, and who was excluded."""

    rates: dict[str, float]
    ranks: dict[str, str]
    named: int = 0
    wrongly: int = 0

    @property
    def first(self) -> str:
        """The model with the highest win rate."""
        return max(self.rates, key=lambda model: self.rates[model])


def boards(votes: Cast) -> list[Seen]:
    """Return the board of all votes, then those without who is named, by tolerance."""
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        table, db = Path(folder) / "votes.csv", Path(folder) / "arena.duckdb"
        write(votes, table)
        with Store.open(db) as store:
            import_files(store, [table])
            suspects = [
                [one.voter for one in read_voters(store, ALPHA, tolerance).rows if one.suspect]
                for tolerance in TOLERANCES
            ]
        seen.append(board(db))
        for before, named in pairwise([[], *suspects]):
            leave_out(db, set(named) - set(before))
            wrongly = sum(int(voter) < votes.honest for voter in named)
            seen.append(replace(board(db), named=len(named), wrongly=wrongly))
    return seen


def leave_out(db: Path, voters: set[str]) -> None:
    made = Decision("unlike the others", "benchmark", datetime.now(UTC))
    with Store.open(db) as store:
        for voter in sorted(voters):
            rule = Exclusion(new_id(), voter, None, None, made)
            store.write(lambda cursor, rule=rule: exclude(cursor, rule))


def write(votes: Cast, path: Path) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question_id", "model_a", "model_b", "winner", "judge", "tstamp"])
        for n, (voter, pair, outcome) in enumerate(
            zip(votes.voter, votes.pair, votes.outcome, strict=True)
        ):
            a, b = PAIRS[pair]
            winner = WINNERS[outcome]
            rows.writerow([n, MODELS[a], MODELS[b], winner, voter, 1_700_000_000 + 30 * n])


def board(db: Path) -> Seen:
    found = ca.leaderboard(ca.open(db))
    rows = found.to_dict()["models"]
    return Seen(
        {one["model"]: one["win_rate"] for one in rows},
        {one["model"]: f"{one['rank_low']} to {one['rank_high']}" for one in rows},
    )


def before_during_after(voters: int) -> Iterator[str]:
    """Yield the table of 1,000 rigged votes by 50 voters, for the last model and the second."""
    yield "| attack | board | win rate | possible ranks | first | named | honest ones named |"
    yield "|---|---|---|---|---|---|---|"
    for target in (LAST, SECOND):
        model = MODELS[target]
        lines = {"honest": boards(cast(voters, 0, ATTACKERS[0], target))[0]}
        found = boards(cast(voters, 1000, ATTACKERS[0], target))
        lines |= dict(zip(("attacked", *map(without, TOLERANCES)), found, strict=True))
        for name, seen in lines.items():
            named = f"{seen.named - seen.wrongly} of 50", str(seen.wrongly)
            yield row(
                *(f"for {model}", name, f"{seen.rates[model]:.3f}", seen.ranks[model], seen.first),
                *(named if name.startswith("without") else ("", "")),
            )


def needed(voters: int) -> Iterator[str]:
    """Yield how many rigged votes make the second model the first, on a grid of steps of 1.5."""
    yield row("attacker", "all votes counted", *map(without, TOLERANCES), "honest ones named")
    yield "|---|---|---|---|---|"
    grid = [round(100 * 1.5**n / EACH) * EACH for n in range(13)]
    for attacker in ATTACKERS:
        least: dict[int, int] = {}
        wrongly = 0
        for rigged in tqdm(grid, attacker.name, leave=False):
            found = boards(cast(voters, rigged, attacker, SECOND))
            wrongly = max(wrongly, *(seen.wrongly for seen in found))
            for way, seen in enumerate(found):
                if seen.first == MODELS[SECOND]:
                    least.setdefault(way, rigged)
            if len(least) == len(found):
                break
        ways = range(1 + len(TOLERANCES))
        cells = (f"{least[way]:,}" if way in least else f"over {grid[-1]:,}" for way in ways)
        yield row(attacker.name, *cells, f"{wrongly} at most")


def without(tolerance: float) -> str:
    return f"without the named, tolerance {tolerance:g}"


def falsely_named(voters: int, times: int) -> Iterator[str]:
    """Yield on how many honest boards anybody is named, at two tolerances."""
    for tolerance in TOLERANCES:
        named = []
        for seed in tqdm(range(times), f"tolerance {tolerance}", leave=False):
            votes = cast(voters, 0, ATTACKERS[0], SECOND, seed + 1)
            first, second = PAIRS[votes.pair].T
            found = capitals(
                Votes(votes.voter, first, second, votes.outcome), len(MODELS), tolerance
            )
            named.append(int(found.suspects(ALPHA).sum()))
        share = np.mean(np.array(named) > 0)
        error = math.sqrt(ALPHA * (1 - ALPHA) / times)
        yield (
            f"tolerance {tolerance}: {share:.3f} of {times} honest boards name anybody of "
            f"{voters:,} voters ({sum(named)} in all); allowed {ALPHA} (binomial error {error:.3f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--honest", type=int, default=1000, help="honest voters")
    parser.add_argument("--boards", type=int, default=100, help="honest boards")
    given = parser.parse_args()
    assert LAWS.shape == (len(PAIRS), OUTCOMES)
    for lines in (
        before_during_after(given.honest),
        needed(given.honest),
        falsely_named(given.honest, given.boards),
    ):
        for line in lines:
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
