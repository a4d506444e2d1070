r"""What voters with tastes of their own add to the variances of numbers that are no board's.

Each number is a sum of means over cells of votes: coupled and independent votes on a pair, say. A
vote adds to the error of a number what its kind says. W is the share of a voter in the votes of a
cell. Residuals have lost Σ W² of what voters add, which is made good. Squares of single votes are
taken from the squares of sums by voter. If one voter voted several times on a prompt, the squares
of these sums are taken instead. So what is left is nothing on average where nobody has a taste. The
covariances of win rates in `coupled_arena.stats.ranking.voter_tastes` follow the same rule. This
module knows no models and no error level.

Votes by voter and cell are a dense table wherever voters have votes in many cells: products of
sparse ones take several times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack

from coupled_arena.stats.counts import FloatArray, IntArray

CONCENTRATED = 0.6
"""Σ W² from which a cell tells nothing of tastes: one voter has two thirds of its votes or more."""

_AT_ONCE = 1 << 17  # numbers of a dense table: 1 MB, which a processor's cache holds
_SPARSE = 16
"""Places of a table for each of its numbers, from which a sparse one takes less time."""


def is_dense(found: csr_array, columns: int) -> bool:
    """Return whether clusters have numbers in so many columns that a table need not be sparse."""
    return found.shape[0] * columns <= _SPARSE * found.nnz


def dense_tables(
    found: csr_array, places: Sequence[tuple[IntArray, FloatArray | None]], columns: int
) -> Iterator[FloatArray]:
    """Yield what clusters have in each column, shape (columns, some of the clusters).

    Parameters
    ----------
    found : csr_array, shape (clusters, kinds)
        How many of each kind a cluster has.
    places : sequence of pairs, of ndarray of int64 and of float64, shape (kinds,) each
        The column of each kind, and how much one of it adds there: 1 where this is None.
    """
    clusters = found.shape[0]
    step = max(_AT_ONCE // max(columns, 1), 1)
    for start in range(0, clusters, step):
        ends = found.indptr[start : start + step + 1]
        size, at = len(ends) - 1, slice(int(ends[0]), int(ends[-1]))
        row, kind, times = np.repeat(np.arange(size), np.diff(ends)), found.indices[at], None
        table = np.zeros(columns * size)
        for column, adds in places:
            times = found.data[at] if adds is None else found.data[at] * adds[kind]
            table += np.bincount(column[kind] * size + row, times, columns * size)
        yield table.reshape(columns, size)


@dataclass(frozen=True, eq=False)
class Cast:
    """Who cast which votes.

    Attributes
    ----------
    found : csr_array, shape (voters, kinds)
        How many votes of each kind a voter cast. Votes of nobody known are not here.
    repeated : csr_array, shape (any, kinds)
        Likewise of a voter on one prompt, where these are several.
    cell : ndarray of int64, shape (kinds,)
        What a kind is of: residuals are taken from the mean of a cell.
    size : ndarray of float64, shape (cells,)
        Votes of a cell, those of nobody known included.
    group : ndarray of int64, shape (cells,)
        Cells with means that numbers compare: coupled ones, and independent ones.
    """

    found: csr_array
    repeated: csr_array
    cell: IntArray
    size: FloatArray
    group: IntArray

    @cached_property
    def times(self) -> FloatArray:
        """How many votes of each kind there are."""
        return _total(self.found)

    @property
    def voters(self) -> int:
        """How many people voted; votes of nobody known are one person's each."""
        known, named = np.count_nonzero(np.diff(self.found.indptr)), float(self.found.data.sum())
        return int(known + max(round(float(self.size.sum()) - named), 0))

    @property
    def repeats(self) -> bool:
        """Whether anybody voted twice, so that tastes can matter, and anybody else voted."""
        known = np.count_nonzero(np.diff(self.found.indptr))
        return self.voters > 1 and float(self.found.data.sum()) > known + 0.5


@dataclass(frozen=True, eq=False)
class Tasted:
    """What voters add to the variances of q numbers, shape (q,) each.

    Attributes
    ----------
    added : ndarray of float64
        To a variance that knows nothing of voters; less than nothing by chance, or where a number
        compares votes of the same people.
    by_voter : ndarray of float64
        The variance with voters as the only clusters.
    degrees : ndarray of float64
        Degrees of freedom that voters tell the variance with.
    """

    added: FloatArray
    by_voter: FloatArray
    degrees: FloatArray

    def variance(self, before: FloatArray) -> FloatArray:
        """Return the variance for people like the voters, of one for exactly these."""
        return np.maximum(before + self.added, np.minimum(before, self.by_voter))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers that votes add to the errors of, q of them.

    Attributes
    ----------
    adds : csr_array, shape (kinds, q)
        What a vote of a kind adds to the error of each number, times √(n / (n - 1)) of its cell.
    plain : ndarray of float64, shape (q,)
        The variances where no vote depends on another.
    """

    adds: csr_array
    plain: FloatArray

    def uses(self, cast: Cast) -> csr_array:
        """Return which cells each number uses, shape (cells, q)."""
        places = np.arange(len(cast.cell)), cast.cell
        place = csr_array((np.ones(len(cast.cell)), places), (len(cast.cell), len(cast.size)))
        return csr_array(csr_array(abs(csr_array(place.T @ abs(self.adds))) > 0).astype(np.float64))


def of_tastes(cast: Cast, *numbers: Numbers) -> list[Tasted]:
    """Return what voters add to some numbers, and to others.

    Parameters
    ----------
    cast : Cast
        With several voters, of which one voted more than once.
    """
    uses = [each.uses(cast) for each in numbers]
    columns, distinct = _distinct(csr_array(hstack(uses, format="csr")))
    spread = _Spread.of(cast, distinct)
    ends = np.cumsum([0, *(each.shape[1] for each in uses)])
    own = [columns[begin:end] for begin, end in pairwise(ends)]
    return [_tasted(cast, spread, each, at) for each, at in zip(numbers, own, strict=True)]


def _tasted(cast: Cast, spread: _Spread, numbers: Numbers, columns: IntArray) -> Tasted:
    adds, n, squares = numbers.adds, np.maximum(cast.size, 1), spread.squares
    told = (squares < CONCENTRATED) & (cast.size > 1)
    lost = np.where(told, (1 - 1 / n) / (1 - np.where(told, squares, 0)), 0.0)
    by_voter = _squares(cast.found, _scaled(adds, np.sqrt(lost)[cast.cell]))
    square = csr_array(adds.power(2))
    each, again = cast.times, _total(cast.repeated)
    known = np.where(told, 1.0, 0.0)[cast.cell]
    by_vote = square.T @ (known * each)
    several = _squares(cast.repeated, _scaled(adds, known)) - square.T @ (known * again)
    added = by_voter - by_vote - several
    if not told[cast.size > 0].all():
        # Cells that one voter decided get what the others tell of voters; without others the most.
        more = np.maximum(cast.size * squares - 1, 0)[cast.cell] * each
        most = float((square.T @ (known * more)).sum())
        alike = min(max(float(added.sum()) / most, 0.0), 1.0) if most > 0 else 1.0
        added = added + alike * (square.T @ ((1 - known) * more))
    whole = numbers.plain + added
    return Tasted(added, whole, spread.degrees(columns, whole, numbers.plain))


@dataclass(frozen=True, eq=False)
class _Spread:
    """How votes are spread over voters.

    Attributes
    ----------
    squares : ndarray of float64, shape (cells,)
        Σ W² over voters.
    every : ndarray of float64, shape (5, columns)
        Σ q, Σ o, Σ q², Σ q o and Σ o² over voters, by column of what numbers use: q is the sum of
        W² over its cells, and o that of W / n.
    by_group : list of ndarray of float64, shape (5, columns)
        Likewise of the cells of one group.
    """

    squares: FloatArray
    every: FloatArray
    by_group: list[FloatArray]

    @classmethod
    def of(cls, cast: Cast, uses: csr_array) -> _Spread:
        """Add up voters; `uses` has the cells of each column."""
        n = np.maximum(cast.size, 1)
        groups = [_scaled(uses, 1.0 * (cast.group == one)) for one in np.unique(cast.group)]
        met = int(np.count_nonzero(cast.size))
        of_cells = _dense_sums if is_dense(cast.found, met) else _sparse_sums
        squares, total, *sums = of_cells(cast, n, uses, groups)
        unknown = np.maximum(cast.size - total, 0)
        for found, used in zip(sums, [uses, *groups], strict=True):
            once, twice = (used.T @ (unknown / n**power) for power in (2, 4))
            found += np.stack([once, once, twice, twice, twice])
        return cls(squares + unknown / n**2, sums[0], sums[1:])

    def degrees(self, columns: IntArray, whole: FloatArray, plain: FloatArray) -> FloatArray:
        """Return degrees of freedom: voters of one group, then of the other, as Welch adds them.

        In a working model all votes of one voter in a cell are equally alike (Imbens & Kolesár
        2016). Whoever votes in both groups is one voter for both, so there are never more degrees
        than all voters have.
        """
        every = self.every[:, columns]
        alike, most = ratio_or_zero(whole, plain) - 1, ratio_or_zero(every[0], every[1]) - 1
        rho = np.clip(np.where(most > 0, ratio_or_zero(alike, most), 0.0), 0.0, 1.0)
        total, square = _mixed(every, rho)
        found = ratio_or_zero(total**2, square) - 1
        parts = np.zeros_like(total)
        for sums, squares in (_mixed(each[:, columns], rho) for each in self.by_group):
            parts += ratio_or_zero(sums**2, np.maximum(ratio_or_zero(sums**2, squares) - 1, 1.0))
        return np.maximum(np.minimum(found, ratio_or_zero(total**2, parts)), 1.0)


def _dense_sums(
    cast: Cast, n: FloatArray, uses: csr_array, groups: Sequence[csr_array]
) -> list[FloatArray]:
    """Return Σ W² and the votes of cells, then the sums of `_Spread` of all, and of each group."""
    met = np.flatnonzero(cast.size > 0)
    place = np.zeros(len(n), np.int64)
    place[met] = np.arange(len(met))
    used = [csr_array(_scaled(csr_array(group[met]), 1 / n[met] ** 2).T) for group in groups]
    squares, total = np.zeros((2, len(n)))
    sums = [np.zeros((5, uses.shape[1])) for _ in range(len(used) + 1)]
    for votes in dense_tables(cast.found, [(place[cast.cell], None)], len(met)):
        twice = votes**2
        squares[met] += twice.sum(axis=1)
        total[met] += votes.sum(axis=1)
        parts = [np.stack([each @ twice, each @ votes]) for each in used]
        for found, (q, o) in zip(sums, [np.sum(parts, axis=0), *parts], strict=True):
            found[:2] += np.stack([q.sum(axis=1), o.sum(axis=1)])
            found[2:] += np.stack([np.einsum("cv,cv->c", x, y) for x, y in _pairs(q, o)])
    return [squares / n**2, total, *sums]


def _sparse_sums(
    cast: Cast, n: FloatArray, uses: csr_array, groups: Sequence[csr_array]
) -> list[FloatArray]:
    """Return the same from a sparse table of votes."""
    kinds = len(cast.cell)
    place = csr_array((np.ones(kinds), (np.arange(kinds), cast.cell)), (kinds, len(n)))
    votes = csr_array(cast.found @ place)
    share = votes.data / n[votes.indices]
    sums: list[FloatArray] = []
    for used in (uses, *groups):
        used.eliminate_zeros()
        # Both products have their entries at the same places, for no share is 0.
        q, o = (
            csr_array(_like(votes, data) @ used) for data in (share**2, share / n[votes.indices])
        )
        found = q.data, o.data, *(x * y for x, y in _pairs(q.data, o.data))
        sums.append(np.stack([_columns(q, data) for data in found]))
    return [_columns(votes, share**2), _total(votes), *sums]


def _distinct(uses: csr_array) -> tuple[IntArray, csr_array]:
    """Return which distinct column each column is, and these: pairs in both orders use the same."""
    columns = csc_array(uses)
    columns.sort_indices()
    ends = zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    keys = [columns.indices[begin:end].tobytes() for begin, end in ends]
    first = {key: at for at, key in reversed(list(enumerate(keys)))}
    place = {key: new for new, key in enumerate(first)}
    return np.array([place[key] for key in keys]), csr_array(columns[:, list(first.values())])


def _mixed(sums: FloatArray, rho: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ g and Σ g² over voters, with g = ρ q + (1 - ρ) o."""
    q, o, qq, qo, oo = sums
    total = rho * q + (1 - rho) * o
    return total, rho**2 * qq + 2 * rho * (1 - rho) * qo + (1 - rho) ** 2 * oo


def _pairs(q: FloatArray, o: FloatArray) -> tuple[tuple[FloatArray, FloatArray], ...]:
    return (q, q), (q, o), (o, o)


def _like(table: csr_array, data: FloatArray) -> csr_array:
    """Return a table with other numbers at the same places."""
    return csr_array((data, table.indices, table.indptr), table.shape)


def _columns(table: csr_array, data: FloatArray) -> FloatArray:
    """Return the sums by column of other numbers at the places of a table.

    SciPy would first sort the places of what it multiplies, which takes most of the time.
    """
    return np.asarray(np.bincount(table.indices, data, table.shape[1]), np.float64)


def _total(table: csr_array) -> FloatArray:
    return _columns(table, table.data)


def _scaled(rows: csr_array, factor: FloatArray) -> csr_array:
    return csr_array(rows.multiply(factor[:, None]))


def _squares(found: csr_array, adds: csr_array) -> FloatArray:
    """Return the sums over clusters of the squares of what their votes add to each number."""
    numbers, most = adds.shape[1], int(np.diff(adds.indptr).max(initial=0))
    if numbers <= _FEW:
        return np.asarray(np.sum((found @ adds.toarray()) ** 2, axis=0), np.float64)
    if most > _SLOTS or not is_dense(found, numbers):
        sums = csr_array(found @ adds)
        return _columns(sums, sums.data**2)
    places = [_slot(adds, slot) for slot in range(most)]
    tables = dense_tables(found, places, numbers)
    return sum((np.einsum("nc,nc->n", x, x) for x in tables), np.zeros(numbers))


_FEW = 32  # numbers, to which products with a dense table take the least time
_SLOTS = 2  # numbers that a kind adds to, up to which dense tables take the least time


def _slot(adds: csr_array, slot: int) -> tuple[IntArray, FloatArray]:
    """Return the number that each kind adds to in this place among all that it adds to."""
    at = adds.indptr[:-1] + slot
    there = at < adds.indptr[1:]
    at = np.where(there, at, 0)
    column = np.where(there, adds.indices[at], 0).astype(np.int64)
    return column, np.where(there, adds.data[at], 0.0)


def ratio_or_zero(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return x / y, 0 where y is not above 0."""
    return np.where(y > 0, x / np.where(y > 0, y, 1.0), 0.0)
