r"""Whether a judge favours its own models, and whether its probabilities are calibrated.

Self-preference is the mean over comparisons of own models with others of 1 where the judge prefers
the own one, less 1 where people do. Its standard error is that of a ratio of sums over prompts,

.. math:: \frac{1}{n}\sqrt{\frac{G}{G - 1} \sum_g (d_g - \bar d\, n_g)^2},

with Student's t of G - 1 degrees of freedom for G prompts. For people like the voters it is that of
`coupled_arena.stats.judges.voter_tastes`, by voter and prompt. Calibration follows [1]_ for the
expected error in bins, and [2]_ for the score, whose interval is made likewise. Percentiles of a
bootstrap would not hold for the error: chance alone makes it positive, and resampling adds to that.
Its interval is the error give or take the sum of what all bins move by. That sum bounds by how much
the sum of their distances can differ. It is taken at its quantile by Student's joint law of the
bins, with the covariance of these sums.

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
from coupled_arena.stats.judges.voter_tastes import CastRows, mean_errors

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
    models: tuple[str, ...],
    rows: CastRows,
    judge: IntArray | FloatArray,
    people: IntArray | FloatArray,
    alpha: float,
) -> SelfPreference | None:
    """Return the self-preference; None without a comparison.

    Parameters
    ----------
    rows : CastRows
        Comparisons of own models with others.
    judge, people : ndarray, shape (rows,)
        Share of the row in which an own model is preferred.
    """
    total, prompts = int(rows.times.sum()), rows.prompts
    if not total:
        return None
    by_judge, by_people = (float((rows.times * x).sum() / total) for x in (judge, people))
    mean, half = float((rows.times * (judge - people)).sum() / total), float("nan")
    if prompts > 1:
        error, degrees = _error(rows, (judge - people).astype(np.float64))
        half = float(critical_value(alpha, np.array(degrees))) * error
    ends = mean - half, mean + half
    return SelfPreference(models, total, prompts, by_judge, by_people, mean, *ends)


def _error(rows: CastRows, values: FloatArray) -> tuple[float, float]:
    """Return the standard error of a mean over rows, and its degrees of freedom."""
    if rows.prompts < 2:
        return float("nan"), 0.0
    total = rows.times.sum()
    away = (values - (rows.times * values).sum() / total) / total
    found = mean_errors(rows, away[:, None])
    return float(found.covariance[0, 0]) ** 0.5, float(found.degrees[0])


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
    brier_error, brier_degrees : float
        Standard error of `brier`, NaN with one prompt alone; its degrees of freedom.
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
    brier_degrees: float
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
        half = float(critical_value(alpha, np.array(self.brier_degrees))) * self.brier_error
        return max(self.brier - half, 0.0), min(self.brier + half, 2.0)


def calibration(likely: FloatArray, outcomes: FloatArray, rows: CastRows) -> Calibration | None:
    """Compare probabilities of (first, second, neither) with outcomes, both of shape (n, 3).

    Parameters
    ----------
    rows : CastRows
        One a comparison.

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
    distance = ((likely - outcomes) ** 2).sum(axis=1)
    # By comparison and bin, so that what clusters move the bins by is one product.
    cells = np.repeat(np.arange(len(likely)), 2) * size + place
    n, p, o = (
        np.bincount(cells, values, len(likely) * size).reshape(len(likely), size)
        for values in (np.ones_like(predicted), predicted, happened)
    )
    apart = (p - o).sum(axis=0) / len(predicted)
    influence = (p - o - np.outer(n.sum(axis=1), apart)) / len(predicted)
    brier = _error(rows, distance)
    sums = np.stack([n.sum(axis=0), p.sum(axis=0), o.sum(axis=0)], axis=1)
    found = tuple(CalibrationBin(float(p / n), float(o / n), round(float(n))) for n, p, o in sums)
    return Calibration(
        comparisons=len(likely),
        prompts=rows.prompts,
        bins=found,
        error=float(np.abs(apart).sum()),
        brier=float(distance.mean()),
        brier_error=brier[0],
        brier_degrees=brier[1],
        moves=_moves(rows, influence),
    )


def _moves(rows: CastRows, influence: FloatArray) -> FloatArray:
    """Draw what all bins move by together, by what comparisons add to each bin's difference."""
    bins = influence.shape[1]
    if rows.prompts < 2:
        return np.full(_DRAWS, np.nan)
    errors = mean_errors(rows, influence)
    values, vectors = np.linalg.eigh(errors.covariance)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    rng, degrees = np.random.default_rng(_SEED), float(errors.degrees.min())
    known = np.sqrt(rng.chisquare(degrees, (_DRAWS, 1)) / degrees)
    return np.abs(rng.standard_normal((_DRAWS, bins)) / known @ root.T).sum(axis=1)
