"""What each kind of comparison adds to an estimate's error, as rows that the store can match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coupled_arena.stats.counts import IntArray
from coupled_arena.stats.influence import Influence
from coupled_arena.stats.ranking.estimates import Estimate
from coupled_arena.store.queries.clusters import InfluenceCells


def grid(*shape: int) -> list[IntArray]:
    """Return the indices of an array's elements, axis by axis."""
    return [axis.ravel() for axis in np.indices(shape)]


def cells_of_votes(estimated: Estimate) -> InfluenceCells:
    """Return what comparisons with a vote add."""
    influence = estimated.influence.labelled[:, :, :, 2]  # λ = 0: whatever the verdict
    a, b, outcome = grid(*influence.shape[:3])
    values = influence.reshape(-1, 2)
    on_all = None if estimated.thin is None else estimated.thin.on_all(a, b, outcome, values)
    return InfluenceCells(a, b, values[:, 0], values[:, 1], human=outcome, on_all=on_all)


def cells_of_verdicts(estimated: Estimate) -> InfluenceCells:
    """Return what comparisons with a verdict add, where the judge's word is all that counts."""
    votes = cells_of_votes(estimated)
    return replace(votes, human=None, verdict=votes.human)


def cells_of_both(estimated: Estimate) -> InfluenceCells:
    """Return what comparisons with a verdict add, with a vote and without."""
    cells, thin = cells_of(estimated.influence), estimated.thin
    if thin is None:
        return cells
    assert cells.human is not None
    voted = cells.human >= 0
    on_all = np.zeros((len(voted), len(estimated.models)))
    rows = np.arange(len(voted))
    on_all[rows, cells.model_a], on_all[rows, cells.model_b] = cells.first, cells.second
    places = cells.model_a[voted], cells.model_b[voted], cells.human[voted]
    own = np.stack([cells.first, cells.second], axis=-1)[voted]
    on_all[voted] = thin.on_all(*places, own)
    return replace(cells, on_all=on_all)


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


def stacked(influences: Sequence[Influence]) -> InfluenceCells:
    """Return rows for several numbers of each model: those of the second follow all the first."""
    k = len(influences[0].labelled)
    rows = [cells_of(each) for each in influences]

    def column(name: str) -> Any:
        return np.concatenate([getattr(each, name) for each in rows])

    shift = np.repeat(np.arange(len(rows)) * k, [len(each.first) for each in rows])
    return InfluenceCells(
        model_a=column("model_a") + shift,
        model_b=column("model_b") + shift,
        first=column("first"),
        second=column("second"),
        human=column("human"),
        verdict=column("verdict"),
    )
