"""Why people preferred one model to another: shares of reasons, with intervals over voters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from coupled_arena.core.rationales import Criterion
from coupled_arena.stats.intervals import critical_value, wilson
from coupled_arena.store.database import Store
from coupled_arena.store.queries import reasons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.reasons import ReasonCount


@dataclass(frozen=True)
class ReasonShare:
    """How many of a model's wins over another have a criterion, among wins with any.

    Attributes
    ----------
    share, low, high : float
        The interval is Wilson's, with a variance over voters and Student's t.
    """

    winner: str
    loser: str
    criterion: Criterion
    said: int
    wins: int
    voters: int
    share: float
    low: float
    high: float


def read_reasons(store: Store, selection: Selection, alpha: float = 0.05) -> list[ReasonShare]:
    """Return the reasons of each pair, those with the most wins first."""
    with store.cursor() as cursor:
        rows = reasons.counted(cursor, selection)
    found = [
        share
        for _pair, group in groupby(rows, lambda row: (row.winner, row.loser))
        for share in _shares(list(group), alpha)
    ]
    return sorted(found, key=lambda each: (-each.wins, each.winner, each.loser, -each.said))


def _shares(rows: Sequence[ReasonCount], alpha: float) -> list[ReasonShare]:
    wins = np.array([row.wins for row in rows], np.float64)
    made = []
    for criterion in Criterion:
        said = np.array([row.by_criterion[criterion] for row in rows], np.float64)
        if said.any():
            share, low, high = share_of(said, wins, alpha)
            head = rows[0].winner, rows[0].loser, criterion
            made.append(
                ReasonShare(*(*head, int(said.sum()), int(wins.sum()), len(rows)), share, low, high)
            )
    return made


def share_of(said: np.ndarray, wins: np.ndarray, alpha: float) -> tuple[float, float, float]:
    """Return a share of wins and its interval, where those of one voter depend on each other.

    Parameters
    ----------
    said, wins : ndarray of float64, shape (voters,)
        How many of a voter's wins have the criterion, and how many there are.
    """
    n, voters = wins.sum(), len(wins)
    share = said.sum() / n
    binomial = share * (1 - share) / n
    if voters == n:  # each win has its own voter
        variance, critical = binomial, critical_value(alpha)
    elif voters == 1:  # one person tells nothing of others
        variance, critical = binomial, np.asarray(np.inf)
    else:
        residuals = said - share * wins
        clustered = (residuals**2).sum() / n**2 * voters / (voters - 1)
        variance, critical = max(clustered, binomial), critical_value(alpha, voters - 1)
    low, high = wilson(np.array([share]), np.array([variance]), np.array([float(voters)]), critical)
    return float(share), float(low[0]), float(high[0])
