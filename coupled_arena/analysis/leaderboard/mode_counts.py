"""Coupled battles against independent ones, from counts that the store has."""

from __future__ import annotations

import numpy as np

from coupled_arena.analysis.leaderboard.influence_cells import grid
from coupled_arena.core.records import Mode
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.counts import OUTCOMES, PairCounts
from coupled_arena.stats.coupling.modes import ModeComparison, compare_modes
from coupled_arena.store.queries import clusters
from coupled_arena.store.queries.clusters import InfluenceCells
from coupled_arena.store.queries.comparisons import Counts, Selection

_MODES = list(Mode)


def modes_of(counts: Counts, *, voted: bool) -> ModeComparison | None:
    """Compare the protocols by people's votes, or by the verdicts."""
    tables = counts.votes.sum(1) if voted else counts.labelled.sum(3) + counts.unlabelled
    if tables.shape[-1] > len(OUTCOMES):  # several judges, who have no verdict of their own
        return None
    coupled, independent = (
        PairCounts(counts.models, tables[_MODES.index(mode)])
        for mode in (Mode.COUPLED, Mode.INDEPENDENT)
    )
    if not (coupled.comparisons.any() and independent.comparisons.any()):
        return None
    return compare_modes(coupled, independent)


def modes_on_prompts(
    cursor: Cursor, selection: Selection, modes: ModeComparison, *, voted: bool
) -> ModeComparison:
    """Return the same where comparisons on one prompt depend on each other."""
    mode, a, b, outcome = grid(*modes.influence.pairs.shape[:4])
    places = np.array([_MODES.index(Mode.COUPLED), _MODES.index(Mode.INDEPENDENT)])
    label = {"human": outcome} if voted else {"verdict": outcome}
    of, k = modes.influence, len(modes.models)
    cells = [
        InfluenceCells(a, b, *values.reshape(-1, 2).T, mode=places[mode], **label)
        for values in (of.pairs, of.models, of.ties)
    ]
    pairs = clusters.PairSums(cells[0], k)
    averages, ties = (clusters.Gram(each, k) for each in cells[1:])
    clusters.add_up(cursor, selection, modes.models, cells[0], pairs, averages, ties)
    return modes.clustered(
        (pairs.squares, pairs.clusters),
        (np.diag(averages.sum), averages.clusters),
        (float(ties.sum.sum()), ties.clusters),  # of the square of all that a prompt adds up to
    )
