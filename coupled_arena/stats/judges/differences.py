"""How much more often one model is preferred than another, with a judge's weights for both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.judges.powered_means import FEWEST_VERDICTS, PoweredMeans


@dataclass(frozen=True)
class Difference:
    """Win-rate of a model less that of another, by people alone and with the judge.

    Bounds are NaN where the difference never varied. `tuning` and `other_tuning` are λ and λ'.
    """

    model: str
    other: str
    human: float
    human_low: float
    human_high: float
    powered: float
    powered_low: float
    powered_high: float
    tuning: float
    other_tuning: float


def difference(means: PoweredMeans, model: int, other: int, alpha: float) -> Difference:
    """Estimate the difference of two models, given by their places in `means`.

    Raises
    ------
    ValueError
        A model has no comparison that counts.
    """
    if not np.isfinite(means.human[[model, other]]).all():
        raise ValueError("Without votes there is no difference.")
    signs, tuning = contrast(len(means.models), model, other), joint_tuning(means, model, other)
    human = float(means.human[model] - means.human[other])
    powered = human + float(tuning @ means.correction)
    return Difference(
        means.models[model],
        means.models[other],
        human,
        *_bounds(means, human, signs, np.zeros_like(tuning), alpha),
        powered,
        *_bounds(means, powered, signs, tuning, alpha),
        float(tuning[model]),
        -float(tuning[other]),
    )


def contrast(k: int, model: int, other: int | None = None) -> FloatArray:
    """Return the weights of win-rates that give a model's, or its lead over another; shape (k,)."""
    signs = np.zeros(k)
    signs[model] = 1.0
    if other is not None:
        signs[other] = -1.0
    return signs


def joint_tuning(means: PoweredMeans, model: int, other: int) -> FloatArray:
    """Return the judge's weights λ and -λ' that minimise the variance together, shape (k,).

    They solve Cov(f̄_N - f̄_n) (λ, -λ')ᵀ = Cov(f̄_n, b_m - b_m'), which on comparisons of all models
    at once is (1 + n/N) Cov(s̃) (λ, -λ')ᵀ = Cov(s̃, s_m - s_m'). Comparisons of the two with each
    other tie their errors.
    """
    k = len(means.models)
    weights = np.zeros(k)
    heard = [m for m in (model, other) if means.judge_only[m] >= FEWEST_VERDICTS]
    cross = means.independent[k:, :k] @ contrast(k, model, other)
    square = means.independent[k:, k:][np.ix_(heard, heard)]
    weights[heard] = -np.linalg.pinv(square) @ cross[heard]
    return weights


def explained(means: PoweredMeans, weights: FloatArray) -> float:
    """Return the share of the variance of Σ c_m b_m that the judge can explain.

    Parameters
    ----------
    means : PoweredMeans
    weights : ndarray of float64, shape (k,)
        c, see `contrast`; for one model the share is its `rho_squared`.
    """
    k, at = len(means.models), np.flatnonzero(weights)
    cross = (means.independent[k:, :k] @ weights)[at]
    variance = weights @ means.independent[:k, :k] @ weights
    gained = cross @ np.linalg.pinv(means.echo[np.ix_(at, at)]) @ cross
    return float(gained / variance) if variance > 0 else float("nan")


def _bounds(
    means: PoweredMeans, centre: float, signs: FloatArray, tuning: FloatArray, alpha: float
) -> tuple[float, float]:
    weights = np.concatenate([signs, tuning])
    variance = float(weights @ means.covariance @ weights)
    n = int(means.size[signs != 0].min())
    # The mean, and each weight of the judge, were taken from the same votes.
    free = n - 1 - int((tuning != 0).sum())
    degrees = free if means.degrees is None else min(free, means.degrees)
    if degrees < 1:
        return -1.0, 1.0
    # A difference that never varied among the votes has no variance to be judged by.
    if variance <= 1e-12 * float(weights**2 @ np.diag(means.covariance)):
        return float("nan"), float("nan")
    half = float(critical_value(alpha, degrees)) * float(np.sqrt(variance * n / free))
    return max(centre - half, -1.0), min(centre + half, 1.0)
