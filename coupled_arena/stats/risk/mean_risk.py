r"""Mean-risk models and tails: what lies below the mean, in one number.

With :math:`F^{(-2)}(p)` the integral of the quantiles from 0 to p, exact for a sample. Four of the
five risks agree with second order dominance; the standard deviation need not.

References
----------
.. [1] W. Ogryczak & A. Ruszczyński, "Dual stochastic dominance and related mean-risk models",
   SIAM J. Optim. 13, 60-78 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from coupled_arena.core.language import _
from coupled_arena.stats.counts import FloatArray


class Risk(StrEnum):
    """How the risk of a score X is measured.

    DEVIATION : its standard deviation (over n, of the sample as it is).
    SEMIDEVIATION : E(μ - X)₊, how far it is below the mean.
    TAIL : minus the mean of the worst share p of scores, their tail value at risk.
    TAIL_GAP : how far that mean is below μ.
    GINI : 2 ∫ (μp - F⁽⁻²⁾(p)) dp, half the mean distance of two scores (Gini's).
    """

    DEVIATION = "standard_deviation"
    SEMIDEVIATION = "absolute_semideviation"
    TAIL = "negative_tail_value_at_risk"
    TAIL_GAP = "deviation_from_quantile"
    GINI = "gini_tail"


@dataclass(frozen=True)
class MeanRisk:
    """A sample's mean, and each of its risks.

    Attributes
    ----------
    tail_p : float
        Share of the worst scores in `Risk.TAIL` and `Risk.TAIL_GAP`.
    """

    mean: float
    risks: dict[Risk, float]
    tail_p: float

    def score(self, risk: Risk) -> float:
        """Return mean less risk: the higher, the better."""
        return self.mean - self.risks[risk]


def mean_risk(sample: FloatArray, tail_p: float = 0.05) -> MeanRisk:
    """Return the mean-risk models of a sample.

    Parameters
    ----------
    sample : ndarray of float64, shape (n,)
        Higher is better.

    Raises
    ------
    ValueError
        `tail_p` is not in (0, 1].
    """
    mean = float(sample.mean())
    knots = np.concatenate([[0.0], np.cumsum(np.sort(sample) - mean)]) / len(sample)
    tail = float(tail_values(sample, np.array([tail_p]))[0])
    return MeanRisk(
        mean=mean,
        risks={
            Risk.DEVIATION: float(sample.std()),
            Risk.SEMIDEVIATION: float(np.maximum(mean - sample, 0).mean()),
            Risk.TAIL: -tail,
            Risk.TAIL_GAP: mean - tail,
            Risk.GINI: -float((knots[1:] + knots[:-1]).sum()) / len(sample),
        },
        tail_p=tail_p,
    )


def quantiles(sample: FloatArray, places: FloatArray) -> FloatArray:
    """Return the left-continuous quantiles x_(⌈np⌉) of a sample.

    Parameters
    ----------
    places : ndarray of float64
        Probabilities p in (0, 1]. Where np is an integer but for rounding, it is one.

    Raises
    ------
    ValueError
        A place is not in (0, 1].
    """
    n = len(sample)
    return np.sort(sample)[np.maximum(np.ceil(_steps(places, n)).astype(np.int64), 1) - 1]


def tail_values(sample: FloatArray, places: FloatArray) -> FloatArray:
    """Return tail values at risk F⁽⁻²⁾(p)/p: the mean of the worst share p of the scores.

    Parameters are those of `quantiles`.
    """
    n = len(sample)
    steps = _steps(places, n)
    ordered = np.sort(sample)
    whole = np.minimum(np.floor(steps).astype(np.int64), n - 1)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    return (sums[whole] + (steps - whole) * ordered[whole]) / steps


def _steps(places: FloatArray, n: int) -> FloatArray:
    """Return n p, with what is an integer but for rounding as one."""
    if not ((places > 0) & (places <= 1)).all():
        raise ValueError(_("The share of the tail must be above 0 and at most 1."))
    # Rounding puts a product just above its integer, and the ceiling one too high: for n = 5000 at
    # 32 of the 199 multiples of .005.
    steps = n * places
    near = np.round(steps)
    return np.where((np.abs(steps - near) <= 4 * np.spacing(near)) & (near > 0), near, steps)
