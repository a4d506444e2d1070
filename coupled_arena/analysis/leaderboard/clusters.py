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
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.counts import FloatArray, IntArray, PairCounts
from coupled_arena.stats.influence import PairProducts
from coupled_arena.stats.ranking.estimates import Estimate
from coupled_arena.stats.ranking.sides import Sides, SideSums
from coupled_arena.stats.ranking.voters import Kinds, Shares, VoterTable, of_people
from coupled_arena.store.queries import clusters
from coupled_arena.store.queries.clusters import InfluenceCells, blocks, number_voters
from coupled_arena.store.queries.comparisons import Selection

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
    votes: PairCounts,
    *,
    prompts: bool,
    voters: bool,
) -> tuple[dict[BoardSource, Estimate], Sides | None]:
    """Return estimates that know which comparisons depend on each other, and the first slot's.

    Parameters
    ----------
    votes : PairCounts
        All that people's estimate is from.
    prompts : bool
        Whether any share a prompt.
    voters : bool
        Whether the board is about people like the voters, who each have a taste.
    """
    sides = _sides_apart(votes, estimates.get(BoardSource.HUMAN))
    people = number_voters(cursor) if voters else 0
    found: dict[BoardSource, Estimate] = {}
    for source, plain in estimates.items():
        of_board = sides if source is BoardSource.HUMAN else None
        known = {"prompts": prompts, "people": people, "sides": of_board}
        found[source], of_board = _clustered(cursor, selection, source, plain, **known)
        sides = of_board or sides
    return found, sides


def _clustered(
    cursor: Cursor,
    selection: Selection,
    source: BoardSource,
    plain: Estimate,
    *,
    prompts: bool,
    people: int,
    sides: Sides | None,
) -> tuple[Estimate, Sides | None]:
    cells, k = _CELLS[source](plain), len(plain.models)
    people = 0 if cells.human is None else people
    if not prompts and not people:
        return plain, sides
    gram, pairs = clusters.Gram(cells, k), clusters.PairSums(cells, k)
    many = plain.free.min(where=plain.free > 0, initial=np.inf) >= _MANY_PROMPTS
    counted, spread = clusters.VoterCounts(cells, people), None
    kinds, size = kinds_of(cells, counted, k), plain.sizes
    slot = None if sides is None else sides.influence[tuple(_keys(cells, counted))]
    on_prompts = SideSums()
    for block in blocks(cursor, selection, plain.models, cells, voters=people > 0):
        if people:
            counted.add(block)
        if not prompts:
            continue
        found = block.by_prompt
        gram.add(found)
        if slot is not None:
            on_prompts += SideSums.of(found, slot)  # of people's votes all kinds have one
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
    table = VoterTable(kinds, counted.by_voter, counted.repeated, size)
    if sides is not None and slot is not None:
        sides = _sides_of(sides, slot, table if people else None, on_prompts if prompts else None)
    return of_people(these, plain, table, spread) if people else these, sides


def _sides_of(
    sides: Sides, slot: FloatArray, table: VoterTable | None, on_prompts: SideSums | None
) -> Sides:
    """Return the first-slot effect with what votes of one voter, and on one prompt, share."""
    if table is None:
        return sides.clustered([on_prompts] if on_prompts else [], sides.variance)
    by_voter, again = SideSums.of(table.found, slot), SideSums.of(table.repeated, slot)
    apart = float(np.asarray(table.repeated.sum(axis=0)) @ slot**2)
    both = sides.variance + again.squares - apart
    return sides.clustered([by_voter, *([on_prompts] if on_prompts else [])], both)


def _keys(cells: InfluenceCells, counted: clusters.VoterCounts) -> list[IntArray]:
    assert cells.human is not None
    return [each[counted.kinds] for each in (cells.model_a, cells.model_b, cells.human)]


def kinds_of(cells: InfluenceCells, counted: clusters.VoterCounts, k: int) -> Kinds:
    """Return the kinds of comparisons with a vote."""
    at = counted.kinds
    a, b = cells.model_a[at], cells.model_b[at]
    adds: FloatArray | csr_array = cells.by_model(k)[at]
    return Kinds(np.minimum(a, b) * k + np.maximum(a, b), adds)


def _sides_apart(votes: PairCounts, human: Estimate | None) -> Sides | None:
    """Return what being shown first does, by all votes, as if none depended on another."""
    if human is None:
        return None
    at = [votes.models.index(model) for model in human.models]
    return Sides.of(PairCounts(human.models, votes.counts[np.ix_(at, at)]))
