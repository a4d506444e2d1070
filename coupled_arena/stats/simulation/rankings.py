"""Comparisons that come in clusters, such as the pairs of rankings that share a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.influence import Influence, PairProducts
from coupled_arena.stats.ranking.estimates import Estimate
from coupled_arena.stats.ranking.sparse_pairs import SparsePairs
from coupled_arena.stats.ranking.strata import PairPrompts
from coupled_arena.stats.ranking.voter_tastes import Kinds, Shares, VoterTable, of_people


@dataclass(frozen=True, eq=False)
class Rankings:
    """Comparisons that come in clusters, one entry each.

    Attributes
    ----------
    prompt, first, second, vote, verdict : ndarray of int64, shape (n,)
        The cluster; the models shown first and second; codes as in `OUTCOMES`. Verdicts of several
        judges are one code, as in `JudgedCounts`. It may also be `silent`, where there is a vote.
    shown : ndarray of bool, shape (n,)
        Whether the vote is known.
    voter : ndarray of int64, shape (n,), or None
        Who voted, or would have; None where each vote has a voter of its own.
    judges : int
    """

    models: tuple[str, ...]
    prompt: IntArray
    first: IntArray
    second: IntArray
    vote: IntArray
    verdict: IntArray
    shown: NDArray[np.bool_]
    voter: IntArray | None = None
    judges: int = 1

    @classmethod
    def apart(cls, counts: JudgedCounts) -> Self:
        """Return the comparisons behind counts of one judge, each in a cluster of its own."""
        if counts.judges > 1:
            raise ValueError("Comparisons in clusters have the verdict of one judge.")
        full = np.concatenate([counts.labelled, counts.unlabelled[..., None, :]], axis=2)
        first, second, vote, verdict = np.nonzero(full)
        times = full[first, second, vote, verdict]
        first, second, vote, verdict = (np.repeat(x, times) for x in (first, second, vote, verdict))
        shown = vote < len(OUTCOMES)
        vote = np.where(shown, vote, 0)
        return cls(counts.models, np.arange(len(shown)), first, second, vote, verdict, shown)

    @property
    def silent(self) -> int:
        """The code of verdicts that were not given."""
        return len(OUTCOMES) ** self.judges

    @property
    def said(self) -> Rankings:
        """Those with a vote, a verdict, or both."""
        return self._at(self.shown | (self.verdict != self.silent))

    @property
    def heard(self) -> Rankings:
        """Those with a verdict."""
        return self._at(self.verdict != self.silent)

    def _at(self, kept: NDArray[np.bool_]) -> Rankings:
        if kept.all():
            return self
        names = ("prompt", "first", "second", "vote", "verdict", "shown")
        rows = {name: getattr(self, name)[kept] for name in names}
        return replace(self, **rows, voter=None if self.voter is None else self.voter[kept])

    def of(self, models: Sequence[str]) -> Rankings:
        """Return the comparisons between some of the models, in this order."""
        place = np.full(len(self.models), -1)
        place[[self.models.index(model) for model in models]] = np.arange(len(models))
        first, second = place[self.first], place[self.second]
        kept = (first >= 0) & (second >= 0)
        vote, verdict, shown = self.vote[kept], self.verdict[kept], self.shown[kept]
        voter = None if self.voter is None else self.voter[kept]
        rows = first[kept], second[kept], vote, verdict, shown, voter
        return Rankings(tuple(models), self.prompt[kept], *rows, self.judges)

    @property
    def shared(self) -> bool:
        """Whether any comparisons share a prompt."""
        return len(np.unique(self.prompt)) < len(self.prompt)

    @property
    def clusters(self) -> int:
        """How many clusters have a comparison with a vote."""
        return len(np.unique(self.prompt[self.shown]))

    def counts(self) -> JudgedCounts:
        """Return how many there are of each kind."""
        k, outcomes = len(self.models), len(OUTCOMES)
        codes = self.silent + bool((self.verdict == self.silent).any())
        labelled = np.zeros((k, k, outcomes, codes), dtype=np.int64)
        unlabelled = np.zeros((k, k, codes), dtype=np.int64)
        a, b, h, g = (x[self.shown] for x in (self.first, self.second, self.vote, self.verdict))
        np.add.at(labelled, (a, b, h, g), 1)
        a, b, g = (x[~self.shown] for x in (self.first, self.second, self.verdict))
        np.add.at(unlabelled, (a, b, g), 1)
        return JudgedCounts(self.models, labelled, unlabelled)

    def gram(self, influence: Influence, sparse: SparsePairs | None = None) -> FloatArray:
        """Return the sum over clusters of s sᵀ, s being what the cluster adds to the error.

        Parameters
        ----------
        influence : Influence
            Of an estimate of all the models.
        sparse : SparsePairs, optional
            Of the same estimate.

        Returns
        -------
        ndarray of float64, shape (k, k)
        """
        k = len(self.models)
        added = self._added(influence)
        if sparse is not None:
            return self._gram_on_all(added, sparse)
        cells = np.concatenate([self.prompt * k + self.first, self.prompt * k + self.second])
        clusters = int(self.prompt.max()) + 1
        sums = np.bincount(cells, added.T.ravel(), clusters * k).reshape(-1, k)
        return np.asarray(sums.T @ sums, dtype=np.float64)

    def _gram_on_all(self, added: FloatArray, sparse: SparsePairs) -> FloatArray:
        on_all = np.zeros((len(self.prompt), len(self.models)))
        rows = np.arange(len(on_all))
        on_all[rows, self.first], on_all[rows, self.second] = added.T
        at = self.shown
        on_all[at] = sparse.on_all(self.first[at], self.second[at], self.vote[at], added[at])
        sums = np.zeros((int(self.prompt.max()) + 1, len(self.models)))
        np.add.at(sums, self.prompt, on_all)
        return np.asarray(sums.T @ sums, dtype=np.float64)

    def products(self, influence: Influence) -> PairProducts:
        """Return the part of each pair in `gram`."""
        k, added = len(self.models), self._added(influence)
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        turned = (self.first > self.second)[:, None]
        sums = list(np.where(turned, added[:, ::-1], added).T)
        kinds = np.stack([low, high, self.prompt])
        if self.shared:
            kinds, of = np.unique(kinds, axis=1, return_inverse=True)
            sums = [np.bincount(of, x) for x in sums]
        own, cross = np.zeros((k, k)), np.zeros((k, k))
        np.add.at(own, (kinds[0], kinds[1]), sums[0] ** 2)
        np.add.at(own, (kinds[1], kinds[0]), sums[1] ** 2)
        np.add.at(cross, (kinds[0], kinds[1]), sums[0] * sums[1])
        return PairProducts(own, cross + cross.T)

    def of_people(self, estimate: Estimate, plain: Estimate) -> Estimate:
        """Return an estimate of all the models for people like the voters, see `voters`.

        Parameters
        ----------
        estimate, plain : Estimate
            With the clusters of prompts, and without.
        """
        if self.voter is None:
            return estimate
        at = self.shown
        voter, prompt, k = self.voter[at], self.prompt[at], len(self.models)
        first, second = self.first[at], self.second[at]
        rows = np.arange(len(voter))
        adds = np.zeros((len(rows), k))
        own = self._added(plain.influence)[at]
        adds[rows, first], adds[rows, second] = own.T
        if plain.sparse is not None:
            adds = plain.sparse.on_all(first, second, self.vote[at], own)
        low, high = np.minimum(first, second), np.maximum(first, second)
        kinds = Kinds(low * k + high, adds)
        size = np.zeros((k, k))
        np.add.at(size, (low, high), 1)
        repeated, prompts, shared = csr_array((0, len(rows))), None, self.shared
        if shared:
            both = table_of_clusters(voter * (int(prompt.max()) + 1) + prompt)
            repeated = both[np.diff(both.indptr) > 1]
            shared = len(np.unique(prompt)) < len(prompt)  # by votes, not by verdicts alone
        table = VoterTable(kinds, table_of_clusters(voter), repeated, size + size.T)
        if shared:
            prompts = Shares.of(kinds.votes(table_of_clusters(prompt)), table.size)
        return of_people(estimate, plain, table, prompts)

    def prompts(self, *, by_order: bool = False) -> PairPrompts:
        """Return on how many clusters each pair has comparisons, in each order if wanted."""
        votes, alone, heard = (
            self._clusters_of(at, by_order)
            for at in (self.shown, ~self.shown, self.shown & (self.verdict != self.silent))
        )
        return PairPrompts(self.models, votes, alone, heard)

    def _clusters_of(self, at: NDArray[np.bool_], by_order: bool) -> IntArray:
        first, second = self.first[at], self.second[at]
        found = np.zeros((len(self.models), len(self.models)), dtype=np.int64)
        if by_order:
            kinds = np.unique(np.stack([first, second, self.prompt[at]]), axis=1)
            np.add.at(found, (kinds[0], kinds[1]), 1)
            return found
        low, high = np.minimum(first, second), np.maximum(first, second)
        kinds = np.unique(np.stack([low, high, self.prompt[at]]), axis=1)
        np.add.at(found, (kinds[0], kinds[1]), 1)
        return found + found.T

    def _added(self, influence: Influence) -> FloatArray:
        """Return what each comparison adds to the errors of its two models, shape (n, 2)."""
        # An estimate of votes alone knows no silence: there all verdicts are the same.
        verdict = np.minimum(self.verdict, influence.labelled.shape[3] - 1)
        known = influence.labelled[self.first, self.second, self.vote, verdict]
        alone = influence.unlabelled[self.first, self.second, verdict]
        return np.where(self.shown[:, None], known, alone)


def table_of_clusters(cluster: IntArray) -> csr_array:
    """Return which comparisons each cluster has, shape (clusters, n)."""
    found, of = np.unique(cluster, return_inverse=True)
    n = len(cluster)
    return csr_array((np.ones(n), (of, np.arange(n))), (len(found), n))
