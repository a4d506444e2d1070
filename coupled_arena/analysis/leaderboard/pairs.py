"""The pairs of a board: who beat whom, and which were compared too seldom."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR


@dataclass(frozen=True)
class HeadToHead:
    """One model against another, whichever was shown first; ties include "both bad"."""

    wins: int
    losses: int
    ties: int

    @property
    def comparisons(self) -> int:
        """How often the two were compared."""
        return self.wins + self.losses + self.ties

    @property
    def win_rate(self) -> float | None:
        """Fraction of the comparisons that the model won, None without any."""
        return self.wins / self.comparisons if self.comparisons else None

    @property
    def score(self) -> float | None:
        """Wins and half the ties, as a fraction: one half where the two are even."""
        return (self.wins + self.ties / 2) / self.comparisons if self.comparisons else None


@dataclass(frozen=True)
class MissingVotes:
    """A pair that was compared too seldom, and how many comparisons it still needs."""

    first: str
    second: str
    votes: int


def head_to_head(order: list[int], counts: PairCounts) -> tuple[tuple[HeadToHead, ...], ...]:
    """Return how often each model of an order beat each other; on the diagonal nothing."""
    wins, ties = counts.wins, counts.ties + counts.both_bad
    return tuple(
        tuple(HeadToHead(int(wins[i, j]), int(wins[j, i]), int(ties[i, j])) for j in order)
        for i in order
    )


def missing_votes(models: tuple[str, ...], votes: PairCounts) -> tuple[MissingVotes, ...]:
    """Return the pairs that lack votes, those that lack the fewest first."""
    n, place = votes.comparisons, votes.models.index
    short = [
        MissingVotes(a, b, int(MINIMUM_PER_PAIR - n[place(a), place(b)]))
        for a, b in combinations(models, 2)
        if n[place(a), place(b)] < MINIMUM_PER_PAIR
    ]
    return tuple(sorted(short, key=lambda pair: pair.votes))
