r"""How many more units will probably tell, by the rule that gamblers follow.

Futures are drawn from what was seen. Each has a mean and a variance from their posteriors, and
sums of later units, which are normal. The gamblers' rule then stakes on these sums as it does on
units. So each future has what they lose while they still guess the mean badly. With many flips that
is much. What is returned is the median, after which half of the futures have told.

The prior of the mean is around no difference, with half a margin for a standard deviation. Few
units say little of a mean. As they look, or with a wide prior, it is too often far from the margin.
Where they look further from no difference than luck explains, the prior is as wide as that. Else a
model that is much worse would be taken for an equal one, and forecasts were up to 24 times too
large. The variance has half a flip more than was seen: units without a flip do not rule flips out.

`benchmarks/gate.py` compares what is returned with what it takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, ndtri

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.gate.betting import MOST_STAKED, PSEUDO, VARIANCE, Bets, Gate

_PRIOR = 0.5  # margins
_SURE = 2.5  # squared standard errors that luck explains
_FLIP = 0.5  # that nobody has seen
_MOST = 1_000_000  # units from which more will hardly ever tell
_STEP = 0.08  # of all units so far: how many are drawn as one sum
_FUTURES = 192
_STEPS = 400  # more than there are until `_MOST`
_DRAWN: FloatArray = np.random.default_rng(35).standard_normal((_STEPS, _FUTURES))
# Each future has another mean and another variance, evenly over their posteriors.
_SHARES: FloatArray = (np.arange(_FUTURES) + 0.5) / _FUTURES
_MEANS: FloatArray = ndtri(_SHARES)
_VARIANCES: FloatArray = np.random.default_rng(36).permutation(_SHARES)


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


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was seen of one candidate, of what is bet on: weight times (difference + margin).

    Attributes
    ----------
    units, total, around : float
        Their number, their sum, and their squares around their mean.
    usual : float
        Mean weight of a unit.
    """

    units: float
    total: float
    around: float
    usual: float

    @classmethod
    def of(cls, bets: Bets, candidate: int, margin: float) -> _Seen:
        n, weight, sum_of_differences = (
            float(each[candidate]) for each in (bets.units, bets.weight, bets.difference)
        )
        weights, once, twice = (float(each[candidate]) for each in bets.squares)
        total = sum_of_differences + margin * weight
        squares = twice + 2 * margin * once + margin**2 * weights
        around = max(squares - total**2 / max(n, 1), 0.0)
        return cls(n, total, around, weight / n if n else 1.0)

    def laws(self, margin: float) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of a later unit, one of each future."""
        if not self.units:
            around, n = PSEUDO * VARIANCE, PSEUDO
        else:
            around, n = self.around, self.units
        flip = self.usual**2  # a flip of a unit of the usual weight
        drawn = gammaincinv(around / flip + _FLIP, _VARIANCES)
        variance = flip / n * np.asarray(drawn, np.float64)
        n, middle = max(self.units, 1e-9), margin * self.usual
        away, known = self.total / max(self.units, 1) - middle, float(variance.mean()) / n
        prior = max((_PRIOR * middle) ** 2, away**2 - _SURE * known)
        trust = prior / (prior + variance / n)
        means: FloatArray = middle + trust * away + np.sqrt((1 - trust) * prior) * _MEANS
        return means, variance


def _of_one(gate: Gate, candidate: int, at: int, missing: float) -> int | None:
    """Return the median of the units after which a gambler of a future has what is missing."""
    bets, margin = gate.bets, gate.margin
    seen = _Seen.of(bets, candidate, margin)
    mean, variance = seen.laws(margin)
    capital = [np.full(_FUTURES, float(each[candidate, at])) for each in (bets.above, bets.below)]
    most = MOST_STAKED / (1 - margin), MOST_STAKED / (1 + margin)
    total, around = np.full(_FUTURES, seen.total), np.full(_FUTURES, seen.around)
    untold, n, before = np.ones(_FUTURES), seen.units, 0.0
    for drawn in _DRAWN:
        step = max(math.floor(_STEP * n), 1)
        guessed = (PSEUDO * VARIANCE + around) / (PSEUDO + n)
        middle = np.clip(mean + np.sqrt(variance / step) * drawn, margin - 1, margin + 1)
        spread = variance * (1 - 1 / step) / 2  # of units around their mean in the step
        for side, sign in enumerate((1, -1)):
            known = (PSEUDO * margin + sign * total) / (PSEUDO + n)
            stake = np.clip(known / (guessed + known**2), 0, most[side])
            grown = 1 + sign * stake * middle
            lacked = missing - capital[side]
            capital[side] += step * (np.log(grown) - stake**2 * spread / grown**2)
            lacking = missing - capital[side]
            within = np.maximum(2 * step * (stake / grown) ** 2 * spread, 1e-12)
            # Within the sum it may have been there and gone back, as a Brownian bridge does.
            ways = np.maximum(lacked, 0) * np.maximum(lacking, 0)
            untold *= 1 - np.exp(-2 * ways / within)
        total, around, n = total + step * middle, around + step * variance, n + step
        share = 1 - float(untold.mean())
        if share >= 0.5:
            # Between the ends of the last sum, by how many have told until each.
            back = step * (share - 0.5) / (share - before)
            return max(math.ceil(n - seen.units - back), 1)
        if n - seen.units > _MOST:
            return None
        before = share
    return None
