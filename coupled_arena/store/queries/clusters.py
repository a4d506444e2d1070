"""Sums over comparisons that share a prompt, with errors that are not independent; prompts by pair.

All functions work on a given cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from coupled_arena.core.sql import Cursor
from coupled_arena.store.queries.comparisons import (
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
)
from coupled_arena.store.queries.matched_comparisons import Comparisons, InfluenceCells
from coupled_arena.store.queries.verdict_source import verdict_source

DENSE = 1 << 22  # numbers up to which a table of what kinds add need not be sparse: 32 MB


class Gram:
    """Sum over prompts of s sᵀ, s being what all comparisons of a prompt add up to for k models.

    Attributes
    ----------
    sum : ndarray of float64, shape (k, k)
    clusters : int
        Prompts with a vote among these comparisons, or where votes do not matter, with any.
    """

    def __init__(self, cells: InfluenceCells, k: int) -> None:
        self.sum, self.clusters = np.zeros((k, k)), 0
        adds = cells.by_model(k)
        if isinstance(adds, csr_array) and len(cells.first) * k <= DENSE:
            adds = adds.toarray()  # products with it take half the time
        self._adds: FloatArray | csr_array = adds
        self._voted = np.ones(len(cells.first)) if cells.human is None else 1.0 * (cells.human >= 0)

    def add(self, found: csr_array) -> None:
        """Add the prompts of a block, as `Block.by_prompt` has them."""
        sums = found @ self._adds
        sums = sums.toarray() if isinstance(sums, csr_array) else sums
        self.sum += sums.T @ sums
        self.clusters += int(np.count_nonzero(found @ self._voted))


class PairSums:
    """Sums over prompts of what the comparisons of each pair of k models add up to on a prompt.

    Attributes
    ----------
    squares : ndarray of float64, shape (k, k)
        ``[m, o]``: of the square of what the comparisons of m and o add for m.
    products : ndarray of float64, shape (k, k), symmetric
        Of what they add for m times what they add for o.
    clusters : ndarray of int64, shape (k, k), symmetric
        Prompts that the two have comparisons on.
    """

    def __init__(self, cells: InfluenceCells, k: int) -> None:
        self.squares, self.products = np.zeros((k, k)), np.zeros((k, k))
        self.clusters = np.zeros((k, k), dtype=np.int64)
        a, b, rows = cells.model_a, cells.model_b, np.arange(len(cells.first))
        pairs = rows, np.minimum(a, b) * k + np.maximum(a, b)
        turned = a > b
        low = np.where(turned, cells.second, cells.first)
        high = np.where(turned, cells.first, cells.second)
        self._adds = [
            csr_array((x, pairs), (len(rows), k * k)) for x in (low, high, 1.0 * (a != b))
        ]

    def add(self, found: csr_array) -> None:
        """Add the prompts of a block, as `Block.by_prompt` has them."""
        low, high, compared = (found @ adds for adds in self._adds)
        k = len(self.squares)
        squares = [self._by_pair(each, each.data**2) for each in (low, high)]
        self.squares += squares[0] + squares[1].T
        if np.array_equal(low.indices, high.indices):  # always, but where somebody's part is 0
            products = self._by_pair(low, low.data * high.data)
        else:
            both = csr_array(low * high)
            products = self._by_pair(both, both.data)
        self.products += products + products.T
        prompts = np.bincount(compared.indices, minlength=k * k).reshape(k, k)
        self.clusters += prompts + prompts.T

    def _by_pair(self, table: csr_array, data: FloatArray) -> FloatArray:
        """Return sums by pair of numbers at the places of a table: SciPy would sort these first."""
        k = len(self.squares)
        return np.asarray(np.bincount(table.indices, data, k * k), np.float64).reshape(k, k)


@dataclass(frozen=True, eq=False)
class Prompts:
    """On how many prompts each pair has comparisons of some kind, shape (k, k) each.

    Attributes
    ----------
    votes : ndarray of int64
        With a vote.
    labelled, alone, verdicts : ndarray of int64
        With a verdict of the selected judge and a vote; with a verdict alone; with either. Where
        it abstained, it gave none beside a vote.
    """

    votes: IntArray
    labelled: IntArray
    alone: IntArray
    verdicts: IntArray


def clusters_overlap(cursor: Cursor) -> bool:
    """Return whether any two comparisons share a prompt, so that they may depend on each other."""
    # What does not count by default is not counted with its prompt, and may be read all the same:
    # see `count_too` in `store.tables.exclusions`.
    ((most, others),) = cursor.execute(
        """
        select max(comparisons), exists (
            from duckdb_views() where temporary and not internal and view_name = 'comparisons'
        )
        from prompts
        """
    ).fetchall()
    return (most or 0) > 1 or others


def add_up(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: InfluenceCells,
    *sums: Gram | PairSums,
) -> None:
    """Make sums over all prompts, of cells that agree with `cells` in all but what they add."""
    for block in Comparisons(cursor, selection, models).blocks(models, cells):
        found = block.by_prompt
        for each in sums:
            each.add(found)


def cluster_gram(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: InfluenceCells
) -> Gram:
    """Return the sum over all prompts."""
    gram = Gram(cells, len(models))
    add_up(cursor, selection, models, cells, gram)
    return gram


def pair_prompts(
    cursor: Cursor, selection: Selection, models: Sequence[str], *, by_order: bool = False
) -> Prompts:
    """Return on how many prompts each pair of models has comparisons, in one pass over the table.

    Parameters
    ----------
    models : sequence of str
        All that are compared in the selection.
    by_order : bool
        Whether to tell the orders of presentation apart.
    """
    known, verdicts = model_numbers(cursor, selection), verdict_source(cursor, *selection.judging)
    where, values = condition_of(cursor, selection, known)
    low, high = ("{0}", "{1}") if by_order else ("least({0}, {1})", "greatest({0}, {1})")
    pair = (column.format("model_a", "model_b") for column in (low, high))
    rows = cursor.execute(
        f"""
        select
            low, high,
            count(*) filter (voted), count(*) filter (labelled),
            count(*) filter (alone), count(*) filter (labelled or alone)
        from (
            select
                prompt_no, {next(pair)} as low, {next(pair)} as high,
                bool_or(judge_no = 0 and human is not null) as voted,
                bool_or(judge_no > 0 and human is not null and {verdicts.heard}) as labelled,
                bool_or(judge_no > 0 and human is null) as alone
            from {verdicts.table}
            where {where} and model_a <> model_b and (judge_no > 0 or human is not null)
            group by all
        )
        group by all
        """,
        values,
    ).fetchall()
    places = {known[model]: place for place, model in enumerate(models)}
    found = np.zeros((4, len(models), len(models)), dtype=np.int64)
    for first, second, *prompts in rows:
        found[:, places[first], places[second]] = prompts
        if not by_order:
            found[:, places[second], places[first]] = prompts
    return Prompts(*found)
