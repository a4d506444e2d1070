r"""Is a model as good as a base? The test for one look at all units, decided on beforehand.

Binary scores of one answer to each prompt: Tango's score test [1]_. Others: Student's t of the mean
difference of units, each counted once. Where few units make up its variance it is too small. Of 150
units at the margin of .02 three lose all, and .15 of such candidates were called as good in
simulations. There the t of units with two more, a loss and a win of a whole prompt, must agree
(.05). Where no unit differs from another, an exact binomial bound says how many could.

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
from scipy.special import ndtr, stdtr

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.intervals import critical_value, paired_difference, paired_z

_MANY = 8.0
"""Equally large squares that a variance comes from, from which it is enough by itself."""


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
    binary : bool
        Whether each is one answer of both models to one prompt, right or wrong.
    """

    differences: FloatArray
    binary: bool = False

    @property
    def method(self) -> Method:
        """How bounds are computed."""
        if np.ptp(self.differences) == 0:
            return Method.EXACT
        return Method.TANGO if self.binary else Method.STUDENT

    @property
    def mean(self) -> float:
        """The mean difference."""
        return float(self.differences.mean())

    @property
    def lost_and_gained(self) -> tuple[int, int]:
        """Units on which the candidate is worse, and better."""
        return int((self.differences < 0).sum()), int((self.differences > 0).sum())


def p_above(sample: Sample, mean: float) -> float:
    """Return the p-value of E d <= mean: small where the candidate's difference is larger."""
    n = len(sample.differences)
    if n < 2:
        return 1.0
    if sample.method is Method.EXACT:
        # How many units must be -1 if the mean is no larger, and how likely none of these is.
        seen = float(sample.differences[0])
        return 1.0 if seen <= mean else ((1 + mean) / (1 + seen)) ** n
    if sample.method is Method.TANGO:
        lost, gained = sample.lost_and_gained
        return float(ndtr(-paired_z(float(gained), float(lost), float(n), mean)))
    away = [(len(d) - 1, (float(d.mean()) - mean) / _error(d)) for d in _variants(sample)]
    return max(float(stdtr(df, -t)) for df, t in away)


def p_below(sample: Sample, mean: float) -> float:
    """Return the p-value of E d >= mean."""
    turned = Sample(-sample.differences, sample.binary)
    return p_above(turned, -mean)


def bounds(sample: Sample, alpha: float) -> tuple[float, float]:
    """Return bounds of E d, each wrong with a probability of `alpha`.

    Those are the means that `p_above` and `p_below` do not refute.
    """
    n = len(sample.differences)
    if n < 2:
        return -1.0, 1.0
    if sample.method is Method.EXACT:
        seen, share = float(sample.differences[0]), 1 - alpha ** (1 / n)
        return seen - (1 + seen) * share, seen + (1 - seen) * share
    if sample.method is Method.TANGO:
        lost, gained = sample.lost_and_gained
        critical = critical_value(2 * alpha)
        one, other, size = (np.array([float(each)]) for each in (gained, lost, n))
        low, high = paired_difference(one, other, size, critical)
        return float(low[0]), float(high[0])
    found: list[tuple[float, float]] = []
    for d in _variants(sample):
        mean = float(d.mean())
        half = float(critical_value(2 * alpha, len(d) - 1)) * _error(d)
        found.append((mean - half, mean + half))
    low, high = min(low for low, _ in found), max(high for _, high in found)
    return max(low, -1.0), min(high, 1.0)


def alike_needed(seen: float, mean: float, alpha: float) -> float:
    """Return how many equal units with the same difference refute a mean that is not theirs."""
    lost = (1 + mean) / (1 + seen) if seen > mean else (1 - mean) / (1 - seen)
    return float(np.log(alpha) / np.log(lost)) if lost < 1 else float("inf")


def _error(differences: FloatArray) -> float:
    return float(differences.std(ddof=1)) / len(differences) ** 0.5


def _variants(sample: Sample) -> list[FloatArray]:
    """Return the units, and where few make up the variance, also with a loss and a win."""
    found = [sample.differences]
    squares = (sample.differences - sample.mean) ** 2
    if squares.sum() ** 2 < _MANY * (squares @ squares):
        found.append(np.append(sample.differences, [-1, 1]))
    return found


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
