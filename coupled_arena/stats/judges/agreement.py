r"""What a judge's verdicts are worth: agreement, bias, and how far they can stretch human votes.

For one model, s = 1 where people prefer it and s̃ = 1 where the judge does, on comparisons that
have both. All of [1]_ follows from the 2x2 table of s and s̃. So anything that gives such a table
(votes, or the known answers of a benchmark) can be audited:

.. math:: b = P(s=1), \quad p = P(\tilde s=1 \mid s=1), \quad q = P(\tilde s=0 \mid s=0).

References
----------
.. [1] F. E. Dorner, V. Y. Nastl & M. Hardt, "Limits to scalable evaluation at the frontier: LLM as
   judge won't beat twice the data", ICLR 2025, arXiv:2410.13341.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import Ties
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import critical_value, paired_difference
from coupled_arena.stats.judges.samples import WIN, ModelCounts, kept_pairs, ratio

_ROUNDING = 1e-9

FEW = 3
"""Comparisons in a cell of a 2x2 table from which on a normal law is taken."""
HALF = 0.5
"""What is added to each cell otherwise: Haldane and Anscombe's correction for few counts."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """A 2x2 table for each of k models, and all that follows from it; NaN where it cannot.

    Attributes
    ----------
    both, human_alone, judge_alone, neither : ndarray of int64, shape (k,)
        Comparisons that both say the model won, people alone, the judge alone, neither.

    Raises
    ------
    AssertionError
        An inequality that holds for every table does not: an error of this program.
    """

    both: IntArray
    human_alone: IntArray
    judge_alone: IntArray
    neither: IntArray

    def __post_init__(self) -> None:
        self._check_theorems()

    @classmethod
    def of(cls, counts: ModelCounts, ties: Ties) -> Agreement:
        """Fold ties into losses, or leave them out."""
        table = counts.labelled * kept_pairs(ties).astype(np.int64)
        return cls(
            both=table[:, 0, 0],
            human_alone=table[:, 0, 1:].sum(1),
            judge_alone=table[:, 1:, 0].sum(1),
            neither=table[:, 1:, 1:].sum((1, 2)),
        )

    @property
    def n(self) -> IntArray:
        """Comparisons with a vote and a verdict."""
        return self.both + self.human_alone + self.judge_alone + self.neither

    @property
    def b(self) -> FloatArray:
        """P(s = 1): how often people prefer the model."""
        return ratio(self.both + self.human_alone, self.n)

    @property
    def p(self) -> FloatArray:
        """P(s̃ = 1 | s = 1): how often the judge sees it where people prefer the model."""
        return ratio(self.both, self.both + self.human_alone)

    @property
    def q(self) -> FloatArray:
        """P(s̃ = 0 | s = 0): how often the judge sees it where people do not."""
        return ratio(self.neither, self.neither + self.judge_alone)

    @property
    def judge_score(self) -> FloatArray:
        """P(s̃ = 1): how often the judge prefers the model, on the same comparisons."""
        return ratio(self.both + self.judge_alone, self.n)

    @property
    def judge_bias(self) -> FloatArray:
        """E(s̃ - s) = (1 - q)(1 - b) - (1 - p) b."""
        return ratio(self.judge_alone - self.human_alone, self.n)

    @property
    def agreement(self) -> FloatArray:
        """P(s̃ = s) = b p + (1 - b) q."""
        return ratio(self.both + self.neither, self.n)

    @property
    def balanced_agreement(self) -> FloatArray:
        """(p + q) / 2: one half for a judge that guesses, however it guesses."""
        return (self.p + self.q) / 2

    @property
    def rho(self) -> FloatArray:
        """Pearson's correlation of s and s̃."""
        both, human, judge, neither = (
            table.astype(np.float64)
            for table in (self.both, self.human_alone, self.judge_alone, self.neither)
        )
        margins = (both + human) * (judge + neither) * (both + judge) * (human + neither)
        return ratio(both * neither - human * judge, np.sqrt(margins))

    @property
    def rho_squared(self) -> FloatArray:
        """The share of the variance of s that the judge can explain."""
        return self.rho**2

    @property
    def tau_max(self) -> FloatArray:
        """1 / (1 - ρ²): what one vote is worth at most, with verdicts without end.

        It is 1 for a judge that always says the same, whatever its correlation might be called.
        """
        idle = (self.judge_score == 0) | (self.judge_score == 1)
        varied = (self.b > 0) & (self.b < 1)
        explained = np.where(idle & varied, 0.0, self.rho_squared)
        return efficiency(explained, np.zeros(len(self.n)))

    @property
    def power_tuning_limit(self) -> FloatArray:
        """Cov(s, s̃) / Var(s̃): the judge's weight λ, with verdicts without end."""
        score = self.judge_score
        return ratio(ratio(self.both, self.n) - self.b * score, score * (1 - score))

    @property
    def bias_possible(self) -> FloatArray:
        """1 - agreement: the bias that a judge with this agreement may have, either way."""
        return 1 - self.agreement

    @property
    def rho_squared_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds on ρ² from b and the balanced agreement: Theorem 9."""
        apart = 2 * self.balanced_agreement - 1
        return 4 * self.b * (1 - self.b) * apart**2, np.abs(apart)

    @property
    def at_frontier(self) -> NDArray[np.bool_]:
        """Whether ½ ≤ agreement ≤ b, which keeps τ_max at two or less: Theorem 6."""
        return (self.agreement >= 0.5) & (self.agreement <= self.b)

    def bias_interval(
        self, critical: FloatArray, variance: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the score interval of the judge's bias, shape (k,) each.

        Parameters
        ----------
        critical : ndarray of float64, shape () or (k,)
            See `coupled_arena.stats.intervals.critical_value`.
        variance : ndarray of float64, shape (k,), optional
            Of the bias, where comparisons depend on each other: the table is shrunk to the size
            at which independent ones would be as uncertain.
        """
        bias = self.judge_bias
        alone = ratio(self.human_alone + self.judge_alone - self.n * bias**2, self.n**2)
        shrunk = np.ones_like(bias) if variance is None else ratio(alone, variance)
        shrunk = np.where(np.isfinite(shrunk), shrunk, 1.0)
        judge, human, n = shrunk * np.stack([self.judge_alone, self.human_alone, self.n])
        return paired_difference(judge, human, n, critical)

    def tau_max_interval(
        self,
        alpha: float,
        variance: FloatArray,
        clusters: int | None = None,
        degrees: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return an interval of τ_max, shape (k,) each; NaN where ρ is perfect or τ_max unknown.

        It is normal on the scale of artanh ρ. A table with a cell under `FEW` has a variance that
        is too small, or none. Its interval is Student's, and also holds that of the table with
        half a comparison more in each cell.

        Parameters
        ----------
        alpha : float
            Error level.
        variance : ndarray of float64, shape (k,)
            Of artanh ρ: from `rho_influence`.
        clusters : int, optional
            Parts of which all comparisons depend on each other; by default there are none.
        degrees : ndarray of float64, shape (k,), optional
            Degrees of freedom of the variance; by default one less than clusters.
        """
        if degrees is None and clusters is not None:
            degrees = np.full(len(self.n), float(clusters - 1))
        low, high = squared_interval(self.rho, variance, critical_value(alpha, degrees))
        cells = np.stack([self.both, self.human_alone, self.judge_alone, self.neither])
        alone = (self.n - 1).astype(np.float64)
        student = critical_value(alpha, alone if degrees is None else degrees)
        ends = squared_interval(self.rho, variance, student)
        grouped = ratio(variance, self._rho_variance)
        by_size = np.maximum(1.0, self.n / (clusters or np.inf))
        more = Agreement(*(cells + HALF))
        padded = more._rho_variance * np.where(np.isfinite(grouped), grouped, by_size)
        with_more = squared_interval(more.rho, padded, student)
        few = (cells < FEW).any(axis=0)
        low = np.where(few, np.fmin(ends[0], with_more[0]), low)
        high = np.where(few, np.fmax(ends[1], with_more[1]), high)
        known = np.isfinite(self.tau_max) & (high < 1)
        always = np.zeros(len(low))
        return (
            np.where(known, efficiency(np.where(known, low, 0.0), always), np.nan),
            np.where(known, efficiency(np.where(known, high, 0.0), always), np.nan),
        )

    @property
    def _rho_variance(self) -> FloatArray:
        """Variance of artanh ρ if no two comparisons depend on each other."""
        cells = np.stack([self.both, self.human_alone, self.judge_alone, self.neither], axis=1)
        moves = self.rho_influence(Ties.LOSS)[:, :2, :2].reshape(-1, 4)
        return (cells * moves**2).sum(axis=1)

    def bias_influence(self, ties: Ties) -> FloatArray:
        """Return what a comparison adds to the error of the bias, shape (k, 3, 3)."""
        s, judged = np.meshgrid(WIN, WIN, indexing="ij")
        return kept_pairs(ties) * _per_model(judged - s, self.judge_bias, self.n)

    def rho_influence(self, ties: Ties) -> FloatArray:
        """Return what a comparison adds to the error of artanh ρ, shape (k, 3, 3)."""
        b, score = (each[:, None, None] for each in (self.b, self.judge_score))
        s, judged = np.meshgrid(WIN, WIN, indexing="ij")
        u = ratio(s - b, np.sqrt(b * (1 - b)))
        v = ratio(judged - score, np.sqrt(score * (1 - score)))
        rho = self.rho[:, None, None]
        error = ratio(u * v - rho * (u**2 + v**2) / 2, 1 - rho**2)
        return kept_pairs(ties) * _per_model(error, np.zeros(len(self.n)), self.n)

    def _check_theorems(self) -> None:
        rho_squared, (lower, upper) = self.rho_squared, self.rho_squared_bounds
        weaker = np.minimum(self.p, self.q)
        broken = {
            "4b(1-b)(2BA-1)^2 <= rho^2": rho_squared < lower - _ROUNDING,
            "rho^2 <= |2BA-1|": rho_squared > upper + _ROUNDING,
            "rho^2 <= min(p, q) where BA >= 1/2": (self.balanced_agreement >= 0.5)
            & (rho_squared > weaker + _ROUNDING),
            "tau_max <= 2 where 1/2 <= AG <= b": self.at_frontier & (self.tau_max > 2 + _ROUNDING),
        }
        found = [bound for bound, where in broken.items() if where.any()]
        assert not found, f"A 2x2 table breaks what holds for all: {', '.join(found)}."


def efficiency(rho_squared: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return τ = 1 / (1 - ρ²/(1 + n/N)): votes that one vote with verdicts is worth.

    Parameters
    ----------
    rho_squared : ndarray of float64, shape (k,)
    ratio : ndarray of float64, shape (k,)
        n/N; infinite without verdicts alone, 0 where they are without end.
    """
    with np.errstate(divide="ignore"):
        return 1 / (1 - rho_squared / (1 + ratio))


def worth(explained: float, ratio: float) -> float:
    """Return `efficiency` of one model."""
    return float(efficiency(np.array(explained), np.array(ratio)))


def squared_interval(
    rho: FloatArray, variance: FloatArray, critical: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return an interval of ρ², from the variance of artanh ρ; NaN where one is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):  # infinite times zero is unknown too
        centre = np.arctanh(rho)
        half = critical * np.sqrt(variance)
        low, high = np.tanh(centre - half), np.tanh(centre + half)
    known = np.isfinite(centre) & np.isfinite(half)
    weakest = np.where(low * high < 0, 0.0, np.minimum(low**2, high**2))
    strongest = np.maximum(low**2, high**2)
    return np.where(known, weakest, np.nan), np.where(known, strongest, np.nan)


def _per_model(error: FloatArray, centre: FloatArray, n: IntArray) -> FloatArray:
    """Return (error - centre) / n, shape (k, 3, 3); 0 where it is unknown."""
    return np.nan_to_num(ratio(error - centre[:, None, None], n[:, None, None]), posinf=0, neginf=0)
