"""How a pair of models stands by people's votes, said with care."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from coupled_arena.stats.intervals import critical_value, paired_difference
from coupled_arena.store.database import Store
from coupled_arena.store.queries.model_pages import PairVotes, pair_votes


@dataclass(frozen=True)
class PairStanding:
    """A pair's votes, and what they say of how much more often its first model is preferred.

    Attributes
    ----------
    low, high : float
        Bounds of the share of votes for the first less that for the second, -1 to 1.
    """

    votes: PairVotes
    alpha: float
    low: float
    high: float


def pair_standings(
    store: Store, models: Sequence[str], alpha: float = 0.05
) -> tuple[PairStanding, ...]:
    """Return how each pair of a battle's models stands now, as far as people have voted on it.

    Parameters
    ----------
    models : sequence of str
        In order of presentation; a pair has the one before the other.
    alpha : float
        Error level of each interval.
    """
    with store.cursor() as cursor:
        found = pair_votes(cursor, models)
    names = dict.fromkeys(models)
    there = (
        (first, found[frozenset((first, second))])
        for first, second in combinations(names, 2)
        if frozenset((first, second)) in found
    )
    return tuple(_standing(first, votes, alpha) for first, votes in there)


def _standing(first: str, votes: PairVotes, alpha: float) -> PairStanding:
    if votes.first != first:
        votes = PairVotes(
            first, votes.first, votes.losses, votes.wins, votes.neither, votes.prompts
        )
    # Votes on one prompt depend on each other: at worst they all say what one of them says.
    share = votes.prompts / votes.votes
    low, high = paired_difference(
        np.array([votes.wins * share]),
        np.array([votes.losses * share]),
        np.array([float(votes.prompts)]),
        critical_value(alpha, np.array([votes.prompts - 1.0])),
    )
    return PairStanding(votes, alpha, float(low[0]), float(high[0]))
