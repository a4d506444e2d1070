"""The advantage of an answer that is shown first, and whether sides were drawn by lot.

For each order of two models, take the share of votes for the answer shown first, less the share for
the other. The mean over both orders does not depend on which model is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import chdtrc

from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, PairCounts
from coupled_arena.stats.intervals import critical_value

_FIRST, _SECOND = range(2)  # of OUTCOMES
BY_CHANCE = 0.001
"""Probability below which the sides of a board were not drawn by lot."""

_SAID = np.array([1.0, -1.0, *[0.0] * (len(OUTCOMES) - 2)])


@dataclass(frozen=True)
class SideSums:
    """Sums over voters or prompts: of squares of what their votes add to the error of the effect.

    Attributes
    ----------
    votes, votes_squared : float
        Votes, and the squares of how many each of them has.
    """

    squares: float = 0.0
    clusters: int = 0
    votes: float = 0.0
    votes_squared: float = 0.0

    @classmethod
    def of(cls, found: csr_array, adds: FloatArray) -> SideSums:
        """Add up clusters.

        Parameters
        ----------
        found : csr_array, shape (clusters, kinds)
            How many votes of each kind a cluster has.
        adds : ndarray of float64, shape (kinds,)
        """
        sizes, sums = (found @ np.stack([np.ones(len(adds)), adds], axis=1)).T
        squares = float((sums**2).sum())
        busy = int(np.count_nonzero(sizes > 0))
        return cls(squares, busy, float(sizes.sum()), float((sizes**2).sum()))

    def __add__(self, other: SideSums) -> SideSums:
        """Return the sums over the clusters of both, which have none in common."""
        names = ("squares", "clusters", "votes", "votes_squared")
        return SideSums(*(getattr(self, name) + getattr(other, name) for name in names))

    @property
    def degrees(self) -> float:
        """One less than as many equally busy clusters."""
        return max(self.votes**2 / self.votes_squared - 1, 1.0)


@dataclass(frozen=True, eq=False)
class Sides:
    """Who was shown first, and what it did.

    Attributes
    ----------
    shown : ndarray of int64, shape (k, k)
        ``[a, b]``: votes on the two where a was shown first.
    effect : float
        Wins of the answer shown first less its losses, as a fraction of the votes; NaN where no
        pair has votes in both orders.
    influence : ndarray of float64, shape (k, k, 4)
        ``[a, b, h]``: what a vote h on a, shown first, and b adds to the error of `effect`.
    variance, degrees : float
        Of `effect`; infinite degrees where each vote has a voter and a prompt of its own.
    """

    models: tuple[str, ...]
    shown: IntArray
    effect: float
    influence: FloatArray
    variance: float
    degrees: float = np.inf

    @classmethod
    def of(cls, votes: PairCounts) -> Sides:
        """Estimate them from votes, each with a voter and a prompt of its own."""
        k = len(votes.models)
        counts = votes.counts * ~np.eye(k, dtype=np.bool_)[..., None]
        shown = counts.sum(axis=2)
        n = np.maximum(shown, 1)
        mean = counts @ _SAID / n
        # Pairs weigh by how exactly they tell the difference of both orders.
        weight = shown * shown.T / np.maximum(shown + shown.T, 1)
        if not weight.any():
            nothing = np.zeros(counts.shape)
            return cls(votes.models, shown, float("nan"), nothing, float("nan"))
        weight = weight / weight.sum()  # of both orders: half of it each
        unbiased = np.sqrt(n / np.maximum(n - 1, 1))
        influence = (weight * unbiased / n)[..., None] * (_SAID - mean[..., None])
        variance = float((counts * influence**2).sum())
        return cls(votes.models, shown, float((weight * mean).sum()), influence, variance)

    def clustered(self, sums: Sequence[SideSums], both: float) -> Sides:
        """Return the same where votes of one voter, and on one prompt, depend on each other.

        Parameters
        ----------
        sums : sequence of SideSums
            Over voters, over prompts, or of the only one of these that several votes share.
        both : float
            Sum of squares over votes, of one voter on one prompt together.
        """
        known = [each for each in sums if each.clusters > 1]
        found = sum(each.squares * each.clusters / (each.clusters - 1) for each in known)
        variance = max(found - both * (len(known) - 1), both) if known else self.variance
        degrees = min((each.degrees for each in known), default=self.degrees)
        return replace(self, variance=variance, degrees=degrees)

    @property
    def by_lot(self) -> bool:
        """Whether orders are as even as lots leave them."""
        n = self.shown + self.shown.T
        met = np.triu(n > 0, 1)
        surplus = (self.shown - self.shown.T)[met] ** 2 / n[met]
        chance = float(chdtrc(max(met.sum(), 1), surplus.sum()))  # pyright: ignore[reportUnknownArgumentType]
        return chance >= BY_CHANCE

    @property
    def one_sided(self) -> tuple[tuple[str, str], ...]:
        """Pairs whose first model was always shown first, where that was no lot."""
        if self.by_lot:
            return ()
        first, second = np.nonzero((self.shown > 0) & (self.shown.T == 0))
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        return tuple((self.models[a], self.models[b]) for a, b in pairs)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return bounds of the effect; NaN where nothing is known."""
        half = float(critical_value(alpha, np.array(self.degrees))) * self.variance**0.5
        return max(self.effect - half, -1.0), min(self.effect + half, 1.0)
