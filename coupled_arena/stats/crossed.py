r"""What voters with tastes of their own add to the variances of numbers that are no board's.

Each number is a sum of means over cells of votes: coupled and independent votes on a pair, say. A
vote adds to the error of a number what its kind says. W is the share of a voter in the votes of a
cell. Residuals have lost Σ W² of what voters add, which is made good. Squares of single votes are
taken from the squares of sums by voter. If one voter voted several times on a prompt, the squares
of these sums are taken instead. So what is left is nothing on average where nobody has a taste. The
covariances of win rates in `coupled_arena.stats.ranking.voter_tastes` follow the same rule. This
module knows no models and no error level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from coupled_arena.stats.counts import FloatArray, IntArray

CONCENTRATED = 0.6
"""Σ W² from which a cell tells nothing of tastes: one voter has two thirds of its votes or more."""


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

    @property
    def voters(self) -> int:
        """How many people voted; votes of nobody known are one person's each."""
        known, named = np.count_nonzero(np.diff(self.found.indptr)), float(self.found.sum())
        return int(known + max(round(float(self.size.sum()) - named), 0))

    @property
    def repeats(self) -> bool:
        """Whether anybody voted twice, so that tastes can matter, and anybody else voted."""
        known = np.count_nonzero(np.diff(self.found.indptr))
        return self.voters > 1 and float(self.found.sum()) > known + 0.5


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


def of_tastes(cast: Cast, adds: csr_array, plain: FloatArray) -> Tasted:
    """Return what voters add.

    Parameters
    ----------
    cast : Cast
        With several voters, of which one voted more than once.
    adds : csr_array, shape (kinds, q)
        What a vote of a kind adds to the error of each number, times √(n / (n - 1)) of its cell.
    plain : ndarray of float64, shape (q,)
        The variances where no vote depends on another.
    """
    kinds, n = len(cast.cell), np.maximum(cast.size, 1)
    place = csr_array((np.ones(kinds), (np.arange(kinds), cast.cell)), (kinds, len(n)))
    votes = csr_array(cast.found @ place)
    unknown = np.maximum(cast.size - _total(votes), 0)
    share = votes.data / n[votes.indices]
    squares = _columns(votes, share**2) + unknown / n**2
    told = (squares < CONCENTRATED) & (cast.size > 1)
    lost = np.where(told, (1 - 1 / n) / (1 - np.where(told, squares, 0)), 0.0)
    by_voter = _squares(cast.found, _scaled(adds, np.sqrt(lost)[cast.cell]))
    square = csr_array(adds.power(2))
    each, again = _total(cast.found), _total(cast.repeated)
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
    uses = csr_array(abs(csr_array(place.T @ abs(adds))) > 0).astype(np.float64)
    spread = _Spread(votes, share, unknown, n, csr_array(uses))
    whole = plain + added
    return Tasted(added, whole, spread.degrees(cast.group, whole, plain))


@dataclass(frozen=True, eq=False)
class _Spread:
    """How votes are spread over voters, and which cells each number uses: ``uses``.

    `share` has what each entry of `votes` is of its cell.
    """

    votes: csr_array
    share: FloatArray
    unknown: FloatArray
    size: FloatArray
    uses: csr_array

    def degrees(self, group: IntArray, whole: FloatArray, plain: FloatArray) -> FloatArray:
        """Return degrees of freedom: voters of one group, then of the other, as Welch adds them.

        In a working model all votes of one voter in a cell are equally alike (Imbens & Kolesár
        2016). Whoever votes in both groups is one voter for both, so there are never more degrees
        than all voters have.
        """
        number, uses = _distinct(self.uses)
        every = self._sums(uses, np.ones(len(group), np.bool_))[:, number]
        alike, most = ratio_or_zero(whole, plain) - 1, ratio_or_zero(every[0], every[1]) - 1
        rho = np.clip(np.where(most > 0, ratio_or_zero(alike, most), 0.0), 0.0, 1.0)
        total, square = _mixed(every, rho)
        found = ratio_or_zero(total**2, square) - 1
        by_group = [
            _mixed(self._sums(uses, group == one)[:, number], rho) for one in np.unique(group)
        ]
        parts = np.zeros_like(total)
        for sums, squares in by_group:
            parts += ratio_or_zero(sums**2, np.maximum(ratio_or_zero(sums**2, squares) - 1, 1.0))
        return np.maximum(np.minimum(found, ratio_or_zero(total**2, parts)), 1.0)

    def _sums(self, uses: csr_array, at: Any) -> FloatArray:
        """Return Σ q, Σ o, Σ q², Σ q o, Σ o² over voters, by column of `uses`, of some cells."""
        uses = _scaled(uses, 1.0 * at)
        uses.eliminate_zeros()
        # Both products have their entries at the same places, for no share is 0.
        q, o = (
            csr_array(_like(self.votes, data) @ uses)
            for data in (self.share**2, self.share / self.size[self.votes.indices])
        )
        once = uses.T @ (self.unknown / self.size**2)
        twice = uses.T @ (self.unknown / self.size**4)
        found = (q.data, once), (o.data, once), *((x * y, twice) for x, y in _pairs(q.data, o.data))
        return np.stack([_columns(q, data) + more for data, more in found])


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
    sums = csr_array(found @ adds)
    return _columns(sums, sums.data**2)


def ratio_or_zero(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return x / y, 0 where y is not above 0."""
    return np.where(y > 0, x / np.where(y > 0, y, 1.0), 0.0)
