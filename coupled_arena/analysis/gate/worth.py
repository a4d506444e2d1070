"""What shared noise is worth, from the spread of several answers to one prompt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from coupled_arena.analysis.gate.paired import Pair
from coupled_arena.stats.counts import FloatArray, IntArray


@dataclass(frozen=True)
class NoiseWorth:
    """What shared noise is worth, from the spread of the answers to one prompt.

    Attributes
    ----------
    saved, low, high : float
        Share of the prompts that these answers need fewer than answers with noise of their own.
    most : float
        The share that would be saved if shared noise took away all luck: no coupling saves more.
    """

    saved: float
    low: float
    high: float
    most: float


def unit_means(values: FloatArray, units: IntArray) -> FloatArray:
    """Return the mean of the values of each unit, by the number of the unit."""
    _names, at = np.unique(units, return_inverse=True)
    return np.bincount(at, values) / np.bincount(at)


def noise_worth(
    pair: Pair, groups: IntArray | None = None, alpha: float = 0.05
) -> NoiseWorth | None:
    r"""Return what shared noise saves, from answers with two repetitions or more.

    Coupling keeps the law of each model. Without it the variance of a prompt's difference over r
    answers is larger by :math:`2\,\mathrm{Cov}(R, R') / r`. The covariance is that of the two
    scores of a repetition, within the prompt. Twice this covariance is never larger than
    the two variances within the prompt together, and as large only if the scores always agree.
    A group of s prompts counts as their mean, and noise adds the mean over s of what it adds to
    each.

    Parameters
    ----------
    groups : ndarray of int64, shape (any,), optional
        Of each prompt of `PairedScores`, the number of its group; by default each is alone.

    Returns
    -------
    NoiseWorth or None
        None where no two units have as many answers, or none ever varied.
    """
    values = pair.values / pair.scale.width
    both = np.all(np.isfinite(values), axis=2)
    times = both.sum(axis=1)
    several = times >= 2
    r = times[several]
    means = np.where(both[..., None], values, 0.0).sum(axis=1)[several] / r[:, None]
    off = np.where(both[several, :, None], values[several] - means[:, None], 0.0)
    d = means[:, 1] - means[:, 0]
    added = 2 * (off[..., 0] * off[..., 1]).sum(axis=1) / (r - 1) / r
    best = (off**2).sum(axis=(1, 2)) / (r - 1) / r
    if groups is not None:
        unit = groups[pair.places][several]
        size = np.unique(unit, return_counts=True)[1]
        d = unit_means(d, unit)
        added, best = (unit_means(each, unit) / size for each in (added, best))
    n = len(d)
    if n < 2:
        return None
    own = float(d.var(ddof=1))
    alone = own + float(added.mean())
    if not alone > 0:
        return None
    saved, most = 1 - own / alone, min(float(np.mean(best)) / alone, 1.0)
    if own <= 0:
        return NoiseWorth(saved, -np.inf, 1.0, max(most, saved))
    one = (d - d.mean()) ** 2 * n / (n - 1)
    parts = one / own - (one + added) / alone
    half = float(stdtrit(n - 1, 1 - alpha / 2)) * float(parts.std(ddof=1)) / n**0.5
    low, high = (1 - own / alone * float(np.exp(sign * half)) for sign in (1, -1))
    return NoiseWorth(saved, low, high, max(most, saved))
