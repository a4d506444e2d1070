"""Do rank-sets keep their promise on boards that grow and have thin pairs? Board by board.

    python -m benchmarks.thin_pairs [--repeats 600] [--only WORD]

Worlds that a Bradley-Terry fit describes and worlds that it does not, drawn again and again: a
newcomer with one vote and more against each model, boards with few votes everywhere, some pairs
without any, designs out of balance. Beside the default, which fills thin pairs in, stands count
weighting, which boards with a thin pair had before.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage import bar, head, intervals, marked, row
from coupled_arena.core.choices import Cutoff, TieScore, Weighting
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.simulation.coverage import SimulationPlan, simulate
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.truths import SimulatedTruth, evenly

CUTOFFS, DRAWS = (Cutoff.MAX_T, Cutoff.STEP_DOWN), 5000
Sizes = Callable[[np.random.Generator], IntArray]


@dataclass(frozen=True)
class ThinTruth(SimulatedTruth):
    """A truth whose pairs have votes as `sizes` says, and departs by `shift` from strengths."""

    sizes: Sizes | None = None
    shift: FloatArray | float = 0.0

    def _preferred(self) -> FloatArray:
        strengths = np.asarray(self.strengths, dtype=np.float64)
        gaps = strengths[:, None] - strengths + self.shift
        return (1 - self.ties) / (1 + np.exp(-gaps))

    def _sizes(self, rng: np.random.Generator, n: int) -> IntArray:
        if self.sizes is None or n != self.human:
            return super()._sizes(rng, n)
        votes = np.triu(self.sizes(rng), 1)
        shown = rng.binomial(votes, 0.5)
        return shown + (votes - shown).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=600)
    parser.add_argument("--only", default="", help="settings whose name has this word")
    given = parser.parse_args()
    columns = [f"{cutoff} {who}" for cutoff in CUTOFFS for who in ("votes", "PPR")]
    head("setting", "weighting", *columns, "sizes", "intervals votes", "intervals PPR", "widths")
    for name, truth in settings():
        if given.only in name:
            for weighting in (Weighting.STRATIFIED, Weighting.COUNT):
                print(covered(name, truth, weighting, given.repeats), flush=True)


def settings() -> Iterator[tuple[str, ThinTruth]]:
    """Yield truths: each world with each kind of board."""
    for world, spread in (("equal", 0.0), ("spread 2", 2.0), ("in a circle", 0.0), ("rough", 1.0)):
        for k, board, sizes in boards():
            shift = {"in a circle": circle, "rough": rough}.get(world, lambda _: 0.0)(k)
            how = {"ties": 0.3, "sizes": sizes, "shift": shift}
            yield (
                f"{world}, k={k}, {board}",
                ThinTruth(evenly(k, spread), 1, 50 * k * (k - 1), **how),  # type: ignore[arg-type]
            )


def boards() -> Iterator[tuple[int, str, Sizes]]:
    """Yield boards: how many models, what of them is thin, and the votes of pairs."""
    for votes in (1, 2, 4, 6, 10):
        yield 5, f"a newcomer with {votes} a pair", newcomer(5, votes)
    yield 5, "a newcomer with 3 votes", newcomer(5, 0, 3)
    for k, votes in ((3, 2), (5, 1), (5, 3), (12, 3)):
        yield k, f"{votes} votes a pair", few(k, votes, 0, 0)
    yield 5, "3 of 10 pairs without votes", few(5, 30, 3, 0)
    yield 3, "1 of 3 pairs without votes", few(3, 30, 1, 0)
    yield 20, "2 of 190 pairs with 2 votes", few(20, 20, 2, 2)
    yield 5, "60 votes, 5:1", unbalanced(5, 60)


def newcomer(k: int, votes: int, more: int = 0) -> Sizes:
    """Return thirty votes a pair, but with the last model so many, and more at random."""

    def sizes(rng: np.random.Generator) -> IntArray:
        found = np.full((k, k), 30)
        found[:, -1] = votes
        found[:-1, -1] += rng.multinomial(more, np.full(k - 1, 1 / (k - 1)))
        return found

    return sizes


def few(k: int, votes: int, pairs: int, theirs: int) -> Sizes:
    """Return so many votes a pair, but for some pairs at random."""

    def sizes(rng: np.random.Generator) -> IntArray:
        found = np.full((k, k), votes)
        first, second = np.triu_indices(k, 1)
        at = rng.choice(len(first), pairs, replace=False)
        found[first[at], second[at]] = theirs
        return found

    return sizes


def unbalanced(k: int, votes: int) -> Sizes:
    """Return votes on pairs at random, five times as many on the busiest as on the others."""
    weight = np.geomspace(1, 3, k)
    first, second = np.triu_indices(k, 1)
    share = weight[first] * weight[second]

    def sizes(rng: np.random.Generator) -> IntArray:
        found = np.zeros((k, k), dtype=np.int64)
        found[first, second] = rng.multinomial(votes, share / share.sum())
        return found

    return sizes


def circle(k: int) -> FloatArray:
    """Return log-odds of .8 for each model against the next half of the others."""
    ahead = (np.arange(k)[None, :] - np.arange(k)[:, None]) % k
    return 0.8 * np.where(ahead == 0, 0.0, np.sign(k / 2 - ahead))


def rough(k: int) -> FloatArray:
    """Return departures of .6 log-odds in standard deviation, always the same."""
    upper = np.triu(np.random.default_rng(0).normal(0, 0.6, (k, k)), 1)
    return upper - upper.T


def covered(name: str, truth: ThinTruth, weighting: Weighting, repeats: int) -> str:
    how = {"weighting": weighting, "ties": TieScore.LOSS}  # as the table in benchmarks/README.md
    plan = SimulationPlan(truth, repeats, cutoffs=CUTOFFS, draws=DRAWS, **how)  # type: ignore[arg-type]
    result = simulate(plan, bar(name))
    by = {(one.cutoff, one.ranking): one for one in result.rank_sets}
    found = [by[cutoff, who] for cutoff in CUTOFFS for who in (Ranking.HUMAN, Ranking.PPR)]
    shares = [marked(one.coverage, result.repeats) for one in found]
    sizes = ", ".join(f"{one.size:.2f}" for one in found)
    widths = ", ".join(f"{one.width:.2f}" for one in result.intervals)
    return row(name, weighting.value, *shares, sizes, *intervals(result), widths)


if __name__ == "__main__":
    main()
