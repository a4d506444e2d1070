r"""Is a model as good as a base? By betting on paired differences: exact at any time.

A unit is a prompt, or a cluster of prompts that depend on each other. Its difference is the
candidate's score less the base's, in [-1, 1]. Units come in random order. A gambler who bets
against E d <= μ stakes a share of the capital on d - μ before each unit:

.. math:: K_t = K_{t-1} (1 + \lambda_t (d_t - \mu)), \qquad
          \lambda_t = \mathrm{clip}(\hat\mu / (\hat\sigma^2 + \hat\mu^2), 0, 1 / (2 (1 + \mu))),

with mean and variance of d - μ over the units before. If E d <= μ, the capital ever reaches
1 / alpha with a probability of at most alpha (Ville). That holds for any number of units and any
law, whenever one stops. Weights of units are shares of a bound that was known beforehand. Shares of
the largest unit so far look ahead, and mislead where a rare, larger unit is still to come.
Another gambler bets against E d >= μ. The means that no gambler refutes are an interval for E d
that is valid at any time [1]_.

Several candidates are judged together. "Not as good" of any set of them is refuted by the mean of
their capitals. So a candidate is as good once every set with it is refuted [2]_. This closed
testing is right for all candidates at once with probability 1 - alpha, however they depend on each
other. It never finds less than Holm's steps would with the same capitals, because these compare
each capital with as many as are left.

This module knows nothing of models or prompts.

References
----------
.. [1] I. Waudby-Smith & A. Ramdas, "Estimating means of bounded random variables by betting",
   J. R. Stat. Soc. B 86, 1-27 (2024).
.. [2] V. Vovk & R. Wang, "E-values: calibration, combination and applications", Annals of
   Statistics 49, 1736-1754 (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import check_alpha

PSEUDO = 10.0  # units that nobody has seen, behind the first guesses of mean and variance
VARIANCE = 0.25  # first guess: of differences of which a quarter are -1 or 1
MOST_STAKED = 0.5  # of what a single unit could lose at worst
_BLOCK = 1 << 20  # numbers at once
_FINE, _COARSE = 20, 200  # points of the grid: for each margin near it, and for 1 far from it
_NEAR = 12  # margins on each side of 0 with a fine grid


class Verdict(StrEnum):
    """What is known of a candidate."""

    BETTER = "better"
    AS_GOOD = "as good"  # not worse by the margin or more
    WORSE = "worse"  # by the margin or more
    UNKNOWN = "cannot tell"


class Claim(StrEnum):
    """What a gambler wins by: the opposite is refuted once the capital reaches 1 / alpha."""

    AS_GOOD = "as good"  # E d > -margin
    WORSE = "worse"  # E d < -margin
    BETTER = "better"  # E d > 0


CLAIMS = tuple(Claim)


def check_margin(margin: float) -> None:
    """Refuse what is no margin.

    Raises
    ------
    ValueError
        It is not between 0 and 1.
    """
    if not 0 < margin < 1:
        raise ValueError(f"The margin must lie between 0 and 1, not at {margin:g}.")


def grid(margin: float) -> FloatArray:
    """Return means that gamblers bet against, from -1 to 1, among them 0 and the margin's ends."""
    coarse = np.arange(-_COARSE, _COARSE + 1) / _COARSE
    fine = margin * np.arange(-_NEAR * _FINE, _NEAR * _FINE + 1) / _FINE
    fine = np.append(fine[np.abs(fine) < 1], [-margin, 0.0])
    far = coarse[np.abs(coarse) > np.abs(fine).max()]
    return np.unique(np.concatenate([fine, far, [-1.0, 1.0]]))


@dataclass(frozen=True, eq=False)
class Bets:
    """What gamblers against each mean of a grid own, and what they have seen, of k candidates.

    Attributes
    ----------
    means : ndarray of float64, shape (g,)
        The means that they bet against.
    guess : float
        How far from each mean they first take the true one to be.
    units : ndarray of float64, shape (k,)
        How many each candidate has.
    weight, difference : ndarray of float64, shape (k,)
        Sums of weights, and of weights times differences.
    squares : ndarray of float64, shape (3, k)
        Sums of squared weights times the difference to the power of 0, 1 and 2.
    above, below : ndarray of float64, shape (k, g)
        Logarithms of the capital against E d <= mean, and against E d >= mean.
    most_above, most_below : ndarray of float64, shape (k, g)
        The highest that these have ever been.
    """

    means: FloatArray
    guess: float
    units: FloatArray
    weight: FloatArray
    difference: FloatArray
    squares: FloatArray
    above: FloatArray
    below: FloatArray
    most_above: FloatArray
    most_below: FloatArray

    @classmethod
    def on(cls, means: FloatArray, guess: float, candidates: int = 1) -> Bets:
        """Return gamblers who own 1 each and have seen nothing."""
        nothing = np.zeros(candidates)
        capital = np.zeros((candidates, len(means)))
        sums = nothing, nothing, nothing, np.zeros((3, candidates))
        return cls(means, guess, *sums, capital, capital, capital, capital)

    def after(self, differences: FloatArray, weights: FloatArray | None = None) -> Bets:
        """Return the gamblers after more units: one, or any number of them.

        Parameters
        ----------
        differences : ndarray of float64, shape (n, k)
            In [-1, 1]; NaN where a candidate has no such unit.
        weights : ndarray of float64, shape (n, k), optional
            What each unit counts, more than 0 and at most 1; by default all the same.
        """
        step = max(_BLOCK // (len(self.means) * differences.shape[1]), 1)
        found = self
        for start in range(0, len(differences), step):
            block = slice(start, start + step)
            found, _, _ = found.walked(
                differences[block], None if weights is None else weights[block]
            )
        return found

    def walked(
        self, differences: FloatArray, weights: FloatArray | None = None
    ) -> tuple[Bets, FloatArray, FloatArray]:
        """Return the same as `after`, and the capitals after each unit, shape (n, k, g)."""
        there = np.isfinite(differences)
        w = np.where(there, 1.0 if weights is None else weights, 0.0)
        d = np.where(there, differences, 0.0)
        sums = np.stack([there, w, w * d, w**2, w**2 * d, w**2 * d**2])
        before = np.stack([self.units, self.weight, self.difference, *self.squares])
        seen = before[:, None] + np.concatenate([np.zeros_like(sums[:, :1]), sums.cumsum(1)], 1)
        up, down = self.stakes(seen[:, :-1])
        far = w[..., None] * (d[..., None] - self.means)
        above = self.above + np.log1p(up * far).cumsum(axis=0)
        below = self.below + np.log1p(-down * far).cumsum(axis=0)
        last = seen[:, -1]
        found = replace(
            self,
            units=last[0],
            weight=last[1],
            difference=last[2],
            squares=last[3:],
            above=above[-1],
            below=below[-1],
            most_above=np.maximum(self.most_above, above.max(axis=0)),
            most_below=np.maximum(self.most_below, below.max(axis=0)),
        )
        return found, above, below

    def stakes(self, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the shares that are staked on d above and below each mean, shape (..., k, g).

        Parameters
        ----------
        seen : ndarray of float64, shape (6, ..., k)
            Units, weight, difference and squares before the unit, as the attributes have them.
        """
        far, variance = self._moments(seen)
        with np.errstate(divide="ignore"):
            most = MOST_STAKED / (1 + self.means), MOST_STAKED / (1 - self.means)
        stakes: list[FloatArray] = []
        for sign, bound in zip((1, -1), most, strict=True):
            mean = self._guessed(seen[0], sign * far)
            stakes.append(np.clip(mean / (variance + mean**2), 0, bound))
        return stakes[0], stakes[1]

    def _moments(self, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of what was seen less each mean, and the variance as it is guessed."""
        units, weight, difference, *squares = (each[..., None] for each in seen)
        far = difference - self.means * weight
        total = squares[2] - 2 * self.means * squares[1] + self.means**2 * squares[0]
        around = np.maximum(total - far**2 / np.maximum(units, 1), 0)
        return far, (PSEUDO * VARIANCE + around) / (PSEUDO + units)

    def _guessed(self, units: FloatArray, far: FloatArray) -> FloatArray:
        return (PSEUDO * self.guess + far) / (PSEUDO + units[..., None])

    def interval(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return bounds of E d, each wrong at any time with a probability of at most `alpha`.

        Returns
        -------
        low, high : ndarray of float64, shape (k,)
        """
        refuted = math.log(1 / alpha)
        low = _last(self.most_above >= refuted, self.means, -1.0)
        high = _last(self.most_below[:, ::-1] >= refuted, self.means[::-1], 1.0)
        # Both may be refuted, with a probability of 2 alpha at most: then the data tell nothing.
        return np.minimum(low, high), np.maximum(low, high)


def _last(refuted: NDArray[np.bool_], means: FloatArray, otherwise: float) -> FloatArray:
    """Return the last mean of those that are refuted from the first one on."""
    many: IntArray = np.cumprod(refuted, axis=1, dtype=np.int64).sum(axis=1)
    return np.where(many > 0, means[np.maximum(many - 1, 0)], otherwise)


def closed(log_capital: FloatArray) -> FloatArray:
    """Return logarithms of capitals that hold for all candidates at once: see the module.

    Parameters
    ----------
    log_capital : ndarray of float64, shape (..., k)

    Returns
    -------
    ndarray of float64, shape (..., k)
        Of each candidate the smallest mean of the capitals of any set with it.
    """
    found = np.empty_like(log_capital)
    sizes = np.log(np.arange(1.0, log_capital.shape[-1] + 1))
    for at in range(len(sizes)):
        own = log_capital[..., at : at + 1]
        others: FloatArray = np.sort(np.delete(log_capital, at, axis=-1), axis=-1)
        both: FloatArray = np.concatenate([own, others], axis=-1)
        sums: FloatArray = np.logaddexp.accumulate(both, axis=-1)
        found[..., at] = (sums - sizes).min(axis=-1)
    return found


@dataclass(frozen=True, eq=False)
class Gate:
    """What is known of k candidates at any time: give it units as they come.

    Attributes
    ----------
    margin : float
        A candidate is as good if it is worse by less than this: a share of the scores' range.
    alpha : float
        Each kind of claim ("as good", "worse", "better") is wrong of any candidate, ever, with a
        probability of at most alpha.
    bets : Bets
    seen : int
        Units so far, those included that some candidate does not have.
    known : ndarray of int64, shape (claims, k)
        After how many units each claim was known, in the order of `CLAIMS`; 0 where it is not.
    """

    margin: float
    alpha: float
    bets: Bets
    seen: int
    known: IntArray

    @classmethod
    def start(cls, margin: float, alpha: float, candidates: int = 1) -> Gate:
        """Return what is known before the first unit.

        Raises
        ------
        ValueError
            `margin` or `alpha` is not between 0 and 1.
        """
        check_margin(margin)
        check_alpha(alpha)
        bets = Bets.on(grid(margin), margin, candidates)
        return cls(margin, alpha, bets, 0, np.zeros((len(CLAIMS), candidates), np.int64))

    def after(self, differences: FloatArray, weights: FloatArray | None = None) -> Gate:
        """Return what is known after more units; see `Bets.after`.

        Raises
        ------
        ValueError
            A difference is beyond -1 or 1, or a weight beyond 0 or 1.
        """
        _check(differences, weights)
        step = max(_BLOCK // (len(self.bets.means) * differences.shape[1]), 1)
        found = self
        for start in range(0, len(differences), step):
            block = slice(start, start + step)
            found = found._walked(differences[block], None if weights is None else weights[block])
        return found

    def _walked(self, differences: FloatArray, weights: FloatArray | None) -> Gate:
        bets, above, below = self.bets.walked(differences, weights)
        worse, nothing = (int(np.searchsorted(bets.means, each)) for each in (-self.margin, 0.0))
        won = above[..., worse], below[..., worse], above[..., nothing]
        reached = np.stack([closed(each) >= math.log(1 / self.alpha) for each in won])
        when = self.seen + 1 + reached.argmax(axis=1)
        known = np.where((self.known == 0) & reached.any(axis=1), when, self.known)
        return replace(self, bets=bets, seen=self.seen + len(differences), known=known)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What is known of each candidate. Of claims that contradict each other the first counts.

        "Better" is said only of a candidate that is as good, so that it adds no error of its own.
        """
        return tuple(_verdict(*map(int, each)) for each in self.known.T)

    @property
    def known_after(self) -> tuple[int | None, ...]:
        """After how many units it was known that a candidate is as good, or that it is worse."""
        return tuple(
            min((int(each) for each in (good, bad) if each), default=None)
            for good, bad, _ in self.known.T
        )

    @property
    def difference(self) -> FloatArray:
        """The mean difference so far, shape (k,); NaN before the first unit."""
        bets = self.bets
        return np.where(bets.weight > 0, bets.difference / np.maximum(bets.weight, 1e-300), np.nan)

    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the difference, shape (k,), valid at any time for all candidates.

        Each bound is wrong of any candidate with a probability of at most alpha. Both together are
        a (1 - 2 alpha) interval, as usual where one asks whether something is as good. Of a single
        candidate the lower bound passes the margin where it is known to be as good.
        """
        return self.bets.interval(self.alpha / len(self.known.T))


def _check(differences: FloatArray, weights: FloatArray | None) -> None:
    if (np.abs(differences) > 1).any():
        raise ValueError("Differences lie between -1 and 1: divide scores by their range first.")
    if weights is not None and not ((weights > 0) & (weights <= 1))[np.isfinite(differences)].all():
        raise ValueError("Weights are more than 0, and at most 1.")


def _verdict(good: int, worse: int, better: int) -> Verdict:
    if worse and (not good or worse < good):
        return Verdict.WORSE
    if good:
        return Verdict.BETTER if better else Verdict.AS_GOOD
    return Verdict.UNKNOWN
