r"""Is a model as good as a base? The test for one look at all units, decided on beforehand.

Binary scores of one answer to each prompt: Tango's score test [1]_. Others: Student's t of the mean
difference, clustered by unit. Where few units make up its variance it is too small. Of 150 units
at the margin of .02 three lose all, and .15 of such candidates were called as good in simulations.
There the t of units with two more, a loss and a win of a whole prompt, must agree (.05). Where no
unit differs from another, an exact binomial bound says how many could. If one unit is much heavier
than others, it has shown too little of how it varies. In simulations a group had 100 prompts and
149 others had one: .36 of candidates at the margin were called as good. There the two units more
are as heavy as that one. The exact bound puts the losses where they are likeliest to
go unseen, in the heaviest units.

This module knows nothing of models or prompts.

References
----------
.. [1] T. Tango, "Equivalence test and confidence interval for the difference in proportions for
   the paired-sample design", Stat. Med. 17, 891-908 (1998).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.intervals import critical_value, paired_difference, paired_z

_MANY = 8.0
"""Equally large squares that a variance comes from, from which it is enough by itself."""
_HEAVY, _MUCH = 3.0, 0.05
"""A unit is much heavier than others from so many mean weights on, and so much of all weights."""


class Method(StrEnum):
    """How a bound is computed."""

    TANGO = "tango"
    STUDENT = "t"
    EXACT = "exact"


@dataclass(frozen=True, eq=False)
class Sample:
    """Units of one candidate.

    Attributes
    ----------
    differences : ndarray of float64, shape (n,)
        In [-1, 1].
    weights : ndarray of float64, shape (n,)
        What each unit counts: prompts in it, say.
    binary : bool
        Whether each is one answer of both models to one prompt, right or wrong.
    """

    differences: FloatArray
    weights: FloatArray
    binary: bool = False

    @property
    def method(self) -> Method:
        """How bounds are computed."""
        if np.ptp(self.differences) == 0:
            return Method.EXACT
        return Method.TANGO if self.binary else Method.STUDENT

    @property
    def mean(self) -> float:
        """The difference, each unit as its weight counts."""
        return float(self.weights @ self.differences / self.weights.sum())

    @property
    def lost_and_gained(self) -> tuple[int, int]:
        """Units on which the candidate is worse, and better."""
        return int((self.differences < 0).sum()), int((self.differences > 0).sum())


def clustered_error(differences: FloatArray, weights: FloatArray) -> float:
    r"""Return the standard error of a weighted mean of units.

    The square is :math:`\frac{n}{n-1} \sum_c w_c^2 (d_c - \bar d)^2 / (\sum_c w_c)^2`: that of
    prompts in clusters, where a unit is a cluster and its weight the prompts in it.
    """
    n, total = len(differences), weights.sum()
    off = weights * (differences - weights @ differences / total)
    return float(np.sqrt(n / (n - 1) * off @ off) / total)


def p_above(sample: Sample, mean: float) -> float:
    """Return the p-value of E d <= mean: small where the candidate's difference is larger."""
    n = len(sample.differences)
    if n < 2:
        return 1.0
    if sample.method is Method.EXACT:
        # How much of all weights must be -1 if the mean is no larger, and how likely none is here.
        seen = float(sample.differences[0])
        return 1.0 if seen <= mean else _unseen(sample.weights, (seen - mean) / (1 + seen))
    if sample.method is Method.TANGO:
        lost, gained = sample.lost_and_gained
        return float(ndtr(-paired_z(float(gained), float(lost), float(n), mean)))
    return max(float(stdtr(len(d) - 1, -_t(d, w, mean))) for d, w in _variants(sample))


def p_below(sample: Sample, mean: float) -> float:
    """Return the p-value of E d >= mean."""
    turned = Sample(-sample.differences, sample.weights, sample.binary)
    return p_above(turned, -mean)


def bounds(sample: Sample, alpha: float) -> tuple[float, float]:
    """Return bounds of E d, each wrong with a probability of `alpha`.

    Those are the means that `p_above` and `p_below` do not refute.
    """
    n = len(sample.differences)
    if n < 2:
        return -1.0, 1.0
    if sample.method is Method.EXACT:
        seen, share = float(sample.differences[0]), _lost_at_most(sample.weights, alpha)
        return seen - (1 + seen) * share, seen + (1 - seen) * share
    if sample.method is Method.TANGO:
        lost, gained = sample.lost_and_gained
        critical = critical_value(2 * alpha)
        one, other, size = (np.array([float(each)]) for each in (gained, lost, n))
        low, high = paired_difference(one, other, size, critical)
        return float(low[0]), float(high[0])
    found: list[tuple[float, float]] = []
    for d, w in _variants(sample):
        mean = float(w @ d / w.sum())
        half = float(critical_value(2 * alpha, len(d) - 1)) * clustered_error(d, w)
        found.append((mean - half, mean + half))
    low, high = min(low for low, _ in found), max(high for _, high in found)
    return max(low, -1.0), min(high, 1.0)


def alike_needed(seen: float, mean: float, alpha: float) -> float:
    """Return how many equal units with the same difference refute a mean that is not theirs."""
    lost = (1 + mean) / (1 + seen) if seen > mean else (1 - mean) / (1 - seen)
    return float(np.log(alpha) / np.log(lost)) if lost < 1 else float("inf")


def _t(differences: FloatArray, weights: FloatArray, mean: float) -> float:
    away = float(weights @ differences / weights.sum()) - mean
    return away / clustered_error(differences, weights)


def _variants(sample: Sample) -> list[tuple[FloatArray, FloatArray]]:
    """Return the units, and where few make up the variance, also with a loss and a win."""
    found = [(sample.differences, sample.weights)]
    squares = (sample.weights * (sample.differences - sample.mean)) ** 2
    heaviest, total = float(sample.weights.max()), float(sample.weights.sum())
    heavy = heaviest > total * max(_HEAVY / len(sample.weights), _MUCH)
    if heavy or squares.sum() ** 2 < _MANY * (squares @ squares):
        one = heaviest if heavy else float(sample.weights.min())
        found.append((np.append(sample.differences, [-1, 1]), np.append(sample.weights, [one] * 2)))
    return found


def _unseen(weights: FloatArray, share: float) -> float:
    r"""Return how likely no unit is lost at most, if such a share of all weights is expected to be.

    Unit i is lost with a chance of :math:`q_i`. The product of :math:`1 - q_i` is largest, given
    :math:`\sum_i w_i q_i`, where :math:`w_i (1 - q_i)` is the same for the heaviest units, and the
    lighter ones are never lost. So of equal units each is lost with the same chance.
    """
    heaviest, sums = _heaviest(weights)
    levels = (sums - share * sums[-1]) / np.arange(1, len(sums) + 1)
    many = int(np.flatnonzero(_fits(heaviest, levels))[0])
    if levels[many] <= 0:
        return 0.0
    return float(np.exp(np.log(levels[many] / heaviest[: many + 1]).sum()))


def _lost_at_most(weights: FloatArray, alpha: float) -> float:
    """Return the share of all weights from which on `_unseen` is no more than alpha."""
    heaviest, sums = _heaviest(weights)
    counts = np.arange(1, len(sums) + 1)
    levels = np.exp((np.log(alpha) + np.cumsum(np.log(heaviest))) / counts)
    many = int(np.flatnonzero(_fits(heaviest, levels))[0])
    return float((sums[many] - counts[many] * levels[many]) / sums[-1])


def _heaviest(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    heaviest: FloatArray = np.sort(weights)[::-1]
    return heaviest, np.cumsum(heaviest)


def _fits(heaviest: FloatArray, levels: FloatArray) -> NDArray[np.bool_]:
    """Tell for how many of the heaviest units a level is below them, and not below the next."""
    return levels >= np.append(heaviest[1:], 0.0) * (1 - 1e-12)


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values that hold for all at once, however they depend on each other: Holm's.

    Parameters
    ----------
    p_values : ndarray of float64, shape (k,)
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(p_values), 0, -1) * p_values[order]
    found = np.empty_like(p_values)
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found
