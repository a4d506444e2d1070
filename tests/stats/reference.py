"""A second route to the estimates: from rows, as matrices, the way the paper writes them.

`a` and `b` are indices of the models shown first and second, `h` and `g` outcomes by people and
by the judge (0 first, 1 second, 2 tie, 3 both bad). Nothing here is shared with the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import chi2


@dataclass
class Rows:
    a: np.ndarray
    b: np.ndarray
    h: np.ndarray | None
    g: np.ndarray | None

    def matrices(self, k):
        """M, M' of the paper: one column a row of data."""
        first, second = np.zeros((k, len(self.a))), np.zeros((k, len(self.a)))
        first[self.a, np.arange(len(self.a))] = 1
        second[self.b, np.arange(len(self.a))] = 1
        return first, second


def wins(outcome):
    return (outcome == 0).astype(float), (outcome == 1).astype(float)


def regression(rows, labels, k):
    """Algorithm 3: means, and residuals as a (k, rows) matrix."""
    first, second = rows.matrices(k)
    w, v = labels
    mean = (first @ w + second @ v) / np.maximum((first + second).sum(1), 1)
    residuals = (w - first.T @ mean) * first + (v - second.T @ mean) * second
    return mean, residuals, (first + second).sum(1)


def power_tuning(human, alone, k):
    """Algorithm 4, with the transpose where the paper prints an inverse."""
    n, more = len(human.a), len(alone.a)
    _, judged, _ = regression(human, wins(human.g), k)
    _, voted, _ = regression(human, wins(human.h), k)
    _, other, _ = regression(alone, wins(alone.g), k)
    if not more or not (other**2).sum():
        return 0.0
    ratio = np.trace(judged @ voted.T) / n**2 / (np.trace(other @ other.T) / more**2)
    return float(np.clip(n / (n + more) * ratio, 0, 1))


def powered(human, alone, k, tuning=None):
    """Algorithm 1: theta and both covariances, published and corrected.

    As in the program the judge has no say on a model with fewer than two verdicts alone.
    """
    tuning = power_tuning(human, alone, k) if tuning is None else tuning
    sizes = sum(m.sum(1) for m in alone.matrices(k))
    each = np.where(sizes >= 2, tuning, 0.0)
    means, grams = [], []
    for rows, labels, sign in (
        (alone, [each[x] * w for x, w in zip((alone.a, alone.b), wins(alone.g), strict=True)], 1),
        (
            human,
            [
                each[x] * w - v
                for x, w, v in zip((human.a, human.b), wins(human.g), wins(human.h), strict=True)
            ],
            -1,
        ),
    ):
        mean, residuals, size = regression(rows, labels, k)
        means.append(sign * mean)
        published = residuals @ residuals.T / max(len(rows.a), 1) ** 2
        inverse = np.diag(1 / np.maximum(size, 1))
        grams.append((published, inverse @ (residuals @ residuals.T) @ inverse))
    return sum(means), grams[0][0] + grams[1][0], grams[0][1] + grams[1][1]


def stratified(human, alone, k, *, by_position=False, tuning=None):
    """Pair by pair with the textbook's covariance: theta, covariance, lambda."""
    strata = _strata(human, alone, k, by_position)
    weight = 1 / ((2 if by_position else 1) * (k - 1))
    gain = cost = 0.0
    for _, hg, more in strata:
        if len(more) >= 2:
            c = _covariance(hg)
            gain += (c[0, 2] + c[1, 3]) / len(hg)
            cost += np.trace(_covariance(more)) / len(more) + (c[2, 2] + c[3, 3]) / len(hg)
    if tuning is None:
        tuning = float(np.clip(gain / cost, 0, 1)) if cost > 0 else 0.0
    theta, covariance = np.zeros(k), np.zeros((k, k))
    for pair, hg, more in strata:
        here = tuning if len(more) >= 2 else 0.0
        rectified = hg[:, :2] - here * hg[:, 2:]
        theta[pair] += weight * rectified.mean(0)
        block = _covariance(rectified) / len(hg)
        if here:
            theta[pair] += weight * here * more.mean(0)
            block = block + here**2 * _covariance(more) / len(more)
        covariance[np.ix_(pair, pair)] += weight**2 * block
    return theta, covariance, tuning


def _covariance(rows):
    """Return what `np.cov` does, many times faster for few rows."""
    away = rows - rows.mean(0)
    return away.T @ away / (len(rows) - 1)


def _strata(human, alone, k, by_position):
    return [
        ([i, j], _of(human, orders, i, both=True), _of(alone, orders, i))
        for i, j in combinations(range(k), 2)
        for orders in ([[(i, j)], [(j, i)]] if by_position else [[(i, j), (j, i)]])
    ]


def _of(rows, orders, i, both=False):
    """Columns: h for i, h for j, g for i, g for j (of `alone`: the last two)."""
    pieces = []
    for x, y in orders:
        at = (rows.a == x) & (rows.b == y)
        columns = [wins(o[at]) for o in ((rows.h, rows.g) if both else (rows.g,))]
        turned = [pair if x == i else pair[::-1] for pair in columns]
        pieces.append(np.stack([w for pair in turned for w in pair], axis=1))
    return np.concatenate(pieces)


def rank_sets_chi2(theta, covariance, alpha):
    """Algorithm 2, loop by loop."""
    k = len(theta)
    cutoff = chi2.ppf(1 - alpha, k)
    low, high = np.ones(k, int), np.full(k, k)
    for m in range(k):
        for o in range(k):
            spread = covariance[m, m] + covariance[o, o] - 2 * covariance[m, o]
            distance = abs(theta[m] - theta[o]) - np.sqrt(spread * cutoff)
            if m != o and spread > 0 and distance > 0:
                if theta[m] < theta[o]:
                    low[m] += 1
                else:
                    high[m] -= 1
    return low, high
