"""Estimates whose comparisons depend on each other: those on one prompt, those of one voter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array

from coupled_arena.analysis.leaderboard.influence_cells import (
    cells_of_both,
    cells_of_verdicts,
    cells_of_votes,
)
from coupled_arena.core.choices import BoardSource
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.influence import PairProducts
from coupled_arena.stats.ranking.estimates import Estimate
from coupled_arena.stats.ranking.voters import Kinds, Shares, VoterTable, of_people
from coupled_arena.store.queries import clusters
from coupled_arena.store.queries.comparisons import Cursor, Selection
from coupled_arena.store.queries.influence_sums import InfluenceCells, blocks, number_voters

_MANY_PROMPTS = 1000
"""Prompts of every pair from which it is not worth a pass over the table to know which pair has
how much of a variance: Student's t with so many degrees is .3 % off the normal law at 3.3."""

_CELLS = {
    BoardSource.HUMAN: cells_of_votes,
    BoardSource.JUDGE: cells_of_verdicts,
    BoardSource.PPR: cells_of_both,
}


def in_clusters(
    cursor: Cursor,
    selection: Selection,
    estimates: Mapping[BoardSource, Estimate],
    *,
    prompts: bool,
    voters: bool,
) -> dict[BoardSource, Estimate]:
    """Return estimates that know which comparisons depend on each other.

    Parameters
    ----------
    prompts : bool
        Whether any share a prompt.
    voters : bool
        Whether the board is about people like the voters, who each have a taste.
    """
    people = number_voters(cursor) if voters else 0
    return {
        source: _clustered(cursor, selection, source, plain, prompts=prompts, people=people)
        for source, plain in estimates.items()
    }


def _clustered(
    cursor: Cursor,
    selection: Selection,
    source: BoardSource,
    plain: Estimate,
    *,
    prompts: bool,
    people: int,
) -> Estimate:
    cells, k = _CELLS[source](plain), len(plain.models)
    people = 0 if cells.human is None else people
    if not prompts and not people:
        return plain
    gram, pairs = clusters.Gram(cells, k), clusters.PairSums(cells, k)
    many = plain.free.min(where=plain.free > 0, initial=np.inf) >= _MANY_PROMPTS
    counted, spread = clusters.VoterCounts(cells, people), None
    kinds, size = kinds_of(cells, counted, k), plain.sizes
    for block in blocks(cursor, selection, plain.models, cells, voters=people > 0):
        if people:
            counted.add(block)
        if not prompts:
            continue
        found = block.by_prompt
        gram.add(found)
        if many:
            continue
        pairs.add(found)
        if people:
            more = Shares.of(kinds.votes(csr_array(found[:, counted.kinds])), size)
            spread = more if spread is None else spread + more
    these = plain
    if prompts:
        products = None if many else PairProducts(pairs.squares, pairs.products)
        these = plain.clustered(gram.sum, gram.clusters, products)
    if not people:
        return these
    table = VoterTable(kinds, counted.by_voter, counted.repeated, size)
    return of_people(these, plain, table, spread)


def kinds_of(cells: InfluenceCells, counted: clusters.VoterCounts, k: int) -> Kinds:
    """Return the kinds of comparisons with a vote."""
    at = counted.kinds
    a, b = cells.model_a[at], cells.model_b[at]
    adds: FloatArray | csr_array = cells.by_model(k)[at]
    return Kinds(np.minimum(a, b) * k + np.maximum(a, b), adds)
