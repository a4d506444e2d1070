r"""The error of win rates where voters have tastes of their own.

A hundred votes of one person follow one taste, and other people have other tastes. So a vote
depends on all votes of its voter, as it depends on all votes on its prompt. With u the sums of the
influence of votes on the errors, by voter, by prompt, and by both at once [1]_,

.. math:: \Sigma = \sum_v u_v u_v^\top + \sum_q u_q u_q^\top - \sum_{vq} u_{vq} u_{vq}^\top.

Residuals are taken from the mean of their pair. So each sum is short by a share of 1 - Σ W², with W
the shares of the clusters in the votes of the pair. A working model gives the degrees of freedom
that few voters leave. In it all votes of one voter on one pair are equally alike [2]_.

References
----------
.. [1] A. C. Cameron, J. B. Gelbach & D. L. Miller, "Robust inference with multiway clustering",
   Journal of Business & Economic Statistics 29, 238-249 (2011).
.. [2] G. W. Imbens & M. Kolesár, "Robust standard errors in small samples: some practical advice",
   Review of Economics and Statistics 98, 701-712 (2016).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from coupled_arena.core.choices import Weighting
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.crossed import CONCENTRATED, dense_tables, is_dense, ratio_or_zero
from coupled_arena.stats.ranking.estimates import Estimate, Tastes

_BLOCK = 1 << 22  # numbers at once: 32 MB


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of comparisons with a vote, and what one of each adds to errors.

    Attributes
    ----------
    pair : ndarray of int64, shape (kinds,)
        ``low * k + high``, with the places of its two models.
    adds : ndarray of float64 or csr_array, shape (kinds, k)
    """

    pair: IntArray
    adds: FloatArray | csr_array

    @property
    def models(self) -> int:
        """How many models there are, k."""
        return int(self.adds.shape[1])

    def scaled(self, by_pair: FloatArray) -> FloatArray | csr_array:
        """Return what kinds add, times a factor of their pair: shape (k, k), symmetric."""
        factor = by_pair.ravel()[self.pair]
        if isinstance(self.adds, csr_array):
            return csr_array(self.adds.multiply(factor[:, None]))
        return self.adds * factor[:, None]

    def votes(self, found: csr_array) -> csr_array:
        """Return how many votes on each pair the clusters have, shape (clusters, k * k)."""
        width, step = self.models**2, max(_BLOCK // self.models**2, 1)
        parts: list[csr_array] = []
        for start in range(0, found.shape[0], step):
            ends = found.indptr[start : start + step + 1]
            at = slice(int(ends[0]), int(ends[-1]))
            row = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            keys = row * width + self.pair[found.indices[at]]
            table = np.bincount(keys, found.data[at], (len(ends) - 1) * width)
            parts.append(csr_array(table.reshape(-1, width)))
        return csr_array(vstack(parts, format="csr")) if parts else csr_array((0, width))

    def sums(self, found: csr_array, by_pair: FloatArray) -> FloatArray:
        """Return what the comparisons of clusters add up to, shape (clusters, k), see `scaled`."""
        adds = self.scaled(by_pair)
        small = len(self.pair) * self.models <= _BLOCK  # dense, which products take less time for
        return _dense(found @ (_dense(adds) if small else adds))


@dataclass(frozen=True, eq=False)
class Shares:
    """How the votes of pairs are spread over clusters: over voters, or over prompts.

    W is the share of a cluster in a pair, and n the votes there. Then q is the sum over the
    opponents of a model of W², and o that of W / n.

    Attributes
    ----------
    squares : ndarray of float64, shape (k, k), symmetric
        Σ W² over clusters: one over their number, where they are equally busy.
    cubes : ndarray of float64, shape (k, k), symmetric
        Σ W³.
    q, o : ndarray of float64, shape (k,)
        Sums over clusters.
    qq, qo, oo : ndarray of float64, shape (k, k)
        Of the product of what the model of the row has, and that of the column.
    """

    clusters: int
    squares: FloatArray
    cubes: FloatArray
    q: FloatArray
    o: FloatArray
    qq: FloatArray
    qo: FloatArray
    oo: FloatArray

    def __add__(self, other: Shares) -> Shares:
        """Return those of the clusters of both, which have none in common."""
        names = ("clusters", "squares", "cubes", "q", "o", "qq", "qo", "oo")
        return Shares(*(getattr(self, name) + getattr(other, name) for name in names))

    @classmethod
    def of(cls, votes: csr_array, size: FloatArray) -> Shares:
        """Add up clusters.

        Parameters
        ----------
        votes : csr_array, shape (clusters, k * k)
            As `Kinds.votes`.
        size : ndarray of float64, shape (k, k), symmetric
            Votes on each pair, of all clusters that there are.
        """
        k, one = len(size), np.ones(len(size) ** 2)
        n, at, shape = np.maximum(size, 1).ravel(), votes.indices, votes.shape
        share = votes.data / n[at]
        pairs = np.arange(k * k)
        first, second = (csr_array((one, (pairs, own)), (k * k, k)) for own in np.divmod(pairs, k))
        of_model = csr_array(first + second)
        q, o = (
            _dense(csr_array((data, at, votes.indptr), shape) @ of_model)
            for data in (share**2, share / n[at])
        )
        squares, cubes = (np.bincount(at, share**p, k * k).reshape(k, k) for p in (2, 3))
        clusters = int(np.count_nonzero(np.diff(votes.indptr)))
        sums: list[FloatArray] = [q.sum(axis=0), o.sum(axis=0), q.T @ q, q.T @ o, o.T @ o]
        twice = (np.asarray(each + each.T, np.float64) for each in (squares, cubes))
        return cls(clusters, *twice, *sums)

    @classmethod
    def of_table(cls, votes: FloatArray, pairs: IntArray, size: FloatArray) -> Shares:
        """Add up clusters that have votes on many pairs.

        Parameters
        ----------
        votes : ndarray of float64, shape (pairs, clusters)
        pairs : ndarray of int64, shape (pairs,)
            As `Kinds.pair`; none is twice there.
        size : ndarray of float64, shape (k, k), symmetric
            As in `of`.
        """
        k, n, columns = len(size), np.maximum(size.ravel()[pairs], 1), np.arange(len(pairs))
        one = 1 / n**2
        first, second = (csr_array((one, (own, columns)), (k, len(n))) for own in divmod(pairs, k))
        of_model, twice = csr_array(first + second), votes**2
        q, o = (_dense(of_model @ each) for each in (twice, votes))
        squares, cubes = np.zeros((2, k * k))
        squares[pairs] = twice.sum(axis=1) * one
        cubes[pairs] = np.einsum("pc,pc->p", twice, votes) / n**3
        both = (x.reshape(k, k) + x.reshape(k, k).T for x in (squares, cubes))
        sums: list[FloatArray] = [q.sum(axis=1), o.sum(axis=1), q @ q.T, q @ o.T, o @ o.T]
        return cls(int(np.count_nonzero(o.any(axis=0))), *both, *sums)

    @classmethod
    def apart(cls, votes: FloatArray, size: FloatArray) -> Shares:
        """Return those of votes that are a cluster each: so many of `size` in each pair."""
        each = 1 / np.maximum(size, 1) ** 2
        once, twice = votes * each, votes * each**2
        products = twice + np.diag(twice.sum(axis=1))
        sums = once.sum(axis=1)
        cubes = votes / np.maximum(size, 1) ** 3
        return cls(int(votes.sum()) // 2, once, cubes, sums, sums, products, products, products)

    def degrees(self, clustered: FloatArray, plain: FloatArray) -> FloatArray:
        """Return the degrees of freedom of variances of differences, on the diagonal of models'.

        Parameters
        ----------
        clustered, plain : ndarray of float64, shape (k, k)
            The covariance with these clusters, and with none.
        """
        q, o = (_differences(np.diag(x), sign=0) for x in (self.q, self.o))
        products = (_differences(x, sign=1) for x in (self.qq, self.qo, self.oo))
        return _degrees(
            ratio_or_zero(_differences(clustered), _differences(plain)), q, o, *products
        )

    def degrees_of(self, times: float, cells: IntArray) -> float:
        """Return those of one variance, `times` as large by these clusters as with none.

        Parameters
        ----------
        cells : ndarray of int64
            One model, or the two that are compared.
        """
        at = np.ix_(cells, cells)
        sums = [np.array(x[cells].sum()) for x in (self.q, self.o)]
        sums += [np.array(x[at].sum()) for x in (self.qq, self.qo, self.oo)]
        return float(_degrees(np.array(times), *sums))


@dataclass(frozen=True, eq=False)
class VoterTable:
    """Who voted what.

    Attributes
    ----------
    found : csr_array, shape (voters, kinds)
        How many comparisons of each kind a voter decided; without votes of unknown voters.
    repeated : csr_array, shape (any, kinds)
        Likewise of a voter on one prompt, where these are several.
    size : ndarray of float64, shape (k, k), symmetric
        Votes on each pair, also those of unknown voters.
    known : VoterSpread, optional
        What another table of the same votes told; else it is computed where it is asked for.
    """

    kinds: Kinds
    found: csr_array
    repeated: csr_array
    size: FloatArray
    known: VoterSpread | None = None

    @cached_property
    def spread(self) -> VoterSpread:
        """How votes are spread over voters."""
        return self.known or VoterSpread.of(self.kinds, self.found, self.size)

    @cached_property
    def times(self) -> FloatArray:
        """How many votes there are of each kind."""
        found = self.found
        return np.asarray(np.bincount(found.indices, found.data, found.shape[1]), np.float64)


@dataclass(frozen=True, eq=False)
class VoterSpread:
    """How votes of pairs are spread over voters.

    Attributes
    ----------
    shares : Shares
        Of all voters; an unknown one counts as a voter of one vote.
    each : ndarray of float64
        How many votes a known voter cast: none is 0.
    size : ndarray of float64, shape (k, k)
        As in `VoterTable`.
    """

    shares: Shares
    each: FloatArray
    size: FloatArray

    @classmethod
    def of(cls, kinds: Kinds, found: csr_array, size: FloatArray) -> VoterSpread:
        """Add up voters; `found` as in `VoterTable`."""
        pairs = np.flatnonzero(np.triu(size, 1) > 0)
        if not is_dense(found, len(pairs)):
            votes = kinds.votes(found)
            named = np.asarray(votes.sum(axis=0), dtype=np.float64).reshape(size.shape)
            each = np.asarray(votes.sum(axis=1), dtype=np.float64).ravel()
            return cls._made(Shares.of(votes, size), named, each, size)
        place = np.zeros(size.size, np.int64)
        place[pairs] = np.arange(len(pairs))
        made: list[tuple[Shares, FloatArray, FloatArray]] = [
            (Shares.of_table(votes, pairs, size), votes.sum(axis=1), votes.sum(axis=0))
            for votes in dense_tables(found, [(place[kinds.pair], None)], len(pairs))
        ]
        shares, of_pairs, each = zip(*made, strict=True)
        named = np.zeros(size.size)
        named[pairs] = sum(of_pairs)
        return cls._made(
            reduce(Shares.__add__, shares), named.reshape(size.shape), np.concatenate(each), size
        )

    @classmethod
    def _made(
        cls, known: Shares, named: FloatArray, each: FloatArray, size: FloatArray
    ) -> VoterSpread:
        unknown = np.maximum(size - named - named.T, 0)
        return cls(known + Shares.apart(unknown, size), each[each > 0], size)

    @property
    def once(self) -> bool:
        """Whether each vote has a voter of its own."""
        return bool(self.each.sum() < len(self.each) + 0.5)

    @property
    def busy(self) -> dict[str, float]:
        """How busy people are: `Tastes.each` and `Tastes.equal`."""
        unknown = max(round(float(np.triu(self.size).sum() - self.each.sum())), 0)
        each = np.concatenate([self.each, np.ones(unknown)])
        return {"each": float(np.median(each)), "equal": float(each.sum() ** 2 / (each**2).sum())}


def of_people(
    estimate: Estimate, plain: Estimate, table: VoterTable, prompts: Shares | None = None
) -> Estimate:
    """Return an estimate for people like these voters, of one for exactly these.

    Of one voter, and of voters with one vote each, it is the same.

    Parameters
    ----------
    estimate, plain : Estimate
        The same one, with its prompts and without.
    prompts : Shares, optional
        How votes are spread over prompts that several share.
    """
    shares = table.spread.shares
    known = Tastes(shares.clusters, estimate.human, float(estimate.human))
    if shares.clusters < 2 or table.spread.once:
        return replace(estimate, tastes=known)
    tastes, these = _tastes(estimate, table, shares), estimate.covariance
    alone = plain.covariance + _by_votes(estimate, table)
    of_prompts = estimate.covariance - alone
    covariance = possible(
        estimate.covariance + tastes + lost(of_prompts, tastes, prompts, shares, table.size)
    )
    degrees = shares.degrees(alone + tastes, alone)
    if prompts is not None:
        degrees = np.minimum(degrees, prompts.degrees(estimate.covariance, alone))
    before, after = (float(np.trace(x)) for x in (estimate.covariance, covariance))
    fewest = (1 / np.where(shares.squares > 0, shares.squares, np.inf)).min(
        axis=1, where=shares.squares > 0, initial=np.inf
    )
    clusters = estimate.human if estimate.clusters is None else estimate.clusters
    degrees = np.minimum(estimate.degrees, degrees)
    worth = known.worth * (min(before / after, 1.0) if after > 0 else 1.0)
    median = float(np.median(degrees[np.triu_indices(len(degrees), 1)]))
    return replace(
        estimate,
        covariance=covariance,
        degrees=degrees,
        clusters=min(shares.clusters, clusters),
        certain_size=np.minimum(estimate.certain_size, (len(fewest) - 1) * fewest),
        tastes=replace(
            known, worth=worth, degrees=max(median, 1.0), within=these, **table.spread.busy
        ),
    )


def _by_votes(estimate: Estimate, table: VoterTable) -> FloatArray:
    """Return what the variance of votes lacks, or has too much, as each prompt was one of few."""
    made_good = _of_votes(estimate, table.size) / estimate.residuals
    return _by_vote(table, np.sqrt(made_good)) - _by_vote(table, np.ones_like(made_good))


def _of_votes(estimate: Estimate, size: FloatArray) -> FloatArray:
    """Return what residuals lost to the mean of their pair, where they were taken from it."""
    own = (estimate.residuals > 1) & (estimate.weighting is not Weighting.COUNT)
    return np.where(own, size / np.maximum(size - 1, 1), 1.0)


def lost(
    of_prompts: FloatArray,
    tastes: FloatArray,
    prompts: Shares | None,
    voters: Shares,
    size: FloatArray,
) -> FloatArray:
    """Return what few voters and prompts, and uneven ones, take from what both add on average.

    It only ever adds: where chance leaves less than nothing, more of that would be less still.
    """
    voter, prompt = (_beyond_votes(each, size) for each in (voters, prompts))
    whole = 1 - voter * prompt
    more = (1 + voter) * _uneven(prompts) / whole - 1, (1 + prompt) * _uneven(voters) / whole - 1
    return more[0] * possible(of_prompts) + more[1] * possible(tastes)


def _beyond_votes(shares: Shares | None, size: FloatArray) -> float:
    """Return Σ W² of a pair, the mean over pairs, less what it is if each vote is a cluster.

    Residuals have lost the mean of the prompts, so those of one voter on several prompts have
    lost this part of what prompts add to the covariance; and with voters and prompts exchanged.
    """
    if shares is None:
        return 0.0
    met = size > 0
    return max(float((shares.squares[met] - 1 / size[met]).mean()), 0.0)


def _uneven(shares: Shares | None) -> float:
    """Return what is lost besides where clusters are not equally busy: the mean over pairs.

    Of the variance between clusters Σ W² - 2 Σ W³ + (Σ W²)² is left in squared residuals, and made
    good is 1 - Σ W², which is the same where all W are equal.
    """
    if shares is None:
        return 1.0
    met = (shares.squares > 0) & (shares.squares < CONCENTRATED)
    squares, cubes = shares.squares[met], shares.cubes[met]
    left = (squares - 2 * cubes + squares**2) / (1 - squares)
    return float((squares / left).mean()) if met.any() else 1.0


def _tastes(estimate: Estimate, table: VoterTable, shares: Shares) -> FloatArray:
    """Return what tastes add to the covariance: nothing on average, where there are none."""
    size, inflation = table.size, 1.0
    known = size > 0
    of_voters, of_votes = np.ones_like(size), _of_votes(estimate, size)
    if estimate.weighting is Weighting.COUNT:
        inflation = (shares.clusters / (shares.clusters - 1)) ** 2
    else:  # what residuals lost to the mean of their pair, where they were taken from it
        own = estimate.residuals > 1
        known = known & (~own | (shares.squares < CONCENTRATED))
        of_voters = np.where(own & known, 1 / (1 - np.where(own & known, shares.squares, 0)), 1.0)
    of_voters, of_votes = (x / estimate.residuals for x in (of_voters, of_votes))
    by_voter = inflation * _gram(table.kinds.sums(table.found, np.sqrt(known * of_voters)))
    tastes = by_voter - _by_both(table, np.sqrt(known * of_votes))
    if known[size > 0].all():
        return tastes
    # Pairs that one voter decided get what the others tell of voters; without others the most.
    more = of_votes * np.maximum(size * shares.squares - 1, 0)
    most = float(np.trace(_by_vote(table, np.sqrt(known * more))))
    alike = min(max(float(np.trace(tastes)) / most, 0.0), 1.0) if most > 0 else 1.0
    return tastes + alike * _by_vote(table, np.sqrt(~known * more))


def _by_both(table: VoterTable, factor: FloatArray) -> FloatArray:
    """Return the sum over voters and prompts: over votes, but where a voter has several on one."""
    adds = table.kinds.scaled(factor)
    repeated = np.asarray(table.repeated.sum(axis=0), dtype=np.float64)
    return (
        _by_vote(table, factor)
        + _gram(table.kinds.sums(table.repeated, factor))
        - weighted_gram(adds, repeated)
    )


def _by_vote(table: VoterTable, factor: FloatArray) -> FloatArray:
    return weighted_gram(table.kinds.scaled(factor), table.times)


def weighted_gram(adds: FloatArray | csr_array, times: FloatArray) -> FloatArray:
    """Return the sum over kinds of a aᵀ, so many times each."""
    # Mixtures of verdicts may count less than nothing, so there is no root to take.
    if isinstance(adds, csr_array):
        return _dense(csr_array(adds.multiply(times[:, None])).T @ adds)
    return _dense((adds * times[:, None]).T @ adds)


def _gram(sums: FloatArray) -> FloatArray:
    return np.asarray(sums.T @ sums, dtype=np.float64)


def _dense(found: Any) -> FloatArray:  # scipy's types do not tell dense from sparse products
    return np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), np.float64)


def possible(covariance: FloatArray) -> FloatArray:
    """Return the nearest matrix without negative variances."""
    values, vectors = np.linalg.eigh(covariance)
    if values.min() >= 0:
        return covariance
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T, dtype=np.float64)


def _degrees(
    times: FloatArray, q: FloatArray, o: FloatArray, qq: FloatArray, qo: FloatArray, oo: FloatArray
) -> FloatArray:
    """Return degrees of freedom of variances, `times` as large with clusters as without."""
    most = ratio_or_zero(q, o) - 1
    share = np.clip(np.where(most > 0, ratio_or_zero(times - 1, most), 0.0), 0.0, 1.0)
    total = share * q + (1 - share) * o
    square = share**2 * qq + 2 * share * (1 - share) * qo + (1 - share) ** 2 * oo
    return np.maximum(ratio_or_zero(total**2, square) - 1, 1.0)


def _differences(of: FloatArray, sign: int = -1) -> FloatArray:
    """Return what two models have less, or with, each other; on the diagonal what one has."""
    own = np.diag(of)
    found = own[:, None] + own + sign * (of + of.T)
    np.fill_diagonal(found, own)
    return found
