r"""How many more units will probably tell, by the rule that gamblers follow.

The future is drawn from what was seen: units with the variance so far, and a mean from its
posterior. The prior of the mean is around no difference, with some margins for a standard
deviation. For few units say little of a mean, and nobody gates what is sure to be far worse. Given
a mean, the stake of each later unit follows from the rule itself. Units that nobody has seen,
behind the first guesses, count less and less. So the logarithm of the capital grows by known
expectations M and variances V. The chance that it has reached b is about

.. math:: \Phi((M - b) / \sqrt V) + \exp(2 b M / V) \Phi(-(b + M) / \sqrt V),

as of Brownian motion. What is returned is the median, where half of the futures have told.
`benchmarks/gate.py` compares it with what it takes.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.gate.betting import MOST_STAKED, PSEUDO, VARIANCE, Gate

_PRIOR = 1.5  # margins
_MOST = 10_000_000  # units from which more will hardly ever tell
_LATER: FloatArray = np.unique(np.append(0.0, np.geomspace(1, _MOST, 160).round()))
_MEANS: FloatArray = ndtri((np.arange(15) + 0.5) / 15)  # standard normal, each equally likely


def further(gate: Gate) -> tuple[int | None, ...]:
    """Return how many more units will probably tell as good from worse; 0 of what is known.

    Returns
    -------
    tuple of int or None
        Of each candidate; None if hardly any number.
    """
    at = int(np.searchsorted(gate.bets.means, -gate.margin))
    missing = math.log(len(gate.known.T) / gate.alpha)
    return tuple(
        0 if known else _of_one(gate, candidate, at, missing)
        for candidate, known in enumerate(gate.known_after)
    )


def _of_one(gate: Gate, candidate: int, at: int, missing: float) -> int | None:
    bets, margin = gate.bets, gate.margin
    n, weight, total = (
        float(each[candidate]) for each in (bets.units, bets.weight, bets.difference)
    )
    weights, once, twice = (float(each[candidate]) for each in bets.squares)
    usual = weight / n if n else 1.0
    far = total + margin * weight
    around = max(twice + 2 * margin * once + margin**2 * weights - far**2 / max(n, 1), 0.0)
    variance = around / n if n else VARIANCE
    # Posterior of the mean of what is bet on, weight times (difference + margin).
    prior, error = (_PRIOR * margin * usual) ** 2, variance / max(n, 1)
    trust = prior / (prior + error)
    centre = trust * far / max(n, 1) + (1 - trust) * margin * usual
    means = centre + math.sqrt(trust * error) * _MEANS
    told = np.zeros(len(_LATER))
    for sign, capital in ((1, bets.above), (-1, bets.below)):
        most = MOST_STAKED / (1 + sign * -margin)
        grown, spread = _growth((n, sign * far, around), sign * means, variance, margin, most)
        told += _reached(grown, spread, missing - float(capital[candidate, at])).mean(axis=1)
    told = np.maximum.accumulate(told)
    if told[-1] < 0.5:
        return None
    return max(math.ceil(float(np.interp(0.5, told, _LATER))), 1)


def _growth(
    seen: tuple[float, float, float],
    means: FloatArray,
    variance: float,
    guess: float,
    most: float,
) -> tuple[FloatArray, FloatArray]:
    """Return expectation and variance of what a logarithm of capital grows by, (later, means).

    Parameters
    ----------
    seen : tuple of float
        Units, their sum in the direction of the bet, and their squares around their mean.
    """
    n, far, around = seen
    more = _LATER[:, None]
    units = PSEUDO + n + more
    mean = (PSEUDO * guess + far + more * means) / units
    guessed = (PSEUDO * VARIANCE + around + more * variance) / units
    stake = np.clip(mean / (guessed + mean**2), 0, most)
    middle = np.maximum(1 + stake * means, 1 - MOST_STAKED)
    spread = stake**2 * variance / middle**2
    return _summed(np.log(middle) - spread / 2), _summed(spread)


def _summed(rates: FloatArray) -> FloatArray:
    """Return the integral from 0 to each of `_LATER`, by trapezoids."""
    steps = np.diff(_LATER)[:, None] * (rates[1:] + rates[:-1]) / 2
    return np.concatenate([np.zeros_like(rates[:1]), steps.cumsum(axis=0)])


def _reached(grown: FloatArray, spread: FloatArray, missing: float) -> FloatArray:
    """Return how likely it is that a capital has reached what it misses; see the module."""
    spread = np.maximum(spread, 1e-12)
    wide = np.sqrt(spread)
    back = 2 * missing * grown / spread + log_ndtr(-(missing + grown) / wide)
    return np.minimum(ndtr((grown - missing) / wide) + np.exp(np.minimum(back, 0)), 1)
