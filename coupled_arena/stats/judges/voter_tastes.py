r"""What voters with tastes of their own add to the errors of numbers beside votes: those of audits.

Each number is a mean, or near one, over the votes of a cell: over all comparisons of a model. These
are also comparisons of its opponents. With u the sums by voter, by prompt and by both,

.. math:: \Sigma = \sum_v u_v u_v^\top + \sum_q u_q u_q^\top - \sum_{vq} u_{vq} u_{vq}^\top,

as in `coupled_arena.stats.ranking.voter_tastes`, where cells are pairs. Residuals are taken from
the mean of a cell. That takes Σ W² of what voters add, with W the share of a voter in the cell.

This module knows no judge and no error level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from coupled_arena.core.choices import Ties
from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray
from coupled_arena.stats.crossed import CONCENTRATED
from coupled_arena.stats.influence import Influence
from coupled_arena.stats.ranking.voter_tastes import Shares, lost, possible, weighted_gram


@dataclass(frozen=True, eq=False)
class Ballots:
    """Who cast which votes, and where these count.

    Attributes
    ----------
    found : csr_array, shape (voters, kinds)
        How many votes of each kind a voter cast; without votes of unknown voters.
    repeated : csr_array, shape (any, kinds)
        Likewise of a voter on one prompt, where these are several.
    cells : csr_array, shape (kinds, cells)
        1 where votes of the kind count in the cell.
    total : ndarray of float64, shape (kinds,)
        All votes of each kind, also those of unknown voters.
    """

    found: csr_array
    repeated: csr_array
    cells: csr_array
    total: FloatArray

    @property
    def size(self) -> FloatArray:
        """Votes of each cell, shape (cells,)."""
        return np.asarray(self.cells.T @ self.total, dtype=np.float64)

    @property
    def voters(self) -> int:
        """How many people voted; votes of nobody known are one person's each."""
        known, named = np.count_nonzero(np.diff(self.found.indptr)), float(self.found.data.sum())
        return int(known + max(round(float(self.total.sum()) - named), 0))

    @property
    def busy(self) -> tuple[float, float]:
        """Votes of a person, the median; how many equally busy people would tell as much."""
        named = np.asarray(self.found.sum(axis=1), dtype=np.float64).ravel()
        unknown = max(round(float(self.total.sum() - named.sum())), 0)
        each = np.concatenate([named[named > 0], np.ones(unknown)])
        return float(np.median(each)), float(each.sum() ** 2 / (each**2).sum())

    @property
    def repeats(self) -> bool:
        """Whether anybody voted twice, so that tastes can matter, and anybody else voted."""
        known = np.count_nonzero(np.diff(self.found.indptr))
        return self.voters > 1 and float(self.found.data.sum()) > known + 0.5

    @property
    def shares(self) -> Shares:
        """How the votes of each cell are spread over voters."""
        unknown = np.maximum(self.total - np.asarray(self.found.sum(axis=0)).ravel(), 0)
        both = np.asarray((self.cells.multiply(unknown[:, None]).T @ self.cells).todense())
        return shares_of(self.found, self.cells, self.size) + _apart(both, self.size)


def side_by_side(influences: Sequence[Influence]) -> csr_array:
    """Return what comparisons add to numbers of k models each, shape (kinds, k * numbers).

    Kinds are those with a vote, in the order of ``Influence.labelled``, then those without.
    """
    return csr_array(hstack([_by_model(each) for each in influences]))


def _by_model(influence: Influence) -> csr_array:
    parts: list[csr_array] = []
    for values in (influence.labelled, influence.unlabelled):
        a, b, *_ = (axis.ravel() for axis in np.indices(values.shape[:-1]))
        rows = np.tile(np.arange(len(a)), 2)
        of = np.concatenate([a, b])
        parts.append(
            csr_array((values.reshape(-1, 2).T.ravel(), (rows, of)), (len(a), len(values)))
        )
    return csr_array(vstack(parts))


def cells_of_models(k: int, codes: int, ties: Ties) -> csr_array:
    """Return the cells of comparisons with a vote: both models, where they are two.

    Parameters
    ----------
    k, codes : int
        Models, and codes of verdicts.
    ties : Ties
        Whether votes and verdicts for neither count.
    """
    a, b, human, verdict = (x.ravel() for x in np.indices((k, k, len(OUTCOMES), codes)))
    counted = a != b
    if ties is Ties.DROP:
        counted &= (human < _TIED) & (verdict < _TIED)
    rows = np.flatnonzero(counted)
    at = np.tile(rows, 2), np.concatenate([a[rows], b[rows]])
    return csr_array((np.ones(2 * len(rows)), at), (len(a), k))


_TIED = 2  # of OUTCOMES: this and all after it are for neither


def shares_of(found: csr_array, cells: csr_array, size: FloatArray) -> Shares:
    """Return how votes of cells are spread over clusters, of shape (clusters, kinds)."""
    votes = np.asarray((found @ cells).todense(), dtype=np.float64)
    n = np.maximum(size, 1)
    share = votes / n
    q, o = share**2, share / n
    squares, cubes = (np.diag((share**p).sum(axis=0)) for p in (2, 3))
    clusters = int(np.count_nonzero(votes.any(axis=1)))
    return Shares(clusters, squares, cubes, q.sum(0), o.sum(0), q.T @ q, q.T @ o, o.T @ o)


def _apart(votes: FloatArray, size: FloatArray) -> Shares:
    """Return those of votes that are a cluster each: so many in both of two cells."""
    n = np.maximum(size, 1)
    own = np.diag(votes)
    once, products = own / n**2, votes / np.outer(n, n) ** 2
    clusters = round(float(own.max(initial=0.0)))
    cubes = np.diag(own / n**3)
    return Shares(clusters, np.diag(once), cubes, once, once, products, products, products)


@dataclass(frozen=True, eq=False)
class Tasted:
    """Numbers for people like the voters: their covariance, and how well it is known.

    Attributes
    ----------
    covariance, these : ndarray of float64, shape (q, q)
        For people like the voters, and for exactly these.
    alone, by_voter : ndarray of float64, shape (q, q)
        If no vote depended on another one, and if only those of one voter did.
    cell : ndarray of int64, shape (q,)
        Of each number.
    shares : Shares
    voters : int
    each, equal : float
        Votes of a person, the median; how many equally busy people would tell as much of tastes.
    """

    covariance: FloatArray
    these: FloatArray
    alone: FloatArray
    by_voter: FloatArray
    cell: IntArray
    shares: Shares
    voters: int
    each: float
    equal: float

    def degrees(self, weights: FloatArray, prompts: float | None = None) -> float:
        """Return degrees of freedom of the variance of a sum of numbers, one at least.

        Parameters
        ----------
        weights : ndarray of float64, shape (q,)
        prompts : float, optional
            Degrees of freedom that prompts leave to the variance for exactly these voters.
        """
        total, these, alone, voters = (
            float(weights @ each @ weights)
            for each in (self.covariance, self.these, self.alone, self.by_voter)
        )
        cells = np.unique(self.cell[weights != 0])
        known = self.shares.degrees_of(voters / alone if alone > 0 else 0.0, cells)
        if prompts is None:
            return known
        # Satterthwaite's: a sum is known better than its small part that is known worse. Where
        # nobody has a taste, the lesser of both makes intervals of ten people 13 % wider, this 3 %.
        spread = these**2 / max(prompts, 1.0) + voters**2 / known
        return max(total**2 / spread if spread > 0 else 1.0, 1.0)


def for_people(
    ballots: Ballots,
    adds: csr_array,
    cell: IntArray,
    plain: FloatArray,
    these: FloatArray,
    prompts: Shares | None = None,
) -> Tasted | None:
    """Return numbers for people like the voters; None where nothing depends on who voted.

    Parameters
    ----------
    ballots : Ballots
    adds : csr_array, shape (kinds, q)
        What a vote of a kind adds to the error of each number.
    cell : ndarray of int64, shape (q,)
        Of each number.
    plain, these : ndarray of float64, shape (q, q)
        The covariance for exactly these voters, without the clusters of prompts and with them.
    prompts : Shares, optional
        How votes are spread over prompts that several share.
    """
    if not ballots.repeats:
        return None
    size, shares = ballots.size, ballots.shares
    squares = np.diag(shares.squares)
    told = (squares < CONCENTRATED) & (size > 1)
    of_voters = np.where(told, 1 / (1 - np.where(told, squares, 0)), 0.0)
    of_votes = np.where(size > 1, size / np.maximum(size - 1, 1), 0.0)
    times = np.asarray(ballots.found.sum(axis=0), dtype=np.float64).ravel()
    again = np.asarray(ballots.repeated.sum(axis=0), dtype=np.float64).ravel()

    def by_vote(factor: FloatArray, votes: FloatArray) -> FloatArray:
        return weighted_gram(_scaled(adds, factor[cell]), votes)

    of_told = np.where(told, of_votes, 0.0)
    tastes = _gram(ballots.found, adds, of_voters[cell])
    tastes -= by_vote(of_told, times - again) + _gram(ballots.repeated, adds, of_told[cell])
    if not told[size > 0].all():
        # Cells that one voter decided get what the others tell of voters; without others the most.
        more = np.where(told, 0.0, of_votes * np.maximum(size * squares - 1, 0))
        others = np.where(told, of_votes * np.maximum(size * squares - 1, 0), 0.0)
        most = float(np.trace(by_vote(others, times)))
        alike = min(max(float(np.trace(tastes)) / most, 0.0), 1.0) if most > 0 else 1.0
        tastes += alike * by_vote(more, times)
    alone = plain * np.sqrt(np.outer(of_votes[cell], of_votes[cell]))
    of_prompts = these - alone if prompts is not None else np.zeros_like(these)
    covariance = possible(these + tastes + lost(of_prompts, tastes, prompts, shares, np.diag(size)))
    known = covariance, these, alone, alone + tastes
    return Tasted(*known, cell, shares, ballots.voters, *ballots.busy)


@dataclass(frozen=True, eq=False)
class CastRows:
    """Rows of votes that are alike: each of one voter on one prompt.

    Attributes
    ----------
    prompt : ndarray of int64, shape (rows,)
    times : ndarray of int64, shape (rows,)
        Votes of the row.
    voter : ndarray of int64, shape (rows,), or None
        Negative where nobody is known; None where a result is for exactly these voters.
    """

    prompt: IntArray
    times: IntArray
    voter: IntArray | None = None

    @classmethod
    def each(cls, prompt: IntArray, voter: IntArray | None = None) -> CastRows:
        """Return rows of one vote each."""
        return cls(prompt, np.ones_like(prompt), voter)

    @property
    def prompts(self) -> int:
        """How many there are."""
        return len(np.unique(self.prompt))


@dataclass(frozen=True, eq=False)
class MeanErrors:
    """Covariance of means over rows, shape (q, q), and degrees of freedom of each, shape (q,)."""

    covariance: FloatArray
    degrees: FloatArray


def mean_errors(rows: CastRows, adds: FloatArray) -> MeanErrors:
    """Return the errors of means over all votes.

    Parameters
    ----------
    rows : CastRows
        On two prompts at least.
    adds : ndarray of float64, shape (rows, q)
        What a vote of each row adds to the error of each mean.
    """
    n, q = (int(size) for size in adds.shape)
    on_prompt = _clusters(rows.prompt, rows.times)
    prompts, columns = on_prompt.shape[0], csr_array(adds)
    these = _gram(on_prompt, columns, np.ones(q)) * (prompts / (prompts - 1))
    most = float(prompts - 1)
    found: Tasted | None = None
    if rows.voter is not None:
        known = rows.voter >= 0
        cast = csr_array(_clusters(rows.voter, rows.times * known))
        pair = np.where(known, rows.voter * (int(rows.prompt.max()) + 1) + rows.prompt, -1)
        both = _clusters(pair, rows.times * known)
        several = np.asarray(both.sum(axis=1)).ravel() > 1
        cells = csr_array(np.ones((n, 1)))
        total = rows.times.astype(np.float64)
        ballots = Ballots(_without_empty(cast), csr_array(both[several]), cells, total)
        plain = weighted_gram(columns, total)
        shared = shares_of(on_prompt, cells, ballots.size)
        cell = np.zeros(q, dtype=np.int64)
        found = for_people(ballots, columns, cell, plain, these, shared)
    if found is None:
        return MeanErrors(these, np.full(q, most))
    return MeanErrors(found.covariance, np.array([found.degrees(x, most) for x in np.eye(q)]))


def _clusters(cluster: IntArray, times: IntArray) -> csr_array:
    """Return how many votes of each row each cluster has, shape (clusters, rows)."""
    found, of = np.unique(cluster, return_inverse=True)
    n = len(cluster)
    table = csr_array((times.astype(np.float64), (of, np.arange(n))), (len(found), n))
    table.eliminate_zeros()
    return table


def _without_empty(table: csr_array) -> csr_array:
    return csr_array(table[np.diff(table.indptr) > 0])


def _scaled(adds: csr_array, factor: FloatArray) -> csr_array:
    return csr_array(adds.multiply(np.sqrt(factor)[None, :]))


def _gram(found: csr_array, adds: csr_array, factor: FloatArray) -> FloatArray:
    sums = csr_array(found @ _scaled(adds, factor))
    return np.asarray((sums.T @ sums).todense(), dtype=np.float64)
