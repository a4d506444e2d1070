"""Whether people vote otherwise once they were told names often: an effect for each model.

Somebody's votes on one pair of models are held against each other, early ones against late ones.
So their taste drops out, and so does who votes much. What else changes while people vote, such as
their care, does not: nothing but a campaign without names tells the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

OFTEN = 30
"""How many reveals the effect is of: after so many people are said to know who writes how."""
FEWEST_VOTES = 200
FEWEST_VOTERS = 10
_AT_ONCE = 1 << 20  # numbers of the systems that are solved together


@dataclass(frozen=True, eq=False)
class ToldVotes:
    """Votes on two different models.

    Attributes
    ----------
    voter, first, second : ndarray of int64, shape (n,)
        Numbers of voters and of models.
    score : ndarray of float64, shape (n,)
        1: the first is preferred; 0: the second; 0.5: neither.
    told : ndarray of int64, shape (n,)
        Of how many battles this voter had been told the names before.
    """

    voter: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    score: NDArray[np.float64]
    told: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ToldEffects:
    """What `OFTEN` reveals add to the share of the votes that each model wins, against the others.

    Attributes
    ----------
    votes, voters : int
        Those that say something: somebody's votes on one pair, not all after as many reveals.
    change, low, high : ndarray of float64, shape (k,)
        With intervals that hold for all models together; none of fewer votes or voters than needed.
    p_value : float
        Of the hypothesis that no model's share changes; 1 where there is nothing to tell.
    """

    votes: int
    voters: int
    change: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: float


def told_effects(votes: ToldVotes, models: int, alpha: float = 0.05) -> ToldEffects:
    r"""Fit y = a_{voter, pair} + (b_first - b_second) x, where the b of all models sum to 0.

    x is log(1 + reveals) / log(1 + `OFTEN`). The change of a model's share against the mean of the
    others is b k / (k - 1). Covariances are the jackknife's over voters, which is too wide rather
    than too narrow where these are few. Student's t has the degrees of freedom that their shares of
    the information leave. Bonferroni's correction is for k models.

    Parameters
    ----------
    models : int
        How many there are.
    alpha : float
        Error level for all models together.
    """
    whose, one, other, x, y = _within(votes, models)
    numbers, voter = np.unique(whose, return_inverse=True)
    if len(voter) < FEWEST_VOTES or len(numbers) < FEWEST_VOTERS:
        none = np.empty(0)
        return ToldEffects(len(voter), len(numbers), none, none, none, 1.0)
    grams, sides = _sums(voter, one, other, x, y, (len(numbers), models))
    there = np.flatnonzero(np.einsum("vii->i", grams))
    grams, sides = grams[:, there[:, None], there], sides[:, there]
    k = len(there)
    whole_gram, whole_side = grams.sum(axis=0), sides.sum(axis=0)
    scale = k / (k - 1)
    estimate = scale * _solved(whole_gram[None], whole_side[None])[0]
    step = max(1, _AT_ONCE // (k * k))
    without = np.concatenate(
        [
            _solved(whole_gram - grams[at : at + step], whole_side - sides[at : at + step])
            for at in range(0, len(numbers), step)
        ]
    )
    spread = scale * (without - without.mean(axis=0))
    error = np.sqrt((len(numbers) - 1) / len(numbers) * (spread**2).sum(axis=0))
    information = np.einsum("vii->v", grams)
    freedom = max(1.0, information.sum() ** 2 / (information**2).sum() - 1)
    reach = float(stdtrit(freedom, 1 - alpha / (2 * k))) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * np.asarray(stdtr(freedom, -np.abs(estimate) / error), np.float64)
    change, low, high = (np.full(models, np.nan) for _ in range(3))
    change[there], low[there], high[there] = estimate, estimate - reach, estimate + reach
    p_value = min(1.0, k * float(np.nanmin(p_values, initial=1.0)))
    return ToldEffects(len(voter), len(numbers), change, low, high, p_value)


_Within = tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
]


def _within(votes: ToldVotes, models: int) -> _Within:
    """Return voters, models, x and y without the mean of each voter's votes on each pair.

    Votes that all came after as many reveals say nothing, and are left out.
    """
    turned = votes.first > votes.second
    one, other = np.where(turned, (votes.second, votes.first), (votes.first, votes.second))
    y = np.where(turned, 1 - votes.score, votes.score)
    x = np.log1p(votes.told) / np.log1p(OFTEN)
    key = (votes.voter * models + one) * models + other
    _groups, group, sizes = np.unique(key, return_inverse=True, return_counts=True)
    x = x - (np.bincount(group, x) / sizes)[group]
    y = y - (np.bincount(group, y) / sizes)[group]
    says = np.bincount(group, x**2)[group] > 1e-12
    return votes.voter[says], one[says], other[says], x[says], y[says]


def _sums(
    voter: NDArray[np.int64],
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    shape: tuple[int, int],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the normal equations of each voter: matrices (v, k, k), right sides (v, k)."""
    voters, models = shape
    grams, sides = np.zeros((voters, models, models)), np.zeros((voters, models))
    for i, j, sign in ((one, one, 1), (other, other, 1), (one, other, -1), (other, one, -1)):
        np.add.at(grams, (voter, i, j), sign * x**2)
    np.add.at(sides, (voter, one), x * y)
    np.add.at(sides, (voter, other), -x * y)
    return grams, sides


def _solved(grams: NDArray[np.float64], sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return solutions that sum to 0: a constant for all models changes nothing."""
    k = grams.shape[-1]
    # A voter without whom nothing is left of a model leaves 0 for it.
    ridge = 1e-9 * np.einsum("vii->v", grams)[:, None, None] / k * np.eye(k) + 1e-15 * np.eye(k)
    level = np.einsum("vii->v", grams)[:, None, None] / k * np.ones((k, k)) / k
    return np.asarray(np.linalg.solve(grams + level + ridge, sides[..., None]), np.float64)[..., 0]
