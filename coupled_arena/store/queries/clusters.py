"""Sums over comparisons that share a prompt or a voter: their errors are not independent.

`blocks` matches the comparisons of the store with kinds that add to some sum; the classes add them
up. All functions work on a given cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack

from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.queries.comparisons import (
    CODES,
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
)
from coupled_arena.store.queries.verdict_source import VerdictSource, verdict_source

_BLOCK = 1 << 23  # sums at once: 64 MB


@dataclass(frozen=True, eq=False)
class InfluenceCells:
    """Numbers that belong to kinds of comparisons: what each adds to some sum.

    A model compared with itself adds nothing.

    All arrays have one length. A comparison is of the kind of a row if its columns agree; a column
    left None does not matter. But without `verdict` each vote counts once, judged or not. With the
    code of silence among the verdicts it does, too: see `verdict_source`.

    Attributes
    ----------
    model_a, model_b : ndarray of int64
        Indices of the models shown first and second.
    mode, human, verdict : ndarray of int64 or None
        Codes as in `Counts`; ``human`` -1 stands for "no vote".
    first, second : ndarray of float64
        What the comparison adds for the model shown first, and for the other.
    on_all : ndarray of float64 or csr_array, shape (rows, numbers), or None
        What it adds for every model, where that may be more than these two; or to other numbers.
    """

    model_a: IntArray
    model_b: IntArray
    first: FloatArray
    second: FloatArray
    mode: IntArray | None = None
    human: IntArray | None = None
    verdict: IntArray | None = None
    on_all: FloatArray | csr_array | None = None

    def by_model(self, k: int) -> FloatArray | csr_array:
        """Return what the kinds add for each of k models, shape (rows, k)."""
        if self.on_all is not None:
            return self.on_all
        rows = np.arange(len(self.first))
        both = np.concatenate([rows, rows]), np.concatenate([self.model_a, self.model_b])
        return csr_array((np.concatenate([self.first, self.second]), both), (len(rows), k))


@dataclass(frozen=True, eq=False)
class Block:
    """Comparisons on some of the prompts, each with its kind.

    Attributes
    ----------
    prompt, cell : ndarray of int64
        Numbers of the prompt within the block, and of the kind.
    weight : ndarray of float64
        1, except where judges count with weights.
    voter : ndarray of int64 or None
        As `number_voters` has them, -1 where nobody is known; None where nobody asked.
    shape : (int, int)
        Prompts and kinds.
    """

    prompt: IntArray
    cell: IntArray
    weight: FloatArray
    voter: IntArray | None
    shape: tuple[int, int]

    def of(self, kinds: IntArray) -> Block:
        """Return the comparisons of some kinds, which are numbered anew."""
        place = np.full(self.shape[1], -1)
        place[kinds] = np.arange(len(kinds))
        cell = place[self.cell]
        at = cell >= 0
        voter = None if self.voter is None else self.voter[at]
        return Block(self.prompt[at], cell[at], self.weight[at], voter, (self.shape[0], len(kinds)))

    @property
    def by_prompt(self) -> csr_array:
        """How many comparisons of each kind there are on each prompt."""
        return coo_array((self.weight, (self.prompt, self.cell)), self.shape).tocsr()


def number_voters(cursor: Cursor) -> int:
    """Give each person who voted a number, for `blocks` on this cursor; return how many there are.

    Equal stores number them alike.
    """
    cursor.execute(
        """
        create or replace temp table voter_numbers as
        select voter, (row_number() over (order by voter) - 1)::integer as voter_no
        from (select distinct voter from comparisons where voter is not null and judge_no = 0)
        """
    )
    return value_of(cursor, "select count(*) from voter_numbers")


def blocks(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: InfluenceCells,
    *,
    voters: bool = False,
) -> Iterator[Block]:
    """Yield the comparisons of these kinds, block by block of prompts.

    Sums over prompts are products of these matrices with what kinds add. In SQL they would take
    longer, and their last digits depend on the order in which threads find rows.

    Parameters
    ----------
    models : sequence of str
        What the indices of `cells` stand for.
    cells : InfluenceCells
        Its columns; what they add is of no account here.
    voters : bool
        Whether to say who voted.
    """
    (last,) = cursor.execute("select coalesce(max(prompt_no), -1) from comparisons").fetchall()[0]
    mixed = verdict_source(cursor, *selection.judging).mixed
    step = max(_BLOCK // len(models), 1)
    for begin in range(0, last + 1, step):
        found = _matched(cursor, selection, models, cells, (begin, begin + step), voters=voters)
        columns = [np.asarray(column) for column in found.values()]
        if mixed:  # equal ones add up exactly in any order, these do not
            order = np.lexsort((columns[2], columns[1], columns[0]))
            columns = [column[order] for column in columns]
        prompt, cell, weight, *voter = columns
        shape = min(step, last + 1 - begin), len(cells.first)
        yield Block(prompt, cell, weight, voter[0] if voter else None, shape)


def _rows_of(verdicts: VerdictSource, cells: InfluenceCells) -> str:
    """Return SQL of the rows that kinds may match: votes without a verdict only if one asks."""
    asked = cells.verdict is not None and bool((cells.verdict == verdicts.silent).any())
    return verdicts.all_votes if asked else verdicts.table


def _matched(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: InfluenceCells,
    prompts: tuple[int, int],
    *,
    voters: bool,
) -> dict[str, Any]:
    """Return the comparisons on prompts of some numbers: prompt, cell, weight and voter of each."""
    verdicts = verdict_source(cursor, *selection.judging)
    codes = {**CODES, "verdict": verdicts.verdict}
    keys = {name: getattr(cells, name) for name in codes if getattr(cells, name) is not None}
    table: dict[str, Any] = {"model_a": cells.model_a, "model_b": cells.model_b, **keys}
    table["cell"] = np.arange(len(cells.first), dtype=np.int32)
    rows = "judge_no > 0" if "verdict" in keys else "judge_no = 0"
    also = "".join(f" and cells.{name} = {codes[name].replace(name, f'c.{name}')}" for name in keys)
    known = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    numbers = np.array([known[model] for model in models])
    cursor.register("cell_table", table)
    cursor.register("places", {"place": np.arange(len(models)), "model_no": numbers})
    who = ", coalesce(voter_no, -1)::integer as voter" if voters else ""
    named = "left join voter_numbers using (voter)" if voters else ""
    return cursor.execute(
        f"""
        with chosen as {verdicts.once} (
            select *
            from {_rows_of(verdicts, cells)}
            where {where} and {rows} and prompt_no >= $begin and prompt_no < $end
        ),
        cells as materialized (  -- else all pairs' kinds may meet each comparison
            select cell_table.*, l.model_no as no_a, r.model_no as no_b
            from cell_table
            join places as l on l.place = model_a
            join places as r on r.place = model_b
            where l.model_no <> r.model_no
        )
        select
            (c.prompt_no - $begin)::integer as prompt, cells.cell, {verdicts.weight} as weight{who}
        from chosen as c
        join cells on cells.no_a = c.model_a and cells.no_b = c.model_b {also}
        {named}
        """,
        {**values, "begin": prompts[0], "end": prompts[1]},
    ).fetchnumpy()


_DENSE = 1 << 22  # numbers up to which a table of what kinds add need not be sparse: 32 MB


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
        if isinstance(adds, csr_array) and len(cells.first) * k <= _DENSE:
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


class VoterCounts:
    """How many comparisons of each kind a voter decided, and a voter on one prompt.

    Parameters
    ----------
    voters : int
        As `number_voters` has it.

    Attributes
    ----------
    kinds : ndarray of int64, shape (kinds,)
        Which of the cells have a vote.
    """

    def __init__(self, cells: InfluenceCells, voters: int) -> None:
        voted = np.zeros(len(cells.first), bool) if cells.human is None else cells.human >= 0
        self.kinds = np.flatnonzero(voted)
        self._place = np.cumsum(voted) - 1
        self._voted, self._voters = voted, max(voters, 1)
        self._rows: list[tuple[IntArray, NDArray[np.int32], FloatArray]] = []
        self._repeated: list[csr_array] = []

    def add(self, block: Block) -> None:
        """Add the votes of a block."""
        assert block.voter is not None
        at = (block.voter >= 0) & self._voted[block.cell]
        voter, kind, weight = block.voter[at], self._place[block.cell[at]], block.weight[at]
        self._rows.append((voter, kind.astype(np.int32), weight))
        # Votes by prompt, and there by voter: two sorts of small numbers take less time than one of
        # large ones.
        places = np.arange(len(voter), dtype=np.int32)
        table = coo_array((places, (block.prompt[at], voter)), (block.shape[0], self._voters))
        table.has_canonical_format = True  # votes of one voter on a prompt are not added up
        ordered = table.tocsr()
        ordered.sort_indices()
        again = ordered.indices[1:] == ordered.indices[:-1]
        starts = ordered.indptr[1:-1]
        again[starts[(starts > 0) & (starts < len(voter))] - 1] = False  # another prompt
        if not again.any():
            return
        several = np.zeros(len(voter), dtype=np.bool_)
        several[1:] |= again
        several[:-1] |= again
        first = np.concatenate([[True], ~again])[several]
        group, chosen = np.cumsum(first) - 1, ordered.data[several]
        shape = int(group[-1]) + 1, len(self.kinds)
        where = group, kind[chosen]
        self._repeated.append(coo_array((weight[chosen], where), shape).tocsr())

    @property
    def by_voter(self) -> csr_array:
        """Shape (voters, kinds)."""
        voter, kind, weight = (
            (
                np.concatenate([np.zeros(0, np.int32), *column])
                for column in zip(*self._rows, strict=True)
            )
            if self._rows
            else (np.zeros(0, np.int32),) * 3
        )
        shape = self._voters, len(self.kinds)
        found = coo_array((weight.astype(np.float64), (voter, kind)), shape)
        found.has_canonical_format = True  # entries add up in products: to merge them takes longer
        return found.tocsr()

    @property
    def repeated(self) -> csr_array:
        """Of one voter on one prompt, where these are several: shape (any, kinds)."""
        nothing = csr_array((0, len(self.kinds)))
        return csr_array(vstack([nothing, *self._repeated])) if self._repeated else nothing


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
    for block in blocks(cursor, selection, models, cells):
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
