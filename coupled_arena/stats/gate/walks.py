r"""All looks through a table of units at once, in the time that few means take.

`Gate.after` follows every mean of a grid through every unit, as units come. Where all units are
there, it is enough to know when each mean is refuted first. A lower bound is the last mean of those
that are refuted from the lowest one on. So means are followed from the outside in, each up to the
unit that refutes it. The first mean that no unit refutes is the last one to be followed. Means
far from the true one are refuted early. No order of these times is assumed.

The verdict needs two means, the margin and zero: `Gate.after` follows them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.gate.betting import Bets, Gate, grid

_FIRST_BLOCK, _MOST_CELLS = 64, 1 << 18  # units at first; units times means at most
_MANY, _FEW = 32, 4  # means that are followed together: early ones, and ones that take long


@dataclass(frozen=True, eq=False)
class Walk:
    """What is known on the way through units.

    Attributes
    ----------
    gate : Gate
        After all of them; it holds bets on the margin and on zero alone.
    seen : ndarray of int64, shape (looks,)
        Units so far.
    difference, low, high : ndarray of float64, shape (looks, k)
        The mean difference so far, and its bounds, as `Gate.interval` has them.
    """

    gate: Gate
    seen: IntArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray


def walk(
    differences: FloatArray, weights: FloatArray | None, margin: float, alpha: float, looks: int
) -> Walk:
    """Return what is known after at most so many looks, the last one after all units.

    Parameters
    ----------
    differences, weights : ndarray of float64, shape (n, k)
        As `Gate.after` takes them.

    Raises
    ------
    ValueError
        A number is out of range.
    """
    k = differences.shape[1]
    start = Gate.start(margin, alpha, k)
    gate = replace(start, bets=Bets.on(np.array([-margin, 0.0]), margin, k))
    n = len(differences)
    seen: IntArray = np.unique(np.append(np.linspace(1, n, looks).astype(int), n))
    gate = gate.after(differences, weights)
    there = np.isfinite(differences)
    w = np.where(there, 1.0 if weights is None else weights, 0.0)
    total = np.cumsum(w * np.where(there, differences, 0.0), axis=0)[seen - 1]
    heavy = np.cumsum(w, axis=0)[seen - 1]
    mean = np.where(heavy > 0, total / np.maximum(heavy, 1e-300), np.nan)
    bounds = [
        _bounds(differences[there[:, at], at], w[there[:, at], at], margin, alpha / k)
        for at in range(k)
    ]
    own = np.cumsum(there, axis=0)[seen - 1]
    ends = [each.at(own[:, at]) for at, each in enumerate(bounds)]
    low, high = (np.stack([end[side] for end in ends], axis=1) for side in (0, 1))
    return Walk(gate, seen, mean, low, high)


def interval(
    differences: FloatArray, weights: FloatArray, margin: float, alpha: float
) -> tuple[float, float]:
    """Return bounds of E d after all units of one candidate, shape (n,), valid at any time."""
    low, high = _bounds(differences, weights, margin, alpha).at(np.array([len(differences)]))
    return float(low[0]), float(high[0])


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Means that are passed from the outside in, and after how many units each of them is."""

    lower: FloatArray
    lower_after: FloatArray
    upper: FloatArray
    upper_after: FloatArray

    def at(self, units: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return both bounds after so many units, shape (any,)."""
        passed = np.searchsorted(self.lower_after, units, side="right")
        low = np.append(self.lower, -1.0)[passed - 1]
        passed = np.searchsorted(self.upper_after, units, side="right")
        high = np.append(self.upper, 1.0)[passed - 1]
        # Both may be refuted, with a probability of 2 alpha at most: then the data tell nothing.
        return np.minimum(low, high), np.maximum(low, high)


def _bounds(differences: FloatArray, weights: FloatArray, margin: float, alpha: float) -> _Bounds:
    means, refuted = grid(margin), math.log(1 / alpha)
    lower = _passed(differences, weights, means, margin, refuted)
    # Bets below a mean are bets above the opposite one on opposite differences.
    upper = _passed(-differences, weights, means, margin, refuted)
    return _Bounds(means[: len(lower)], lower, -means[: len(upper)], upper)


def _passed(
    differences: FloatArray, weights: FloatArray, means: FloatArray, guess: float, refuted: float
) -> FloatArray:
    """Return after how many units each mean, and all before it, are refuted; no later ones."""
    before = _sums(differences, weights)
    found: list[FloatArray] = []
    start, latest = 0, 0.0
    while start < len(means) and math.isfinite(latest):
        many = _MANY if latest < len(differences) / 16 else _FEW
        some = means[start : start + many]
        after = _refuted_after(differences, weights, before, some, guess, refuted)
        found.append(np.maximum.accumulate(np.maximum(after, latest)))
        start, latest = start + many, float(found[-1][-1])
    times: FloatArray = np.concatenate(found)
    return times[np.isfinite(times)]


def _sums(d: FloatArray, w: FloatArray) -> FloatArray:
    """Return what `Bets` sums up before each unit, shape (6, n)."""
    each = np.stack([np.ones_like(d), w, w * d, w**2, w**2 * d, w**2 * d**2])
    return np.concatenate([np.zeros((6, 1)), each.cumsum(axis=1)[:, :-1]], axis=1)


def _refuted_after(
    differences: FloatArray,
    weights: FloatArray,
    before: FloatArray,
    means: FloatArray,
    guess: float,
    refuted: float,
) -> FloatArray:
    """Return after how many units each mean is refuted by bets above it; infinity for never."""
    found = np.full(len(means), np.inf)
    left, capital = np.arange(len(means)), np.zeros(len(means))
    start, step = 0, _FIRST_BLOCK
    while start < len(differences) and left.size:
        block = slice(start, start + step)
        bets = Bets.on(means[left], guess)
        stake, _ = bets.stakes(before[:, block, None])
        far = weights[block, None] * (differences[block, None] - means[left])
        grown = capital + np.log1p(stake[:, 0] * far).cumsum(axis=0)
        reached = grown >= refuted
        done = reached.any(axis=0)
        found[left[done]] = start + 1 + reached.argmax(axis=0)[done]
        left, capital = left[~done], grown[-1, ~done]
        start, step = start + step, min(2 * step, max(_MOST_CELLS // max(left.size, 1), 1))
    return found
