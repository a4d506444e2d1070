"""What each kind of comparison adds to an estimate's error, as rows that the store can match."""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import IntArray
from coupled_arena.stats.ranking.estimates import Estimate, Influence
from coupled_arena.store.queries.clusters import InfluenceCells


def grid(*shape: int) -> list[IntArray]:
    """Return the indices of an array's elements, axis by axis."""
    return [axis.ravel() for axis in np.indices(shape)]


def cells_of_votes(estimated: Estimate) -> InfluenceCells:
    """Return what comparisons with a vote add."""
    influence = estimated.influence.labelled[:, :, :, 2]  # λ = 0: whatever the verdict
    a, b, outcome = grid(*influence.shape[:3])
    first, second = influence.reshape(-1, 2).T
    return InfluenceCells(a, b, first, second, human=outcome)


def cells_of_verdicts(estimated: Estimate) -> InfluenceCells:
    """Return what comparisons with a verdict add, where the judge's word is all that counts."""
    votes = cells_of_votes(estimated)
    return InfluenceCells(
        votes.model_a, votes.model_b, votes.first, votes.second, verdict=votes.human
    )


def cells_of(influence: Influence) -> InfluenceCells:
    """Return what comparisons with a verdict add, as rows that the store can match."""
    a, b, human, verdict = grid(*influence.labelled.shape[:4])
    c, d, alone = grid(*influence.unlabelled.shape[:3])
    values = np.concatenate(
        [influence.labelled.reshape(-1, 2), influence.unlabelled.reshape(-1, 2)]
    )
    return InfluenceCells(
        model_a=np.concatenate([a, c]),
        model_b=np.concatenate([b, d]),
        first=values[:, 0],
        second=values[:, 1],
        human=np.concatenate([human, np.full_like(alone, -1)]),
        verdict=np.concatenate([verdict, alone]),
    )
