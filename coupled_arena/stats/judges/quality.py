r"""Whether a judge favours its own models, and whether its probabilities are calibrated.

Self-preference is the mean over comparisons of own models with others of 1 where the judge prefers
the own one, less 1 where people do. Its standard error is that of a ratio of sums over prompts,

.. math:: \frac{1}{n}\sqrt{\frac{G}{G - 1} \sum_g (d_g - \bar d\, n_g)^2},

with Student's t of G - 1 degrees of freedom for G prompts. Calibration follows [1]_ for the
expected error in bins, and [2]_ for the score, whose interval is made likewise. Percentiles of a
bootstrap would not hold for the error: chance alone makes it positive, and resampling adds to that.
Its interval is the error give or take the sum of what all bins move by. That sum bounds by how much
the sum of their distances can differ. It is taken at its quantile by Student's joint law of the
bins, with the covariance of sums over prompts.

References
----------
.. [1] C. Guo, G. Pleiss, Y. Sun & K. Q. Weinberger, "On calibration of modern neural networks",
   ICML 2017.
.. [2] G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather
   Review 78, 1-3 (1950).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import critical_value

BINS = 10
_DRAWS, _SEED = 10_000, 1950


@dataclass(frozen=True)
class SelfPreference:
    """How much more often a judge prefers its own models than people prefer them.

    Attributes
    ----------
    comparisons, prompts : int
        With others, that have a vote and a verdict.
    judge, people : float
        Shares of these that are won by an own model.
    difference, low, high : float
        NaN bounds where there is one prompt alone.
    """

    models: tuple[str, ...]
    comparisons: int
    prompts: int
    judge: float
    people: float
    difference: float
    low: float
    high: float


def self_preference(
    models: tuple[str, ...], n: IntArray, judge: IntArray, people: IntArray, alpha: float
) -> SelfPreference | None:
    """Return the self-preference by counts of prompts, shape (prompts,); None without any."""
    total, groups = int(n.sum()), len(n)
    if not total:
        return None
    lead = judge - people
    mean = float(lead.sum() / total)
    half = float("nan")
    if groups > 1:
        half = float(critical_value(alpha, groups - 1)) * _error(n, lead)
    shares = float(judge.sum() / total), float(people.sum() / total)
    return SelfPreference(models, total, groups, *shares, mean, mean - half, mean + half)


def _error(n: IntArray, sums: IntArray | FloatArray) -> float:
    """Return the standard error of a mean of n values in all, by their sums over prompts."""
    groups, total = len(n), int(n.sum())
    if groups < 2:
        return float("nan")
    spread = float(((sums - sums.sum() / total * n) ** 2).sum()) * groups / (groups - 1)
    return spread**0.5 / total


@dataclass(frozen=True)
class CalibrationBin:
    """Predictions that are alike: their mean, and how often it was so, of n."""

    predicted: float
    observed: float
    n: int


@dataclass(frozen=True, eq=False)
class Calibration:
    """How well a judge's probabilities match people's votes.

    Attributes
    ----------
    bins : tuple of CalibrationBin
        Of about equal size; each comparison gives a prediction for either model.
    error : float
        Expected calibration error: mean distance of the bins. Chance alone makes it positive.
    brier : float
        Mean squared distance of the three probabilities from the outcome: 0 to 2.
    brier_error : float
        Standard error of `brier`; NaN with one prompt alone.
    moves : ndarray of float64, shape (draws,)
        Drawn: by how much the differences of predicted and observed of other prompts are off, in
        all these bins together. NaN with one prompt alone.
    """

    comparisons: int
    prompts: int
    bins: tuple[CalibrationBin, ...]
    error: float
    brier: float
    brier_error: float
    moves: FloatArray

    def error_interval(self, alpha: float) -> tuple[float, float]:
        """Return bounds of `error`, which hold at least so often; NaN with one prompt alone."""
        if self.prompts < 2:
            return float("nan"), float("nan")
        reach = float(np.quantile(self.moves, 1 - alpha))
        return max(self.error - reach, 0.0), min(self.error + reach, 1.0)

    def brier_interval(self, alpha: float) -> tuple[float, float]:
        """Return bounds of `brier`; NaN with one prompt alone."""
        if self.prompts < 2:
            return float("nan"), float("nan")
        half = float(critical_value(alpha, self.prompts - 1)) * self.brier_error
        return max(self.brier - half, 0.0), min(self.brier + half, 2.0)


def calibration(likely: FloatArray, outcomes: FloatArray, prompts: IntArray) -> Calibration | None:
    """Compare probabilities of (first, second, neither) with outcomes, both of shape (n, 3).

    Parameters
    ----------
    prompts : ndarray of int64, shape (n,)
        Comparisons of one prompt depend on each other.

    Returns
    -------
    Calibration or None
        None without a comparison.
    """
    if not len(likely):
        return None
    predicted, happened = likely[:, :2].ravel(), outcomes[:, :2].ravel()
    # Equal predictions share a bin, however many they are.
    edges = np.unique(np.quantile(predicted, np.arange(1, BINS) / BINS, method="lower"))
    places, place = np.unique(np.searchsorted(edges, predicted, side="right"), return_inverse=True)
    size = len(places)
    groups, group = np.unique(prompts, return_inverse=True)
    distance = ((likely - outcomes) ** 2).sum(axis=1)
    # By prompt and bin, so that what prompts move the bins by is one product.
    cells = np.repeat(group, 2) * size + place
    n, p, o = (
        np.bincount(cells, values, len(groups) * size).reshape(len(groups), size)
        for values in (np.ones_like(predicted), predicted, happened)
    )
    apart = (p - o).sum(axis=0) / len(predicted)
    influence = (p - o - np.outer(n.sum(axis=1), apart)) / len(predicted)
    sums = np.stack([n.sum(axis=0), p.sum(axis=0), o.sum(axis=0)], axis=1)
    found = tuple(CalibrationBin(float(p / n), float(o / n), round(float(n))) for n, p, o in sums)
    return Calibration(
        comparisons=len(likely),
        prompts=len(groups),
        bins=found,
        error=float(np.abs(apart).sum()),
        brier=float(distance.mean()),
        brier_error=_error(np.bincount(group), np.bincount(group, distance)),
        moves=_moves(influence),
    )


def _moves(influence: FloatArray) -> FloatArray:
    """Draw what all bins move by together, by what each prompt adds to each bin's difference."""
    prompts, bins = influence.shape
    if prompts < 2:
        return np.full(_DRAWS, np.nan)
    values, vectors = np.linalg.eigh(influence.T @ influence * prompts / (prompts - 1))
    root = vectors * np.sqrt(np.clip(values, 0, None))
    rng = np.random.default_rng(_SEED)
    known = np.sqrt(rng.chisquare(prompts - 1, (_DRAWS, 1)) / (prompts - 1))
    return np.abs(rng.standard_normal((_DRAWS, bins)) / known @ root.T).sum(axis=1)
