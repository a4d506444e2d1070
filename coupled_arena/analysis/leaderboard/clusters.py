"""Estimates with comparisons that depend on each other: on one prompt, or by one voter.

First the board's estimates, then coupled against independent battles, then the rows by which the
store adds up what comparisons add to an error. This module knows no error level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from coupled_arena.core.choices import BoardSource
from coupled_arena.core.records import Mode
from coupled_arena.core.verdicts import ABSTAINED_CODE
from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts, PairCounts
from coupled_arena.stats.coupling.modes import ModeComparison, compare_modes
from coupled_arena.stats.influence import Influence, PairProducts
from coupled_arena.stats.judges.voter_tastes import side_by_side
from coupled_arena.stats.ranking.estimates import Estimate
from coupled_arena.stats.ranking.sides import Sides, SideSums
from coupled_arena.stats.ranking.voter_tastes import (
    Kinds,
    Shares,
    VoterSpread,
    VoterTable,
    of_people,
)
from coupled_arena.store.queries import clusters
from coupled_arena.store.queries.comparisons import Counts
from coupled_arena.store.queries.matched_comparisons import (
    Block,
    Comparisons,
    InfluenceCells,
    VoterCounts,
    kinds_with_vote,
)

_MANY_PROMPTS = 1000
"""Prompts of every pair from which it is not worth a pass over the table to know which pair has
how much of a variance: Student's t with so many degrees is .3 % off the normal law at 3.3."""


@dataclass(frozen=True, eq=False)
class InClusters:
    """What a board says once it knows which comparisons depend on each other.

    Attributes
    ----------
    sides : Sides or None
        The effect of being shown first.
    shift : Estimate or None
        What verdicts alone say otherwise than verdicts beside votes.
    """

    by_source: Mapping[BoardSource, Estimate]
    sides: Sides | None
    shift: Estimate | None


def in_clusters(
    read: Comparisons,
    estimates: Mapping[BoardSource, Estimate],
    votes: PairCounts,
    *,
    shift: Estimate | None,
    prompts: bool,
) -> InClusters:
    """Return estimates that know which comparisons depend on each other, and the first slot's.

    Parameters
    ----------
    read : Comparisons
        With the number of people where the board is about people like the voters, who each have a
        taste.
    votes : PairCounts
        All that people's estimate is from.
    shift : Estimate or None
        From the counts of the prediction-powered one.
    prompts : bool
        Whether any share a prompt.
    """
    sides = _sides_apart(votes, estimates.get(BoardSource.HUMAN))
    found: dict[BoardSource, Estimate] = dict(estimates)
    known: dict[tuple[str, ...], VoterSpread] = {}
    for source in sorted(estimates, key=_WITH_VERDICTS_FIRST.index):
        plain = estimates[source]
        cells = _cells_of_board(source, plain)
        voted = bool(read.people) and cells.human is not None
        if not prompts and not voted:
            continue
        slot = sides if source is BoardSource.HUMAN else None
        counted = read.by_voter(plain.models, cells) if voted else None
        sums = [
            _Sums(
                plain, cells, counted, prompts=prompts, sides=slot, spread=known.get(plain.models)
            )
        ]
        if source is BoardSource.PPR and shift is not None and prompts:
            # Verdicts do not know who voted: those beside one person's votes share no taste.
            at, heard = _cells_heard(plain, shift, cells)
            sums.append(_Sums(shift, heard, None, prompts=prompts, sides=None, at=at))
        for block in read.blocks(plain.models, cells) if prompts else ():
            for each in sums:
                each.add(block)
        found[source], sides = sums[0].estimate, sums[0].sides or sides
        if sums[0].spread is not None and not read.mixed:
            known[plain.models] = sums[0].spread
        shift = sums[1].estimate if len(sums) > 1 else shift
    return InClusters(found, sides, shift)


def voter_sums(
    read: Comparisons, plain: Estimate, source: BoardSource
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return what each voter's votes add to errors, shape (voters, k), and how many there are.

    None of both, of a source without votes.
    """
    cells = _cells_of_board(source, plain)
    if cells.human is None:
        return None, None
    k, at = len(plain.models), kinds_with_vote(cells)
    counted, kinds = read.by_voter(plain.models, cells), _kinds_of(cells, at, k)
    votes = np.asarray(counted.by_voter.sum(axis=1), np.float64).ravel()
    return kinds.sums(counted.by_voter, np.ones((k, k))), votes


# Votes are among the rows with verdicts, where all of them have one.
_WITH_VERDICTS_FIRST = [BoardSource.PPR, BoardSource.JUDGE, BoardSource.HUMAN]


class _Sums:
    """What the comparisons behind an estimate add up to by prompt and by voter, block by block.

    Parameters
    ----------
    plain : Estimate
        As if no comparison depended on another.
    counted : VoterCounts or None
        Who voted; None where that does not matter.
    prompts : bool
        Whether any share a prompt.
    sides : Sides or None
        The first slot's effect, if it is to be added up as well.
    at : ndarray of int64, optional
        Which of the kinds in the blocks the cells are; by default all of them.
    spread : VoterSpread, optional
        Of another board's votes, which may be the same.
    """

    def __init__(
        self,
        plain: Estimate,
        cells: InfluenceCells,
        counted: VoterCounts | None,
        *,
        prompts: bool,
        sides: Sides | None,
        at: IntArray | None = None,
        spread: VoterSpread | None = None,
    ) -> None:
        k = len(plain.models)
        self._plain, self._prompts, self._at = plain, prompts, at
        self._gram, self._pairs = clusters.Gram(cells, k), clusters.PairSums(cells, k)
        self._many = plain.free.min(where=plain.free > 0, initial=np.inf) >= _MANY_PROMPTS
        self._voted = kinds_with_vote(cells)
        self._kinds = _kinds_of(cells, self._voted, k)
        self._table = None if counted is None else _table_of(plain, self._kinds, counted, spread)
        self._spread: Shares | None = None
        self._sides, self._on_prompts = sides, SideSums()
        places = None if sides is None else tuple(_keys(cells, self._voted))
        self._slot = None if sides is None else sides.influence[places]

    def add(self, block: Block) -> None:
        """Add the comparisons of a block."""
        if self._at is not None:
            block = block.of(self._at)
        found = block.by_prompt
        self._gram.add(found)
        if self._slot is not None:
            self._on_prompts += SideSums.of(found, self._slot)  # of people all kinds have a vote
        if self._many:
            return
        self._pairs.add(found)
        if self._table is not None:
            votes = self._kinds.votes(csr_array(found[:, self._voted]))
            more = Shares.of(votes, self._plain.sizes)
            self._spread = more if self._spread is None else self._spread + more

    @property
    def estimate(self) -> Estimate:
        """The estimate that knows of these clusters."""
        these = self._plain
        if self._prompts:
            own, cross = self._pairs.squares, self._pairs.products
            products = None if self._many else PairProducts(own, cross)
            these = these.clustered(self._gram.sum, self._gram.clusters, products)
        if self._table is None:
            return these
        return of_people(these, self._plain, self._table, self._spread)

    @property
    def sides(self) -> Sides | None:
        """The first slot's effect with them."""
        if self._sides is None or self._slot is None:
            return None
        on_prompts = self._on_prompts if self._prompts else None
        return _sides_of(self._sides, self._slot, self._table, on_prompts)

    @property
    def spread(self) -> VoterSpread | None:
        """How votes are spread over voters, if that matters."""
        return None if self._table is None else self._table.spread


def _table_of(
    plain: Estimate, kinds: Kinds, counted: VoterCounts, other: VoterSpread | None
) -> VoterTable:
    """Return who voted what; how votes are spread is known where another board has the same."""
    same = other is not None and np.array_equal(other.size, plain.sizes)
    spread = other if same else None
    return VoterTable(kinds, counted.by_voter, counted.repeated, plain.sizes, spread)


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


def _keys(cells: InfluenceCells, at: IntArray) -> list[IntArray]:
    assert cells.human is not None
    return [each[at] for each in (cells.model_a, cells.model_b, cells.human)]


def _kinds_of(cells: InfluenceCells, at: IntArray, k: int) -> Kinds:
    """Return the kinds of comparisons with a vote."""
    a, b = cells.model_a[at], cells.model_b[at]
    adds: FloatArray | csr_array = cells.by_model(k)[at]
    if isinstance(adds, csr_array) and adds.shape[0] * k <= clusters.DENSE:
        adds = adds.toarray()  # products with it take less time
    return Kinds(np.minimum(a, b) * k + np.maximum(a, b), adds)


def _sides_apart(votes: PairCounts, human: Estimate | None) -> Sides | None:
    """Return what being shown first does, by all votes, as if none depended on another."""
    if human is None:
        return None
    at = [votes.models.index(model) for model in human.models]
    return Sides.of(PairCounts(human.models, votes.counts[np.ix_(at, at)]))


_MODES = list(Mode)


def judged_counts(counts: Counts) -> JudgedCounts:
    """Return the counts of both modes together."""
    return JudgedCounts(counts.models, counts.labelled.sum(0), counts.unlabelled.sum(0))


def compare_board_modes(counts: Counts, *, voted: bool) -> ModeComparison | None:
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


def modes_in_clusters(
    read: Comparisons, plain: ModeComparison, *, voted: bool, prompts: bool
) -> ModeComparison:
    """Return the same where comparisons on one prompt, or by one voter, depend on each other.

    Parameters
    ----------
    read : Comparisons
        With the number of people where the result is about people like the voters, who each have a
        taste.
    voted : bool
        Whether people's votes are compared, or verdicts.
    prompts : bool
        Whether any comparisons share a prompt.
    """
    people = read.people if voted else 0
    if not prompts and not people:
        return plain
    mode, a, b, outcome = _grid(*plain.influence.pairs.shape[:4])
    places = np.array([_MODES.index(Mode.COUPLED), _MODES.index(Mode.INDEPENDENT)])
    label = {"human": outcome} if voted else {"verdict": outcome}
    of, k = plain.influence, len(plain.models)
    cells = [
        InfluenceCells(a, b, *values.reshape(-1, 2).T, mode=places[mode], **label)
        for values in (of.pairs, of.models, of.ties)
    ]
    pairs = clusters.PairSums(cells[0], k)
    averages, ties = (clusters.Gram(each, k) for each in cells[1:])
    for block in read.blocks(plain.models, cells[0]) if prompts else ():
        found = block.by_prompt
        for each in (pairs, averages, ties):
            each.add(found)
    these = plain
    if prompts:
        these = plain.clustered(
            (pairs.squares, pairs.clusters),
            (np.diag(averages.sum), averages.clusters),
            (float(ties.sum.sum()), ties.clusters),  # of the square of all that a prompt adds up to
        )
    if not people:
        return these
    counted = read.by_voter(plain.models, cells[0])
    return these.of_people(plain, counted.by_voter, counted.repeated)


def _cells_of_board(source: BoardSource, estimated: Estimate) -> InfluenceCells:
    """Return what the comparisons behind a board add to its errors."""
    cells = {
        BoardSource.HUMAN: _cells_of_votes,
        BoardSource.JUDGE: _cells_of_verdicts,
        BoardSource.PPR: _cells_of_both,
    }
    return cells[source](estimated)


def _grid(*shape: int) -> list[IntArray]:
    """Return the indices of an array's elements, axis by axis."""
    return [axis.ravel() for axis in np.indices(shape)]


def _cells_of_votes(estimated: Estimate) -> InfluenceCells:
    """Return what comparisons with a vote add."""
    influence = estimated.influence.labelled[:, :, :, 2]  # λ = 0: whatever the verdict
    a, b, outcome = _grid(*influence.shape[:3])
    values = influence.reshape(-1, 2)
    on_all = None if estimated.sparse is None else estimated.sparse.on_all(a, b, outcome, values)
    return InfluenceCells(a, b, values[:, 0], values[:, 1], human=outcome, on_all=on_all)


def _cells_of_verdicts(estimated: Estimate) -> InfluenceCells:
    """Return what comparisons with a verdict add, where the judge's word is all that counts."""
    votes = _cells_of_votes(estimated)
    return replace(votes, human=None, verdict=votes.human)


def _cells_of_both(estimated: Estimate) -> InfluenceCells:
    """Return what comparisons with a verdict add, with a vote and without."""
    cells, sparse = _cells_of(estimated.influence), estimated.sparse
    if sparse is None:
        return cells
    assert cells.human is not None
    voted = cells.human >= 0
    on_all = np.zeros((len(voted), len(estimated.models)))
    rows = np.arange(len(voted))
    on_all[rows, cells.model_a], on_all[rows, cells.model_b] = cells.first, cells.second
    places = cells.model_a[voted], cells.model_b[voted], cells.human[voted]
    own = np.stack([cells.first, cells.second], axis=-1)[voted]
    on_all[voted] = sparse.on_all(*places, own)
    return replace(cells, on_all=on_all)


def _cells_heard(
    plain: Estimate, shift: Estimate, cells: InfluenceCells
) -> tuple[IntArray, InfluenceCells]:
    """Return which kinds have a verdict, and what these add to the errors of the shift."""
    assert cells.verdict is not None
    silent = shift.influence.labelled.shape[3] - 1
    has_silent = silent in (ABSTAINED_CODE, len(OUTCOMES) ** len(plain.judge_weights))
    kept = (cells.verdict != silent) | (not has_silent)
    of_shift = _cells_of(shift.influence)
    columns = ("model_a", "model_b", "first", "second", "human", "verdict")
    chosen = {name: getattr(of_shift, name)[kept] for name in columns}
    return np.flatnonzero(kept), InfluenceCells(**chosen)


def _cells_of(influence: Influence) -> InfluenceCells:
    """Return what comparisons with a verdict add, as rows that the store can match."""
    a, b, human, verdict = _grid(*influence.labelled.shape[:4])
    c, d, alone = _grid(*influence.unlabelled.shape[:3])
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
    return replace(_cells_of(influences[0]), on_all=side_by_side(influences))
